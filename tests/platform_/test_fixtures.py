import socket

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.tables import metadata


def test_every_test_has_an_empty_database_with_all_tables(db: Database) -> None:
    with db.read() as tx:
        there = set(sa.inspect(tx).get_table_names())
    assert set(metadata.tables) <= there


def test_a_studio_speaks_to_four_rehearsal_bindings(studio: Studio) -> None:
    assert {binding.kind for binding in studio.bindings.values()} == {"text", "image", "video", "speech"}
    assert studio.adapter(studio.binding("rehearsal-video")).contract.protocol == "rehearsal"


def test_no_test_reaches_another_machine() -> None:
    with socket.socket() as outside, pytest.raises(AssertionError, match="tried to reach"):
        outside.connect(("192.0.2.1", 80))
