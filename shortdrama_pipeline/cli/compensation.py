"""`shortdrama compensation`: refund, cancel, reissue; each once, with a person where automation ends."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.cli.amounts import read_amount
from shortdrama_pipeline.errors import NeedsPerson
from shortdrama_pipeline.rules.compensations import Decision, OpType

app = typer.Typer(
    no_args_is_help=True, help="Compensation: list, show, request, run, decide; token issue for who decides."
)
token = typer.Typer(no_args_is_help=True, help="Audit tokens: who may decide, about what, for how long.")
app.add_typer(token, name="token")
CompensationId = Annotated[str, typer.Argument(metavar="COMPENSATION")]


@app.command("list")
def list_all(
    *, state: Annotated[str | None, typer.Option(help="only this state, such as manualReview")] = None
) -> None:
    """List compensations, the oldest first; the review queue is --state manualReview."""
    from shortdrama_pipeline.services.compensating import list_compensations

    output.show({"compensations": list_compensations(session.open_studio(), state=state)})


@app.command()
def show(compensation_id: CompensationId) -> None:
    """Show one with its audit trail, before and after each step."""
    from shortdrama_pipeline.services.compensating import show_compensation

    output.show(show_compensation(session.open_studio(), compensation_id))


@app.command()
def request(
    *,
    compensation_id: Annotated[str, typer.Option("--id", help="the same id asks once")],
    order: Annotated[str, typer.Option(help="an execution or a task")],
    op: Annotated[OpType, typer.Option(help="refund, cancel or reissue")],
    reason: Annotated[str, typer.Option(help="why, for the audit log")],
    amount: Annotated[str | None, typer.Option(help="a refund of less than the whole")] = None,
) -> None:
    """Put a refund, a cancellation or a reissue into the queue, once per id."""
    from shortdrama_pipeline.services.compensating import request_compensation, to_json

    studio = session.open_studio()
    new = request_compensation(
        studio,
        compensation_id=compensation_id,
        source_order_id=order,
        op_type=op,
        reason=reason,
        actor=session.actor(),
        amount_micros=_micros(amount, studio.settings.studio.currency),
    )
    output.show(to_json(new))


@app.command()
def run() -> None:
    """Try what is pending; what failed three times waits in the review queue, and the exit code is 6."""
    from shortdrama_pipeline.services.compensating import run_compensations

    report = run_compensations(session.open_studio(), actor=session.actor())
    output.show(report.to_json())
    if report.manual_review:
        raise typer.Exit(NeedsPerson.exit_code)


@app.command()
def decide(
    compensation_id: CompensationId,
    action: Annotated[Decision, typer.Argument(help="approve, reject or modify")],
    *,
    audit_token: Annotated[str, typer.Option(help="the token; @FILE reads it from a file, - from the input")],
    op: Annotated[OpType | None, typer.Option(help="modify: another operation")] = None,
    reason: Annotated[str | None, typer.Option(help="modify: another reason")] = None,
    amount: Annotated[str | None, typer.Option(help="modify: another amount")] = None,
) -> None:
    """Decide, with an audit token whose scope covers the operation; each token decides once."""
    from shortdrama_pipeline.services.compensating import Modification, to_json
    from shortdrama_pipeline.services.compensating import decide as decide_it

    studio = session.open_studio()
    change = Modification(op, reason, _micros(amount, studio.settings.studio.currency))
    decided = decide_it(
        studio,
        compensation_id,
        action=action,
        audit_token=_read(audit_token),
        actor=session.actor(),
        change=None if change == Modification() else change,
    )
    output.show(to_json(decided))


@token.command()
def issue(
    *,
    operator: Annotated[str, typer.Option(help="who may decide, such as person:lin")],
    scope: Annotated[list[str], typer.Option(help="compensate (refund, cancel) or regenerate (reissue)")],
    valid: Annotated[int, typer.Option(help="seconds it lives")] = 900,
) -> None:
    """Issue an audit token; it is shown once. Whoever can read this home's key can do this."""
    from shortdrama_pipeline.services.audit_tokens import issue_token

    text, issued = issue_token(
        session.settings().home, operator=operator, scope=scope, now=datetime.now(UTC), valid_s=valid
    )
    output.show(
        {
            "audit_token": text,
            "operator_id": issued.operator_id,
            "scope": sorted(str(each) for each in issued.scope),
            "expires_at": issued.expires_at,
            "jti": issued.jti,
        }
    )


def _micros(text: str | None, currency: str) -> int | None:
    return None if text is None else read_amount(text, currency=currency).micros


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.readline().strip()
    return Path(text[1:]).read_text(encoding="utf-8").strip() if text.startswith("@") else text
