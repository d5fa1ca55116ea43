"""Open the provider on loopback as a process of its own; find or start one from another process."""

import contextlib
import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import uvicorn

from shortdrama_pipeline.rehearsal import misanswers
from shortdrama_pipeline.rehearsal.server import Provider, build_app, identity

START_S_MAX = 30


class AlreadyServing(Exception):
    """Another process serves this home."""


class NotStarted(Exception):
    """The server ended, or did not answer in time."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server process we started."""

    process: subprocess.Popen[bytes]
    base_url: str
    key: str

    def stop(self) -> None:
        """End it and wait until its port is free again."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(home: Path, *, port: int | None = None, tell: Callable[[str], None] = print) -> None:
    """Serve until told to stop. `home` is the provider's own folder, `<SHORTDRAMA_HOME>/rehearsal`.

    Without `port`, the port of last time is taken again if it is free, so that bindings stay valid.
    """
    home.mkdir(parents=True, exist_ok=True)
    with _only_one(home), _listening(home, port) as listener:
        number = listener.getsockname()[1]
        base_url = f"http://127.0.0.1:{number}"
        provider = Provider(home, base_url=base_url, key=ensure_key(home))
        (home / "port").write_text(str(number))
        tell(base_url)
        configuration = misanswers.configuration(build_app(provider), port=number)
        uvicorn.Server(configuration).run(sockets=[listener])


def start(home: Path, *, port: int | None = None) -> Running:
    """Start a server process for `home` and return when it answers."""
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "shortdrama_pipeline.rehearsal", str(home)]
    log = (home / "server.log").open("ab")
    with log:
        process = subprocess.Popen(  # the caller stops it
            [*command, *([] if port is None else [str(port)])],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    pause = threading.Event()
    for _ in range(START_S_MAX * 20):
        base_url = find(home)
        if base_url is not None and process.poll() is None:
            return Running(process, base_url, ensure_key(home))
        if process.poll() is not None:
            break
        pause.wait(0.05)
    process.kill()
    process.wait()
    raise NotStarted(f"The rehearsal provider did not start; see {home / 'server.log'}")


def find(home: Path) -> str | None:
    """Return the address of the server that serves `home` now, if one answers."""
    return None if _health(home) is None else f"http://127.0.0.1:{_port(home)}"


def cpu_s(home: Path) -> float:
    """Return the CPU seconds the server of `home` has spent itself, without what it makes; 0 for none."""
    health = _health(home)
    return 0.0 if health is None else int(str(health.get("cpu_ms", 0))) / 1000


def _port(home: Path) -> int:
    return int((home / "port").read_text())


def _health(home: Path) -> dict[str, object] | None:
    """Ask the server of `home` how it is; None where none answers, or another home's."""
    try:
        with contextlib.closing(HTTPConnection("127.0.0.1", _port(home), timeout=2)) as connection:
            connection.request("GET", "/v1/health")
            found = json.loads(connection.getresponse().read())
        ours = found.get("identity") == identity(ensure_key(home))
    except (OSError, ValueError, HTTPException, AttributeError):
        return None
    return found if ours else None


def ensure_key(home: Path) -> str:
    """Return the key of this home; the first caller makes it, readable by its owner alone."""
    path = home / "key"
    home.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        partial = home / f"key.{os.getpid()}.partial"
        partial.touch(mode=0o600)
        partial.write_text(secrets.token_urlsafe(32))
        try:
            os.link(partial, path)  # whole or not at all, and never over another's
        finally:
            partial.unlink()
    return path.read_text().strip()


@contextlib.contextmanager
def _only_one(home: Path) -> Iterator[None]:
    with (home / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyServing(f"A rehearsal provider already serves {home}") from error
        yield


@contextlib.contextmanager
def _listening(home: Path, port: int | None) -> Iterator[socket.socket]:
    remembered = home / "port"
    wanted = int(remembered.read_text()) if port is None and remembered.exists() else port or 0
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", wanted))
    except OSError:
        if port is not None:
            raise
        listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    with listener:
        yield listener
