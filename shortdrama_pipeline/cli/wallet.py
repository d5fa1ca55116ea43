"""`shortdrama wallet`: money in, what is free, what is frozen, and the book behind it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.cli.amounts import read_amount
from shortdrama_pipeline.cli.money_words import phrases
from shortdrama_pipeline.errors import NeedsPerson
from shortdrama_pipeline.services import wallets
from shortdrama_pipeline.services.context import Studio

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="The studio's wallet: top-up, show, ledger, verify, reconcile.")


@app.command("top-up")
def top_up(
    amount: Annotated[str, typer.Argument(help="in the studio's currency, such as 100 or 49.90")],
    key: Annotated[str, typer.Option("--key", help="the same key never counts twice")],
) -> None:
    """Put money into the wallet, once per key."""
    studio = session.open_studio()
    money = read_amount(amount, currency=studio.settings.studio.currency)
    _show(studio, wallets.top_up(studio, money, key=key, actor=session.actor()))


@app.command()
def show() -> None:
    """Show what is free, frozen and spent."""
    studio = session.open_studio()
    _show(studio, wallets.show_wallet(studio))


@app.command()
def ledger(
    limit: Annotated[int, typer.Option(min=1, max=wallets.ENTRIES_SHOWN_MAX)] = 50,
    task: Annotated[str | None, typer.Option(help="only the entries of this task")] = None,
) -> None:
    """List the newest entries."""
    rows = wallets.list_entries(session.open_studio(), limit=limit, task_id=task)
    entries = [
        {
            "entry_id": row["entry_id"],
            "at": row["created_at"],
            "business_key": row["business_key"],
            "debit": row["debit_account"],
            "credit": row["credit_account"],
            "amount": {"micros": row["amount_micros"], "currency": row["currency"]},
            "task_id": row["task_id"],
            "actor": row["actor"],
        }
        for row in rows
    ]
    output.show({"entries": entries})


@app.command()
def verify() -> None:
    """Replay the ledger against the balances; exit 0 only if all agrees."""
    from shortdrama_pipeline.services import auditing

    verified = auditing.verify_ledger(session.open_studio())
    output.show(verified.to_json())
    if not verified.ok:
        raise typer.Exit(NeedsPerson.exit_code)


@app.command()
def reconcile(
    statement: Annotated[Path, typer.Option(help="the vendor's bill, JSON or CSV")],
    binding: Annotated[list[str] | None, typer.Option(help="only these bindings; may be repeated")] = None,
    since: Annotated[datetime | None, typer.Option(help="only requests accepted from then on, UTC")] = None,
    until: Annotated[datetime | None, typer.Option(help="only requests accepted before, UTC")] = None,
) -> None:
    """Lay a vendor's bill beside our book, both ways; exit 0 only if they agree, 6 if a person must look."""
    from shortdrama_pipeline.services.statements import reconcile_statement

    found = reconcile_statement(
        session.open_studio(), statement, bindings=binding or (), since=_utc(since), until=_utc(until)
    )
    output.show(found.to_json())
    if found.differences:
        raise typer.Exit(NeedsPerson.exit_code)


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.replace(tzinfo=UTC)


def _show(studio: Studio, wallet: wallets.Wallet) -> None:
    say = phrases(studio.settings.studio.language)

    def human(console: "Console") -> None:
        console.print(say["available"].format(money=wallet.available))
        console.print(say["reserved"].format(money=wallet.reserved))
        console.print(say["settled"].format(money=wallet.settled))
        for each in wallet.provider_spend:
            console.print(say["vendors"].format(money=each))

    output.show(wallet.to_json(), human)
