"""§14 with real processes: every fault, cut by `kill -9` or `SIGSTOP` at every durable boundary.

`make faults` tries all cells and writes docs/fault-matrix.md from what happened; `make test` tries the
cells each fault names as its own.
"""

import pytest

from tests.faults.catalogue import BY_THE_CLOCK, FAULTS, IN_TRANSACTION, Cut, Fault, Mode
from tests.faults.holding import check, check_a_second_recovery_changes_nothing, check_the_books
from tests.faults.recording import FULL, Hit, note
from tests.faults.scene import NATURAL, Scene

RESTARTS_MAX = 40
NO_FACTS = frozenset({"rate_limits", "alerts"})  # a stale worker may use up a token, and say what befell it
Cell = tuple[Fault, Cut | None, Mode]


def cells() -> list[Cell]:
    """Without a cut once, so that the fault itself is known; then every cut in every mode."""
    found: list[Cell] = []
    for fault in FAULTS:
        if FULL:
            found += [(fault, cut, mode) for cut, mode in fault.cells()]
        else:
            found += [(fault, cut, mode) for cut, mode in fault.short] or [(fault, None, Mode.ONE)]
    return found


def name(value: object) -> str:
    match value:
        case Fault():
            return f"{value.name} {value.title}"
        case Mode():
            return str(value)
        case _:
            return str(value or "no cut")


@pytest.mark.parametrize(("fault", "cut", "mode"), cells(), ids=name)
def test_a_fault_cut_anywhere_ends_as_its_row_says(
    scene: Scene, fault: Fault, cut: Cut | None, mode: Mode
) -> None:
    if not fault.look_up:
        scene.contract["lookup_by_client_id"] = False
    if fault.natural or (mode is Mode.STALE and cut is not None and cut.point in BY_THE_CLOCK):
        scene.pace = NATURAL
    scene.tasks = scene.shop.order(fault.kind)
    fault.arrange(scene)
    if cut is not None and not cut.mended:
        ARRANGED[mode](scene, fault, cut)
    scene.run()  # the fault still lasts
    if fault.during is not None and fault.lasts(cut, mode):
        check(scene, fault.during)
    fault.mend(scene)
    if cut is not None and cut.mended:
        _let_time_pass(scene)
        ARRANGED[mode](scene, fault, cut)
    for _ in range(2):
        _let_time_pass(scene)
        scene.run()
    expected = fault.expected(cut, mode)
    check(scene, expected)
    check_the_books(scene, expected)
    check_a_second_recovery_changes_nothing(scene)
    fault.afterwards(scene)
    check(scene, expected)
    check_the_books(scene, expected)
    assert cut is None or str(cut.point) in scene.fired()
    note(Hit(fault.name, fault.title, str(cut or ""), str(mode), scene.fired()))


def _let_time_pass(scene: Scene) -> None:
    scene.expire()
    scene.shop.make_due()
    scene.shop.run("update late_results set next_action_at = clock_timestamp() where ended_at is null")


# --- the arrangements -----------------------------------------------------------------------------------


def _one(scene: Scene, fault: Fault, cut: Cut) -> None:
    """It dies; nobody is there until its lease has run out."""
    scene.end_killed(scene.start(cut.job, crash=f"{cut.point}=kill@{cut.nth}"))
    fault.when_cut(scene)
    scene.expire()


def _two(scene: Scene, fault: Fault, cut: Cut) -> None:
    """Two work; the first to come there dies, the other goes on when its lease is over."""
    both = [scene.start(cut.job, crash=f"{cut.point}=kill@{cut.nth}", once=True) for _ in range(2)]
    dead = scene.first_killed(both)
    fault.when_cut(scene)
    if scene.pace is not NATURAL:
        scene.expire(dead)
    codes = sorted(each.wait() for each in both)
    assert codes == [-9, 0], [scene.log(each) for each in both]


def _stale(scene: Scene, fault: Fault, cut: Cut) -> None:
    """It stands still until another has its work, then goes on: it must not send and must not write."""
    stale = scene.start(cut.job, crash=f"{cut.point}=stop@{cut.nth}")
    assert stale.wait_stopped(), f"{cut} was not reached: {scene.log(stale)}"
    fault.when_cut(scene)
    if cut.point in IN_TRANSACTION:
        scene.end_idle_sessions()
    if scene.pace is not NATURAL:
        scene.expire(stale)
    scene.run()  # takes over, where needed after the lease has run out by itself
    before, posts = scene.dump(without=NO_FACTS), scene.posts()
    stale.go_on()
    scene.end_well(stale)
    assert scene.posts() == posts
    assert scene.dump(without=NO_FACTS) == before


def _restarted(scene: Scene, fault: Fault, cut: Cut) -> None:
    """It dies, and so does each recovery after it, one boundary further on, until one comes through."""
    _one(scene, fault, cut)
    for boundary in range(1, RESTARTS_MAX):
        if boundary == 2:
            scene.restart_everything()
        recovery = scene.start("recover", crash=f"any@{boundary}")
        if recovery.wait() == 0:
            return
        scene.end_killed(recovery)
        scene.expire()
    raise AssertionError("recovery never comes to its end")


ARRANGED = {Mode.ONE: _one, Mode.TWO: _two, Mode.STALE: _stale, Mode.RESTART: _restarted}
