"""Content-addressed bytes: written whole under their sha256 or not at all."""

import errno
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from shortdrama_pipeline.errors import MediaInvalid, Outside, UnknownId
from shortdrama_pipeline.ids import new_id

READ_BYTES = 1 << 20
SHA256_DIGITS = 64
STAGING = "staging"
# What is registered is not fetched again (its Task has ended), so a backup is the one way back.
RESTORE_MEDIA = "Copy the file back from a backup of the media folder (it lies under its hash)"
RECORDS = "records"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO}


class ObjectStore(Protocol):
    """A folder today; S3 behind the same eight calls (a later adapter, `obstore`)."""

    def put(self, chunks: Iterable[bytes], *, bytes_max: int) -> tuple[str, int]:
        """Stream to staging, hash, fsync, rename into place. Returns (sha256, bytes); idempotent."""
        ...

    def put_file(self, path: Path, *, bytes_max: int) -> tuple[str, int]:
        """Store a finished local file; linked instead of copied where the disk allows it."""
        ...

    def open(self, sha256: str) -> BinaryIO: ...

    def read(self, sha256: str) -> bytes: ...

    def path(self, sha256: str) -> Path:
        """A local file with these bytes, for programs that need one."""
        ...

    def has(self, sha256: str) -> bool: ...

    def read_record(self, name: str) -> bytes | None:
        """A small named record that lies outside the database on purpose (D-6); None when there is none."""
        ...

    def write_record(self, name: str, data: bytes) -> None:
        """Replace a record, whole and durable when this returns."""
        ...


class LocalObjectStore:
    """`root/<first two digits>/<sha256>`; what is under way lies in `root/staging` under a random name.

    A file appears under its name only when all its bytes are on the disk, so a reader sees the whole
    or nothing, and a killed writer leaves only an orphan in staging (`remove_orphans`). A damaged file is
    replaced when its bytes are put again.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, chunks: Iterable[bytes], *, bytes_max: int) -> tuple[str, int]:
        """See `ObjectStore.put`. More than `bytes_max` or zero bytes: MediaInvalid, nothing kept (P-12.7)."""
        with _full_disk_is_outside(self.root), self._staged() as staged:
            digest = hashlib.sha256()
            size = 0
            with staged.open("xb") as out:
                for chunk in chunks:
                    size += len(chunk)
                    _check_size(size, bytes_max)
                    digest.update(chunk)
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            _check_not_empty(size)
            self._publish(staged, digest.hexdigest())
        return digest.hexdigest(), size

    def put_file(self, path: Path, *, bytes_max: int) -> tuple[str, int]:
        """See `ObjectStore.put_file`. The caller must not write to `path` afterwards."""
        size = path.stat().st_size
        _check_size(size, bytes_max)
        _check_not_empty(size)
        with _full_disk_is_outside(self.root), self._staged() as staged:
            try:
                os.link(path, staged)
            except OSError as error:
                if error.errno in _FULL:
                    raise
                return self.put(_chunks_of(path), bytes_max=bytes_max)  # another disk, or no links here
            with staged.open("rb") as source:
                digest = hashlib.file_digest(source, "sha256").hexdigest()
                os.fsync(source.fileno())
            self._publish(staged, digest)
        return digest, size

    def open(self, sha256: str) -> BinaryIO:
        return self.path(sha256).open("rb")

    def read(self, sha256: str) -> bytes:
        return self.path(sha256).read_bytes()

    def path(self, sha256: str) -> Path:
        place = self._place(sha256)
        if not place.is_file():
            raise UnknownId(
                f"No stored file {sha256}",
                hint=RESTORE_MEDIA,
                sha256=sha256,
            )
        return place

    def has(self, sha256: str) -> bool:
        return self._place(sha256).is_file()

    def read_record(self, name: str) -> bytes | None:
        try:
            return (self.root / RECORDS / name).read_bytes()
        except FileNotFoundError:
            return None

    def write_record(self, name: str, data: bytes) -> None:
        with _full_disk_is_outside(self.root), self._staged() as staged:
            with staged.open("xb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            folder = self.root / RECORDS
            folder.mkdir(exist_ok=True)
            staged.replace(folder / name)
            _sync_folder(folder)

    def remove_orphans(self, *, older_than_s: int) -> int:
        """Remove what killed writers left in staging; returns how many files."""
        removed = 0
        staging = self.root / STAGING
        for orphan in staging.iterdir() if staging.is_dir() else ():
            with suppress(FileNotFoundError):  # its writer has just finished
                if time.time() - orphan.stat().st_mtime > older_than_s:
                    orphan.unlink()
                    removed += 1
        return removed

    def _place(self, sha256: str) -> Path:
        if len(sha256) != SHA256_DIGITS or set(sha256) - set("0123456789abcdef"):
            raise UnknownId(f"Not a sha256: {sha256[:80]}", hint="Give 64 hexadecimal digits, in lower case")
        return self.root / sha256[:2] / sha256

    @contextmanager
    def _staged(self) -> Iterator[Path]:
        staging = self.root / STAGING
        staging.mkdir(parents=True, exist_ok=True)
        staged = staging / new_id("part")
        try:
            yield staged
        finally:
            staged.unlink(missing_ok=True)

    def _publish(self, staged: Path, sha256: str) -> None:
        place = self._place(sha256)
        if place.is_file() and _sha256_of(place) == sha256:  # same size is not enough: a disk forgets bits
            return
        fresh_folder = not place.parent.is_dir()
        place.parent.mkdir(exist_ok=True)
        staged.replace(place)
        place.chmod(0o444)
        _sync_folder(place.parent)
        if fresh_folder:
            _sync_folder(self.root)


def _sha256_of(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def sync_file(path: Path) -> None:
    """Force a finished file to the disk."""
    with path.open("rb") as source:
        os.fsync(source.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _chunks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as source:
        while chunk := source.read(READ_BYTES):
            yield chunk


def _check_size(size: int, bytes_max: int) -> None:
    if size > bytes_max:
        raise MediaInvalid(
            f"More than {bytes_max} bytes",
            hint="Ask for a smaller or shorter result, or raise the limit of this kind",
            bytes_max=bytes_max,
        )


def _check_not_empty(size: int) -> None:
    if size == 0:
        raise MediaInvalid("Zero bytes", hint="Transfer the result again", bytes=0)


@contextmanager
def _full_disk_is_outside(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL | _REFUSED:  # such as a broken connection of whoever feeds the chunks
            raise
        raise outside_of_disk(error, root) from error


def outside_of_disk(error: OSError, place: Path) -> Outside:
    """Say what a failed write means to a person."""
    if error.errno in _FULL:
        return Outside(
            f"No space left at {place}",
            hint="Free some space and repeat the command; nothing half-written was kept",
            path=str(place),
        )
    return Outside(
        f"Cannot write at {place}: {error.strerror or error}",
        hint="Check the folder's permissions and its disk, then repeat the command",
        path=str(place),
    )
