"""`shortdrama grant`: budgets that confirm Quotes without a person, inside their limits."""

from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.cli.amounts import read_amount
from shortdrama_pipeline.rules.grants import Grant, Scope
from shortdrama_pipeline.services import granting

app = typer.Typer(no_args_is_help=True, help="Grants: issue, list, show, revoke.")
DAY_S = 86_400


@app.command()
def issue(
    limit: Annotated[str, typer.Option(help="at most this much in all, in the studio's currency")],
    *,
    episode: Annotated[list[str] | None, typer.Option(help="only these episodes; may be repeated")] = None,
    stage: Annotated[list[str] | None, typer.Option(help="only these stages")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="only these kinds: text, image, video, speech")
    ] = None,
    binding: Annotated[list[str] | None, typer.Option(help="only these bindings")] = None,
    model: Annotated[list[str] | None, typer.Option(help="only these models")] = None,
    uses: Annotated[int | None, typer.Option(help="at most this many confirms")] = None,
    days: Annotated[int, typer.Option(help="how long it is valid")] = 7,
) -> None:
    """Issue a budget: Quotes inside its limits can be confirmed without a person."""
    studio = session.open_studio()
    grant = granting.issue_budget(
        studio,
        read_amount(limit, currency=studio.settings.studio.currency),
        actor=session.actor(),
        scope=Scope(
            stages=tuple(stage or ()),
            episodes=tuple(episode or ()),
            kinds=tuple(kind or ()),
            bindings=tuple(binding or ()),
            models=tuple(model or ()),
        ),
        uses_max=uses,
        valid_s=days * DAY_S,
    )
    output.show(_document(grant))


@app.command("list")
def list_all(limit: Annotated[int, typer.Option(min=1, max=granting.GRANTS_SHOWN_MAX)] = 50) -> None:
    """List Grants, the newest first."""
    grants = granting.list_grants(session.open_studio(), limit=limit)
    output.show({"grants": [_document(each) for each in grants]})


@app.command()
def show(grant_id: Annotated[str, typer.Argument(metavar="GRANT")]) -> None:
    """Show what a Grant allows and what is left of it."""
    output.show(_document(granting.show_grant(session.open_studio(), grant_id)))


@app.command()
def revoke(grant_id: Annotated[str, typer.Argument(metavar="GRANT")]) -> None:
    """Stop what has not started under a Grant; what a vendor accepted goes on."""
    output.show(granting.revoke_grant(session.open_studio(), grant_id, actor=session.actor()).to_json())


def _document(grant: Grant) -> dict[str, object]:
    return {
        "grant_id": grant.grant_id,
        "kind": str(grant.kind),
        "quote_id": grant.quote_id,
        "limit": grant.limit,
        "left": grant.left,
        "uses": grant.uses,
        "uses_max": grant.uses_max,
        "scope": grant.scope.to_json(),
        "expires_at": grant.expires_at,
        "revoked_at": grant.revoked_at,
        "actor": grant.actor,
    }
