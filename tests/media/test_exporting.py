"""A passed timeline becomes one film, whoever asks and however often; failures leave nothing behind."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import GateClosed, NotReady, Outside, StaleState, ToolFailed
from shortdrama_pipeline.media import pack, render
from shortdrama_pipeline.media.probe import probe
from shortdrama_pipeline.rules.renders import TIERS, Tier
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import exporting
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.exporting import build_export, show_export, verify_export
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.services.packing import store_deliverables
from shortdrama_pipeline.store import renders
from shortdrama_pipeline.store.edges import find_uses
from shortdrama_pipeline.store.selections import find_selected
from shortdrama_pipeline.store.tables import provider_attempts, render_jobs, render_plans, versions
from tests.media.making import filmed_episode
from tests.stages_.flow import PERSON, count, episode_with_script


@pytest.fixture(autouse=True)
def _small_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts of a tenth of the size, so that rendering takes little of a test's time."""
    monkeypatch.setitem(TIERS, "draft", Tier(10, "ultrafast", "bframes=0", 28, clean=False))


@pytest.fixture
def episode_id(studio: Studio, tmp_path: Path) -> str:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return filmed_episode(studio, scratch)


def jobs(studio: Studio) -> list[tuple[str, int]]:
    with studio.db.read() as tx:
        found = tx.execute(sa.select(render_jobs.c.state, render_jobs.c.lease_token))
        return [(row.state, row.lease_token) for row in found]


def exports(studio: Studio) -> int:
    with studio.db.read() as tx:
        kind = versions.c.kind == "ExportVersion"
        return int(tx.execute(sa.select(sa.func.count()).select_from(versions).where(kind)).scalar_one())


def test_a_passed_timeline_becomes_a_film_with_its_pack(studio: Studio, episode_id: str) -> None:
    made = build_export(studio, episode_id, tier="draft", actor=PERSON)
    document = made.to_json()
    assert (document["width"], document["height"], document["fps"]) == (108, 192, 24)
    roles = {each["role"] for each in document["files"]}  # type: ignore[attr-defined]
    assert roles == {
        "film", "subtitles", "cover", "dialogue", "shot_list", "script", "clip", "speech", "thumbnail",
        "page",
    }  # fmt: skip
    film = probe(made.folder / "film.mp4")
    assert film["duration_ms"] == document["duration_ms"]
    assert abs(document["loudness_lufs"] + 16) <= 1  # type: ignore[operator]
    assert "我{一直}都在。" in (made.folder / "subtitles.srt").read_text()
    assert "你终于来了！" in (made.folder / "index.html").read_text()
    assert verify_export(studio, episode_id) == {
        "ok": True, "checked": len(document["files"]), "problems": [],  # type: ignore[arg-type]
    }  # fmt: skip
    with studio.db.read() as tx:
        version = find_selected(tx, episode_id, "export")
        assert version is not None
        assert [(each.purpose) for each in find_uses(tx, version.version_id)] == ["timeline"]

    again = build_export(studio, episode_id, tier="draft", actor=PERSON)
    assert (again.version.version_id, again.created) == (made.version.version_id, False)
    standing = build_export(studio, episode_id, actor=PERSON)  # as an orchestrator asks: what stands, stays
    assert standing.version.version_id == made.version.version_id
    assert jobs(studio) == [("succeeded", 1)]
    assert count(studio.db, provider_attempts) == 0

    pass_gate(studio, episode_id, Stage.EXPORT, actor=PERSON)
    shutil.rmtree(made.folder)
    assert show_export(studio, episode_id).folder.is_dir()  # laid again without rendering
    assert verify_export(studio, episode_id)["ok"]
    (made.folder / "subtitles.srt").write_text("changed")
    (made.folder / "extra.txt").write_text("x")
    assert verify_export(studio, episode_id)["problems"] == [
        "subtitles.srt: its bytes have changed", "extra.txt: not listed",
    ]  # fmt: skip


def test_64_parallel_identical_exports_are_one_job(studio: Studio, episode_id: str) -> None:
    with ThreadPoolExecutor(64) as pool:
        asked = [
            pool.submit(build_export, studio, episode_id, tier="draft", ratio="1:1", actor=PERSON)
            for _ in range(64)
        ]
        made = [each.result(timeout=120) for each in asked]
    assert len({each.version.version_id for each in made}) == 1
    assert sum(each.created for each in made) == 1
    assert jobs(studio) == [("succeeded", 1)]


def test_another_ratio_is_another_job_and_a_killed_one_is_taken_over(
    studio: Studio, episode_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> render.Film:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(render, "render", die)
        with pytest.raises(KeyboardInterrupt):
            build_export(studio, episode_id, tier="draft", actor=PERSON)
    assert jobs(studio) == [("running", 1)]
    with studio.db.begin() as tx:
        tx.execute(sa.text("update render_jobs set expires_at = clock_timestamp() - interval '1 second'"))
    made = build_export(studio, episode_id, tier="draft", actor=PERSON)
    other = build_export(studio, episode_id, tier="draft", ratio="16:9", actor=PERSON)
    assert made.version.version_id != other.version.version_id
    assert sorted(jobs(studio)) == [("succeeded", 1), ("succeeded", 2)]
    assert count(studio.db, render_plans) == 2


@pytest.mark.parametrize(
    "fault", [ToolFailed("broken", hint="again"), OSError(28, "No space left on device")]
)
def test_a_failed_render_leaves_nothing_visible_and_may_be_repeated(
    studio: Studio, episode_id: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(*_: object, **__: object) -> render.Film:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(exporting, "store_deliverables", fail)
        with pytest.raises(Outside) as refused:
            build_export(studio, episode_id, tier="draft", actor=PERSON)
    assert refused.value.exit_code == 7
    assert refused.value.hint
    assert exports(studio) == 0
    assert jobs(studio) == [("failed", 1)]
    assert not (studio.settings.home / "episodes").exists()
    assert not list((studio.settings.home / "renders").iterdir())
    assert build_export(studio, episode_id, tier="draft", actor=PERSON).created
    assert count(studio.db, provider_attempts) == 0


def test_an_old_pack_stays_until_the_new_one_is_whole(
    studio: Studio, episode_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build_export(studio, episode_id, tier="draft", actor=PERSON)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pack, "_copy", full)
        with pytest.raises(Outside):
            build_export(studio, episode_id, tier="draft", ratio="3:4", actor=PERSON)
    lying = json.loads((first.folder / "manifest.json").read_text())
    assert lying["export_version"] == first.version.version_id
    assert [each.name for each in first.folder.parent.iterdir() if each.is_dir()] == ["export"]


def test_a_render_stops_when_its_lease_is_lost(
    studio: Studio, episode_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "HEARTBEAT_S", 0.01)
    stored, steps = list[object](), list[int]()
    store = store_deliverables

    def noted(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - handed on
        stored.append(given)
        return store(*given, **named)

    monkeypatch.setattr(exporting, "store_deliverables", noted)

    def take_over_once(_: str, done: int, of: int) -> None:
        steps.append(done)
        if of and done and jobs(studio)[0][1] == 1:
            with studio.db.begin() as tx:
                tx.execute(
                    sa.text(
                        "update render_jobs set lease_token = lease_token + 1, owner = 'another',"
                        " expires_at = clock_timestamp() + interval '1 second'"
                    )
                )
            threading.Event().wait(0.5)

    made = build_export(studio, episode_id, tier="draft", actor=PERSON, progress=take_over_once)
    assert made.created
    assert jobs(studio) == [("succeeded", 3)]
    assert steps.count(1) == 2, "begun again after the other one fell silent"
    assert len(stored) == 1


def test_a_busy_database_does_not_end_the_heartbeat(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "HEARTBEAT_S", 0.01)
    answers: list[Exception | bool] = [StaleState("busy"), Outside("away"), True, False]
    asked = list[str]()

    def answer(_: sa.Connection, job: str, *__: object, **___: object) -> bool:
        asked.append(job)
        said = answers[len(asked) - 1]
        if isinstance(said, Exception):
            raise said
        return said

    monkeypatch.setattr(renders, "renew_job", answer)
    with exporting._heartbeat(studio, "render_1", 1) as lost:
        assert lost.wait(10)
    assert len(asked) == 4


def test_a_waiting_caller_gets_what_the_other_one_made(studio: Studio, episode_id: str) -> None:
    told = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(
            build_export, studio, episode_id, tier="draft", actor=PERSON, progress=lambda *_: told.set()
        )
        assert told.wait(60)
        second = build_export(studio, episode_id, tier="draft", actor=PERSON)
        assert first.result().version.version_id == second.version.version_id
    assert not second.created


def test_nothing_is_rendered_before_the_timeline_gate(studio: Studio) -> None:
    episode = episode_with_script(studio)
    with pytest.raises(GateClosed):
        build_export(studio, episode, actor=PERSON)
    assert count(studio.db, render_plans) == 0


def test_illegal_wishes_and_missing_files_are_refused_before_a_plan(studio: Studio, episode_id: str) -> None:
    with pytest.raises(NotReady):
        build_export(studio, episode_id, ratio="7:3", actor=PERSON)
    with pytest.raises(NotReady):
        build_export(studio, episode_id, tier="gigantic", actor=PERSON)
    with pytest.raises(NotReady):
        build_export(studio, episode_id, tier="draft", frame_rate=(23, 1), actor=PERSON)
    with pytest.raises(NotReady):
        show_export(studio, episode_id)
    shutil.rmtree(studio.settings.home / "media")
    with pytest.raises(NotReady):
        build_export(studio, episode_id, tier="draft", actor=PERSON)
    assert count(studio.db, render_plans) == 0
