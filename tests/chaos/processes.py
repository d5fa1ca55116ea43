"""The processes under fire, and what may happen to each. Only processes started here are ever signalled."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.store import programs, server

PROGRAM = (sys.executable, "-c", "from shortdrama_pipeline.cli.app import main; main()")
SAID_STOPPING_S = 60
AT_WORK = b"At work as "  # what a worker says when it begins


@dataclass(slots=True)
class Worker:
    """`work drain --follow`, started again whenever it is gone, as any supervisor does."""

    home: Path
    number: int
    process: "subprocess.Popen[bytes] | None" = None
    kills: int = 0
    births: int = 0
    said_before: int = 0  # how much stood in the log at its birth
    gave_up: list[int] = field(default_factory=list)  # exit codes of those that ended at work by themselves
    stillborn: list[int] = field(default_factory=list)  # and of those that never came to it

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"worker-{self.number}.log"

    @property
    def at_work(self) -> bool:
        """Did the present one get past opening the studio?"""
        with self.log.open("rb") as log:
            log.seek(self.said_before)
            return AT_WORK in log.read()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.said_before = log.tell()
            self.process = subprocess.Popen(
                [*PROGRAM, "work", "drain", "--follow", "--home", str(self.home), "--json"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self.births += 1

    def kill(self) -> None:
        """End it without a word and start it anew at once."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.kills += 1
        self.look()

    def look(self) -> None:
        """Start it again if it is gone; remember one that gave up."""
        assert self.process is not None
        code = self.process.poll()
        if code is None:
            return
        if code != -signal.SIGKILL:
            (self.gave_up if self.at_work else self.stillborn).append(code)
        self.start()

    def stop(self) -> int:
        """Ask it to end and return how it did."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=SAID_STOPPING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@dataclass(slots=True)
class Dev:
    """`shortdrama dev`: Dagster's code server, page and daemon, the rehearsal provider, callbacks."""

    home: Path
    process: "subprocess.Popen[str]" = field(init=False)
    said: list[str] = field(default_factory=list)
    daemon_kills: int = 0

    def start(self, *, seconds_max: int) -> None:
        """Return when everything answers."""
        self.process = subprocess.Popen(
            [*PROGRAM, "dev", "--home", str(self.home), "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        ready = threading.Event()
        threading.Thread(target=self._listen, args=(ready,), daemon=True).start()
        if not ready.wait(seconds_max):
            raise AssertionError("dev was not ready: " + "".join(self.said))

    def _listen(self, ready: threading.Event) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if "Ctrl-C stops all of it" in line:
                ready.set()

    def kill_daemon(self) -> None:
        """End Dagster's daemon without a word; `dev` starts it again."""
        for child in children(self.process.pid):
            with suppress(OSError):
                if b"dagster._daemon" in Path("/proc", str(child), "cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)
                    self.daemon_kills += 1
                    return

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(timeout=SAID_STOPPING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@dataclass(slots=True)
class Postgres:
    """The embedded server of the home, taken away in each of the ways a server goes."""

    home: Path
    restarts: dict[str, int] = field(default_factory=dict)

    def restart(self, chance: random.Random) -> None:
        """In order, without warning, or by the death of one of its processes; always back at once."""
        way = chance.choices(("fast", "immediate", "backend killed"), (2, 2, 1))[0]
        found = server.find(self.home)
        assert found is not None
        if way == "backend killed":
            self._kill_backend(found, chance)
        else:
            programs.run(
                "pg_ctl", "stop", "-w", "-t", "60", "-s", "-D", str(found.data), "-m", way, uid=found.uid
            )
            server.start(self.home)  # unless a worker just did
        self.restarts[way] = self.restarts.get(way, 0) + 1

    @staticmethod
    def _kill_backend(found: server.Server, chance: random.Random) -> None:
        """Kill the process behind one connection: PostgreSQL then ends all others and recovers."""
        engine = sa.create_engine(found.url("postgres"), poolclass=sa.NullPool)
        with suppress(sa.exc.OperationalError), engine.connect() as connection:
            pids = connection.execute(
                sa.text(
                    "select pid from pg_stat_activity where backend_type = 'client backend'"
                    " and datname = 'shortdrama' order by pid"
                )
            ).scalars()
            chosen = chance.choice(list(pids) or [0])
            if chosen:
                os.kill(chosen, signal.SIGKILL)


def kill_one(workers: Sequence[Worker], chance: random.Random) -> None:
    """Kill one of those at work; one still being born would only be born again."""
    for each in workers:
        each.look()
    busy = [each for each in workers if each.at_work]
    if busy:
        chance.choice(busy).kill()


def children(pid: int) -> list[int]:
    """Return the processes whose parent is `pid`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rsplit(") ", 1)[1].split()
            if int(fields[1]) == pid:
                found.append(int(stat.parent.name))
    return found
