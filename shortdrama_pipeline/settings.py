"""`shortdrama.toml` and `SHORTDRAMA_*`, parsed once at one door (`load`) and handed on.

Secrets never stand here: a credential is a reference, `env:NAME` or `file:PATH`, read at submit.
`SHORTDRAMA_STUDIO__TIME_ZONE` overrides `[studio] time_zone`; in a list the id comes between:
`SHORTDRAMA_BINDING__<ID>__BASE_URL`, the id in capitals with `_` for `-`.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from re import compile as pattern
from typing import Annotated, Self, get_args
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from shortdrama_pipeline.errors import SettingsError, ShortdramaError
from shortdrama_pipeline.rules import schedules
from shortdrama_pipeline.rules.currencies import CURRENCIES
from shortdrama_pipeline.rules.states import MediaKind

FILE_NAME = "shortdrama.toml"
ENVIRONMENT = "SHORTDRAMA_"
_ID = pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LANGUAGE = pattern(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_CREDENTIAL = pattern(r"env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*")


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        near = get_close_matches(name, available_timezones(), n=1)
        raise ValueError(f"is no time zone{f'; did you mean {near[0]}?' if near else ''}")
    return name


def _known_currency(code: str) -> str:
    if code not in CURRENCIES:
        raise ValueError("is no currency; write its ISO 4217 code, such as CNY")
    return code


def _language(tag: str) -> str:
    if not _LANGUAGE.fullmatch(tag):
        raise ValueError("is no language; write its BCP 47 tag, such as zh-CN")
    return tag


def _without_password(url: str) -> str:
    """Refuse a URL that carries a secret, without repeating it."""
    parts = urlsplit(url)
    words = {name.lower() for name, _ in parse_qsl(parts.query)}
    if parts.password is not None or words & {"password", "token", "key", "secret"}:
        raise ValueError("carries a password; use PGPASSFILE, or credential = env:NAME or file:PATH")
    return url


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ValueError("must be letters, digits, dots, hyphens and underscores, at most 64")
    return text


def _media_kind(text: str) -> str:
    if text not in set(MediaKind):
        raise ValueError(f"must be one of: {', '.join(MediaKind)}")
    return text


def _reference(text: str) -> str:
    if not _CREDENTIAL.fullmatch(text):  # it may be the secret itself, so it is not repeated
        raise ValueError("must be a reference, env:NAME or file:PATH, never the secret itself")
    return text


def _database(url: str) -> str:
    if url != "embedded" and not url.startswith("postgresql+psycopg://"):
        raise ValueError('must be "embedded" or begin with postgresql+psycopg://')
    return _without_password(url)


def _dagster(url: str) -> str:
    if url != "same" and not url.startswith("postgresql+psycopg2://"):
        raise ValueError('must be "same" or begin with postgresql+psycopg2://')
    return _without_password(url)


def _storage(url: str) -> str:
    if url != "file":
        raise ValueError('must be "file"; object storage such as s3:// is not supported yet')
    return url


def _base_url(url: str) -> str:
    parts = urlsplit(_without_password(url))
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("must be https://host/path (http only with allow_private)")
    return url.rstrip("/")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class StudioSettings(_Part):
    time_zone: Annotated[str, AfterValidator(_known_zone)] = "Asia/Shanghai"
    currency: Annotated[str, AfterValidator(_known_currency)] = "CNY"
    language: Annotated[str, AfterValidator(_language)] = "zh-CN"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


class DatabaseSettings(_Part):
    url: Annotated[str, AfterValidator(_database)] = "embedded"


class DagsterSettings(_Part):
    url: Annotated[str, AfterValidator(_dagster)] = "same"


class StorageSettings(_Part):
    url: Annotated[str, AfterValidator(_storage)] = "file"


class ScheduleSettings(_Part):
    """TaskSpec (G-504). In this release `cron` and `labels` only; other forms are refused."""

    id: str
    cron: str
    timeout: int | None = None
    max_retries: int = 0
    concurrency: int = 1
    labels: dict[str, str] = Field(default_factory=dict)
    series: str | None = None

    @model_validator(mode="after")
    def _supported(self) -> Self:
        for name, usual in (("timeout", None), ("max_retries", 0), ("concurrency", 1)):
            if getattr(self, name) != usual:
                raise ValueError(f"{name} is not supported yet; leave it out")
        if not self.labels:  # G-505
            raise ValueError('labels are missing; give at least one, such as labels = {env = "prod"}')
        schedules.check(self.id, self.cron)
        return self


class BindingSettings(_Part):
    id: Annotated[str, AfterValidator(_id)]
    kind: Annotated[str, AfterValidator(_media_kind)]
    protocol: str
    model: str
    base_url: Annotated[str, AfterValidator(_base_url)]
    credential: Annotated[str, AfterValidator(_reference)]
    egress: tuple[str, ...] = ()
    allow_private: bool = False
    requests_per_minute: int = Field(default=600, gt=0)
    in_flight_max: int = Field(default=16, gt=0)
    failures_max: int = Field(default=5, gt=0)
    labels: dict[str, str] = Field(default_factory=dict)
    price: str = ""

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if self.base_url.startswith("http://") and not self.allow_private:
            raise ValueError("base_url without https would show the credential to the network; use https")
        return self


class Settings(_Part):
    """Everything configured. `home` is SHORTDRAMA_HOME, absolute."""

    home: Path
    studio: StudioSettings = StudioSettings()
    database: DatabaseSettings = DatabaseSettings()
    dagster: DagsterSettings = DagsterSettings()
    storage: StorageSettings = StorageSettings()
    schedule: tuple[ScheduleSettings, ...] = ()
    binding: tuple[BindingSettings, ...] = ()

    @model_validator(mode="after")
    def _ids_once(self) -> Self:
        for name, ids in (
            ("schedule", [each.id for each in self.schedule]),
            ("binding", [each.id for each in self.binding]),
        ):
            twice = sorted({each for each in ids if ids.count(each) > 1})
            if twice:
                raise ValueError(f"[[{name}]] {twice[0]} stands there twice; give each its own id")
            plain: dict[str, str] = {}
            for each in ids:
                other = plain.setdefault(plain_id(each), each)
                if other != each:
                    raise ValueError(f"[[{name}]] {other} and {each} are one name where only _ is known")
        return self


def plain_id(text: str) -> str:
    """Return an id as variables and Dagster spell it: small letters, and _ for - and for a dot."""
    return text.lower().replace("-", "_").replace(".", "_")


def load(home: Path | None, config: Path | None, *, environment: Mapping[str, str]) -> Settings:
    """Read file and environment. Raises SettingsError naming the key and what it may be.

    `home` is --home, `config` is --config; without them SHORTDRAMA_HOME or ./.shortdrama, and
    `shortdrama.toml` in the home, which may be missing.
    """
    place = (home or Path(environment.get("SHORTDRAMA_HOME") or ".shortdrama")).absolute()
    named = config or (
        Path(environment["SHORTDRAMA_CONFIG"]) if environment.get("SHORTDRAMA_CONFIG") else None
    )
    file = (named or place / FILE_NAME).absolute()
    raw = _read(file, must_exist=named is not None)
    if "home" in raw:
        raise SettingsError(
            "`home` cannot stand in the file", hint="Use --home or SHORTDRAMA_HOME", key="home"
        )
    _check_keys(Settings, raw, "", file)
    for name, value in environment.items():
        if name.startswith(ENVIRONMENT) and "__" in name:
            _override(raw, name, value)
    _prepare(raw, file)
    try:
        return Settings.model_validate_json(json.dumps({**raw, "home": str(place)}, default=str), strict=True)
    except ValidationError as error:
        raise _as_settings_error(error, raw, file) from None  # its own text could repeat a secret


def _read(file: Path, *, must_exist: bool) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise SettingsError(
                f"There is no file {file}", hint="Name an existing file with --config"
            ) from error
        return {}
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not UTF-8 text", hint="Save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{file} is not TOML: {error}", hint="Mend that line; every text stands in quotes", file=str(file)
        ) from error
    except OSError as error:
        raise SettingsError(
            f"{file} cannot be read: {error.strerror}",
            hint="Name a readable file with --config",
            file=str(file),
        ) from error


def _check_keys(model: type[BaseModel], raw: Mapping[str, object], prefix: str, file: Path) -> None:
    """Refuse a key nobody knows, naming the nearest known one; then those of the parts."""
    for key, value in raw.items():
        if key not in model.model_fields:
            raise _unknown(f"{prefix}{key}", key, model, file=str(file))
        part = _part_of(model, key)
        if part is None:
            continue
        for index, each in enumerate(value if isinstance(value, list) else [value]):
            where = f"{key}[{index}]" if isinstance(value, list) else key
            if isinstance(each, dict):
                _check_keys(part, each, f"{prefix}{where}.", file)


def _unknown(where: str, key: str, model: type[BaseModel], *, file: str) -> SettingsError:
    known = [name for name in model.model_fields if name != "home"]
    near = get_close_matches(key, known, n=1, cutoff=0.5)
    return SettingsError(
        f"Unknown key `{where}`",
        hint=f"Did you mean `{near[0]}`?" if near else f"Known here: {', '.join(known)}",
        key=where,
        nearest=near[0] if near else None,
        file=file,
    )


def _part_of(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """Return the model of the tables under `key`, if it holds tables."""
    annotation = model.model_fields[key].annotation
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _override(raw: dict[str, object], name: str, value: str) -> None:
    """Put the value of one variable in its place."""
    section, _, rest = name.removeprefix(ENVIRONMENT).lower().partition("__")
    model = _part_of(Settings, section) if section in Settings.model_fields and section != "home" else None
    if model is None:
        raise _unknown(name, section, Settings, file="environment")
    target: object
    if section in {"schedule", "binding"}:
        wanted, _, rest = rest.partition("__")
        listed = raw.get(section, [])
        entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        ids = {plain_id(str(each.get("id"))): each for each in entries}
        target = ids.get(wanted)
        if not isinstance(target, dict):
            raise SettingsError(
                f"{name} names no [[{section}]] of the file",
                hint=f"Known: {', '.join(ids) or 'none'}; write its id in capitals with _ for -",
                key=name,
            )
    else:
        target = raw.setdefault(section, {})
    if rest not in model.model_fields:
        raise _unknown(name, rest, model, file="environment")
    if isinstance(target, dict):
        target[rest] = _from_text(name, value, model, rest)


def _from_text(name: str, text: str, model: type[BaseModel], key: str) -> object:
    """Read a variable's text as its key's type: numbers, truth, lists and tables as JSON, else text."""
    annotation = model.model_fields[key].annotation
    if annotation is str or annotation == str | None:
        return text
    try:
        return json.loads(text.lower() if annotation is bool else text)
    except ValueError:
        raise SettingsError(
            f"{name} cannot be read", hint='Write it as in JSON: 5, true, ["a"], {"a": "b"}', key=name
        ) from None


def _prepare(raw: dict[str, object], file: Path) -> None:
    """Write labels as text, and find each price file beside the configuration."""
    for entry in _entries(raw):
        labels = entry.get("labels")
        if isinstance(labels, dict):
            entry["labels"] = {
                key: each if isinstance(each, str) else json.dumps(each, default=str)
                for key, each in labels.items()
            }
        price = entry.get("price")
        if isinstance(price, str) and price:
            place = file.parent / price
            if not place.is_file():
                raise SettingsError(
                    f"The price list {price} of binding {entry.get('id')} is not there",
                    hint=f"Put it at {place}, or correct `price`",
                    key="binding.price",
                )
            entry["price"] = str(place)


def _entries(raw: Mapping[str, object]) -> Iterator[dict[str, object]]:
    for section in ("schedule", "binding"):
        listed = raw.get(section)
        if isinstance(listed, list):
            yield from (each for each in listed if isinstance(each, dict))


def _as_settings_error(error: ValidationError, raw: Mapping[str, object], file: Path) -> SettingsError:
    first = error.errors(include_url=False, include_input=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ShortdramaError):
        return SettingsError(cause.message, hint=cause.hint, file=str(file))
    where = ""
    for step in first["loc"]:
        where += f"[{step}]" if isinstance(step, int) else f".{step}"
    where = where.lstrip(".")
    section = first["loc"][0] if first["loc"] else ""
    listed = raw.get(str(section))
    if isinstance(listed, list) and len(first["loc"]) > 1 and isinstance(listed[int(first["loc"][1])], dict):
        where += f" ({listed[int(first['loc'][1])].get('id', 'without id')})"
    message = first["msg"].removeprefix("Value error, ")
    return SettingsError(
        f"`{where}` {message}" if where else message,
        hint=f"Correct it in {file}, or by its SHORTDRAMA_ variable",
        key=where,
        file=str(file),
    )
