"""`shortdrama NOUN VERB`: a composition root. One module per noun, imported only when called.

`cli/<noun>.py` holds `app = typer.Typer(...)` with one function per verb. A verb opens what it
needs with `session.open_studio()`, calls one service, and hands the result to `output.show`.
"""

import sys

import click
import typer

from shortdrama_pipeline.cli import output
from shortdrama_pipeline.errors import ShortdramaError

NOUNS = {
    "series": "a project: brief, bible, wallet, bindings, schedule",
    "episode": "allocate, import, show, run",
    "stage": "plan and quote a stage",
    "version": "list, select, confirm, reject, stale",
    "quote": "show and confirm",
    "grant": "issue, list, show, revoke",
    "batch": "plan, confirm, show, continue",
    "task": "list, show, cancel, query, transfer, regenerate",
    "wallet": "top-up, show, ledger, verify",
    "provider": "list, check, contract, prices publish",
    "work": "drain, recover, status",
    "audit": "verify, log",
    "db": "upgrade, url, stop, backup, restore",
    "export": "build, show, verify",
    "rehearsal": "serve, book",
    "dev": "start everything a studio uses",
    "demo": "a script goes in, a finished episode comes out",
}


class LazyNouns(click.Group):
    """Imports `cli/<noun>.py` only when that noun is called, so that start-up stays short."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NOUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NOUNS:
            return None
        from importlib import import_module

        return typer.main.get_command(import_module(f"shortdrama_pipeline.cli.{cmd_name}").app)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Nouns"):
            formatter.write_dl(list(NOUNS.items()))


def main() -> None:
    """Run one command; every error leaves with its exit code and says what to do."""
    arguments = output.take_global_options(sys.argv[1:])
    try:
        LazyNouns(name="shortdrama", help=__doc__)(arguments, standalone_mode=False)
    except ShortdramaError as error:
        sys.exit(output.fail(error))
    except click.ClickException as error:
        sys.exit(output.fail_usage(error))
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
