"""Opens a studio from its settings: the one place where database, media, bindings and adapters meet."""

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from shortdrama_pipeline.errors import Outside, SettingsError
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.providers.registry import ADAPTERS
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.pricing import ensure_published
from shortdrama_pipeline.services.safety import look
from shortdrama_pipeline.settings import BindingSettings, Settings
from shortdrama_pipeline.store import schema, server
from shortdrama_pipeline.store.database import Database

REHEARSAL_KINDS = ("text", "image", "video", "speech")
REHEARSAL_MODEL = "animatic-1"
ORPHAN_S = 24 * 3600  # no writer is at one file for as long


def open_studio(settings: Settings) -> Studio:
    """Return the studio of these settings, its database running and its tables current."""
    make_home(settings.home)
    bindings = bindings_of(settings)
    url = database_url(settings)
    schema.upgrade(url)
    objects = LocalObjectStore(settings.home / "media")
    objects.remove_orphans(older_than_s=ORPHAN_S)
    studio = Studio(
        settings=settings,
        db=Database(url),
        objects=objects,
        bindings=bindings,
        adapters=ADAPTERS,
    )
    look(studio)
    ensure_published(studio)
    return studio


def database_url(settings: Settings) -> str:
    """Return the URL of the facts; the embedded server is started when it is not running."""
    if settings.database.url != "embedded":
        return settings.database.url
    return server.start(settings.home).url()


def dagster_url(settings: Settings) -> str:
    """Return the URL of Dagster's own database, for psycopg2; no password stands in it.

    With "same" it lies on the server of the facts: the embedded one has it ready, on another server it
    is the database of the facts' name with `_dagster` behind.
    """
    if settings.dagster.url != "same":
        return settings.dagster.url
    if settings.database.url == "embedded":
        return server.start(settings.home).url("dagster", driver="psycopg2")
    return schema.beside(settings.database.url, suffix="_dagster", driver="psycopg2")


def bindings_of(settings: Settings) -> dict[str, Binding]:
    """Return the configured bindings by id, or else the four of the embedded rehearsal provider."""
    configured = {each.id: _binding(each) for each in settings.binding}
    return configured or _rehearsal_bindings(settings.home)


def rehearsal_port(home: Path) -> int:
    """Return the port of this home's rehearsal provider: a free one, chosen once and kept."""
    return int(_once(home / "rehearsal" / "port", _free_port))


def rehearsal_key(home: Path) -> Path:
    """Return the file with the rehearsal provider's key: generated once, mode 600."""
    file = home / "rehearsal" / "key"
    _once(file, lambda: secrets.token_urlsafe(32))
    return file


def make_home(home: Path) -> None:
    """Make the home, for its owner alone. One that exists keeps the mode its owner gave it."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Outside(
            f"The home {home} cannot be made: {error.strerror}", hint="Name a writable folder with --home"
        ) from error


def _rehearsal_bindings(home: Path) -> dict[str, Binding]:
    return {
        f"rehearsal-{kind}": Binding(
            id=f"rehearsal-{kind}",
            kind=kind,
            protocol="rehearsal",
            model=REHEARSAL_MODEL,
            base_url=f"http://127.0.0.1:{rehearsal_port(home)}",
            credential=f"file:{rehearsal_key(home)}",
            egress=(),
            allow_private=True,
            requests_per_minute=6000,
            in_flight_max=16,
        )
        for kind in REHEARSAL_KINDS
    }


def _binding(configured: BindingSettings) -> Binding:
    if configured.protocol not in ADAPTERS:
        raise SettingsError(
            f"Binding {configured.id} names the unknown protocol {configured.protocol!r}",
            hint=f"Spoken here: {', '.join(sorted(ADAPTERS))}",
            key="binding.protocol",
        )
    return Binding(
        id=configured.id,
        kind=configured.kind,
        protocol=configured.protocol,
        model=configured.model,
        base_url=configured.base_url,
        credential=configured.credential,
        egress=configured.egress,
        allow_private=configured.allow_private,
        requests_per_minute=configured.requests_per_minute,
        in_flight_max=configured.in_flight_max,
        labels=configured.labels,
        failures_max=configured.failures_max,
    )


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def _once(file: Path, make: Callable[[], str]) -> str:
    """Return what stands in `file`; whoever comes first writes it, whole, for its owner alone."""
    if not file.exists():
        try:
            file.parent.mkdir(mode=0o700, exist_ok=True)
            fresh = file.with_name(new_id(file.name))
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
                written.write(make())
            with suppress(FileExistsError):
                os.link(fresh, file)
            fresh.unlink()
        except OSError as error:
            raise Outside(
                f"{file} cannot be written: {error.strerror}",
                hint="Make the home writable and leave room on its disk, or name another with --home",
            ) from error
    return file.read_text().strip()
