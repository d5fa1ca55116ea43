"""`shortdrama batch`: one approval over explicit episodes."""

from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session, words
from shortdrama_pipeline.cli.amounts import read_amount
from shortdrama_pipeline.cli.money_words import phrases
from shortdrama_pipeline.cli.quote import show_confirmed
from shortdrama_pipeline.services import batches

app = typer.Typer(no_args_is_help=True, help="Batches: plan, confirm, show, continue.")


@app.command()
def plan(
    *,
    episodes: Annotated[list[str], typer.Option(help="episode ids, with commas between or repeated")],
    stage: Annotated[str, typer.Option(help="which stage to order, such as shots")],
    ceiling: Annotated[str | None, typer.Option(help="refuse to quote above this sum")] = None,
) -> None:
    """Freeze what these episodes lack of a stage, and quote it. Costs nothing."""
    studio = session.open_studio()
    currency = studio.settings.studio.currency
    view = batches.plan_batch(
        studio,
        [each.strip() for word in episodes for each in word.split(",") if each.strip()],
        words.stage(stage),
        actor=session.actor(),
        ceiling_micros=None if ceiling is None else read_amount(ceiling, currency=currency).micros,
    )
    output.show(view.to_json())


@app.command()
def confirm(
    batch_id: Annotated[str, typer.Argument(metavar="BATCH")],
    idempotency_key: Annotated[str, typer.Option(help="the same key never buys twice; kept for ever")],
) -> None:
    """Confirm the whole batch once: exactly its items, never a further one."""
    studio = session.open_studio()
    confirmed = batches.confirm_batch(
        studio, batch_id, idempotency_key=idempotency_key, actor=session.actor()
    )
    show_confirmed(confirmed, phrases(studio.settings.studio.language))


@app.command()
def show(batch_id: Annotated[str, typer.Argument(metavar="BATCH")]) -> None:
    """Show every item of a batch and where it stands."""
    output.show(batches.show_batch(session.open_studio(), batch_id).to_json())


@app.command("continue")
def continue_it(batch_id: Annotated[str, typer.Argument(metavar="BATCH")]) -> None:
    """Query what is open, for free; quote anew what failed; touch nothing else."""
    output.show(batches.continue_batch(session.open_studio(), batch_id, actor=session.actor()).to_json())
