"""Child processes that live as long as we do: started, watched, started again, ended together.

A child gets SIGTERM from the kernel when we die, however we die; it stands in a session of its own, so
that Ctrl-C reaches us alone and we end the children in order.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shortdrama_pipeline.cli import output

PR_SET_PDEATHSIG = 1
STOP_SECONDS_MAX = 8
RESTART_PAUSE_S = 2
RESTARTS_MAX = 20  # of one child; then it is a fault a person must look at


@dataclass(slots=True)
class Child:
    """One program. `needs` says why it is there, for the line a person reads."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    restarts: int = 0
    started_at: float = 0.0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start it with default signals, bound to our life."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                list(self.command),
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - runs before any thread of the child exists
            )
        self.started_at = time.monotonic()

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ask_to_end(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def stop(self) -> None:
        """Wait for its end, and end by force whatever of its session is left."""
        if self.process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=STOP_SECONDS_MAX)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Supervisor:
    """Keeps children running until told to stop."""

    def __init__(self) -> None:
        self.children: list[Child] = []

    def add(self, child: Child) -> None:
        child.start()
        self.children.append(child)

    def look(self) -> None:
        """Start again what has ended by itself."""
        for child in self.children:
            long_enough = time.monotonic() - child.started_at > RESTART_PAUSE_S
            if child.alive or not long_enough or child.restarts >= RESTARTS_MAX:
                continue
            child.restarts += 1
            code = child.process.returncode if child.process else None
            output.note(f"{child.name} ended ({code}); started again. Its words: {child.log}")
            child.start()

    def stop(self) -> None:
        """Ask all to end, then wait for each."""
        for child in reversed(self.children):
            child.ask_to_end()
        for child in reversed(self.children):
            child.stop()
        self.children.clear()


def _die_with_parent() -> None:
    """In the child before its program: default signals, and SIGTERM when the parent is gone."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
