"""`shortdrama.toml` and `SHORTDRAMA_*`, parsed once at one door (`load`) and handed on.

Secrets never stand here: a credential is a reference, `env:NAME` or `file:PATH`, read at submit.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudioSettings(_Part):
    time_zone: str = "Asia/Shanghai"
    currency: str = "CNY"
    language: str = "zh-CN"


class DatabaseSettings(_Part):
    url: str = "embedded"


class DagsterSettings(_Part):
    url: str = "same"


class StorageSettings(_Part):
    url: str = "file"


class ScheduleSettings(_Part):
    """TaskSpec (G-504). In this release `cron` and `labels` only; other forms are refused."""

    id: str
    cron: str
    timeout: int | None = None
    max_retries: int = 0
    concurrency: int = 1
    labels: dict[str, str] = Field(default_factory=dict)
    series: str | None = None


class BindingSettings(_Part):
    id: str
    kind: str
    protocol: str
    model: str
    base_url: str
    credential: str
    egress: tuple[str, ...] = ()
    allow_private: bool = False
    requests_per_minute: int = 600
    in_flight_max: int = 16
    labels: dict[str, str] = Field(default_factory=dict)
    price: str = ""


class Settings(_Part):
    """Everything configured. `home` is SHORTDRAMA_HOME, absolute."""

    home: Path
    studio: StudioSettings = StudioSettings()
    database: DatabaseSettings = DatabaseSettings()
    dagster: DagsterSettings = DagsterSettings()
    storage: StorageSettings = StorageSettings()
    schedule: tuple[ScheduleSettings, ...] = ()
    binding: tuple[BindingSettings, ...] = ()
