"""Versions are immutable, numbered and idempotent (P-11.4, V-8)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import NotReady, UnknownId
from shortdrama_pipeline.rules.states import VersionKind
from shortdrama_pipeline.rules.versions import digest_of, version_digest
from shortdrama_pipeline.store import edges, selections, versions
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.versions import Version
from tests.stages_.flow import PERSON, new_episode


def write(
    db: Database,
    episode_id: str,
    content: dict[str, object],
    *,
    uses: list[tuple[str, str]] | None = None,
    attempt_id: str | None = None,
) -> Version:
    with db.begin() as tx:
        version_id = versions.record_version(
            tx,
            kind=VersionKind.SCRIPT,
            episode_id=episode_id,
            subject="script",
            role="content",
            content=content,
            uses=uses or [],
            attempt_id=attempt_id,
            slot=None if attempt_id is None else 0,
            actor=PERSON,
        )
        return versions.load_version(tx, version_id)


def test_equal_content_is_the_newest_version_again(db: Database) -> None:
    episode_id = new_episode(db)
    first = write(db, episode_id, {"title": "信", "n": 1})
    assert write(db, episode_id, {"n": 1, "title": "信"}) == first


def test_changed_content_is_the_next_number_and_the_old_version_stays(db: Database) -> None:
    episode_id = new_episode(db)
    first = write(db, episode_id, {"title": "一"})
    second = write(db, episode_id, {"title": "二"})
    third = write(db, episode_id, {"title": "一"})
    assert [first.number, second.number, third.number] == [1, 2, 3]
    with db.read() as tx:
        assert versions.load_version(tx, first.version_id) == first


def test_other_origins_are_another_version(db: Database) -> None:
    episode_id = new_episode(db)
    first = write(db, episode_id, {"title": "一"})
    second = write(db, episode_id, {"title": "一"}, uses=[(first.version_id, "outline")])
    assert second.version_id != first.version_id
    with db.read() as tx:
        assert [each.used_version_id for each in edges.find_uses(tx, second.version_id)] == [first.version_id]
        assert [each.version_id for each in edges.find_users(tx, first.version_id)] == [second.version_id]


def test_a_paid_result_is_one_version_for_ever_and_equal_results_are_two(db: Database) -> None:
    episode_id = new_episode(db)
    first = write(db, episode_id, {"title": "一"}, attempt_id="att_1")
    second = write(db, episode_id, {"title": "一"}, attempt_id="att_2")
    assert write(db, episode_id, {"title": "一"}, attempt_id="att_1") == first
    assert (first.number, second.number) == (1, 2)
    assert first.digest == second.digest


def test_numbers_have_no_gap_and_no_double_when_many_write_at_once(db: Database) -> None:
    episode_id = new_episode(db)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: write(db, episode_id, {"n": n}), range(24)))
    assert sorted(each.number for each in made) == list(range(1, 25))


def test_the_database_refuses_to_change_a_version(db: Database) -> None:
    episode_id = new_episode(db)
    first = write(db, episode_id, {"title": "一"})
    with pytest.raises(sa.exc.DBAPIError), db.begin() as tx:
        tx.execute(
            sa.text("update versions set digest = 'x' where version_id = :id"), {"id": first.version_id}
        )


def test_a_float_has_no_place_in_a_version() -> None:
    with pytest.raises(TypeError, match="no float"):
        digest_of({"seconds": [1, {"deep": 0.5}]})


def test_the_digest_covers_content_file_and_origins() -> None:
    def digest(**changes: object) -> str:
        fields: dict[str, object] = {
            "kind": "AssetVersion",
            "subject": "prop:o1",
            "role": "reference",
            "content": {"a": 1},
            "sha256": "f" * 64,
            "uses": [("ver_1", "setting"), ("ver_2", "script")],
        }
        return version_digest(**(fields | changes))  # type: ignore[arg-type]

    others = [
        digest(kind="AudioVersion"),
        digest(subject="prop:o2"),
        digest(role="frame"),
        digest(content={"a": 2}),
        digest(sha256=None),
        digest(uses=[("ver_1", "setting")]),
    ]
    assert digest() == digest(uses=[("ver_2", "script"), ("ver_1", "setting")])
    assert len({digest(), *others}) == 7


def test_a_choice_is_replaced_only_where_it_is_still_the_one_seen(db: Database) -> None:
    episode_id = new_episode(db)
    first, second, third = (write(db, episode_id, {"n": n}) for n in range(3))
    with db.begin() as tx:
        assert selections.select_where_none(tx, [first]) == {first.version_id}
        assert selections.select_where_none(tx, [second]) == set()
        assert not selections.replace_selection(tx, third, seen=second.version_id, actor=PERSON)
        assert selections.replace_selection(tx, third, seen=first.version_id, actor=PERSON)
        assert selections.load_selected(tx, episode_id, "script") == third
        selections.drop_selections(tx, episode_id, [("script", "content")])
        with pytest.raises(NotReady, match="no chosen script"):
            selections.load_selected(tx, episode_id, "script")


def test_an_unknown_version_is_an_unknown_id(db: Database) -> None:
    with db.read() as tx, pytest.raises(UnknownId):
        versions.load_version(tx, "ver_none")
