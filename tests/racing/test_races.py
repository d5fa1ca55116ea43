"""64 at once at each of the places where only one may act; no loser ever acts.

`make racing` runs 100 rounds of each (SHORTDRAMA_RACING_ROUNDS); `make test` a few.
"""

from dataclasses import replace
from datetime import UTC, datetime

from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.allocating import Allocated, allocate
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.callbacks import Verdict, receive
from shortdrama_pipeline.services.confirming import Confirmed, confirm_quote
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.settling import Due, apply_settlements, find_pending
from shortdrama_pipeline.services.shifts import Pace, Shift
from shortdrama_pipeline.services.submitting import Ready, apply_fences, prepare
from shortdrama_pipeline.store import attempts, tasks
from tests.engine.conftest import PERSON, QUICK, STAGES, Shop, item
from tests.engine.test_callbacks import CHANNEL, NOW, message, signed
from tests.engine.test_faults import BREAK_LEDGER
from tests.racing.racers import RACERS, ROUNDS, Racers

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
FRIDAY = datetime(2026, 8, 14, 1, 0, tzinfo=UTC)


def test_of_64_allocations_one_makes_the_episode(shop: Shop, racers: Racers) -> None:
    for number in range(ROUNDS):

        def ask(_racer: int, key: str = f"run {number}") -> Allocated:
            return allocate(racers.studio, key=key, at=FRIDAY, actor=PERSON)

        found = racers.race(ask)
        assert sum(each.created for each in found) == 1
        assert {each.episode_id for each in found} == {f"2026-W33-{number}"}
    rows = shop.rows("select sequence from episodes where week_id = '2026-W33' order by 1")
    assert [each["sequence"] for each in rows] == list(range(ROUNDS))


def test_of_64_clicks_one_buys(shop: Shop, racers: Racers) -> None:
    """Every click has a key of its own."""
    for number in range(ROUNDS):
        quote_id = plan_items(shop.studio, STAGES[IMAGE], [item(IMAGE, number)], actor=PERSON).quote_id
        assert quote_id is not None

        def click(racer: int, quote_id: str = quote_id) -> Confirmed:
            key = f"{quote_id} {racer}"
            return confirm_quote(racers.studio, quote_id, idempotency_key=key, actor=PERSON)

        found = racers.race(click)
        assert sum(each.created for each in found) == 1
        assert len({(each.execution_id, tuple(each.task_ids)) for each in found}) == 1
    for table in ("executions", "tasks", "reservations", "outbox"):
        assert shop.rows(f"select count(*) as n from {table}") == [{"n": ROUNDS}]
    assert verify_all(shop.studio).problems == ()


def test_of_64_claims_one_wins_and_its_token_is_new(shop: Shop, racers: Racers) -> None:
    for task_id in shop.order(*[IMAGE] * ROUNDS):

        def claim(racer: int, task_id: str = task_id) -> dict[str, int]:
            with racers.studio.db.begin() as tx:
                return tasks.claim(tx, [task_id], worker=f"racer-{racer}", lease_ms=60_000)

        found = racers.race(claim)
        (winner,) = [number for number, each in enumerate(found) if each]
        row = shop.task(task_id)
        assert found[winner] == {task_id: row["lease_token"]}
        assert (row["owner"], row["lease_token"], row["state"]) == (f"racer-{winner}", 1, "running")


def test_of_64_fences_one_stands(shop: Shop, racers: Racers) -> None:
    """Claim and fence as one worker does them, each racer with a request of its own ready."""
    shop.with_binding(IMAGE, requests_per_minute=10**6, in_flight_max=10**6)
    racers.studio = replace(racers.studio, bindings=shop.studio.bindings)
    ids = shop.order(*[IMAGE] * ROUNDS)
    shifts = [Shift(racers.studio, worker=f"racer-{each}", pace=QUICK, limit=1) for each in range(RACERS)]
    with shop.studio.db.read() as tx:
        due = {each.task.task_id: each for each in tasks.find_due(tx, {"rehearsal-image": ROUNDS})}
    for task_id in ids:

        def fence(racer: int, task_id: str = task_id) -> tuple[str, bool]:
            ready = prepare(shifts[racer], due[task_id])
            assert isinstance(ready, Ready)
            with racers.studio.db.begin() as tx:
                (token,) = apply_fences(tx, [ready])
            return ready.preparation.attempt_id, token is not None

        found = racers.race(fence)
        (winner,) = [attempt_id for attempt_id, won in found if won]
        rows = shop.rows("select attempt_id, state from provider_attempts where task_id = :id", id=task_id)
        assert rows == [{"attempt_id": winner, "state": "submitStarted"}]

        def take_again(racer: int, attempt_id: str = winner) -> set[str]:
            with racers.studio.db.begin() as tx:
                return attempts.take_fence(
                    tx, {attempt_id: 1}, worker=f"racer-{racer}", numbers={attempt_id: 1}
                )

        assert racers.race(take_again) == [set()] * RACERS


def test_of_64_settlements_one_charges(shop: Shop, racers: Racers) -> None:
    shop.order(*[IMAGE] * ROUNDS)
    shop.run(BREAK_LEDGER)
    shop.drain(pace=Pace(), seconds_max=600)
    shop.run("drop trigger no_ledger on ledger_entries")
    with shop.studio.db.read() as tx:
        pending = find_pending(tx, most=ROUNDS)
    assert len(pending) == ROUNDS
    for due in pending:

        def settle(_racer: int, due: Due = due) -> bool:
            with racers.studio.db.begin() as tx:
                return apply_settlements(tx, [due])[0]

        assert sum(racers.race(settle)) == 1
    assert shop.rows("select count(*) as n from ledger_entries where business_key like 'settle:%'") == [
        {"n": ROUNDS}
    ]
    assert shop.rows("select state, count(*) as n from reservations group by 1") == [
        {"state": "settled", "n": ROUNDS}
    ]
    assert shop.balances()["wallet:studio:reserved CNY"] == 0
    assert verify_all(shop.studio).problems == ()


def test_of_64_callbacks_of_one_event_one_wakes(shop: Shop, racers: Racers) -> None:
    shop.vendor.polls_until_done = 10**6
    (task_id,) = shop.order(VIDEO)
    shop.drain(seconds_max=1)
    body = message()
    for number in range(ROUNDS):
        headers = signed(body, event=f"e{number}")

        def tell(_racer: int, headers: dict[str, str] = headers) -> Verdict:
            return receive(racers.studio, CHANNEL, headers=headers, raw_body=body, now_s=NOW).verdict

        found = racers.race(tell)
        assert sorted(found) == sorted([Verdict.WOKE, *[Verdict.REPEATED] * (RACERS - 1)])
    assert len(shop.rows("select 1 from callbacks")) == ROUNDS
    assert shop.states(task_id) == ("waitingProvider", ["accepted"], "reserved")
