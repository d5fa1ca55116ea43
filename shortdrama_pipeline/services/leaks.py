"""V-14: no key and no whole media where neither belongs. Keys are read here, compared, and never shown."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.errors import CredentialMissing
from shortdrama_pipeline.providers.credentials import read_credential
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import verification
from shortdrama_pipeline.store.verification import BLOB, Problem

SECRET_CHARS_MIN = 8  # anything shorter stands in every text
FOLDERS = ("logs", "receipts", "cache")
READ_BYTES = 1 << 20
HINT = "Change this key at the vendor, remove it from where it stands, and find out what wrote it there"
_BLOB = re.compile(BLOB.encode())


def find_leaks(studio: Studio, tx: sa.Connection) -> Iterator[Problem]:
    """Keys of configured channels in the database and in logs and receipts, and media in the latter."""
    secrets = _secrets(studio)
    if secrets:
        for place, text in verification.each_text(tx):
            for binding_id in _found(text.encode(), secrets):
                yield Problem("V-14", place, f"it holds the key of {binding_id}", HINT)
    for file in _files(studio.settings.home):
        yield from _in_file(file, secrets, str(file.relative_to(studio.settings.home)))


def _secrets(studio: Studio) -> dict[str, tuple[bytes, ...]]:
    """Each channel's key as it could be written down: plain, and as JSON spells it."""
    found = {}
    for binding in studio.bindings.values():
        try:
            secret = read_credential(binding.credential).secret
        except CredentialMissing:
            continue  # what is not there cannot have leaked through us
        if len(secret) >= SECRET_CHARS_MIN:
            found[binding.id] = tuple({secret.encode(), json.dumps(secret)[1:-1].encode()})
    return found


def _found(data: bytes, secrets: Mapping[str, tuple[bytes, ...]]) -> Iterable[str]:
    return [binding_id for binding_id, spelled in secrets.items() if any(each in data for each in spelled)]


def _files(home: Path) -> Iterator[Path]:
    for name in FOLDERS:
        folder = home / name
        if folder.is_dir():
            yield from (each for each in sorted(folder.rglob("*")) if each.is_file())


def _in_file(file: Path, secrets: Mapping[str, tuple[bytes, ...]], place: str) -> Iterator[Problem]:
    tail = b""
    told: set[str] = set()
    with file.open("rb") as source:
        while chunk := source.read(READ_BYTES):
            data = tail + chunk
            for binding_id in _found(data, secrets):
                if binding_id not in told:
                    told.add(binding_id)
                    yield Problem("V-14", place, f"it holds the key of {binding_id}", HINT)
            if "" not in told and _BLOB.search(data):
                told.add("")
                yield Problem("V-14", place, "it holds what looks like encoded media", HINT)
            tail = data[-4096:]
