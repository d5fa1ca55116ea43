"""`shortdrama export`: build, show, verify."""

from typing import Annotated

import typer
from rich.console import Console

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.errors import NeedsPerson

app = typer.Typer(no_args_is_help=True, help="Render the passed timeline and hand it over.")
Id = Annotated[str, typer.Argument(help="the episode's id, such as 2026-W32-0")]


@app.command()
def build(
    episode: Id,
    tier: Annotated[str | None, typer.Option(help="draft, standard or master")] = None,
    ratio: Annotated[str | None, typer.Option(help="9:16, 3:4, 1:1 or 16:9")] = None,
    fps: Annotated[int, typer.Option(help="frames per second: 24, 25, 30 or 60")] = 24,
    burned: Annotated[
        bool, typer.Option("--subtitles/--no-subtitles", help="draw them into the picture")
    ] = True,
) -> None:
    """Render the film and lay its hand-over pack; the same export again is the same RenderJob."""
    from shortdrama_pipeline.services.exporting import build_export

    studio = session.open_studio()
    with output.progress() as report:
        made = build_export(
            studio, episode, tier=tier, ratio=ratio, frame_rate=(fps, 1), burned=burned,
            actor=session.actor(), progress=report,
        )  # fmt: skip
    _show(made.to_json())


@app.command()
def show(episode: Id) -> None:
    """Show the finished film, its files and what was measured on it."""
    from shortdrama_pipeline.services.exporting import show_export

    _show(show_export(session.open_studio(), episode).to_json())


@app.command()
def verify(episode: Id) -> None:
    """Hash every file of the hand-over pack again. Exit 0 only if all are as they were."""
    from shortdrama_pipeline.services.exporting import verify_export

    document = verify_export(session.open_studio(), episode)
    output.show(document)
    if not document["ok"]:
        raise typer.Exit(NeedsPerson.exit_code)


def _show(document: dict[str, object]) -> None:
    def lines(console: Console) -> None:
        files = document["files"]
        assert isinstance(files, list)
        loudness = "silent" if document["loudness_lufs"] is None else f"{document['loudness_lufs']} LUFS"
        seconds = int(str(document["duration_ms"])) / 1000
        console.print(f"{document['episode_id']}  {document['tier']}  {document['export_version']}")
        console.print(
            f"{document['width']}x{document['height']}  {document['fps']} fps  {seconds:.1f} s  {loudness}"
        )
        for each in files:
            if each["role"] not in {"clip", "speech", "thumbnail"}:
                console.print(f"{each['role']:<12} {each['path']}", markup=False, soft_wrap=True)
        beside = sum(each["role"] in {"clip", "speech", "thumbnail"} for each in files)
        console.print(f"and {beside} clips, lines and thumbnails in {document['folder']}", soft_wrap=True)

    output.show(document, lines)
