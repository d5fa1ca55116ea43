"""Many rows in one statement: a list of rows travels as one JSON document."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

Row = Mapping[str, object]


def insert_rows(tx: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows that all name the same columns; nothing for no rows."""
    if rows:
        tx.execute(_insert(table, tuple(rows[0])), {"rows": json_text(rows)})


def record_set(table: sa.Table, names: Sequence[str], **more: str) -> str:
    """SQL for the rows bound as `:rows`, as a set `w` of these columns of `table` and `more` name=type."""
    types = {name: _type(table.c[name]) for name in names} | more
    columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
    return f"jsonb_to_recordset(cast(:rows as jsonb)) as w({columns})"


def json_text(value: object) -> str:
    """JSON for one bound value that is cast to jsonb; times in ISO form."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_iso)


@lru_cache(maxsize=256)
def _insert(table: sa.Table, names: tuple[str, ...]) -> sa.TextClause:
    columns = ", ".join(names)
    target = f"insert into {table.name} ({columns}) select {columns} from "  # noqa: S608 - names of our tables
    return sa.text(target + record_set(table, names))


def _type(column: sa.Column[object]) -> str:
    match column.type:
        case JSONB():
            return "jsonb"
        case sa.BigInteger():
            return "bigint"
        case sa.Integer():
            return "integer"
        case sa.Boolean():
            return "boolean"
        case sa.DateTime():
            return "timestamptz"
        case _:
            return "text"


def _iso(value: object) -> str:
    assert isinstance(value, datetime), type(value)
    return value.isoformat()
