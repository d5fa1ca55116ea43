"""`shortdrama work`: the engine without Dagster, in as many processes as one likes."""

import threading
from typing import TYPE_CHECKING, Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.errors import Outside

if TYPE_CHECKING:
    from shortdrama_pipeline.services.context import Studio

app = typer.Typer(no_args_is_help=True, help="The engine: drain, recover, resume, status.")

OPEN_TRIES_MAX = 60
OPEN_PAUSE_S = 1


@app.command()
def drain(
    *,
    until_idle: Annotated[bool, typer.Option(help="end when nothing moves by itself any more")] = True,
    follow: Annotated[bool, typer.Option("--follow", help="stay, and act as soon as work is due")] = False,
    seconds: Annotated[int | None, typer.Option(min=1, help="end after this long at the latest")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1024, help="requests in flight at once")] = 64,
) -> None:
    """Send what is due, ask about what is under way, bring in results, settle, recover. Safe in parallel."""
    from shortdrama_pipeline.services.draining import drain as drain_it
    from shortdrama_pipeline.services.shifts import worker_name

    worker = worker_name()
    report = drain_it(
        _open_patiently() if follow else session.open_studio(),
        worker=worker,
        on_start=lambda _: output.note(f"At work as {worker}; Ctrl-C ends it in order") if follow else None,
        until_idle=until_idle and not follow,
        follow=follow,
        seconds_max=seconds,
        limit=limit,
    )
    output.show(report.to_json())


def _open_patiently() -> "Studio":
    """Open the studio; a database that is just being started again is waited for."""
    for _ in range(OPEN_TRIES_MAX - 1):
        try:
            return session.open_studio()
        except Outside as error:
            output.note(f"{error.message}; trying again")
            threading.Event().wait(OPEN_PAUSE_S)
    return session.open_studio()


@app.command()
def recover() -> None:
    """Set everything on its way again that a lost worker left. It never sends a paid request."""
    from shortdrama_pipeline.services.recovering import recover as recover_it

    output.show(recover_it(session.open_studio()).to_json())


@app.command()
def resume(note: Annotated[str, typer.Option(help="what was found; it is kept")]) -> None:
    """End safe mode. What might have been sent already waits for reconciliation; nothing is sent again."""
    from shortdrama_pipeline.services.safety import resume as resume_it

    output.show(resume_it(session.open_studio(), actor=session.actor(), note=note))


@app.command()
def status() -> None:
    """Show how much is due, under way, held, waiting for a person, and which alerts are open."""
    from shortdrama_pipeline.services.work_status import work_status

    output.show(work_status(session.open_studio()))
