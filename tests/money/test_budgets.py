"""Budget Grants: used up exactly, revoked at once (P-3.7, P-3.8)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from shortdrama_pipeline.errors import GrantRefused, ShortdramaError, UnknownId, UsageError
from shortdrama_pipeline.rules.grants import Grant, Scope
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.granting import issue_budget, revoke_grant, show_grant
from tests.money.conftest import IMAGE_MICROS, PERSON, Rich, image

SCHEDULE = "schedule:weekly"
LIVE = "g.revoked_at is null and g.expires_at > clock_timestamp()"


def budget(rich: Rich, micros: int, **options: object) -> Grant:
    return issue_budget(rich.studio, Money(micros, "CNY"), actor=PERSON, **options)  # type: ignore[arg-type]


def test_a_schedule_confirms_under_a_budget_and_the_tasks_lie_under_a_grant_of_their_own(rich: Rich) -> None:
    grant = budget(rich, 10 * IMAGE_MICROS, scope=Scope(kinds=("image",)))
    planned = rich.plan(actor=SCHEDULE)
    confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=SCHEDULE, grant_id=grant.grant_id)
    (minted,) = rich.rows(
        "select g.kind, g.input_hash, g.scope->>'budget_grant_id' as budget from tasks join grants g"
        " using (grant_id) group by g.grant_id"
    )
    assert minted == {"kind": "operation", "input_hash": planned.input_hash, "budget": grant.grant_id}
    assert show_grant(rich.studio, grant.grant_id).left == Money(7 * IMAGE_MICROS, "CNY")


def test_racing_confirms_never_exceed_the_amount_and_exactly_the_fitting_number_wins(rich: Rich) -> None:
    grant = budget(rich, 5 * IMAGE_MICROS + 1)
    quotes = [rich.plan([image(each)]).quote_id for each in range(16)]
    assert _race(rich, quotes, grant) == 5
    assert show_grant(rich.studio, grant.grant_id).used_micros == 5 * IMAGE_MICROS
    assert rich.count("tasks") == 5
    assert verify_all(rich.studio).problems == ()


def test_racing_confirms_never_exceed_the_number_of_uses(rich: Rich) -> None:
    grant = budget(rich, 1_000 * IMAGE_MICROS, uses_max=3)
    assert _race(rich, [rich.plan([image(each)]).quote_id for each in range(12)], grant) == 3


def test_a_repeat_uses_nothing_up(rich: Rich) -> None:
    grant = budget(rich, 10 * IMAGE_MICROS)
    planned = rich.plan([image(1)])
    for _ in range(3):
        confirm_quote(
            rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON, grant_id=grant.grant_id
        )
    assert show_grant(rich.studio, grant.grant_id).uses == 1


def test_a_forged_grant_and_an_operation_grant_confirm_nothing(rich: Rich) -> None:
    first, second = rich.plan([image(1)]), rich.plan([image(2)])
    confirm_quote(rich.studio, first.quote_id, idempotency_key="k", actor=PERSON)
    (minted,) = rich.rows("select grant_id from grants")
    for grant_id, error in (("grant_forged", UnknownId), (str(minted["grant_id"]), GrantRefused)):
        with pytest.raises(error):
            confirm_quote(rich.studio, second.quote_id, idempotency_key="k2", actor=PERSON, grant_id=grant_id)
    assert rich.count("executions") == 1


def test_revoking_a_budget_kills_what_was_minted_under_it_and_says_what_goes_on(rich: Rich) -> None:
    grant = budget(rich, 10 * IMAGE_MICROS)
    confirm_quote(
        rich.studio, rich.plan().quote_id, idempotency_key="k", actor=PERSON, grant_id=grant.grant_id
    )
    revoked = revoke_grant(rich.studio, grant.grant_id, actor=PERSON)
    assert len(revoked.revoked) == 2
    assert revoked.tasks == {"queued": 3}
    assert rich.rows(f"select grant_id from grants g where {LIVE}") == []
    again = revoke_grant(rich.studio, grant.grant_id, actor=PERSON)
    assert (again.revoked, again.revoked_at) == ((), revoked.revoked_at)


def test_no_task_is_live_after_a_revocation_that_raced_with_confirms(rich: Rich) -> None:
    grant = budget(rich, 1_000 * IMAGE_MICROS)
    quotes = [rich.plan([image(each)]).quote_id for each in range(12)]
    barrier = Barrier(2)

    def revoke() -> None:
        barrier.wait()
        revoke_grant(rich.studio, grant.grant_id, actor=PERSON)

    with ThreadPoolExecutor(1) as other:
        revoking = other.submit(revoke)
        barrier.wait()
        won = _race(rich, quotes, grant)
        revoking.result()
    assert rich.count("executions") == won
    assert rich.rows(f"select task_id from tasks join grants g using (grant_id) where {LIVE}") == []
    assert verify_all(rich.studio).problems == ()


@pytest.mark.parametrize("actor", ["agent:director", SCHEDULE])
def test_only_a_person_issues_and_revokes(rich: Rich, actor: str) -> None:
    grant = budget(rich, IMAGE_MICROS)
    with pytest.raises(GrantRefused):
        issue_budget(rich.studio, Money(1, "CNY"), actor=actor)
    with pytest.raises(GrantRefused):
        revoke_grant(rich.studio, grant.grant_id, actor=actor)


def test_an_impossible_budget_is_refused(rich: Rich) -> None:
    for options in ({"uses_max": 0}, {"valid_s": 0}, {"scope": Scope(models=("none",))}):
        with pytest.raises(UsageError):
            budget(rich, 1, **options)
    with pytest.raises(UsageError):
        issue_budget(rich.studio, Money(1, "USD"), actor=PERSON)
    with pytest.raises(UnknownId):
        budget(rich, 1, scope=Scope(episodes=("2026-W99-0",)))


def test_a_child_never_outlives_its_budget(rich: Rich) -> None:
    grant = budget(rich, IMAGE_MICROS, valid_s=60)
    planned = rich.plan([image(1)])
    confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON, grant_id=grant.grant_id)
    (ends,) = rich.rows("select count(distinct expires_at) as ends from grants")
    assert ends == {"ends": 1}


def _race(rich: Rich, quotes: list[str], grant: Grant) -> int:
    barrier = Barrier(len(quotes))

    def click(quote_id: str) -> bool:
        barrier.wait()
        try:
            return confirm_quote(
                rich.studio, quote_id, idempotency_key=quote_id, actor=PERSON, grant_id=grant.grant_id
            ).created
        except ShortdramaError:
            return False

    with ThreadPoolExecutor(len(quotes)) as pool:
        return sum(pool.map(click, quotes))
