"""Makes the demo's episode: every Quote and every gate answered in the open, as person:demo."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shortdrama_pipeline.cli import output
from shortdrama_pipeline.cli.output import Report
from shortdrama_pipeline.cli.showing import Showing
from shortdrama_pipeline.errors import NotReady, Outside
from shortdrama_pipeline.rehearsal import serving
from shortdrama_pipeline.rules.money import MICROS_PER_UNIT, Money
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.exporting import Export, show_export
from shortdrama_pipeline.services.importing import import_script
from shortdrama_pipeline.services.running import Consent, GateAsked, QuoteAsked, drive
from shortdrama_pipeline.services.wallets import top_up

PERSON = "person:demo"
POCKET_MONEY = 10_000 * MICROS_PER_UNIT  # far more than one episode costs at rehearsal prices
SERVER_CPU = "server CPU"
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


def make(studio: Studio, episode_id: str, script: Path, times: Times) -> Export:
    """Take the episode from its script to its film."""
    import_script(studio, episode_id, script, actor=PERSON)
    money = Money(POCKET_MONEY, studio.settings.studio.currency)
    top_up(studio, money, key=f"demo:{episode_id}", actor=PERSON)
    with (
        _rehearsal(studio.settings.home / "rehearsal", times),
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
def _rehearsal(home: Path, times: Times) -> Iterator[None]:
    """Have the rehearsal provider serve, and note what its server spends; stop it if we started it."""
    running = None
    if serving.find(home) is None:
        try:
            running = serving.start(home)
        except serving.NotStarted as error:
            raise Outside(str(error), hint="Read that file, then repeat the command") from error
    before = 0.0 if running is not None else serving.cpu_s(home)
    try:
        yield
    finally:
        times[SERVER_CPU] = max(0.0, serving.cpu_s(home) - before)
        if running is not None:
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
