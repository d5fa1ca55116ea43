"""`shortdrama stage`: plan and quote a stage; see where it stands."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from shortdrama_pipeline.cli import output, session, words

app = typer.Typer(no_args_is_help=True, help="Plan and quote a stage, and see where it stands.")
Episode = Annotated[str, typer.Argument(help="the episode's id")]
StageName = Annotated[
    str, typer.Argument(help="outline, script, assets, storyboard, pilot, shots, audio, timeline or export")
]


@app.command()
def plan(
    episode: Episode,
    stage: StageName,
    only: Annotated[str, typer.Option(help="missing, stale or failed")] = "missing",
    items: Annotated[
        list[str] | None,
        typer.Option(help="exactly these: item id, subject or subject#role; may be repeated"),
    ] = None,
) -> None:
    """Freeze what the stage would buy as a PlanSnapshot, and open a Quote. Free; nothing is ordered."""
    from shortdrama_pipeline.services.stage_planning import plan_stage

    studio = session.open_studio()
    names = None if items is None else [name for each in items for name in each.split(",") if name]
    planned = plan_stage(studio, episode, words.stage(stage), only=only, items=names, actor=session.actor())
    document: dict[str, object] = {
        "plan_id": planned.plan_id,
        "input_hash": planned.input_hash,
        "quote_id": planned.quote_id,
        "total": planned.total.to_json(),
        "expires_at": planned.expires_at,
        "items": [
            {
                "item_id": each.item_id,
                "subject": each.subject,
                "price": each.price.to_json(),
                "binding": each.binding,
            }
            for each in planned.items
        ],
    }

    def human(console: Console) -> None:
        say = words.Words(studio.settings.studio.language)
        table = Table(say("item"), say("price"), say("binding"), box=None)
        for each in planned.items:
            table.add_row(each.item_id, str(each.price), each.binding)
        console.print(table)
        console.print(f"{say('total')}: {planned.total}")
        console.print(f"shortdrama quote confirm {planned.quote_id} --idempotency-key KEY")

    output.show(document, human)


@app.command()
def show(episode: Episode, stage: StageName) -> None:
    """Show a stage: what its gate covers, what is missing, failed or stale, and what each item waits for."""
    from shortdrama_pipeline.services.episode_views import show_stage

    output.show(show_stage(session.open_studio(), episode, words.stage(stage)))
