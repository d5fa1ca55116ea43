"""The last answer of each reading command, for when the database does not answer (G-303).

Only what was shown before is shown again, with its age in `stale_as_of`; nothing paid is decided on it.
"""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shortdrama_pipeline.cli import output
from shortdrama_pipeline.ids import new_id

READS = frozenset({
    ("episode", "list"), ("episode", "show"), ("stage", "show"), ("task", "list"), ("task", "show"),
    ("wallet", "show"), ("series", "list"), ("batch", "show"), ("work", "status"),
})  # fmt: skip
KEPT_MAX = 1024


def remember(home: Path, words: list[str], document: object) -> None:
    """Keep what a reading command just showed; the oldest answers give way."""
    if tuple(words[:2]) not in READS:
        return
    folder = home / "cache" / "answers"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = folder / new_id("part")
    body = {"words": words, "at": datetime.now(UTC).isoformat(timespec="seconds"), "document": document}
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(body, out, ensure_ascii=False)
    fresh.replace(folder / _name(words))
    kept = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime)
    for each in kept[:-KEPT_MAX]:
        each.unlink(missing_ok=True)


def show_last(home: Path, words: list[str], why: str) -> bool:
    """Show the last answer again, saying how old it is; False when there is none."""
    if tuple(words[:2]) not in READS:
        return False
    try:
        body: dict[str, Any] = json.loads((home / "cache" / "answers" / _name(words)).read_text())
    except (OSError, ValueError):
        return False
    at = str(body["at"]).replace("+00:00", "Z")
    output.note(f"{why}. This is the answer of {at}; nothing can be bought until the database is back.")
    output.show({"stale_as_of": at, **body["document"]})
    return True


def _name(words: list[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest() + ".json"
