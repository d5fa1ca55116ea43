"""`shortdrama rehearsal`, as its own process."""

import json
import subprocess
import sys
from pathlib import Path

from shortdrama_pipeline.rehearsal import serving
from tests.rehearsal_.conftest import Desk


def run(*words: str) -> subprocess.CompletedProcess[str]:
    code = "from shortdrama_pipeline.cli.app import main; main()"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


def test_the_book_is_readable_while_the_server_runs(desk: Desk, tmp_path: Path) -> None:
    desk.post("text", "for-the-book")
    home = Path(str(desk.running.process.args[3]))  # type: ignore[index]
    (tmp_path / "rehearsal").symlink_to(home)
    shown = run("rehearsal", "book", "--json", "--home", str(tmp_path))
    assert shown.returncode == 0
    (entry,) = [each for each in json.loads(shown.stdout)["entries"] if each["client_id"] == "for-the-book"]
    assert {"request_id", "kind", "received_at", "accepted", "charged", "delivered"} <= set(entry)
    assert entry["charged"] == {"micros": 200_000, "currency": "XRH"}


def test_a_home_without_a_book_has_an_empty_one(tmp_path: Path) -> None:
    shown = run("rehearsal", "book", "--json", "--home", str(tmp_path))
    assert json.loads(shown.stdout) == {"entries": []}


def test_serving_tells_where_and_a_second_server_is_a_conflict(tmp_path: Path) -> None:
    code = "from shortdrama_pipeline.cli.app import main; main()"
    words = [sys.executable, "-c", code, "rehearsal", "serve", "--json", "--home", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = "".join(next(process.stdout) for _ in range(4))
        assert json.loads(told)["base_url"].startswith("http://127.0.0.1:")
        second = run("rehearsal", "serve", "--json", "--home", str(tmp_path))
        assert second.returncode == 5
        assert json.loads(second.stdout)["error"]["code"] == "conflict"
        process.terminate()
    assert serving.find(tmp_path / "rehearsal") is None
    assert (tmp_path / "rehearsal" / "key").stat().st_mode & 0o077 == 0
