import pytest

from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.store.guards import find_broken_chains
from tests.engine.conftest import Shop

ALL = (MediaKind.TEXT, MediaKind.IMAGE, MediaKind.SPEECH, MediaKind.VIDEO)


@pytest.mark.parametrize("kind", ALL)
def test_one_item_of_each_kind_is_bought_once_registered_and_settled(shop: Shop, kind: MediaKind) -> None:
    (task_id,) = shop.order(kind)
    report = shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    assert len(shop.vendor.posts()) == 1
    assert (report.submitted, report.ingested, report.settled, report.idle) == (1, 1, 1, True)
    (version,) = shop.rows("select * from versions where attempt_id is not null")
    (file,) = shop.rows("select * from media_files")
    assert file["state"] == "ready"
    assert version["sha256"] == file["sha256"]


def test_the_history_shows_each_durable_step_in_its_order(shop: Shop) -> None:
    (task_id,) = shop.order(MediaKind.VIDEO)
    shop.drain()
    (attempt,) = shop.rows("select * from provider_attempts")
    assert shop.history("task", task_id) == ["queued", "running", "waitingProvider", "ingesting", "succeeded"]
    assert shop.history("attempt", attempt["attempt_id"]) == [
        "prepared",
        "submitStarted",
        "accepted",
        "completed",
    ]
    (job,) = shop.rows("select * from provider_jobs")
    times = ["provider_finished_at", "downloadable_at", "transferred_at", "registered_at"]
    assert [job[each] for each in times] == sorted(job[each] for each in times)
    (money,) = shop.rows("select * from reservations")
    order = shop.rows(
        "select event_id, to_state from events where entity_id = any(:ids) order by event_id",
        ids=[task_id, money["reservation_id"]],
    )
    words = [each["to_state"] for each in order]
    assert words.index("succeeded") < words.index("settled")
    assert words.index("settlementPending") < words.index("settled")
    with shop.studio.db.read() as tx:
        assert find_broken_chains(tx) == []


def test_a_batch_of_all_kinds_drains_with_exact_money_and_few_transactions(shop: Shop) -> None:
    kinds = [MediaKind.IMAGE] * 12 + [MediaKind.SPEECH] * 8 + [MediaKind.VIDEO] * 10
    ids = shop.order(*kinds)
    report = shop.drain()
    assert all(shop.states(each) == ("succeeded", ["completed"], "settled") for each in ids)
    assert report.settled == len(ids)
    assert len(shop.vendor.posts()) == len(ids)
    balances = shop.balances()
    assert balances["wallet:studio:reserved CNY"] == 0
    assert sum(value for key, value in balances.items() if key.endswith("CNY")) == 0
    charged = sum(each["settled_micros"] for each in shop.rows("select settled_micros from reservations"))
    assert balances["studio:revenue CNY"] == charged > 0
    assert balances["vendor:rehearsal-video XRH"] == 10 * 100_000
    assert shop.rows("select * from outbox where sent_at is null") == []


def test_a_second_drain_finds_nothing_to_do(shop: Shop) -> None:
    shop.order(MediaKind.IMAGE, MediaKind.VIDEO)
    shop.drain()
    before = shop.snapshot()
    report = shop.drain()
    assert report.idle
    assert report.submitted == 0
    assert shop.snapshot() == before
