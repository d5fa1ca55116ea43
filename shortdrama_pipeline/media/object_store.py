"""Content-addressed bytes: written whole under their sha256 or not at all."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from shortdrama_pipeline.ids import new_id


class ObjectStore(Protocol):
    """A folder today; S3 behind the same five calls (a later adapter, `obstore`)."""

    def put(self, chunks: Iterable[bytes], *, bytes_max: int) -> tuple[str, int]:
        """Stream to staging, hash, fsync, rename into place. Returns (sha256, bytes); idempotent."""
        ...

    def open(self, sha256: str) -> BinaryIO: ...

    def read(self, sha256: str) -> bytes: ...

    def path(self, sha256: str) -> Path:
        """A local file with these bytes, for programs that need one."""
        ...

    def has(self, sha256: str) -> bool: ...
