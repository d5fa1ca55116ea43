"""`shortdrama quote`: what would be bought, and the one click that buys it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.cli.money_words import phrases
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services import confirming, quoting
from shortdrama_pipeline.services.quoting import QuoteView

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="Quotes: show and confirm.")


@app.command()
def show(quote_id: Annotated[str, typer.Argument(metavar="QUOTE")]) -> None:
    """Show what a Quote covers, item by item."""
    studio = session.open_studio()
    view = quoting.show_quote(studio, quote_id)
    say = phrases(studio.settings.studio.language)
    output.show(view.to_json(), lambda console: print_quote(console, view, say))


@app.command()
def confirm(
    quote_id: Annotated[str, typer.Argument(metavar="QUOTE")],
    idempotency_key: Annotated[str, typer.Option(help="the same key never buys twice; kept for ever")],
    grant: Annotated[str | None, typer.Option(help="confirm under this budget Grant")] = None,
) -> None:
    """Confirm a Quote: its sum is frozen in the wallet and its items are put to work, once."""
    studio = session.open_studio()
    confirmed = confirming.confirm_quote(
        studio, quote_id, idempotency_key=idempotency_key, actor=session.actor(), grant_id=grant
    )
    show_confirmed(confirmed, phrases(studio.settings.studio.language))


def show_confirmed(confirmed: confirming.Confirmed, say: Mapping[str, str]) -> None:
    """Print the answer to a confirm."""
    sentence = say["bought" if confirmed.created else "again"]
    output.show(
        {
            "execution_id": confirmed.execution_id,
            "task_ids": list(confirmed.task_ids),
            "created": confirmed.created,
        },
        lambda console: console.print(
            sentence.format(execution=confirmed.execution_id, items=len(confirmed.task_ids))
        ),
    )


def print_quote(console: "Console", view: QuoteView, say: Mapping[str, str]) -> None:
    """Lay a Quote out for the person who is asked to confirm it."""
    from rich.markup import escape
    from rich.table import Table

    title = say["quote"].format(quote=view.quote_id, stage=view.stage, items=len(view.items))
    table = Table(title=title, title_justify="left")
    for column in ("item", "made_by", "from", "price"):
        table.add_column(say[column], justify="right" if column == "price" else "left")
    for each in view.items:
        uses = each["uses"]
        table.add_row(
            escape(str(each["item_id"])),
            escape(f"{each['binding_id']} ({each['product_model']})"),
            say["versions"].format(count=len(uses) if isinstance(uses, list) else 0),
            str(Money(int(str(each["price_micros"])), view.total.currency)),
        )
    console.print(table)
    console.print(say["total"].format(total=view.total, ceiling=view.ceiling))
    console.print(say["state"].format(state=say[view.state], expires=f"{view.expires_at:%Y-%m-%d %H:%M}"))
    console.print(say["resend"].format(times=view.resend_after_proven_rejection))
    if view.state == "open":
        console.print(say["how"].format(quote=view.quote_id))
