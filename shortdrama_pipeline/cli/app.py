"""`shortdrama NOUN VERB`: a composition root. One module per noun, imported only when called.

`cli/<noun>.py` holds `app = typer.Typer(...)` with one function per verb. A verb opens what it
needs with `session.open_studio()`, calls one service, and hands the result to `output.show`.
"""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from shortdrama_pipeline.cli import answers, output, session
from shortdrama_pipeline.errors import Outside, UsageError

PROGRAM = "shortdrama"
NOUNS = {
    "series": "a project: brief, bible, wallet, bindings, schedule",
    "episode": "allocate, import, show, run",
    "stage": "plan and quote a stage",
    "version": "list, select, confirm, reject, stale",
    "quote": "show and confirm",
    "grant": "issue, list, show, revoke",
    "batch": "plan, confirm, show, continue",
    "task": "list, show, cancel, query, transfer, regenerate, compensate, adopt, absent",
    "wallet": "top-up, show, ledger, verify, reconcile",
    "compensation": "list, show, request, run, decide; token issue",
    "provider": "list, check, contract, prices publish",
    "work": "drain, recover, resume, status",
    "audit": "verify, log",
    "db": "upgrade, url, stop, backup, restore",
    "export": "build, show, verify",
    "rehearsal": "serve, book",
    "dev": "start everything a studio uses",
    "demo": "a script goes in, a finished episode comes out",
}
INTERRUPTED = 130
GARBAGE_THRESHOLDS = (50_000, 20, 20)


def main() -> None:
    """Run one command and end with its exit code; every error says what to do."""
    # A command that starts makes objects to keep: looking for garbage among them took a tenth of the start.
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has gone, such as `head`; nobody is left to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def run(words: list[str]) -> int:
    """Run the command `words`; return its exit code (interface: 0, 2 to 7, or 1 for a fault of ours)."""
    try:
        output.options = output.Options()
        arguments = output.take_global_options(words)
        return _answer(arguments)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        output.note("Stopped waiting; what was handed over goes on.")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last door: everything leaves with words and a code
        return output.fail(error)
    finally:
        session.close()


def _answer(words: list[str]) -> int:
    """Run a command; where the database is away, a reading one answers with what it said last (G-303)."""
    if tuple(words[:2]) not in answers.READS:
        return _call(words)
    try:
        code = _call(words)
    except Outside as error:
        if error.code == Outside.code and answers.show_last(session.settings().home, words, error.message):
            return 0
        raise
    home = session.opened_home()
    if code == 0 and home is not None and output.options.shown is not None:
        with suppress(OSError):  # a home that cannot be written has no memory; the answer stands
            answers.remember(home, words, output.options.shown)
    return code


def _call(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        output.overview(NOUNS)
        return 0 if arguments else UsageError.exit_code
    if arguments[0] == "--version":
        from importlib.metadata import version

        output.line(f"shortdrama-pipeline {version('shortdrama-pipeline')}")
        return 0
    noun, *rest = arguments
    module = f"shortdrama_pipeline.cli.{noun}"
    if noun not in NOUNS or find_spec(module) is None:
        raise UsageError(
            f"There is no command `{PROGRAM} {noun}`",
            hint=output.nearest(noun, NOUNS) or f"`{PROGRAM} --help` lists the commands",
        )
    import typer

    app: typer.Typer = import_module(module).app
    app._add_completion = False  # noqa: SLF001 - typer would offer to install it under every noun
    if not rest and len(app.registered_commands) + len(app.registered_groups) > 1:
        if output.options.json:
            raise UsageError("Name a verb", hint=f"`{PROGRAM} {noun} --help` lists them")
        typer.main.get_command(app)(["--help"], prog_name=f"{PROGRAM} {noun}", standalone_mode=False)
        return UsageError.exit_code
    result: object = typer.main.get_command(app)(rest, prog_name=f"{PROGRAM} {noun}", standalone_mode=False)
    return result if type(result) is int else 0
