"""What the demo showed last, kept for as long as it is surely true.

A stopped embedded database cannot change without writing its control file anew. So while that file,
the settings and the pack are as they were, what was read from the database then still stands in it,
and is shown without opening it. Anything else, and the database is asked.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from shortdrama_pipeline.rules import weeks

FILE = Path("demo", "finished.json")
PREFIX = "SHORTDRAMA_"
SCHEMA = 1

Object = dict[str, object]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a demo reads its settings; they are those of `settings.load`, unread."""

    home: Path
    config: Path
    environment: Mapping[str, str]

    @staticmethod
    def of(home: Path | None, config: Path | None, environment: Mapping[str, str]) -> "Place":
        place = (home or Path(environment.get("SHORTDRAMA_HOME") or ".shortdrama")).absolute()
        named = config or Path(environment.get("SHORTDRAMA_CONFIG") or place / "shortdrama.toml")
        return Place(place, named.absolute(), environment)


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished film as it is shown: the document of `export show`, and its stages."""

    document: Object
    stages: object


def find(place: Place, now: datetime) -> Finished | None:
    """Return this week's finished film if nothing can have changed since it was kept."""
    try:
        kept = json.loads((place.home / FILE).read_bytes())
        if kept["schema"] != SCHEMA or kept["week"] != weeks.week_id_at(now, ZoneInfo(kept["time_zone"])):
            return None
        if kept["seal"] != _seal(place, Path(kept["control"])):
            return None
        found = Finished(kept["document"], kept["stages"])
        return found if _is_whole(found.document) else None
    except (OSError, ValueError, KeyError, TypeError):  # none, of another version, or half of one
        return None


def keep(place: Place, finished: Finished, *, control: Path, week: str, time_zone: str) -> None:
    """Remember what was shown. The database whose control file is `control` must be stopped."""
    kept = {
        "schema": SCHEMA,
        "week": week,
        "time_zone": time_zone,
        "control": str(control),
        "seal": _seal(place, control),
        "document": finished.document,
        "stages": finished.stages,
    }
    file = place.home / FILE
    file.parent.mkdir(exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    partial.replace(file)


def _seal(place: Place, control: Path) -> str:
    """Return a digest of the database's state and of all that shapes what is read from it."""
    named = sorted((name, value) for name, value in place.environment.items() if name.startswith(PREFIX))
    config = place.config.read_bytes() if place.config.is_file() else b""
    parts = [str(place.home).encode(), str(place.config).encode(), json.dumps(named).encode(), config]
    parts += [control.read_bytes(), Path(__file__).read_bytes()]
    return hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in parts)).hexdigest()


def _is_whole(document: Object) -> bool:
    files = document["files"]
    assert isinstance(files, list)
    return bool(files) and all(Path(each["path"]).stat().st_size == each["bytes"] for each in files)
