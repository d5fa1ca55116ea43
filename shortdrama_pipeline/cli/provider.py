"""`shortdrama provider`: what is configured, what its contract says, what it costs."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.prices import Rate
from shortdrama_pipeline.services import pricing, provisioning
from shortdrama_pipeline.services.provisioning import ProviderView

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="Providers: list, check, contract, prices publish.")
prices = typer.Typer(no_args_is_help=True, help="Published prices.")
app.add_typer(prices, name="prices")


@app.command("list")
def list_all() -> None:
    """List the bindings and the price in force of each."""
    views = provisioning.list_providers(session.open_studio())
    output.show({"providers": [each.to_json() for each in views]}, lambda console: _print(console, views))


@app.command()
def check(binding: Annotated[str, typer.Argument()]) -> None:
    """Check protocol, credential and price of a binding; no call is made. Exit 0 only if all is there."""
    checked = provisioning.check_provider(session.open_studio(), binding)
    output.show(checked.to_json())
    if checked.problems:
        raise typer.Exit(NotReady.exit_code)


@app.command()
def contract(binding: Annotated[str, typer.Argument()]) -> None:
    """Show what is verified about the vendor's protocol, and by which document."""
    output.show(provisioning.show_contract(session.open_studio(), binding))


def _print(console: "Console", views: Sequence[ProviderView]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="providers", title_justify="left")
    for column in ("binding", "kind", "model", "speaks", "at", "price", "costs at most"):
        table.add_column(column)
    for each in views:
        price = each.price
        table.add_row(
            *map(escape, (each.binding.id, each.binding.kind, each.binding.model, each.binding.protocol)),
            escape(each.binding.base_url),
            "none published" if price is None else _rate(price.user),
            "" if price is None else _rate(price.vendor),
        )
    console.print(table)


def _rate(rate: Rate) -> str:
    amount = Money(math.ceil(rate.micros_per_unit), rate.currency)
    base = f" + {Money(rate.micros_base, rate.currency)}" if rate.micros_base else ""
    return f"{amount} per {rate.unit}{base}"


@prices.command()
def publish(file: Annotated[Path, typer.Argument(help="a TOML price list")]) -> None:
    """Publish the prices of a file. Open Quotes at another price are answered with a new one."""
    published = pricing.publish_file(session.open_studio(), file, actor=session.actor())
    output.show({"prices": [each.to_json() for each in published]})
