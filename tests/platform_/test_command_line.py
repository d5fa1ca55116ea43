"""How every command speaks: options anywhere, one JSON document, three lines, exit codes, no secrets."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from shortdrama_pipeline import errors
from shortdrama_pipeline.cli import app, output, session
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import TaskState

EXIT_CODES = {
    errors.SettingsError: 2,
    errors.UnreadableScript: 2,
    errors.UnknownId: 3,
    errors.GateClosed: 4,
    errors.StaleState: 5,
    errors.NeedsPerson: 6,
    errors.ToolFailed: 7,
}


@pytest.fixture(autouse=True)
def _fresh_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "options", output.Options())


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "--home", "h", "--actor=person:a", "task", "list"],
        ["task", "--home=h", "list", "--actor", "person:a", "--json"],
        ["task", "list", "--json", "--actor", "person:a", "--home", "h"],
    ],
)
def test_global_options_stand_anywhere(words: list[str]) -> None:
    assert output.take_global_options(words) == ["task", "list"]
    assert output.options == output.Options(json=True, home=Path("h"), config=None, actor="person:a")


def test_what_stands_behind_two_dashes_is_left_alone() -> None:
    assert output.take_global_options(["a", "--", "--json", "--home"]) == ["a", "--", "--json", "--home"]


def test_an_option_without_its_value_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["task", "list", "--home"]) == 2
    assert "--home needs a value" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES.items())
def test_every_error_leaves_with_its_code_in_three_lines(
    kind: type[errors.ShortdramaError], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output.fail(kind("It happened", hint="Do this", episode_id="2026-W01-0", count=2)) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "Error: It happened",
        f"  why: {kind.code.replace('_', ' ')}: episode_id 2026-W01-0, count 2",
        "  do: Do this",
    ]


def test_with_json_an_error_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    output.options.json = True
    code = output.fail(
        errors.QuoteNotConfirmable("Expired", hint="Confirm the new one", new_quote_id="quote_x")
    )
    told = capsys.readouterr()
    assert code == 4
    assert told.err == ""
    assert json.loads(told.out) == {
        "error": {
            "code": "quote_not_confirmable",
            "message": "Expired",
            "hint": "Confirm the new one",
            "facts": {"new_quote_id": "quote_x"},
        }
    }


@pytest.mark.parametrize(
    "words", [["nosuch"], ["db", "nosuch"], ["db"], ["db", "backup"], ["db", "url", "--x"]]
)
def test_wrong_usage_ends_with_2_and_with_json_says_so_in_json(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(words) == 2
    capsys.readouterr()
    assert app.run([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_a_mistyped_noun_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["walet"]) == 2
    assert "Did you mean `wallet`?" in capsys.readouterr().err


def test_a_fault_of_ours_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.fail(ZeroDivisionError("oh")) == 1
    assert "fault of the program" in capsys.readouterr().err


def test_a_full_or_forbidden_disk_is_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.fail(OSError(28, "No space left on device", "/home/media/x")) == 7
    assert "No space left on device (/home/media/x)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "postgresql+psycopg://u:hunter2@host/db failed",
        "Authorization: Bearer hunter2hunter2",
        '{"api_key": "hunter2"}',
        "GET /x?token=hunter2&a=1",
        "X-Amz-Signature=hunter2",
        "key sk-hunter2hunter2",
    ],
)
def test_no_secret_leaves(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    for as_json in (True, False):
        output.options.json = as_json
        output.fail(errors.Outside(text, hint=text, said=text))
    output.fail(ValueError(text))
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err


def test_a_document_has_money_times_and_words_as_the_interface_says() -> None:
    at = datetime(2026, 1, 5, 9, 30, tzinfo=timezone(timedelta(hours=8)))
    assert output.plain(
        {"price": Money(4_970_000, "CNY"), "at": at, "state": TaskState.QUEUED, "n": (1, None)}
    ) == {
        "price": {"micros": 4_970_000, "currency": "CNY"},
        "at": "2026-01-05T01:30:00.000Z",
        "state": "queued",
        "n": [1, None],
    }


def test_without_json_a_document_is_laid_out_and_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 300
    output.show(
        {"quote_id": long, "total": Money(1_500_000, "CNY"), "items": [{"item_id": "[a]", "price": 5}]}
    )
    told = capsys.readouterr().out
    assert long in told
    assert "1.50 CNY" in told
    assert "[a]" in told


def test_progress_off_a_terminal_is_a_few_plain_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress() as report:
        for done in range(101):
            report("shots", done, 100)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == ["shots: 0 of 100", "shots: 100 of 100"]


def test_who_acts_is_the_login_name_or_who_is_named() -> None:
    assert session.actor().startswith("person:")
    output.options.actor = "agent:writer"
    assert session.actor() == "agent:writer"
    output.options.actor = "robot"
    with pytest.raises(errors.UsageError, match="names no actor"):
        session.actor()


def test_ctrl_c_stops_waiting_and_says_that_the_work_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "_call", interrupted)
    assert app.run(["work"]) == 130
    assert "goes on" in capsys.readouterr().err


def test_times_are_utc_in_json() -> None:
    assert output.plain(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000Z"


def test_help_comes_within_a_second_and_without_dagster() -> None:
    code = (
        "import sys; from shortdrama_pipeline.cli import app; app.run(['--help']); print(sorted(sys.modules))"
    )
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert time.monotonic() - began < 1.0
    assert "'dagster'" not in ended.stdout
    assert "shortdrama NOUN VERB" in ended.stdout
