"""Versions for people: what a list shows, what differs, and what cannot be chosen or edited."""

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import NotReady, Refusal, UnknownId
from shortdrama_pipeline.rules.states import VersionKind
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.versioning import (
    diff_versions,
    edit_version,
    list_versions,
    select_version,
    show_version,
)
from shortdrama_pipeline.store import selections
from shortdrama_pipeline.store.versions import Version, load_version, record_version
from tests.stages_.flow import PERSON, episode_with_script

EPISODE = "2026-W32-0"


def chosen(studio: Studio, subject: str, role: str = "content") -> Version:
    with studio.db.read() as tx:
        return selections.load_selected(tx, EPISODE, subject, role)


def test_a_list_shows_state_choice_and_staleness_under_fixed_names(filmed: Studio) -> None:
    (row,) = list_versions(filmed, EPISODE, subject="script", role="content")
    assert {"version_id", "kind", "subject", "digest", "state", "selected", "stale"} <= set(row)
    assert (row["kind"], row["state"], row["selected"], row["stale"]) == (
        "ScriptVersion",
        "confirmed",
        True,
        None,
    )


def test_a_version_shows_its_origins_users_and_decisions(filmed: Studio) -> None:
    version = chosen(filmed, "shot:s1-01", "frame")
    shown = show_version(filmed, version.version_id)
    uses, users, said = shown["uses"], shown["used_by"], shown["decisions"]
    assert isinstance(uses, list)
    assert isinstance(users, list)
    assert isinstance(said, list)
    assert {"version_id": chosen(filmed, "shot:s1-01").version_id, "purpose": "shot"} in uses
    assert {"version_id": chosen(filmed, "shot:s1-01", "video").version_id, "purpose": "frame"} in users
    assert [(each["verdict"], each["actor"]) for each in said] == [("confirmed", PERSON)]
    with pytest.raises(UnknownId):
        show_version(filmed, "ver_none")


def test_a_difference_names_the_place_of_every_changed_value(studio: Studio) -> None:
    episode_with_script(studio)
    old = chosen(studio, "script")
    scenes = [dict(each) for each in old.content["scenes"]]  # type: ignore[attr-defined]
    scenes[0] = scenes[0] | {"place": "车站"}
    new = edit_version(studio, old.version_id, old.content | {"scenes": scenes, "title": "新"}, actor=PERSON)
    found = diff_versions(studio, old.version_id, str(new["version_id"]))
    assert found["changes"] == [
        {"path": "/title", "from": "天台上的信", "to": "新"},
        {"path": "/scenes/0/place", "from": "天台", "to": "车站"},
    ] or {each["path"] for each in found["changes"]} == {"/title", "/scenes/0/place"}  # type: ignore[attr-defined]
    assert found["uses_added"] == found["uses_removed"] == []


def test_a_file_is_not_edited_and_a_content_keeps_its_shape(filmed: Studio) -> None:
    with pytest.raises(Refusal, match="not edited"):
        edit_version(filmed, chosen(filmed, "shot:s1-01", "frame").version_id, {}, actor=PERSON)
    with pytest.raises(NotReady, match="cannot be read at language"):
        edit_version(filmed, chosen(filmed, "script").version_id, {"title": "x"}, actor=PERSON)


@pytest.mark.parametrize("state", ["staging", "quarantined"])
def test_only_a_ready_file_can_be_chosen(studio: Studio, state: str) -> None:
    episode_with_script(studio)
    sha256 = "b" * 64
    with studio.db.begin() as tx:
        tx.execute(
            sa.text(
                "insert into media_files (sha256, bytes, media_type, state, probe)"
                " values (:sha256, 1, 'image/png', 'staging', '{}')"
            ),
            {"sha256": sha256},
        )
        if state == "quarantined":
            tx.execute(
                sa.text("update media_files set state = 'quarantined', reason = '{}' where sha256 = :sha256"),
                {"sha256": sha256},
            )
        version_id = record_version(
            tx,
            kind=VersionKind.ASSET,
            episode_id=EPISODE,
            subject="prop:o1",
            role="reference",
            content={},
            sha256=sha256,
            actor=PERSON,
        )
    with pytest.raises(Refusal, match=state):
        select_version(studio, version_id, actor=PERSON)
    with studio.db.read() as tx:
        assert load_version(tx, version_id).sha256 == sha256
        assert selections.find_selected(tx, EPISODE, "prop:o1", "reference") is None
