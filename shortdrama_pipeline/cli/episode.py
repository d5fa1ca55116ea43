"""`shortdrama episode`: allocate, list, show, import, run."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shortdrama_pipeline.cli import output, session, words
from shortdrama_pipeline.errors import NeedsPerson, UsageError

app = typer.Typer(no_args_is_help=True, help="Allocate, import, show and run an episode.")
Id = Annotated[str, typer.Argument(help="the episode's id, such as 2026-W32-0")]


@app.command()
def allocate(
    key: Annotated[str, typer.Option(help="names the logical run; the same key gives the same id for ever")],
    series: Annotated[str | None, typer.Option(help="the series it belongs to")] = None,
    at: Annotated[str | None, typer.Option(help="its time, RFC 3339; default now")] = None,
) -> None:
    """Give a run its durable id. Free, and the same answer again for the same key."""
    from shortdrama_pipeline.services.allocating import allocate as allocate_it

    when = datetime.now(UTC) if at is None else _time(at)
    done = allocate_it(session.open_studio(), key=key, at=when, series=series, actor=session.actor())
    output.show(done.to_json())


@app.command("list")
def list_all(series: Annotated[str | None, typer.Option(help="of this series only")] = None) -> None:
    """List the episodes."""
    from shortdrama_pipeline.services.series import list_episodes

    output.show({"episodes": list_episodes(session.open_studio(), series_id=series)})


@app.command()
def show(episode: Id) -> None:
    """Show all seven status domains, and what each stage waits for."""
    from shortdrama_pipeline.services.episode_views import episode_status

    studio = session.open_studio()
    document = episode_status(studio, episode)
    output.show(document, lambda console: _print(console, document, studio.settings.studio.language))


@app.command("import")
def import_file(
    episode: Id,
    file: Annotated[Path, typer.Argument(help="Fountain, Markdown, docx or plain text; or prose")],
    language: Annotated[str | None, typer.Option(help="zh-CN or en-US, where the text does not tell")] = None,
) -> None:
    """Bring in a script of your own: drafts of outline and script, at no cost."""
    from shortdrama_pipeline.services.importing import import_script

    studio = session.open_studio()
    output.show(import_script(studio, episode, file, actor=session.actor(), language=language))


@app.command()
def run(
    episode: Id,
    until: Annotated[str | None, typer.Option(help="the last stage to make")] = None,
    grant: Annotated[str | None, typer.Option(help="a budget Grant that may confirm quotes")] = None,
) -> None:
    """Drive the episode to the next gate or quote. Ctrl-C stops waiting, never the work.

    Exit 6 where something needs a person's attention first.
    """
    from shortdrama_pipeline.services.running import ATTENTION, run_episode

    studio = session.open_studio()
    with output.progress() as report:
        document = run_episode(
            studio,
            episode,
            until=None if until is None else words.stage(until),
            grant_id=grant,
            actor=session.actor(),
            progress=report,
        )
    output.show(document)
    stopped = document["stopped_at"]
    assert isinstance(stopped, dict)
    if stopped["why"] == ATTENTION:
        raise typer.Exit(NeedsPerson.exit_code)


def _time(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time", hint="Write it as 2026-08-07T09:00:00+08:00") from error
    if when.tzinfo is None:
        raise UsageError(f"{text!r} has no zone", hint="Write it as 2026-08-07T09:00:00+08:00")
    return when


def _print(console: Console, document: dict[str, object], language: str) -> None:
    say = words.Words(language)
    title = escape(str(document["title"] or ""))
    console.print(
        f"[bold]{document['episode_id']}[/bold]  {title}  {say('stage_run')}: {document['stage_run']}"
    )
    table = Table(say("stage"), say("state"), say("ready"), say("waits for"), say("spent"), box=None)
    stages = document["stages"]
    assert isinstance(stages, list)
    for each in stages:
        table.add_row(
            say(str(each["stage"])),
            say(str(each["state"])),
            f"{each['done']}/{each['of']}",
            escape(str(each["waits_for"] or "-")),
            words.amount(each["spent"]),
        )
    console.print(table)
    for domain in words.DOMAINS:
        counts = document[domain]
        assert isinstance(counts, dict)
        shown = ", ".join(f"{state} {number}" for state, number in counts.items() if number) or "-"
        console.print(f"{say(domain)}: {escape(shown)}")
