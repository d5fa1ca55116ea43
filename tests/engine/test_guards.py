"""The database refuses what the rules forbid, whoever asks (P-4.1, V-9, V-12, G-204)."""

from itertools import product

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.rules.states import AttemptState, MediaKind, MediaState, ReservationState, TaskState
from shortdrama_pipeline.store.guards import GUARDED, Guarded, find_broken_chains
from tests.engine.conftest import Shop

STATES: dict[str, type[TaskState | AttemptState | ReservationState | MediaState]] = {
    "tasks": TaskState,
    "provider_attempts": AttemptState,
    "reservations": ReservationState,
    "media_files": MediaState,
}
# What the CHECKs of a row in that state ask for.
EXTRA = {
    "tasks": "next_action_at = clock_timestamp(), reason = '{}'",
    "provider_attempts": "submit_started_at = coalesce(submit_started_at, clock_timestamp()),"
    " accepted_at = coalesce(accepted_at, clock_timestamp())",
    "reservations": "settled_micros = settled_micros",
    "media_files": "probe = probe",
}


def force(tx: sa.Connection, table: str, state: str) -> None:
    """Put a row into a state without asking anybody."""
    tx.execute(sa.text(f"alter table {table} disable trigger user"))
    tx.execute(sa.text(f"update {table} set state = :state, {EXTRA[table]}"), {"state": state})
    tx.execute(sa.text(f"alter table {table} enable trigger user"))


@pytest.mark.parametrize("guarded", GUARDED, ids=lambda each: each.table)
def test_every_unlisted_move_is_refused_by_name(shop: Shop, guarded: Guarded) -> None:
    shop.order(MediaKind.IMAGE)
    shop.drain()
    for before, after in product(map(str, STATES[guarded.table]), repeat=2):
        if before == after:
            continue
        with shop.studio.db.engine.connect() as tx:
            force(tx, guarded.table, before)
            if guarded.table == "tasks" and (before, after) == ("running", "queued"):
                tx.execute(sa.text("alter table provider_attempts disable trigger user"))
                tx.execute(sa.text("update provider_attempts set state = 'rejectedBeforeAcceptance'"))
            statement = sa.text(f"update {guarded.table} set state = :state")
            if (before, after) in guarded.moves:
                assert tx.execute(statement, {"state": after}).rowcount == 1, (before, after)
            else:
                with pytest.raises(sa.exc.IntegrityError) as caught:
                    tx.execute(statement, {"state": after})
                name = "guard_terminal" if before in guarded.terminal else "guard_transition"
                assert caught.value.orig.diag.constraint_name == name, (before, after)  # type: ignore[union-attr]
            tx.rollback()


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("update tasks set request = '{}'", "guard_frozen"),
        ("update tasks set lease_token = lease_token - 1", "guard_rising"),
        ("update tasks set version = version + 1", "guard_version"),
        ("update provider_attempts set external_id = 'other'", "guard_write_once"),
        ("update provider_attempts set external_id = null", "guard_write_once"),
        ("update provider_attempts set submit_started_at = clock_timestamp()", "guard_write_once"),
        ("update provider_attempts set channel = '{}'", "guard_frozen"),
        ("update provider_attempts set request_digest = 'x'", "guard_frozen"),
        ("update reservations set amount_micros = 1", "guard_frozen"),
        ("delete from tasks", "guard_kept"),
        ("update tasks set state = 'queued'", "guard_open_fence"),
    ],
)
def test_frozen_facts_stay_as_they_are(shop: Shop, statement: str, name: str) -> None:
    shop.order(MediaKind.VIDEO)
    shop.drain()
    with shop.studio.db.engine.connect() as tx:
        force(tx, "tasks", "running")
        force(tx, "provider_attempts", "accepted")
        force(tx, "reservations", "reserved")
        with pytest.raises(sa.exc.IntegrityError) as caught:
            tx.execute(sa.text(statement))
        assert caught.value.orig.diag.constraint_name == name  # type: ignore[union-attr]
        tx.rollback()


def test_rows_are_born_in_the_first_state_only(shop: Shop) -> None:
    with pytest.raises(sa.exc.IntegrityError, match="is born staging"):
        shop.run(
            "insert into media_files (sha256, bytes, media_type, state, probe)"
            " values ('a', 1, 'x', 'ready', '{}')"
        )


def test_one_changed_byte_of_the_history_is_found(shop: Shop) -> None:
    (task_id,) = shop.order(MediaKind.IMAGE)
    shop.drain()
    with shop.studio.db.begin() as tx:
        assert find_broken_chains(tx) == []
        tx.execute(sa.text("alter table events disable trigger user"))
        tx.execute(
            sa.text(
                'update events set facts = facts || \'{"owner": "w"}\' where entity_id = :id and seq = 2'
            ),
            {"id": task_id},
        )
        assert ("task", task_id, 2) in find_broken_chains(tx)
