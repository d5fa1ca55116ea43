"""`shortdrama work`: the engine without Dagster, in as many processes as one likes."""

from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session

app = typer.Typer(no_args_is_help=True, help="The engine: drain, recover, resume, status.")


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

    report = drain_it(
        session.open_studio(),
        worker=worker_name(),
        until_idle=until_idle and not follow,
        follow=follow,
        seconds_max=seconds,
        limit=limit,
    )
    output.show(report.to_json())


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
