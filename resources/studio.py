"""The studio for assets and sensors: the database, the storage and the providers of one home.

Each resource holds a place, never a secret; opening reads configuration and touches no credential.
"""

from collections.abc import Mapping
from functools import cache
from os import environ  # noqa: TID251 - Dagster's processes have no other door
from pathlib import Path
from threading import Lock

import dagster as dg

from shortdrama_pipeline.media.object_store import ObjectStore
from shortdrama_pipeline.providers.ports import Adapter, Binding
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.opening import open_studio
from shortdrama_pipeline.settings import Settings, load
from shortdrama_pipeline.store.database import Database

_opened: dict[tuple[str, str], Studio] = {}
_opening = Lock()


class _Of(dg.ConfigurableResource[None]):
    """Of which studio: `home` and, where it lies elsewhere, the configuration file `config`."""

    home: str
    config: str = ""

    def _opened(self) -> Studio:
        return _open_once(self.home, self.config)


class DatabaseResource(_Of):
    """The database of the facts."""

    def open(self) -> Database:
        return self._opened().db


class StorageResource(_Of):
    """The stored bytes, by their hash."""

    def open(self) -> ObjectStore:
        return self._opened().objects


class ProviderResource(_Of):
    """The configured channels and the protocols they speak; credentials by reference only."""

    def bindings(self) -> Mapping[str, Binding]:
        return self._opened().bindings

    def adapters(self) -> Mapping[str, Adapter]:
        return self._opened().adapters


class StudioResource(_Of):
    """Everything a use case needs, as one plain object."""

    database: DatabaseResource
    storage: StorageResource
    provider: ProviderResource

    def open(self) -> Studio:
        return Studio(
            settings=read_settings(self.home, self.config),
            db=self.database.open(),
            objects=self.storage.open(),
            bindings=self.provider.bindings(),
            adapters=self.provider.adapters(),
        )


def studio_resources(settings: Settings, *, config: str = "") -> dict[str, object]:
    """Return the four resources of one studio by name."""
    home = str(settings.home)
    parts = {
        "database": DatabaseResource(home=home, config=config),
        "storage": StorageResource(home=home, config=config),
        "provider": ProviderResource(home=home, config=config),
    }
    return {**parts, "studio": StudioResource(home=home, config=config, **parts)}


@cache
def read_settings(home: str = "", config: str = "") -> Settings:
    """Read the settings of a home, by default of the environment's, once per process."""
    return load(
        Path(home) if home else None,
        Path(config) if config else None,
        environment=environ,
    )


def close_opened() -> None:
    """Give back the connections of every studio this process opened."""
    while _opened:
        _opened.popitem()[1].db.close()


def _open_once(home: str, config: str) -> Studio:
    """Open a studio once per process: a code server looks into it every few seconds."""
    with _opening:
        if (home, config) not in _opened:
            _opened[home, config] = open_studio(read_settings(home, config))
        return _opened[home, config]
