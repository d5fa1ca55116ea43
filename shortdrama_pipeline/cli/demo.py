"""`shortdrama demo`: a script goes in, a finished episode comes out, through every stage, quote and gate."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortdrama_pipeline.cli import finished, output, session
from shortdrama_pipeline.cli.finished import Finished, Place
from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules import weeks
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage

if TYPE_CHECKING:
    from rich.console import Console

    from shortdrama_pipeline.services.context import Studio
    from shortdrama_pipeline.services.exporting import Export

app = typer.Typer(help=__doc__)

PERSON = "person:demo"
EXAMPLE = Path("examples", "late_ring.zh.md")
SHOWN_ROLES = frozenset({"film", "subtitles", "cover", "page"})  # the pack holds the rest
SERVER_CPU = "server CPU"  # as `producing` notes it
OWN_CPU = "our own CPU"  # outside ffmpeg, speech and drawing, which are other processes
Times = dict[str, float]  # seconds, by what was done


@app.command()
def demo(
    script: Annotated[Path | None, typer.Option(help="your own script instead of the example")] = None,
) -> None:
    """Make this week's demo episode on the rehearsal provider, or show it if it is finished."""
    began = time.monotonic()
    if output.options.config is not None:  # for Dagster, which reads the settings itself
        os.environ["SHORTDRAMA_CONFIG"] = str(output.options.config.absolute())
    place = Place.of(output.options.home, output.options.config, dict(os.environ))
    kept = finished.find(place, datetime.now(UTC))
    if kept is not None:
        _show(kept, _seconds({"all": time.monotonic() - began}))
        return
    from shortdrama_pipeline.store import server

    settings = session.settings()
    running = server.find(settings.home)
    ours = settings.database.url == "embedded" and not (running and running.answers())
    now = datetime.now(UTC)
    try:
        shown = _make_or_find(script, now, began)
    finally:
        session.close()
        if ours:
            server.stop(settings.home)
    stopped = server.find(settings.home) if ours else None
    if stopped is not None:
        finished.keep(
            place,
            shown,
            control=stopped.data / "global" / "pg_control",
            week=weeks.week_id_at(now, settings.studio.zone),
            time_zone=settings.studio.time_zone,
        )


def _make_or_find(script: Path | None, now: datetime, began: float) -> Finished:
    """Make the episode of this week, or find it finished in the database; and show it."""
    from shortdrama_pipeline.services.allocating import allocate

    studio = session.open_studio()
    week = weeks.week_id_at(now, studio.settings.studio.zone)
    episode_id = allocate(studio, key=f"demo:{week}", at=now, actor=PERSON).episode_id
    times = {"set-up": time.monotonic() - began}
    export = _finished(studio, episode_id)
    if export is None:
        from shortdrama_pipeline.cli.producing import make

        export = make(studio, episode_id, script or _example(), times)
    times["all"] = time.monotonic() - began
    shown = _as_shown(studio, export)
    _show(shown, _seconds(times))
    return shown


def _finished(studio: "Studio", episode_id: str) -> "Export | None":
    """Return the finished film of an earlier run, if its last gate is passed."""
    from shortdrama_pipeline.services.exporting import show_export
    from shortdrama_pipeline.services.gates import gate_state

    with studio.db.read() as tx:
        done = gate_state(tx, episode_id, Stage.EXPORT).passed is not None
    return show_export(studio, episode_id) if done else None


def _example() -> Path:
    import shortdrama_pipeline

    file = Path(shortdrama_pipeline.__file__).parents[1] / EXAMPLE
    if not file.is_file():
        raise UsageError(
            f"The example {EXAMPLE} is not there", hint="Run it from the repository, or name a --script"
        )
    return file


def _as_shown(studio: "Studio", export: "Export") -> Finished:
    from shortdrama_pipeline.services.episode_views import episode_status

    document = export.to_json()
    stages = episode_status(studio, str(document["episode_id"]))["stages"]
    return Finished(document, output.plain(stages))


def _seconds(times: Times) -> Times:
    """Round, and add the CPU time of this process to that of the provider's server."""
    own = time.process_time() + times.pop(SERVER_CPU, 0.0)
    return {name: round(each, 1) for name, each in times.items()} | {OWN_CPU: round(own, 1)}


def _show(shown: Finished, seconds: Times) -> None:
    output.show(
        {**shown.document, "stages": shown.stages, "seconds": seconds},
        lambda console: _print(console, output.plain(shown.document), shown.stages, seconds),
    )


def _print(console: "Console", export: object, stages: object, seconds: Times) -> None:
    assert isinstance(export, dict)
    assert isinstance(stages, list)
    from rich.table import Table

    table = Table("stage", "state", "spent", "seconds")
    for each in stages:
        spent = Money(each["spent"]["micros"], each["spent"]["currency"])
        table.add_row(each["stage"], each["state"], str(spent), str(seconds.get(each["stage"], "-")))
    console.print(table)
    made = f"made in {seconds['all']} s" if "export" in seconds else "finished before"
    console.print(
        f"{export['episode_id']}: {export['duration_ms'] / 1000:.1f} s of film,"
        f" {export['width']}x{export['height']}, {export['loudness_lufs']} LUFS, {made}"
    )
    others = {name: each for name, each in seconds.items() if name not in set(Stage)}
    console.print("Seconds: " + ", ".join(f"{name} {each}" for name, each in others.items()))
    for each in export["files"]:
        if each["role"] in SHOWN_ROLES:
            console.print(f"  {each['role']:<12}{each['path']}")
    console.print(f"  {'the pack':<12}{export['folder']} ({len(export['files'])} files)")
