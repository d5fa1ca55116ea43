"""The commands of the flow, word for word as scripts rely on them: JSON keys and exit codes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortdrama_pipeline.cli import app
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store.alerts import Alert, record_alerts
from tests.stages_.flow import PERSON, bring_script, small_script

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def run(
    studio: Studio, db_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run one command on the test's database; return its exit code and its one JSON document."""
    monkeypatch.setenv("SHORTDRAMA_DATABASE__URL", db_url)

    def call(*words: str, actor: str = PERSON) -> tuple[int, Any]:
        code = app.run([*words, "--json", "--home", str(studio.settings.home), "--actor", actor])
        return code, json.loads(capsys.readouterr().out)

    return call


def test_from_a_series_to_the_quote_of_its_first_stage(run: Run) -> None:
    code, series = run("series", "create", "--title", "信", "--premise", "一封迟到的信", "--length", "60")
    assert code == 0
    key = (
        "episode",
        "allocate",
        "--key",
        "k1",
        "--series",
        series["series_id"],
        "--at",
        "2026-08-07T09:00:00+08:00",
    )
    code, made = run(*key)
    assert (code, made) == (
        0,
        {
            "episode_id": "2026-W32-0",
            "week_id": "2026-W32",
            "sequence": 0,
            "allocation_key": "k1",
            "created": True,
        },
    )
    assert run(*key)[1] == made | {"created": False}
    code, planned = run("stage", "plan", "2026-W32-0", "outline", actor="agent:writer")
    assert code == 0
    assert set(planned) == {"plan_id", "input_hash", "quote_id", "total", "expires_at", "items"}
    assert set(planned["total"]) == {"micros", "currency"}
    assert [set(item) for item in planned["items"]] == [{"item_id", "subject", "price", "binding"}]
    _, shown = run("series", "show", series["series_id"])
    assert shown["brief"] == {"premise": "一封迟到的信", "language": "zh-CN", "length_s": 60}
    assert [each["episode_id"] for each in run("episode", "list")[1]["episodes"]] == ["2026-W32-0"]
    assert [each["title"] for each in run("series", "list")[1]["series"]] == ["信"]


def test_gates_refuse_with_exit_4_and_a_run_stops_with_exit_0(run: Run, studio: Studio) -> None:
    run("episode", "allocate", "--key", "k1", "--at", "2026-08-07T09:00:00+08:00")
    episode = "2026-W32-0"
    bring_script(studio.db, episode, small_script())
    code, told = run("stage", "plan", episode, "assets")
    assert (code, told["error"]["code"]) == (4, "gate_closed")
    assert set(told["error"]) == {"code", "message", "hint", "facts"}
    code, told = run("version", "confirm", episode, "--stage", "outline")
    assert (code, told["error"]["facts"]["rights"]) == (4, False)
    assert run("version", "confirm", episode, "--stage", "outline", "--rights", actor="agent:x")[0] == 4
    code, gate = run("version", "confirm", episode, "--stage", "outline", "--rights")
    assert (code, gate["passed"], gate["passed_by"]) == (0, True, PERSON)
    code, stopped = run("episode", "run", episode)
    assert code == 0
    assert stopped["episode_id"] == episode
    assert (stopped["stopped_at"]["stage"], stopped["stopped_at"]["why"]) == ("script", "gate")
    code, gate = run(*stopped["stopped_at"]["next"].split()[1:])
    assert (code, gate["stage"], gate["passed"]) == (0, "script", True)
    assert run("episode", "run", "2026-W32-9")[0] == 3
    assert run("episode", "run", episode, "--until", "scrip")[1]["error"]["hint"] == "Did you mean `script`?"


def test_a_run_that_needs_a_person_ends_with_exit_6(run: Run, studio: Studio) -> None:
    run("episode", "allocate", "--key", "k1", "--at", "2026-08-07T09:00:00+08:00")
    episode = "2026-W32-0"
    bring_script(studio.db, episode, small_script())
    for stage in ("outline", "script"):
        assert run("version", "confirm", episode, "--stage", stage, "--rights")[0] == 0
    assert run("wallet", "top-up", "1000", "--key", "k1")[0] == 0
    _, planned = run("stage", "plan", episode, "assets")
    assert run("quote", "confirm", planned["quote_id"], "--idempotency-key", "k1")[0] == 0
    code, stopped = run("episode", "run", episode)  # the channel has no key, so nothing can be sent
    assert (code, stopped["stopped_at"]["why"]) == (6, "attention")


def test_every_time_is_told_in_utc_with_z(run: Run, studio: Studio) -> None:
    run("episode", "allocate", "--key", "k1", "--at", "2026-08-07T09:00:00+08:00")
    with studio.db.begin() as tx:
        record_alerts(tx, [Alert("disk", "disk-1", "full")])
    for words in (("work", "status"), ("audit", "log"), ("series", "list"), ("episode", "list")):
        code, told = run(*words)
        assert code == 0
        assert not re.findall(r"\d\d:\d\d[^\"]*\+\d\d:\d\d", json.dumps(told)), words
    (alert,) = run("work", "status")[1]["alerts"]
    assert alert["created_at"].endswith("Z")


def test_an_episode_and_its_versions_are_shown_under_fixed_names(
    run: Run, studio: Studio, tmp_path: Path
) -> None:
    run("episode", "allocate", "--key", "k1", "--at", "2026-08-07T09:00:00+08:00")
    episode = "2026-W32-0"
    bring_script(studio.db, episode, small_script())
    _, shown = run("episode", "show", episode)
    assert set(shown) >= {
        "episode_id",
        "stage_run",
        "content_confirmation",
        "generation_readiness",
        "task",
        "remote_submission",
        "money",
        "asset",
        "stages",
    }
    assert [set(each) >= {"stage", "state", "waits_for", "spent"} for each in shown["stages"]] == [True] * 9
    _, listed = run("version", "list", episode)
    assert [row["subject"] for row in listed["versions"]] == ["outline", "script"]
    script = listed["versions"][1]["version_id"]
    _, whole = run("version", "show", script)
    changed = tmp_path / "script.json"
    changed.write_text(json.dumps(whole["content"] | {"title": "新"}), encoding="utf-8")
    code, edited = run("version", "edit", script, "--content", str(changed))
    assert code == 0
    _, difference = run("version", "diff", script, edited["version_id"])
    assert difference["changes"] == [{"path": "/title", "from": "天台上的信", "to": "新"}]
    assert run("version", "select", script)[1]["selected"] is True
    assert run("version", "reject", script, "--note", "太慢")[1]["state"] == "rejected"
    assert run("version", "select", script)[0] == 4
    assert run("version", "stale", episode)[1]["stale"] == []
    assert run("version", "merge", episode, "--keep", "c1", "--drop", "c2")[0] == 4
    assert run("version", "select", edited["version_id"])[0] == 0
    assert run("version", "merge", episode, "--keep", "c1", "--drop", "c2")[0] == 0
    assert run("stage", "show", episode, "assets")[1]["state"] == "blocked"


def test_people_read_tables_in_their_language(
    run: Run, studio: Studio, capsys: pytest.CaptureFixture[str]
) -> None:
    run("episode", "allocate", "--key", "k1", "--at", "2026-08-07T09:00:00+08:00")
    bring_script(studio.db, "2026-W32-0", small_script())
    home = str(studio.settings.home)
    for words in (("episode", "show"), ("version", "list"), ("version", "stale")):
        assert app.run([*words, "2026-W32-0", "--home", home]) == 0
    text = capsys.readouterr().out
    assert "大纲" in text
    assert "待确认" in text
