"""Bytes appear under their hash whole, or not at all."""

import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shortdrama_pipeline.errors import MediaInvalid, Outside, UnknownId
from shortdrama_pipeline.media.object_store import LocalObjectStore, ObjectStore


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "media")


def files(store: LocalObjectStore) -> list[str]:
    return sorted(str(each.relative_to(store.root)) for each in store.root.rglob("*") if each.is_file())


def test_what_is_put_can_be_read_and_is_the_same_again(store: LocalObjectStore) -> None:
    _: ObjectStore = store
    sha256, size = store.put([b"ab", b"c"], bytes_max=3)
    assert (sha256, size) == (hashlib.sha256(b"abc").hexdigest(), 3)
    assert store.put([b"abc"], bytes_max=3) == (sha256, 3)
    assert store.read(sha256) == b"abc"
    with store.open(sha256) as opened:
        assert opened.read() == b"abc"
    assert store.has(sha256)
    assert files(store) == [f"{sha256[:2]}/{sha256}"]


@pytest.mark.parametrize("chunks", [[b"abcd"], [b"ab", b"cd"], []])
def test_too_many_bytes_or_none_leave_nothing(store: LocalObjectStore, chunks: list[bytes]) -> None:
    with pytest.raises(MediaInvalid):
        store.put(chunks, bytes_max=3)
    assert files(store) == []


def test_the_cap_holds_while_streaming(store: LocalObjectStore) -> None:
    asked = 0

    def endless() -> Iterator[bytes]:
        nonlocal asked
        while True:
            asked += 1
            yield bytes(1000)

    with pytest.raises(MediaInvalid):
        store.put(endless(), bytes_max=5000)
    assert asked == 6


def test_a_source_that_breaks_off_leaves_nothing_and_keeps_its_own_error(store: LocalObjectStore) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ConnectionResetError(errno.ECONNRESET, "gone")

    with pytest.raises(ConnectionResetError):
        store.put(broken(), bytes_max=100)
    assert files(store) == []


def test_a_full_disk_is_outside_and_leaves_nothing(store: LocalObjectStore) -> None:
    def full() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Outside) as refused:
        store.put(full(), bytes_max=100)
    assert "Free some space" in refused.value.hint
    assert files(store) == []


def test_a_file_is_linked_in_and_its_own_name_stays(store: LocalObjectStore, tmp_path: Path) -> None:
    source = tmp_path / "film.mp4"
    source.write_bytes(b"film")
    sha256, size = store.put_file(source, bytes_max=10)
    assert (store.read(sha256), size) == (b"film", 4)
    assert source.read_bytes() == b"film"
    assert store.path(sha256).stat().st_ino == source.stat().st_ino
    assert store.put_file(source, bytes_max=10) == (sha256, 4)
    with pytest.raises(MediaInvalid):
        store.put_file(source, bytes_max=3)


def test_a_file_of_another_disk_is_copied(
    store: LocalObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    source = tmp_path / "film.mp4"
    source.write_bytes(b"film")
    sha256, _ = store.put_file(source, bytes_max=10)
    assert store.read(sha256) == b"film"


def test_many_writers_of_the_same_bytes_meet_in_one_file(store: LocalObjectStore) -> None:
    start = threading.Barrier(16)

    def put(_: int) -> str:
        start.wait()
        return store.put([b"same" * 1000], bytes_max=10_000)[0]

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(put, range(16)))) == 1
    assert len(files(store)) == 1


def test_orphans_of_killed_writers_go_when_they_are_old(store: LocalObjectStore) -> None:
    sha256, _ = store.put([b"kept"], bytes_max=10)
    orphan = store.root / "staging" / "part_left"
    orphan.write_bytes(b"half")
    assert store.remove_orphans(older_than_s=3600) == 0
    os.utime(orphan, (0, 0))
    assert store.remove_orphans(older_than_s=3600) == 1
    assert store.has(sha256)
    assert LocalObjectStore(store.root / "none").remove_orphans(older_than_s=0) == 0


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a" * 63, "G" * 64, "a" * 64])
def test_what_is_no_hash_or_not_there_is_unknown(store: LocalObjectStore, name: str) -> None:
    with pytest.raises(UnknownId):
        store.path(name)


@pytest.mark.parametrize("damaged", [b"fake", b"fil", b"film and more", b""])
@pytest.mark.parametrize("as_file", [False, True])
def test_a_damaged_file_is_replaced_when_its_bytes_are_put_again(
    store: LocalObjectStore, tmp_path: Path, damaged: bytes, *, as_file: bool
) -> None:
    sha256, _ = store.put([b"film"], bytes_max=10)
    store.path(sha256).chmod(0o644)
    store.path(sha256).write_bytes(damaged)
    if as_file:
        (tmp_path / "film").write_bytes(b"film")
        store.put_file(tmp_path / "film", bytes_max=10)
    else:
        store.put([b"fi", b"lm"], bytes_max=10)
    assert store.read(sha256) == b"film"
