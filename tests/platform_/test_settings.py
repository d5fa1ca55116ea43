"""The one door of configuration: what it takes, and what it refuses by name."""

from pathlib import Path

import pytest

from shortdrama_pipeline.errors import SettingsError
from shortdrama_pipeline.settings import Settings, load

BINDING = """
[[binding]]
id = "studio-video"
kind = "video"
protocol = "rehearsal"
model = "animatic-1"
base_url = "https://vendor.example/api/"
credential = "env:VENDOR_KEY"
"""
SCHEDULE = """
[[schedule]]
id = "weekly"
cron = "0 9 * * 1"
labels = {env = "prod", critical = true}
"""


def read(home: Path, text: str, **environment: str) -> Settings:
    home.mkdir(exist_ok=True)
    (home / "shortdrama.toml").write_text(text, encoding="utf-8")
    return load(home, None, environment=environment)


def refused(home: Path, text: str, **environment: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read(home, text, **environment)
    assert caught.value.hint
    return caught.value


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    settings = load(tmp_path, None, environment={})
    assert settings.home == tmp_path
    assert settings.studio.time_zone == "Asia/Shanghai"
    assert settings.database.url == "embedded"


def test_the_home_is_the_option_or_else_the_variable_or_else_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(None, None, environment={}).home == tmp_path / ".shortdrama"
    assert load(None, None, environment={"SHORTDRAMA_HOME": "elsewhere"}).home == tmp_path / "elsewhere"
    assert load(Path("mine"), None, environment={"SHORTDRAMA_HOME": "elsewhere"}).home == tmp_path / "mine"


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    settings = read(tmp_path, '[studio]\ncurrency = "USD"\n' + BINDING + SCHEDULE)
    assert settings.studio.currency == "USD"
    assert settings.binding[0].base_url == "https://vendor.example/api"
    assert settings.schedule[0].labels == {"env": "prod", "critical": "true"}


@pytest.mark.parametrize(
    ("name", "value", "read_as"),
    [
        ("SHORTDRAMA_STUDIO__TIME_ZONE", "Europe/Paris", lambda s: s.studio.time_zone == "Europe/Paris"),
        ("SHORTDRAMA_BINDING__STUDIO_VIDEO__IN_FLIGHT_MAX", "3", lambda s: s.binding[0].in_flight_max == 3),
        (
            "SHORTDRAMA_BINDING__STUDIO_VIDEO__EGRESS",
            '["a.example"]',
            lambda s: s.binding[0].egress == ("a.example",),
        ),
        ("SHORTDRAMA_BINDING__STUDIO_VIDEO__ALLOW_PRIVATE", "True", lambda s: s.binding[0].allow_private),
        ("SHORTDRAMA_SCHEDULE__WEEKLY__CRON", "5 9 * * 1", lambda s: s.schedule[0].cron == "5 9 * * 1"),
    ],
)
def test_every_value_is_overridden_by_its_variable(
    tmp_path: Path, name: str, value: str, read_as: object
) -> None:
    assert callable(read_as)
    assert read_as(read(tmp_path, BINDING + SCHEDULE, **{name: value}))


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ('[studio]\ncurency = "CNY"', "studio.curency", "currency"),
        ('[studios]\ncurrency = "CNY"', "studios", "studio"),
        (BINDING + 'base_ulr = "x"', "binding[0].base_ulr", "base_url"),
        (SCHEDULE.replace("cron", "crno"), "schedule[0].crno", "cron"),
        ("zzz = 1", "zzz", None),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    tmp_path: Path, text: str, key: str, nearest: str | None
) -> None:
    error = refused(tmp_path, text)
    assert error.facts["key"] == key
    assert error.facts["nearest"] == nearest
    assert nearest is None or nearest in error.hint


@pytest.mark.parametrize(
    "name", ["SHORTDRAMA_STUDIO__CURENCY", "SHORTDRAMA_STUDOI__CURRENCY", "SHORTDRAMA_BINDING__NONE__MODEL"]
)
def test_an_unknown_variable_is_named(tmp_path: Path, name: str) -> None:
    assert name in refused(tmp_path, BINDING, **{name: "x"}).message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[studio", "not TOML"),
        ("[studio]\ncurrency = 5", "studio.currency"),
        ('[studio]\ncurrency = "YUAN"', "no currency"),
        ('[studio]\ntime_zone = "Asia/Shanghia"', "Asia/Shanghai"),
        ('[studio]\nlanguage = "chinese!"', "no language"),
        ('[database]\nurl = "sqlite:///x"', "database.url"),
        ('[database]\nurl = "postgresql://h/db"', "postgresql+psycopg://"),
        ('[dagster]\nurl = "postgresql+psycopg://h/db"', "postgresql+psycopg2://"),
        ('[storage]\nurl = "s3://bucket"', "not supported yet"),
        (SCHEDULE + "timeout = 60", "timeout is not supported yet"),
        (SCHEDULE + "max_retries = 1", "max_retries is not supported yet"),
        (SCHEDULE + "concurrency = 2", "concurrency is not supported yet"),
        (SCHEDULE.replace('env = "prod", critical = true', ""), "labels are missing"),
        (SCHEDULE.replace("0 9 * * 1", "@every 5m"), "cannot be read"),
        (SCHEDULE.replace("0 9 * * 1", "0 25 * * 1"), "cannot be read"),
        (SCHEDULE + SCHEDULE, "twice"),
        (BINDING + BINDING, "twice"),
        (
            SCHEDULE.replace('"weekly"', '"a-b"') + SCHEDULE.replace('"weekly"', '"a_b"'),
            "a-b and a_b are one",
        ),
        (SCHEDULE + SCHEDULE.replace('"weekly"', '"Weekly"'), "weekly and Weekly are one"),
        (
            BINDING.replace("studio-video", "a.b") + BINDING.replace("studio-video", "a-b"),
            "a.b and a-b are one",
        ),
        (BINDING.replace('"video"', '"opera"'), "must be one of"),
        (BINDING.replace("https", "http"), "https"),
        (BINDING.replace("https://", "ftp://"), "binding[0].base_url"),
        (BINDING + "requests_per_minute = 0", "requests_per_minute"),
        (BINDING + 'requests_per_minute = "60"', "requests_per_minute"),
        (BINDING + 'price = "prices/none.toml"', "prices/none.toml"),
        (BINDING.replace('model = "animatic-1"\n', ""), "binding[0].model"),
        ('home = "/x"', "home"),
    ],
)
def test_a_wrong_value_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    error = refused(tmp_path, text)
    assert says in error.message


@pytest.mark.parametrize(
    "text",
    [
        '[database]\nurl = "postgresql+psycopg://u:hunter2@h/db"',
        '[database]\nurl = "postgresql+psycopg://u@h/db?password=hunter2"',
        '[dagster]\nurl = "postgresql+psycopg2://u:hunter2@h/db"',
        BINDING.replace("https://vendor", "https://u:hunter2@vendor"),
        BINDING.replace("env:VENDOR_KEY", "hunter2"),
        BINDING.replace("env:VENDOR_KEY", "sk-hunter2"),
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    error = refused(tmp_path, text)
    assert "hunter2" not in f"{error} {error.hint} {error.facts} {error.__cause__}"


def test_a_price_list_is_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "video.toml").write_text("")
    settings = read(tmp_path, BINDING + 'price = "prices/video.toml"')
    assert settings.binding[0].price == str(tmp_path / "prices" / "video.toml")


def test_what_made_a_file_unreadable_stands_behind_the_error(tmp_path: Path) -> None:
    assert isinstance(refused(tmp_path, "[studio").__cause__, ValueError)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no file"):
        load(tmp_path, tmp_path / "other.toml", environment={})


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "shortdrama.toml").write_bytes("[studio]\n# 短剧".encode("gb18030"))
    with pytest.raises(SettingsError, match="UTF-8"):
        load(tmp_path, None, environment={})
