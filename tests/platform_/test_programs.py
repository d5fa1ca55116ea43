"""PostgreSQL's programs reach an unprivileged account even when they are installed where it cannot go."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.store import programs


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    room = Path(tempfile.mkdtemp(prefix="shortdrama-room-"))
    room.chmod(0o711)
    monkeypatch.setattr(programs, "ROOT_ROOMS", (room,))
    yield room
    shutil.rmtree(room)


def test_programs_out_of_reach_are_copied_once_for_all_to_read(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_passable", lambda _: False)
    folder = programs._folder(60706)
    assert room in folder.parents
    assert programs._folder(60706) == folder
    assert all(
        each.stat().st_mode & 0o005 == 0o005 for each in (folder, *folder.parents) if room in each.parents
    )
    for name in ("initdb", "postgres", "pg_ctl"):
        ended = subprocess.run(
            [folder / name, "--version"], capture_output=True, text=True, check=True, env={}
        )
        assert "(PostgreSQL)" in ended.stdout


def test_a_private_user_id_has_no_name_and_no_other_server(room: Path) -> None:
    import pwd

    names = {each.pw_uid for each in pwd.getpwall()}
    ids = {programs.private_uid() for _ in range(20)}
    assert ids <= set(programs.PRIVATE_UIDS)
    assert not ids & names


def test_no_room_for_the_data_is_told_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(programs, "ROOT_ROOMS", (tmp_path / "file" / "x",))
    with pytest.raises(Outside, match="Not a directory") as caught:
        programs.new_place()
    assert "[database] url" in caught.value.hint


def test_a_program_that_cannot_run_is_told_by_name() -> None:
    with pytest.raises(Outside, match="pg_nothing"):
        programs.run("pg_nothing")


def test_a_program_that_takes_too_long_is_not_called_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = f"--port={silent.getsockname()[1]}"
        with pytest.raises(Outside, match="took longer") as caught:
            programs.run("pg_isready", "--host=127.0.0.1", port, "--timeout=20", seconds_max=1)
    assert "Install" not in caught.value.hint
