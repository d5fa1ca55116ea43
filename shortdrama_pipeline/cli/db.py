"""`shortdrama db`: the database as a whole."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.services import maintaining, opening

app = typer.Typer(no_args_is_help=True, help="The database: upgrade, url, stop, backup, restore.")


@app.command()
def upgrade() -> None:
    """Start the embedded server if needed and bring the tables to this version."""
    done = maintaining.upgrade_database(session.settings())
    output.show({"url": done.url, "revision": done.revision})


@app.command()
def url() -> None:
    """Print where the facts are; no password stands in it."""
    settings = session.settings()
    where = opening.database_url(settings)
    output.show(
        {"url": where, "dagster_url": opening.dagster_url(settings)},
        lambda console: console.print(where, soft_wrap=True),
    )


@app.command()
def stop() -> None:
    """Stop the embedded server. The next command starts it again."""
    stopped = maintaining.stop_database(session.settings())
    output.show(
        {"stopped": stopped}, lambda console: console.print("Stopped." if stopped else "It was not running.")
    )


@app.command()
def backup(file: Annotated[Path, typer.Argument(help="the file to write")]) -> None:
    """Write all facts to one file, as of one instant. Copy the media folder beside it."""
    size = maintaining.back_up_database(session.settings(), file, environment=_libpq_environment())
    output.show({"file": str(file.absolute()), "bytes": size})


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="a file that `db backup` wrote")],
    into_empty: Annotated[
        bool, typer.Option("--into-empty", help="put a database that holds facts aside first; it is kept")
    ] = False,
) -> None:
    """Put the facts of a backup in place; all or nothing."""
    kept = maintaining.restore_database(
        session.settings(),
        file,
        into_empty=into_empty,
        now=datetime.now(UTC),
        environment=_libpq_environment(),
    )
    output.show({"restored": str(file.absolute()), "former_kept_as": kept})


def _libpq_environment() -> dict[str, str]:
    """Return what PostgreSQL's own programs may know: where its password file lies."""
    return {name: value for name, value in os.environ.items() if name.startswith("PG") or name == "HOME"}
