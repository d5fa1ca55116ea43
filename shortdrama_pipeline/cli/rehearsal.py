"""`shortdrama rehearsal`: the embedded provider as a server of its own, and its account book."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.errors import Conflict, Outside
from shortdrama_pipeline.rehearsal.book import Request, read_entries

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def serve(
    port: Annotated[int | None, typer.Option(help="Default: the port of last time, else a free one")] = None,
) -> None:
    """Serve on loopback until stopped. Its key, port and book lie in the home's `rehearsal` folder."""
    from shortdrama_pipeline.rehearsal import serving

    home = session.settings().home / "rehearsal"

    def tell(base_url: str) -> None:
        output.show({"base_url": base_url, "key": "file:" + str(home / "key")})
        sys.stdout.flush()  # whoever started us reads it through a pipe

    try:
        serving.serve(home, port=port, tell=tell)
    except serving.AlreadyServing as error:
        raise Conflict(
            str(error), hint=f"It answers at {serving.find(home)}; stop that process to start another"
        ) from error
    except OSError as error:
        raise Outside(
            f"Port {port} cannot be opened: {error}", hint="Choose another --port, or leave it out"
        ) from error


@app.command()
def book() -> None:
    """Show who asked, what was accepted, what it cost; readable while the server is stopped too."""
    entries = read_entries(session.settings().home / "rehearsal" / "book.sqlite")
    output.show({"entries": [each.entry() for each in entries]}, lambda console: _print(console, entries))


def _print(console: Console, entries: list[Request]) -> None:
    table = Table("request", "kind", "received", "accepted", "XRH", "status", "delivered")
    for each in entries:
        units, micros = divmod(each.charged_micros, 1_000_000)
        table.add_row(
            each.request_id,
            each.kind,
            each.received_at,
            "yes" if each.accepted else f"no: {each.refusal}",
            f"{units}.{micros:06d}",
            each.status,
            "yes" if each.delivered else "no",
        )
    console.print(table)
    total = sum(each.charged_micros for each in entries)
    console.print(f"{len(entries)} requests, {total // 1_000_000}.{total % 1_000_000:06d} XRH")
