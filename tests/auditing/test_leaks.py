"""A key or whole media where neither belongs is named, and the key is not repeated (V-14)."""

import base64
import json
from pathlib import Path

from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.auditing import verify_all
from tests.auditing.conftest import World
from tests.engine.conftest import Shop

KEY = "rehearsal-key-of-tests"


def leaks(shop: Shop) -> dict[str, str]:
    found = verify_all(shop.studio).problems
    assert {each.invariant for each in found} <= {"V-14"}
    assert KEY not in json.dumps([each.to_json() for each in found])
    return {each.subject: each.what for each in found}


def write(home: Path, name: str, data: bytes) -> None:
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_bytes(data)


def test_a_key_in_a_log_a_receipt_or_a_row_is_named_by_its_channel(shop: Shop) -> None:
    shop.order(MediaKind.IMAGE)
    shop.drain()
    assert leaks(shop) == {}
    home = shop.studio.settings.home
    write(home, "logs/engine.log", b"x" * 1_048_570 + KEY.encode())  # across two reads
    write(home, "receipts/attempt.json", json.dumps({"authorization": f"Bearer {KEY}"}).encode())
    shop.run(
        "insert into alerts (alert_id, kind, entity_id, message, facts)"
        " values ('alert_x', 'x', 'x', :m, '{}')",
        m=f"called with {KEY}",
    )
    found = leaks(shop)
    assert set(found) == {"logs/engine.log", "receipts/attempt.json", "alerts alert_x"}
    assert all("the key of rehearsal-" in each for each in found.values())


def test_media_in_a_log_are_named(shop: Shop) -> None:
    write(shop.studio.settings.home, "logs/engine.log", base64.b64encode(bytes(range(256)) * 8))
    assert leaks(shop) == {"logs/engine.log": "it holds what looks like encoded media"}


def test_after_everything_has_happened_nothing_has_leaked(world: World) -> None:
    assert leaks(world.shop) == {}
