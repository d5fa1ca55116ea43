"""`shortdrama demo`: a script goes in, a finished episode comes out, through every stage, quote and gate."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.cli.output import Report
from shortdrama_pipeline.cli.showing import Showing
from shortdrama_pipeline.errors import NotReady, Outside, UsageError
from shortdrama_pipeline.rules import weeks
from shortdrama_pipeline.rules.money import MICROS_PER_UNIT, Money
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.exporting import Export
from shortdrama_pipeline.services.running import Consent, GateAsked, QuoteAsked

app = typer.Typer(help=__doc__)

PERSON = "person:demo"
EXAMPLE = Path("examples", "late_ring.zh.md")
POCKET_MONEY = 10_000 * MICROS_PER_UNIT  # far more than one episode costs at rehearsal prices
Times = dict[str, float]  # seconds, by what was done


@dataclass(slots=True)
class Producer:
    """Says yes to everything, in the open: every Quote and every gate is confirmed as person:demo."""

    shown: Showing
    times: Times
    began: float = field(default_factory=time.monotonic)

    def quote(self, asked: QuoteAsked) -> Consent:
        output.note(f"{asked.stage}: {asked.items} items quoted at {asked.total}, confirmed by {PERSON}")
        return Consent(PERSON)

    def gate(self, asked: GateAsked) -> Consent:
        self.times[asked.stage] = time.monotonic() - self.began
        self.began = time.monotonic()
        self.shown.stage(asked.stage)
        output.note(f"{asked.stage}: complete in {self.times[asked.stage]:.1f} s, gate passed by {PERSON}")
        return Consent(PERSON, rights=asked.rights_asked, note="demo")


@app.command()
def demo(
    script: Annotated[Path | None, typer.Option(help="your own script instead of the example")] = None,
) -> None:
    """Make this week's demo episode on the rehearsal provider, or show it if it is finished."""
    from shortdrama_pipeline.services.allocating import allocate
    from shortdrama_pipeline.store import server

    began = time.monotonic()
    settings = session.settings()
    running = server.find(settings.home)
    ours = settings.database.url == "embedded" and not (running and running.answers())
    try:
        studio = session.open_studio()
        now = datetime.now(UTC)
        week = weeks.week_id_at(now, settings.studio.zone)
        episode_id = allocate(studio, key=f"demo:{week}", at=now, actor=PERSON).episode_id
        times = {"set-up": time.monotonic() - began}
        export = _finished(studio, episode_id) or _make(studio, episode_id, script or _example(), times)
        times["all"] = time.monotonic() - began
        _tell(studio, export, times)
    finally:
        session.close()
        if ours:
            server.stop(settings.home)


def _finished(studio: Studio, episode_id: str) -> Export | None:
    """Return the finished film of an earlier run, if its last gate is passed."""
    from shortdrama_pipeline.services.exporting import show_export
    from shortdrama_pipeline.services.gates import gate_state

    with studio.db.read() as tx:
        done = gate_state(tx, episode_id, Stage.EXPORT).passed is not None
    return show_export(studio, episode_id) if done else None


def _make(studio: Studio, episode_id: str, script: Path, times: Times) -> Export:
    """Take the episode from its script to its film."""
    from shortdrama_pipeline.services.exporting import show_export
    from shortdrama_pipeline.services.importing import import_script
    from shortdrama_pipeline.services.running import drive
    from shortdrama_pipeline.services.wallets import top_up

    import_script(studio, episode_id, script, actor=PERSON)
    money = Money(POCKET_MONEY, studio.settings.studio.currency)
    top_up(studio, money, key=f"demo:{episode_id}", actor=PERSON)
    with (
        _rehearsal(studio.settings.home),
        _showing(studio, episode_id, times) as shown,
        output.progress() as report,
    ):
        stop = drive(
            studio, episode_id, decide=Producer(shown, times), actor=PERSON, progress=_quietly(report)
        )
    if stop.why != "done":
        raise NotReady(
            f"The demo stopped at {stop.stage}: {stop.why}",
            hint=f"Look at it: `shortdrama episode show {episode_id}`, then run the demo again",
            episode_id=episode_id,
            task_ids=list(stop.task_ids),
        )
    return show_export(studio, episode_id)


def _quietly(report: Report) -> Report:
    """Report only what has more than one part; the rest has its line already."""

    def tell(what: str, done: int, of: int) -> None:
        if of > 1:
            report(what, done, of)

    return tell


@contextmanager
def _rehearsal(home: Path) -> Iterator[None]:
    """Have the rehearsal provider serve; stop it if we started it."""
    from shortdrama_pipeline.rehearsal import serving

    if serving.find(home / "rehearsal"):
        yield
        return
    try:
        running = serving.start(home / "rehearsal")
    except serving.NotStarted as error:
        raise Outside(str(error), hint="Read that file, then repeat the command") from error
    try:
        yield
    finally:
        running.stop()


@contextmanager
def _showing(studio: Studio, episode_id: str, times: Times) -> Iterator[Showing]:
    shown = Showing(studio, episode_id)
    try:
        yield shown
    finally:
        began = time.monotonic()
        shown.finish()
        times["waiting for Dagster"] = time.monotonic() - began


def _example() -> Path:
    import shortdrama_pipeline

    file = Path(shortdrama_pipeline.__file__).parents[1] / EXAMPLE
    if not file.is_file():
        raise UsageError(
            f"The example {EXAMPLE} is not there", hint="Run it from the repository, or name a --script"
        )
    return file


def _tell(studio: Studio, export: Export, times: Times) -> None:
    from shortdrama_pipeline.services.episode_views import episode_status

    document = export.to_json()
    stages = episode_status(studio, str(document["episode_id"]))["stages"]
    seconds = {name: round(each, 1) for name, each in times.items()}
    output.show(
        {**document, "stages": stages, "seconds": seconds},
        lambda console: _print(console, output.plain(document), output.plain(stages), seconds),
    )


def _print(console: Console, export: object, stages: object, seconds: Times) -> None:
    assert isinstance(export, dict)
    assert isinstance(stages, list)
    table = Table("stage", "state", "spent", "seconds")
    for each in stages:
        spent = Money(each["spent"]["micros"], each["spent"]["currency"])
        table.add_row(each["stage"], each["state"], str(spent), str(seconds.get(each["stage"], "-")))
    console.print(table)
    total = export["duration_ms"] / 1000
    console.print(
        f"{export['episode_id']}: {total:.1f} s of film, {export['width']}x{export['height']},"
        f" {export['loudness_lufs']} LUFS, made in {seconds['all']} s"
    )
    for each in export["files"]:
        console.print(f"  {each['role']:<12}{each['path']}")
