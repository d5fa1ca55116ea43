"""Price lists: read exactly, published append-only, the shipped one equal to what its server charges."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.errors import Conflict, GrantRefused, NotReady, QuoteNotConfirmable, UsageError
from shortdrama_pipeline.rehearsal.prices import price_micros as rehearsal_charge
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.prices import vendor_cost_max
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.pricing import (
    ensure_published,
    publish_file,
    read_price_file,
    shipped_prices,
)
from shortdrama_pipeline.settings import BindingSettings
from shortdrama_pipeline.store.tables import price_versions
from tests.money.conftest import PERSON, Rich, image


@given(st.integers(1, 100_000), st.sampled_from([(24, 1), (24_000, 1_001), (30, 1), (25, 1)]))
def test_the_shipped_cost_of_a_film_is_what_the_rehearsal_server_charges(
    frames: int, rate: tuple[int, int]
) -> None:
    price = {each.kind: each for each in shipped_prices("rehearsal", "CNY")}[MediaKind.VIDEO]
    params = {"duration_frames": frames, "frame_rate": list(rate)}
    assert vendor_cost_max(price, params) == Money(rehearsal_charge("video", params), "XRH")


@pytest.mark.parametrize(
    ("kind", "params"),
    [("text", {"task": "outline"}), ("image", {"width": 64, "height": 64}), ("speech", {"text": " 说话。"})],
)
def test_the_shipped_cost_is_what_the_rehearsal_server_charges(kind: str, params: dict[str, object]) -> None:
    price = {each.kind: each for each in shipped_prices("rehearsal", "EUR")}[MediaKind(kind)]
    assert vendor_cost_max(price, params) == Money(rehearsal_charge(kind, params), "XRH")
    assert price.user.currency == "EUR"


FILE = """
[[price]]
binding = "v"
kind = "speech"
user = { currency = "CNY", unit = "character", micros_per_unit = 12.5 }
vendor = { currency = "USD", unit = "character", micros_per_unit = "0.1" }
delivery_deadline_s = 60
source = "https://vendor.example"
dated = "2026-11-30"
"""


def test_a_price_file_is_read_exactly() -> None:
    (price,) = read_price_file(FILE, name="v.toml")
    assert (price.user.micros_per_unit, price.vendor.micros_per_unit) == (Decimal("12.5"), Decimal("0.1"))


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("CNY", "cny", "currency"),
        ('unit = "character"', 'unit = "word"', "unit"),
        ("12.5", '"much"', "micros_per_unit"),
        ("12.5", "nan", "micros_per_unit"),
        ("dated", "data", "dat"),
        ("2026-11-30", "yesterday", "dated"),
        ("[[price]]", "[[price]", "TOML"),
    ],
)
def test_a_wrong_price_file_names_the_place(old: str, new: str, place: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_price_file(FILE.replace(old, new, 1), name="v.toml")
    assert place in caught.value.message


IMAGE = """
[[price]]
binding = "rehearsal-image"
kind = "image"
user = { currency = "CNY", unit = "image", micros_per_unit = 50_000 }
vendor = { currency = "XRH", unit = "image", micros_per_unit = 40_000 }
delivery_deadline_s = 60
source = "a test"
dated = "2026-12-01"
"""


def publish(rich: Rich, tmp_path: Path, text: str = IMAGE, *, actor: str = PERSON) -> bool:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    (published,) = publish_file(rich.studio, file, actor=actor)
    return published.created


def test_the_shipped_list_is_published_once(rich: Rich) -> None:
    assert rich.count("price_versions") == 4
    assert ensure_published(rich.studio) == []
    assert rich.count("price_versions") == 4


def test_equal_content_is_the_same_version_and_other_content_a_newer_one(rich: Rich, tmp_path: Path) -> None:
    assert publish(rich, tmp_path)
    assert not publish(rich, tmp_path)
    assert rich.count("price_versions") == 5
    assert rich.plan([image(1)]).total.micros == 50_000


def test_a_price_that_was_replaced_needs_a_new_date_to_come_back(rich: Rich, tmp_path: Path) -> None:
    publish(rich, tmp_path)
    publish(rich, tmp_path, IMAGE.replace("50_000", "60_000"))
    with pytest.raises(Conflict):
        publish(rich, tmp_path)
    assert publish(rich, tmp_path, IMAGE.replace("12-01", "12-02"))
    assert rich.plan([image(1)]).total.micros == 50_000


def test_a_new_price_between_quote_and_click_makes_a_new_quote_at_that_price(
    rich: Rich, tmp_path: Path
) -> None:
    planned = rich.plan([image(1)])
    publish(rich, tmp_path)
    with pytest.raises(QuoteNotConfirmable) as caught:
        confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    assert caught.value.facts["reasons"] == ["price"]
    (new,) = rich.rows(
        "select total_micros from quotes where quote_id = :id", id=caught.value.facts["new_quote_id"]
    )
    assert new["total_micros"] == 50_000
    assert rich.count("tasks") == 0


def test_only_a_person_publishes_prices(rich: Rich, tmp_path: Path) -> None:
    with pytest.raises(GrantRefused):
        publish(rich, tmp_path, actor="agent:director")


@pytest.mark.parametrize(
    ("old", "new"), [('"CNY"', '"USD"'), ("rehearsal-image", "nobody"), ('kind = "image"', 'kind = "text"')]
)
def test_a_price_that_fits_no_binding_or_currency_is_refused_whole(
    rich: Rich, tmp_path: Path, old: str, new: str
) -> None:
    text = IMAGE.replace('"image", m', '"request", m') if "text" in new else IMAGE
    with pytest.raises(NotReady):
        publish(rich, tmp_path, text.replace(old, new))
    assert rich.count("price_versions") == 4


def test_a_binding_without_a_price_is_not_ready_before_a_quote(rich: Rich) -> None:
    rich.run("alter table price_versions disable trigger user")
    rich.run("delete from price_versions where binding_id = 'rehearsal-image'")
    with pytest.raises(NotReady):
        rich.plan([image(1)])
    assert rich.count("quotes") == 0


def test_a_missing_price_file_is_named(rich: Rich, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        publish_file(rich.studio, tmp_path / "none.toml", actor=PERSON)


def _configured(rich: Rich, file: Path, *, binding_id: str = "rehearsal-image") -> Studio:
    entry = BindingSettings(
        id=binding_id, kind="image", protocol="rehearsal", model="animatic-1", base_url="http://127.0.0.1:9",
        credential="env:KEY", allow_private=True, price=str(file),
    )  # fmt: skip
    return replace(rich.studio, settings=rich.studio.settings.model_copy(update={"binding": (entry,)}))


def test_a_price_file_named_in_the_configuration_is_published_at_opening_and_again_when_it_is_edited(
    rich: Rich, tmp_path: Path
) -> None:
    file = tmp_path / "image.toml"
    file.write_text(IMAGE)
    studio = _configured(rich, file)
    assert [each.binding for each in ensure_published(studio)] == ["rehearsal-image"]
    assert ensure_published(studio) == []
    file.write_text(IMAGE.replace("50_000", "70_000"))
    assert len(ensure_published(studio)) == 1
    assert rich.plan([image(1)]).total.micros == 70_000


def test_a_list_published_by_hand_is_not_replaced_by_the_configured_one_at_the_next_opening(
    rich: Rich, tmp_path: Path
) -> None:
    file = tmp_path / "image.toml"
    file.write_text(IMAGE)
    studio = _configured(rich, file)
    ensure_published(studio)
    publish(rich, tmp_path, IMAGE.replace("50_000", "90_000"))
    assert ensure_published(studio) == []
    assert rich.plan([image(1)]).total.micros == 90_000


def test_a_configured_price_file_without_its_binding_is_refused_by_name(rich: Rich, tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text(FILE)
    with pytest.raises(UsageError, match="no price for rehearsal-image"):
        ensure_published(_configured(rich, file))


def test_a_protocol_ships_with_a_list_or_waits_for_one_whatever_it_is_called() -> None:
    assert {each.kind for each in shipped_prices("rehearsal", "CNY")} == {"text", "image", "video", "speech"}
    assert shipped_prices("another", "CNY") == shipped_prices("../prices/rehearsal", "CNY") == []


def test_what_is_put_in_force_at_the_opening_names_no_one_who_did_not_decide(studio: Studio) -> None:
    assert ensure_published(studio)
    with studio.db.read() as tx:
        assert set(tx.execute(sa.select(price_versions.c.actor)).scalars()) == {"rule:opening"}
