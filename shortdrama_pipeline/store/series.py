"""Series: a project with its brief."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.errors import UnknownId
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.store.tables import series


@dataclass(frozen=True, slots=True)
class Series:
    """A project. `brief` holds {"premise", "genre", "style", "language", "length_s", "seed", …}."""

    series_id: str
    title: str
    brief: dict[str, object]
    actor: str
    created_at: datetime


def record_series(tx: sa.Connection, *, title: str, brief: dict[str, object], actor: str) -> str:
    """Create a series; return its id."""
    series_id = new_id("ser")
    tx.execute(sa.insert(series).values(series_id=series_id, title=title, brief=brief, actor=actor))
    return series_id


def load_series(tx: sa.Connection, series_id: str) -> Series:
    """Return the series; UnknownId if there is none."""
    row = tx.execute(sa.select(series).where(series.c.series_id == series_id)).one_or_none()
    if row is None:
        raise UnknownId(
            f"No series {series_id}", hint="List them with `shortdrama series list`", series_id=series_id
        )
    return _series(row)


def find_all_series(tx: sa.Connection) -> list[Series]:
    return [_series(row) for row in tx.execute(sa.select(series).order_by(series.c.created_at))]


def _series(row: sa.Row[tuple[object, ...]]) -> Series:
    fields = row._mapping  # noqa: SLF001 the documented way to read by column
    return Series(**{name: fields[name] for name in Series.__dataclass_fields__})
