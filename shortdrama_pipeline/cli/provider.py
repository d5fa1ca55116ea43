"""`shortdrama provider`: what is configured, what its contract says, what it costs."""

from pathlib import Path
from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.services import pricing, provisioning

app = typer.Typer(no_args_is_help=True, help="Providers: list, check, contract, prices publish.")
prices = typer.Typer(no_args_is_help=True, help="Published prices.")
app.add_typer(prices, name="prices")


@app.command("list")
def list_all() -> None:
    """List the bindings and the price in force of each."""
    views = provisioning.list_providers(session.open_studio())
    output.show({"providers": [each.to_json() for each in views]})


@app.command()
def check(binding: Annotated[str, typer.Argument()]) -> None:
    """Check protocol, credential and price of a binding; no call is made. Exit 0 only if all is there."""
    checked = provisioning.check_provider(session.open_studio(), binding)
    output.show(checked.to_json())
    if checked.problems:
        raise typer.Exit(4)


@app.command()
def contract(binding: Annotated[str, typer.Argument()]) -> None:
    """Show what is verified about the vendor's protocol, and by which document."""
    output.show(provisioning.show_contract(session.open_studio(), binding))


@prices.command()
def publish(file: Annotated[Path, typer.Argument(help="a TOML price list")]) -> None:
    """Publish the prices of a file. Open Quotes at another price are answered with a new one."""
    published = pricing.publish_file(session.open_studio(), file, actor=session.actor())
    output.show({"prices": [each.to_json() for each in published]})
