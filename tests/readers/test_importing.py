"""A person's own script becomes two drafts, for nothing (D-25)."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import UnknownId, UnreadableScript, UsageError
from shortdrama_pipeline.rules.script import from_json
from shortdrama_pipeline.services.allocating import allocate
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.importing import import_script
from shortdrama_pipeline.store.edges import find_uses
from shortdrama_pipeline.store.selections import load_selected
from shortdrama_pipeline.store.tables import plans, tasks, versions
from shortdrama_pipeline.store.versions import load_version

EXAMPLE = Path(__file__).parents[2] / "examples" / "late_ring.zh.fountain"
PERSON = "person:lin"


@pytest.fixture
def episode_id(studio: Studio) -> str:
    return allocate(studio, key="import", at=datetime(2026, 8, 7, tzinfo=UTC), actor=PERSON).episode_id


def count(studio: Studio, table: sa.Table) -> int:
    with studio.db.read() as tx:
        return tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def test_an_import_makes_two_chosen_drafts_and_buys_nothing(studio: Studio, episode_id: str) -> None:
    done = import_script(studio, episode_id, EXAMPLE, actor=PERSON)
    with studio.db.read() as tx:
        script = load_selected(tx, episode_id, "script")
        outline = load_selected(tx, episode_id, "outline")
        uses = find_uses(tx, script.version_id)
    assert (done["outline_version_id"], done["script_version_id"]) == (outline.version_id, script.version_id)
    assert (outline.kind, script.kind) == ("StoryOutlineVersion", "ScriptVersion")
    assert [(each.used_version_id, each.purpose) for each in uses] == [(outline.version_id, "outline")]
    assert from_json(script.content).title == outline.content["title"] == "迟到的戒指"
    assert done["state"] == "draft"
    assert done["created"] is True
    assert count(studio, tasks) == count(studio, plans) == 0


def test_an_import_says_what_it_read(studio: Studio, episode_id: str) -> None:
    done = import_script(studio, episode_id, EXAMPLE, actor=PERSON)
    assert done["scenes"] == 3
    assert done["characters"] == ["林晚", "周远", "老秦", "顾沉"]
    assert done["speakers_missing"] == 0
    assert done["not_ready"] is None
    assert done["remarks"] == [{"line": 2, "what": "title page: Author: 短剧流水线示例"}]


def test_the_same_file_again_is_the_same_versions(studio: Studio, episode_id: str) -> None:
    first = import_script(studio, episode_id, EXAMPLE, actor=PERSON)
    before = count(studio, versions)
    again = import_script(studio, episode_id, EXAMPLE, actor="agent:writer")
    assert again == {**first, "created": False}
    assert count(studio, versions) == before


def test_going_back_to_an_earlier_file_is_its_earlier_version(
    studio: Studio, episode_id: str, tmp_path: Path
) -> None:
    first = import_script(studio, episode_id, EXAMPLE, actor=PERSON)
    changed = tmp_path / "changed.fountain"
    changed.write_text(EXAMPLE.read_text("utf-8").replace("你迟到了", "你来晚了"), "utf-8")
    second = import_script(studio, episode_id, changed, actor=PERSON)
    back = import_script(studio, episode_id, EXAMPLE, actor=PERSON)
    assert second["script_version_id"] != first["script_version_id"] == back["script_version_id"]
    with studio.db.read() as tx:
        assert load_selected(tx, episode_id, "script").version_id == first["script_version_id"]


def test_an_unknown_episode_is_refused_before_the_file_is_opened(studio: Studio) -> None:
    with pytest.raises(UnknownId):
        import_script(studio, "2026-W01-9", Path("/nowhere/at/all.fountain"), actor=PERSON)


def test_an_unreadable_file_writes_nothing(studio: Studio, episode_id: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.fountain"
    broken.write_bytes(b"\x00\x01\x02")
    with pytest.raises(UnreadableScript):
        import_script(studio, episode_id, broken, actor=PERSON)
    assert count(studio, versions) == 0


def test_somebody_must_answer_for_an_import(studio: Studio, episode_id: str) -> None:
    with pytest.raises(UsageError):
        import_script(studio, episode_id, EXAMPLE, actor="nobody")


def test_prose_without_named_speakers_is_imported_and_says_what_is_missing(
    studio: Studio, episode_id: str, tmp_path: Path
) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("天黑了。女曰：「公子何来？」曰：「自太原。」\n", "utf-8")
    done = import_script(studio, episode_id, prose, actor=PERSON)
    assert done["speakers_missing"] == 1
    assert "no speaker" in str(done["not_ready"])
    with studio.db.read() as tx:
        script = load_version(tx, str(done["script_version_id"]))
    assert script.provenance["source"] == "import"
