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
) -> None:
    """Check ledger, event chains, frozen hashes, invariants and stored files; exit 0 only if all is well."""
    verified = auditing.verify_all(session.open_studio(), files=files)
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
