"""The rows of §14 that need more than one item or more than a worker: clicks, batches, contention, runs."""

from collections.abc import Callable

import pytest

from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.rules.compensations import OpType
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.compensating import request_compensation
from shortdrama_pipeline.services.planning import plan_items
from tests.engine.conftest import EPISODE, PERSON, STAGES, item
from tests.engine.test_faults import SILENT
from tests.fake_vendor import COST, Fault, error
from tests.faults.catalogue import FAULTS, IN_TRANSACTION, WHOLE_IMAGE, Cut, Mode, cuts, done
from tests.faults.holding import check, check_a_second_recovery_changes_nothing, check_the_books
from tests.faults.recording import FULL, Hit, note
from tests.faults.scene import NATURAL, Scene, fresh_key
from tests.faults.zygote import Worker

IMAGE = MediaKind.IMAGE
P = Point
DONE = ("succeeded", ["completed"], "settled")
REFUSED = ("failed", ["rejectedBeforeAcceptance"], "released")


def settle(scene: Scene) -> None:
    """Everything that can still move by itself does."""
    for _ in range(2):
        scene.expire()
        scene.shop.make_due()
        scene.run()


# --- F15: clicks ----------------------------------------------------------------------------------------

T1 = cuts(P.CONFIRM_LOCKED, P.CONFIRM_BEFORE_COMMIT, P.CONFIRM_COMMITTED)


def click_one(scene: Scene, click: Callable[..., Worker], cut: Cut) -> None:
    scene.end_killed(click(crash=f"{cut.point}=kill"))


def click_two(scene: Scene, click: Callable[..., Worker], cut: Cut) -> None:
    """Two tabs; the first to come there dies."""
    both = [click(crash=f"{cut.point}=kill", once=True) for _ in "ab"]
    assert sorted(each.wait() for each in both) == [-9, 0]


def click_stale(scene: Scene, click: Callable[..., Worker], cut: Cut) -> None:
    """A click stands still in its transaction, another is made; then the first goes on."""
    stale = click(crash=f"{cut.point}=stop")
    assert stale.wait_stopped()
    if cut.point in IN_TRANSACTION:
        scene.end_idle_sessions()
    scene.end_well(click())
    stale.go_on()
    stale.wait()


def click_restart(scene: Scene, click: Callable[..., Worker], cut: Cut) -> None:
    """Whoever clicks again dies as well, one boundary further on."""
    click_one(scene, click, cut)
    for boundary in (1, 2, 3):
        if click(crash=f"any@{boundary}").wait() == 0:
            return
        scene.end_sessions()


CLICKS = {Mode.ONE: click_one, Mode.TWO: click_two, Mode.STALE: click_stale, Mode.RESTART: click_restart}
SHORT_CLICKS = [(T1[0], Mode.STALE), (T1[1], Mode.ONE), (T1[2], Mode.TWO)]


@pytest.mark.parametrize(
    ("cut", "mode"), [(cut, mode) for cut in T1 for mode in CLICKS] if FULL else SHORT_CLICKS, ids=str
)
def test_f15_however_often_it_is_clicked_it_is_bought_once(scene: Scene, cut: Cut, mode: Mode) -> None:
    planned = plan_items(scene.shop.studio, STAGES[IMAGE], [item(IMAGE)], actor=PERSON)

    def click(**more: object) -> Worker:
        return scene.start("confirm", quote_id=planned.quote_id, key=fresh_key(), **more)  # type: ignore[arg-type]

    CLICKS[mode](scene, click, cut)
    key = fresh_key()
    answers = [scene.run("confirm", quote_id=planned.quote_id, key=key) for _ in "ab"]
    answers.append(scene.run("confirm", quote_id=planned.quote_id, key=fresh_key()))
    assert len({each["execution_id"] for each in answers}) == 1
    scene.tasks = answers[0]["task_ids"]
    scene.run()
    check(scene, done())
    check_the_books(scene, done())
    check_a_second_recovery_changes_nothing(scene)
    assert len(scene.shop.rows("select 1 from tasks where episode_id = :e", e=EPISODE)) == 1
    assert str(cut.point) in scene.fired()
    note(Hit("F15", "the user clicks again", str(cut), str(mode), scene.fired()))


# --- F11 and F16: many items ----------------------------------------------------------------------------


def check_each_by_its_facts(scene: Scene, *, look_up: bool) -> None:
    """No item is sent twice; each ends as what the vendor knows of it says."""
    accepted = {job.client_id for job in scene.vendor.jobs.values()}
    posts = [str(seen.body["client_id"]) for seen in scene.vendor.posts()]
    assert len(posts) == len(set(posts))
    known = scene.shop.rows("select task_id, attempt_id, evidence from provider_attempts")
    settled = 0
    for task_id in scene.tasks:
        (attempt,) = [each for each in known if each["task_id"] == task_id]
        sent, made = attempt["attempt_id"] in posts, attempt["attempt_id"] in accepted
        found = scene.shop.states(task_id)
        refused = sent and (attempt["evidence"] or {}).get("proof") == "final"
        if look_up or refused:
            assert found == (DONE if made else REFUSED), scene.story(task_id)
        else:
            assert found == DONE if found[0] == "succeeded" else found == SILENT, scene.story(task_id)
            assert made or found == SILENT
        settled += int(found == DONE)
    assert scene.versions() == settled
    assert len([each for each in scene.settlements() if each.startswith("settle:")]) == settled
    balances = scene.shop.balances()
    assert sum(value for key, value in balances.items() if key.endswith("CNY")) == 0
    if look_up:
        assert balances.get("vendor:rehearsal-image XRH", 0) == COST["images"] * len(accepted)
        assert balances["wallet:studio:reserved CNY"] == 0
    assert scene.problems() == []


MANY = {Mode.TWO: "both", Mode.STALE: "stale"}
F11_SHORT = [(Cut(P.POST_ANSWERED), Mode.TWO)]


@pytest.mark.parametrize(
    ("cut", "mode"),
    [(cut, mode) for cut in WHOLE_IMAGE for mode in (Mode.TWO, Mode.STALE)] if FULL else F11_SHORT,
    ids=str,
)
def test_f11_two_workers_at_the_same_work_never_send_one_item_twice(
    scene: Scene, cut: Cut, mode: Mode
) -> None:
    """Six items, three hands each; one worker is cut off, the other has to bring everything to its end."""
    scene.pace = NATURAL
    scene.tasks = scene.shop.order(*[IMAGE] * 6)
    action = "kill" if mode is Mode.TWO else "stop"
    both = [scene.start(crash=f"{cut.point}={action}", once=True, limit=3) for _ in "ab"]
    scene.wait_for(lambda: bool(scene.fired()))
    if mode is Mode.TWO:
        assert sorted(each.wait() for each in both) == [-9, 0]
    else:
        scene.wait_for(lambda: any(each.stopped.is_set() for each in both))
        (stale,) = [each for each in both if each.stopped.is_set()]
        if cut.point in IN_TRANSACTION:
            scene.end_idle_sessions()
        scene.end_well(next(each for each in both if each is not stale))
        posts = scene.posts()
        stale.go_on()
        scene.end_well(stale)
        assert scene.posts() == posts
    settle(scene)
    check_each_by_its_facts(scene, look_up=True)
    check_a_second_recovery_changes_nothing(scene)
    note(Hit("F11", "two workers contend", str(cut), str(mode), scene.fired()))


F16_SHORT = [(Cut(P.POST_SENT), Mode.ONE, True), (Cut(P.REGISTER_COMMITTED), Mode.RESTART, False)]


@pytest.mark.parametrize(
    ("cut", "mode", "look_up"),
    [(cut, mode, look_up) for cut in WHOLE_IMAGE for mode in (Mode.ONE, Mode.TWO, Mode.RESTART)
     for look_up in (True, False)] if FULL else F16_SHORT,
    ids=str,
)  # fmt: skip
def test_f16_each_item_of_a_batch_ends_by_itself_wherever_it_is_cut(
    scene: Scene, cut: Cut, mode: Mode, look_up: bool
) -> None:
    """One is refused, one is lost on the way, two are made; a continue buys nothing again."""
    if not look_up:
        scene.contract["lookup_by_client_id"] = False
    scene.vendor.script("images", error(422, "content_refused"), Fault(accepts=True, then="drop"))
    scene.tasks = scene.shop.order(*[IMAGE] * 4)
    plan = f"{cut.point}=kill"
    if mode is Mode.TWO:
        both = [scene.start(crash=plan, once=True) for _ in "ab"]
        scene.expire(scene.first_killed(both))
        assert sorted(each.wait() for each in both) == [-9, 0]
    else:
        scene.end_killed(scene.start(crash=plan))
    if mode is Mode.RESTART:
        for boundary in range(1, 60):
            scene.expire()
            if scene.start("recover", crash=f"any@{boundary}").wait() == 0:
                break
    settle(scene)
    check_each_by_its_facts(scene, look_up=look_up)
    check_a_second_recovery_changes_nothing(scene)
    assert str(cut.point) in scene.fired()
    title = "a batch fails in part; " + ("the vendor can be asked" if look_up else "nobody can be asked")
    note(Hit("F16", title, str(cut), str(mode), scene.fired()))


# --- beside the rows: allocation and compensation ---------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.ONE, Mode.TWO, Mode.STALE], ids=str)
def test_a_run_killed_after_its_allocation_gets_the_same_id_again(scene: Scene, mode: Mode) -> None:
    def ask(**more: object) -> Worker:
        at = "2026-08-07T01:00:00+00:00"
        return scene.start("allocate", key="the run", at=at, **more)  # type: ignore[arg-type]

    plan = f"{P.ALLOCATE_COMMITTED}={'stop' if mode is Mode.STALE else 'kill'}"
    first = [ask(crash=plan, once=True) for _ in range(2 if mode is Mode.TWO else 1)]
    if mode is Mode.STALE:
        assert first[0].wait_stopped()
    else:
        assert min(each.wait() for each in first) == -9
    again = ask()
    scene.end_well(again)
    if mode is Mode.STALE:
        first[0].go_on()
        scene.end_well(first[0])
        assert scene.answer(first[0]) == scene.answer(again)
    rows = scene.shop.rows("select episode_id from episodes where allocation_key = 'the run'")
    assert rows == [scene.answer(again)]
    note(
        Hit(
            "F10",
            "a scheduled run dies after its allocation",
            str(P.ALLOCATE_COMMITTED),
            str(mode),
            scene.fired(),
        )
    )


REFUNDED = cuts(P.COMPENSATION_BETWEEN, P.COMPENSATION_BEFORE_COMMIT, P.COMPENSATION_COMMITTED)


@pytest.mark.parametrize("cut", REFUNDED, ids=str)
@pytest.mark.parametrize("mode", [Mode.ONE, Mode.TWO] if FULL else [Mode.TWO], ids=str)
def test_a_refund_cut_anywhere_is_paid_once(scene: Scene, cut: Cut, mode: Mode) -> None:
    (task_id,) = scene.tasks = scene.shop.order(IMAGE)
    scene.run()
    request_compensation(
        scene.shop.studio, compensation_id="c1", source_order_id=task_id, op_type=OpType.REFUND,
        reason="late", actor=PERSON,
    )  # fmt: skip
    plan = f"{cut.point}=kill"
    workers = 2 if mode is Mode.TWO else 1
    codes = [
        each.wait() for each in [scene.start("compensations", crash=plan, once=True) for _ in range(workers)]
    ]
    assert sorted(codes) == ([-9, 0] if workers == 2 else [-9])
    for _ in range(2):
        scene.run("compensations")
    effects = scene.shop.rows("select 1 from ledger_entries where business_key like 'compensate:%'")
    assert len(effects) == 1
    assert scene.shop.rows("select state from compensation") == [{"state": "done"}]
    assert scene.problems() == []
    note(Hit("G-304", "a refund is carried out", str(cut), str(mode), scene.fired()))


def test_every_named_place_is_cut_in_every_run_of_the_tests() -> None:
    """A cell fails when its point does not act; so what is planned here has acted (`make test`)."""
    planned = {cut.point for fault in FAULTS for cut, _ in fault.short}
    planned |= {cut.point for cut, _ in [*SHORT_CLICKS, *F11_SHORT]}
    planned |= {cut.point for cut, *_ in F16_SHORT}
    planned |= {cut.point for cut in REFUNDED} | {P.ALLOCATE_COMMITTED}
    assert [each for each in Point if each not in planned] == []
