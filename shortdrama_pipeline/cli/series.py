"""`shortdrama series`: projects."""

import json
from pathlib import Path
from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.services import series as service

app = typer.Typer(no_args_is_help=True, help="A project: its brief, and the episodes made from it.")


@app.command()
def create(
    title: Annotated[str, typer.Option(help="the series' name")],
    premise: Annotated[str, typer.Option(help="what it is about, in a sentence or two")] = "",
    genre: Annotated[str, typer.Option(help="such as 都市, 悬疑, romance")] = "",
    style: Annotated[str, typer.Option(help="how its pictures look")] = "",
    language: Annotated[str | None, typer.Option(help="zh-CN or en-US; default the studio's")] = None,
    length: Annotated[int | None, typer.Option(help="wanted length of an episode, in seconds")] = None,
    brief: Annotated[
        Path | None, typer.Option(help="a JSON file with the brief; options above go before it")
    ] = None,
) -> None:
    """Create a series with a brief. Free."""
    studio = session.open_studio()
    words: dict[str, object] = {} if brief is None else _read(brief)
    given = {"premise": premise, "genre": genre, "style": style, "language": language, "length_s": length}
    words |= {name: value for name, value in given.items() if value}
    words.setdefault("language", studio.settings.studio.language)
    output.show(service.create_series(studio, title, words, actor=session.actor()))


@app.command("list")
def list_all() -> None:
    """List the series."""
    output.show({"series": service.list_series(session.open_studio())})


@app.command()
def show(series: Annotated[str, typer.Argument(help="its id")]) -> None:
    """Show a series: brief, episodes, bible, bindings, schedules."""
    output.show(service.show_series(session.open_studio(), series))


def _read(file: Path) -> dict[str, object]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}", hint="Write one JSON object") from error
    if not isinstance(content, dict):
        raise UsageError(f"{file} is not a JSON object", hint='Write {"premise": "…"}')
    return content
