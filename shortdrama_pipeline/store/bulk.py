"""Many rows in one statement: a list of rows travels as one array per column."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from shortdrama_pipeline.rules.plans import Canonical

Row = Mapping[str, object]


def insert_rows(tx: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows that all name the same columns; nothing for no rows. JSON values are dumped here."""
    if rows:
        names = tuple(rows[0])
        tx.execute(_insert(table, names), arrays(table, rows))


def arrays(table: sa.Table, rows: Sequence[Row]) -> dict[str, list[object]]:
    """Turn rows into one list per column."""
    return {
        name: [_json(each[name]) for each in rows]
        if isinstance(table.c[name].type, JSONB)
        else [each[name] for each in rows]
        for name in rows[0]
    }


def unnest(table: sa.Table, names: Sequence[str]) -> str:
    """SQL for a set of rows of these columns of `table`, to be bound by `arrays`."""
    return "unnest(" + ", ".join(f"cast(:{name} as {_type(table.c[name])}[])" for name in names) + ")"


@lru_cache(maxsize=256)
def _insert(table: sa.Table, names: tuple[str, ...]) -> sa.TextClause:
    columns = ", ".join(names)
    return sa.text(f"insert into {table.name} ({columns}) select * from {unnest(table, names)}")  # noqa: S608


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


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_text(value: Canonical | Mapping[str, object]) -> str:
    """JSON for one bound value that is cast to jsonb."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
