"""Emergency receipts: what a vendor answered when the database could not take it (F03, P-6.15).

One file per Attempt in `home/receipts`, mode 600, without key and without media. Recovery reads them
back and moves them to `receipts/taken`; nothing here is ever needed while the database answers.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.redaction import redact_json

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Receipt:
    """`outputs` name stored bytes by sha256; `checkpoint` is None for an answer that was the result."""

    attempt_id: str
    task_id: str
    external_id: str
    checkpoint: dict[str, Any] | None
    outputs: list[dict[str, Any]]
    cost_micros: int
    cost_currency: str


def write_receipt(home: Path, receipt: Receipt, *, secrets: tuple[str, ...]) -> Path:
    """Write and force to disk; a repeat replaces the same file with the same facts."""
    folder = home / "receipts"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    body = {
        "schema": SCHEMA,
        "attempt_id": receipt.attempt_id,
        "task_id": receipt.task_id,
        "external_id": receipt.external_id,
        "checkpoint": receipt.checkpoint,
        "outputs": receipt.outputs,
        "cost_micros": receipt.cost_micros,
        "cost_currency": receipt.cost_currency,
    }
    text = json.dumps(redact_json(body, secrets), ensure_ascii=False, sort_keys=True)
    fresh = folder / new_id("part")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    place = folder / f"{receipt.attempt_id}.json"
    fresh.replace(place)
    _sync(folder)
    return place


def find_receipt(home: Path, attempt_id: str) -> Receipt | None:
    place = home / "receipts" / f"{attempt_id}.json"
    return _read(place) if place.is_file() else None


def put_away(home: Path, attempt_id: str) -> None:
    """Keep a receipt that was read back, out of recovery's sight."""
    taken = home / "receipts" / "taken"
    taken.mkdir(mode=0o700, exist_ok=True)
    place = home / "receipts" / f"{attempt_id}.json"
    if place.is_file():
        place.replace(taken / place.name)


def _read(place: Path) -> Receipt | None:
    try:
        body: Mapping[str, Any] = json.loads(place.read_text())
        if body["schema"] != SCHEMA or not body["external_id"]:
            return None
        return Receipt(
            attempt_id=str(body["attempt_id"]),
            task_id=str(body["task_id"]),
            external_id=str(body["external_id"]),
            checkpoint=body["checkpoint"],
            outputs=list(body["outputs"]),
            cost_micros=int(body["cost_micros"]),
            cost_currency=str(body["cost_currency"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
