"""`shortdrama dev`: everything a studio uses, until Ctrl-C."""

import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import sqlalchemy as sa
import typer

from shortdrama_pipeline.cli import output, session
from shortdrama_pipeline.cli.supervising import Child, Supervisor
from shortdrama_pipeline.errors import Conflict, Outside
from shortdrama_pipeline.services.context import Studio

app = typer.Typer(help=__doc__)

DEV_LOCK = 0x5D_0DE7  # held for life: two daemons on one database run every tick twice
LOCATION = "shortdrama"
READY_SECONDS_MAX = 120
LOOK_SECONDS = 1.0
CODE_LOOK_SECONDS = 0.1
_READY = (
    "{ workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError { __typename"
    " ... on PythonError { message } } } } }"
    " instance { daemonHealth { allDaemonStatuses { daemonType required healthy } } } }"
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where things of this run lie and answer. `sockets` is a short folder only we can enter."""

    sockets: Path
    logs: Path
    port: int
    callback_port: int

    @property
    def code_socket(self) -> str:
        return str(self.sockets / "code")

    @property
    def page(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def callbacks(self) -> str:
        return f"http://127.0.0.1:{self.callback_port}/callbacks"


@app.command()
def dev(
    port: Annotated[int, typer.Option(help="Where Dagster's page answers; a free one if it is taken")] = 3000,
) -> None:
    """Start PostgreSQL, the rehearsal provider, Dagster's page and daemon; print where they answer."""
    stop = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda *_: stop.set())
    from shortdrama_pipeline.store import server

    if output.options.config is not None:  # for the children, who read the settings themselves
        os.environ["SHORTDRAMA_CONFIG"] = str(output.options.config.absolute())
    home = session.settings().home
    running = server.find(home)
    ours = session.settings().database.url == "embedded" and not (running and running.answers())
    supervisor = Supervisor()
    try:
        _serve(session.open_studio(), supervisor, stop, port=port)
    finally:
        supervisor.stop()
        if ours:
            server.stop(home)
            output.note("Everything is stopped.")


def _serve(studio: Studio, supervisor: Supervisor, stop: threading.Event, *, port: int) -> None:
    """Start all, say where, and look after it until told to stop."""
    home = studio.settings.home
    with _only_one(studio), tempfile.TemporaryDirectory(prefix="shortdrama-") as sockets:
        places = Places(Path(sockets), home / "logs", _free_port(port), _free_port(port and port + 1))
        places.logs.mkdir(mode=0o700, exist_ok=True)
        output.note("Starting; the first time takes half a minute.")
        for child in (*_rehearsal(home, places), _callbacks(home, places)):
            supervisor.add(child)
        _prepare_dagster(studio, places)
        for child in _dagster(studio, places):
            supervisor.add(child)
            _await_code(supervisor, places, stop)
        if _await_ready(supervisor, places, stop):
            _tell(studio, places)
        while not stop.wait(LOOK_SECONDS):
            supervisor.look()
        output.note("Stopping.")
        supervisor.stop()


@contextmanager
def _only_one(studio: Studio) -> Iterator[None]:
    """Hold the studio's advisory lock in a session of its own for as long as we live."""
    engine = sa.create_engine(
        studio.db.engine.url, poolclass=sa.NullPool, hide_parameters=True, isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as held:
        got = held.execute(sa.text("select pg_try_advisory_lock(:lock)"), {"lock": DEV_LOCK}).scalar_one()
        if not got:
            raise Conflict(
                "`shortdrama dev` runs already on this database",
                hint="Use the one that runs, or stop it with Ctrl-C first",
            )
        yield


def _prepare_dagster(studio: Studio, places: Places) -> None:
    """Write the configuration, make Dagster's tables before several processes race for it, set the limits."""
    from resources import instance

    os.environ.update(instance.environment(studio.settings))
    home = instance.write_config(studio.settings)
    (home / "workspace.yaml").write_text(
        f"load_from:\n  - grpc_server: {{socket: {places.code_socket}, location_name: {LOCATION}}}\n"
    )
    instance.make_tables()


def _rehearsal(home: Path, places: Places) -> list[Child]:
    """Return the rehearsal provider, unless one serves this home already."""
    from shortdrama_pipeline.rehearsal import serving

    folder = home / "rehearsal"
    command = [sys.executable, "-m", "shortdrama_pipeline.rehearsal", str(folder)]
    return [] if serving.find(folder) else [Child("rehearsal", command, {}, places.logs / "rehearsal.log")]


def _callbacks(home: Path, places: Places) -> Child:
    """Return the server that hears what vendors call back."""
    module = "shortdrama_pipeline.cli.callback_server"
    command = [sys.executable, "-m", module, str(home), str(places.callback_port)]
    return Child("callbacks", command, {}, places.logs / "callbacks.log")


def _dagster(studio: Studio, places: Places) -> list[Child]:
    """Return the programs of Dagster: our code, its page, its daemon."""
    from resources import instance

    environment = instance.environment(studio.settings)
    dagster = [sys.executable, "-m", "dagster"]
    workspace = str(instance.dagster_home(studio.settings) / "workspace.yaml")
    code = [
        *dagster, "api", "grpc", "--socket", places.code_socket, "--location-name", LOCATION,
        "--module-name", "shortdrama_pipeline.definitions", "--use-python-environment-entry-point",
        "--log-level", "warning",
    ]  # fmt: skip
    page = [
        sys.executable, "-m", "dagster_webserver", "-w", workspace, "--host", "127.0.0.1",
        "--port", str(places.port), "--dagster-log-level", "warning",
    ]  # fmt: skip
    daemon = [sys.executable, "-m", "dagster._daemon", "run", "-w", workspace, "--log-level", "warning"]
    return [
        Child(name, command, environment, places.logs / f"{name}.log")
        for name, command in (("code", code), ("page", page), ("daemon", daemon))
    ]


def _await_code(supervisor: Supervisor, places: Places, stop: threading.Event) -> None:
    """Wait for the code server's socket, so that page and daemon find it at their first look."""
    for _ in range(int(READY_SECONDS_MAX / CODE_LOOK_SECONDS)):
        if Path(places.code_socket).exists() or stop.wait(CODE_LOOK_SECONDS):
            return
        supervisor.look()


def _await_ready(supervisor: Supervisor, places: Places, stop: threading.Event) -> bool:
    """Wait until the page answers, our code is loaded and every daemon is well; False if told to stop."""
    for _ in range(int(READY_SECONDS_MAX / LOOK_SECONDS)):
        if _ready(places):
            return True
        if stop.wait(LOOK_SECONDS):
            return False
        supervisor.look()
    raise Outside(
        f"Dagster was not ready within {READY_SECONDS_MAX} seconds",
        hint=f"Read the files in {places.logs}",
    )


def _ready(places: Places) -> bool:
    try:
        answer = httpx.post(f"{places.page}/graphql", json={"query": _READY}, timeout=5, trust_env=False)
        data = answer.json()["data"]
    except (httpx.HTTPError, ValueError, KeyError):
        return False
    loaded = [each["locationOrLoadError"] for each in data["workspaceOrError"]["locationEntries"]]
    daemons = data["instance"]["daemonHealth"]["allDaemonStatuses"]
    return all(each and each["__typename"] == "RepositoryLocation" for each in loaded) and all(
        each["healthy"] for each in daemons if each["required"]
    )


def _tell(studio: Studio, places: Places) -> None:
    from shortdrama_pipeline.rehearsal import serving

    rehearsal = serving.find(studio.settings.home / "rehearsal")
    output.show(
        {
            "dagster": places.page,
            "callbacks": places.callbacks,
            "rehearsal": rehearsal,
            "home": str(studio.settings.home),
        },
        lambda console: console.print(
            f"Dagster    {places.page}\nCallbacks  {places.callbacks}\nRehearsal  {rehearsal}\n"
            f"Home       {studio.settings.home}\nCtrl-C stops all of it."
        ),
    )
    sys.stdout.flush()


def _free_port(wanted: int) -> int:
    """Return `wanted` if it is free, else any free one."""
    for port in (wanted, 0):
        with suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise Outside("No port is free on loopback", hint="Name another with --port")
