"""`shortdrama quote`: what would be bought, and the one click that buys it."""

from typing import TYPE_CHECKING, Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services import confirming, quoting
from shortdrama_pipeline.services.quoting import QuoteView

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="Quotes: show and confirm.")


@app.command()
def show(quote_id: Annotated[str, typer.Argument(metavar="QUOTE")]) -> None:
    """Show what a Quote covers, item by item."""
    view = quoting.show_quote(session.open_studio(), quote_id)
    output.show(view.to_json(), lambda console: print_quote(console, view))


@app.command()
def confirm(
    quote_id: Annotated[str, typer.Argument(metavar="QUOTE")],
    idempotency_key: Annotated[str, typer.Option(help="the same key never buys twice; kept for ever")],
    grant: Annotated[str | None, typer.Option(help="confirm under this budget Grant")] = None,
) -> None:
    """Confirm a Quote: its sum is frozen in the wallet and its items are put to work, once."""
    confirmed = confirming.confirm_quote(
        session.open_studio(),
        quote_id,
        idempotency_key=idempotency_key,
        actor=session.actor(),
        grant_id=grant,
    )
    show_confirmed(confirmed)


def show_confirmed(confirmed: confirming.Confirmed) -> None:
    """Print the answer to a confirm."""
    output.show(
        {
            "execution_id": confirmed.execution_id,
            "task_ids": list(confirmed.task_ids),
            "created": confirmed.created,
        },
        lambda console: console.print(
            f"{confirmed.execution_id}: {len(confirmed.task_ids)} items"
            + (" put to work." if confirmed.created else ", confirmed before; nothing was bought again.")
        ),
    )


def print_quote(console: "Console", view: QuoteView) -> None:
    """Lay a Quote out for the person who is asked to confirm it."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{view.quote_id}: {view.stage}, {len(view.items)} items", title_justify="left")
    for column in ("item", "made by", "from", "price"):
        table.add_column(column, justify="right" if column == "price" else "left")
    for each in view.items:
        uses = each["uses"]
        table.add_row(
            escape(str(each["item_id"])),
            escape(f"{each['binding_id']} ({each['product_model']})"),
            f"{len(uses) if isinstance(uses, list) else 0} versions",
            str(Money(int(str(each["price_micros"])), view.total.currency)),
        )
    console.print(table)
    console.print(f"total      {view.total}   (never more than {view.ceiling})")
    console.print(f"state      {view.state}, expires {view.expires_at:%Y-%m-%d %H:%M} UTC")
    console.print(
        "re-sent after a proven rejection for lack of capacity: up to"
        f" {view.resend_after_proven_rejection} times per item, at no further price"
    )
    if view.state == "open":
        console.print(f"confirm    shortdrama quote confirm {view.quote_id} --idempotency-key KEY")
