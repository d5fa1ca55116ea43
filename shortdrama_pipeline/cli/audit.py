"""`shortdrama audit`: does everything still say what it must, and who decided what."""

from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.errors import NeedsPerson
from shortdrama_pipeline.services import auditing

app = typer.Typer(no_args_is_help=True, help="Verification and the decision log: verify, log.")


@app.command()
def verify(
    *,
    files: Annotated[bool, typer.Option(help="also read and hash every stored file")] = True,
    at_rest: Annotated[bool, typer.Option("--at-rest", help="no worker runs: nothing may be due")] = False,
) -> None:
    """Check V-1 to V-16, histories, checkpoints, frozen hashes and stored files; exit 0 only if all is well.

    Broken books or histories also stop paid work, until `work resume`.
    """
    studio = session.open_studio()
    verified = auditing.verify_all(studio, files=files, at_rest=at_rest)
    auditing.stop_if_broken(studio, verified)
    output.show(verified.to_json())
    if not verified.ok:
        raise typer.Exit(NeedsPerson.exit_code)


@app.command()
def log(
    limit: Annotated[int, typer.Option(min=1, max=auditing.LOG_SHOWN_MAX)] = 50,
    subject: Annotated[str | None, typer.Option(help="only decisions on this id")] = None,
) -> None:
    """List decisions of people, agents and schedules, the newest first."""
    rows = auditing.list_decisions(session.open_studio(), limit=limit, subject_id=subject)
    decisions = [
        {
            "at": row["created_at"],
            "actor": row["actor"],
            "action": row["action"],
            "subject_id": row["subject_id"],
            "facts": row["facts"],
        }
        for row in rows
    ]
    output.show({"decisions": decisions})
