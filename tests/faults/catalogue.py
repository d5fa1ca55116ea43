"""The fault set of §14 as data: how each fault is made, where its path can be cut, what must come of it.

A cut lies before the fence, between fence and bytes, between bytes and the row that tells of the answer,
or after that row. The first cut costs nothing, the second proves nothing was sent only to a vendor that
can be asked, the third leaves a request that may have been paid for, the last loses nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.task_actions import query_task, release_hold, transfer_task
from tests.engine.conftest import PERSON
from tests.engine.test_faults import BREAK_LEDGER, BREAK_REGISTRATION, BREAK_T4
from tests.fake_vendor import Fault as Answer
from tests.faults.scene import Scene

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
P = Point


class Mode(StrEnum):
    """How the processes are arranged around the cut."""

    ONE = "one worker"
    TWO = "two workers"
    STALE = "stale worker"
    RESTART = "restarts in recovery"


class Zone(StrEnum):
    """Where a cut lies, by what it may have cost."""

    BEFORE = "before the fence"
    FENCED = "fenced, not sent"
    SENT = "sent, not recorded"
    AFTER = "recorded"


@dataclass(frozen=True, slots=True)
class Cut:
    """A point, the how-manieth time it is reached, and the phase: while the fault lasts, or mended."""

    point: Point
    nth: int = 1
    mended: bool = False
    zone: Zone | None = None

    def __str__(self) -> str:
        times = f" ({self.nth}.)" if self.nth > 1 else ""
        return f"{self.point}{times}{' after the mend' if self.mended else ''}"

    @property
    def place(self) -> Zone:
        if self.zone is not None:
            return self.zone
        if self.mended or self.nth > 1:
            return Zone.AFTER
        return _ZONES.get(self.point, Zone.AFTER)


_ZONES = {
    P.CLAIM_PREPARED: Zone.BEFORE,
    P.FENCE_BEFORE_COMMIT: Zone.BEFORE,
    P.FENCE_COMMITTED: Zone.FENCED,
    P.FENCE_CHECKED: Zone.FENCED,
    P.POST_CONNECTED: Zone.FENCED,
    P.POST_SENT: Zone.SENT,
    P.POST_ANSWERED: Zone.SENT,
    P.INLINE_STORED: Zone.SENT,
    P.OUTCOME_BEFORE_COMMIT: Zone.SENT,
}
IN_TRANSACTION = frozenset(
    {P.FENCE_BEFORE_COMMIT, P.OUTCOME_BEFORE_COMMIT, P.REGISTER_BEFORE_COMMIT, P.SETTLE_BEFORE_COMMIT}
)


@dataclass(frozen=True, slots=True)
class End:
    """What a row of §14 says: Task, Attempts in order, money, and the counts that may never be more."""

    task: str
    attempts: tuple[str, ...]
    money: str
    posts: int
    assets: int
    code: str = ""
    actions: tuple[str, ...] = ()


def done(*before: str, posts: int = 1) -> End:
    attempts = (*before, "completed")
    return End("succeeded", attempts, "settled", posts, 1, "", ("compensate", "regenerate"))


def absent(*before: str, posts: int = 0) -> End:
    attempts = (*before, "rejectedBeforeAcceptance")
    return End("failed", attempts, "released", posts, 0, "notAccepted", ("regenerate",))


def silent(posts: int) -> End:
    return End(
        "needsReconciliation",
        ("outcomeUnknown",),
        "reserved",
        posts,
        0,
        "outcomeUnknown",
        ("query", "resolve"),
    )


def waiting(code: str) -> End:
    """Accepted, and the facts about it are missing."""
    return End("needsReconciliation", ("accepted",), "reserved", 1, 0, code, ("query",))


Act = Callable[[Scene], None]


def _nothing(_scene: Scene) -> None:
    """Most faults need no hand here."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row. `cuts` are all places its path can be cut; `short` those tried in every test run."""

    name: str
    title: str
    kind: MediaKind
    cuts: tuple[Cut, ...]
    short: tuple[tuple[Cut, Mode], ...]
    end: End = field(default_factory=done)
    arrange: Act = _nothing
    when_cut: Act = _nothing  # right after the process died: what the world does meanwhile
    mend: Act = _nothing
    during: End | None = None  # while the fault lasts, all workers idle
    unrecorded: End | None = None  # where the answer was heard and not recorded, if that ends otherwise
    look_up: bool = True  # does the vendor's contract offer a verified look-up?
    answers_late: bool = True  # would a stale worker still hear an honest answer?
    modes: tuple[Mode, ...] = tuple(Mode)

    def expected(self, cut: Cut | None, mode: Mode) -> End:
        """What must have come of it in the end."""
        place = Zone.AFTER if cut is None else cut.place
        if place is Zone.FENCED:
            return absent() if self.look_up else silent(0)
        if place is Zone.SENT and not self.look_up:
            heard = mode is Mode.STALE and self.answers_late  # then its receipt tells
            return self.end if heard else silent(1)
        if place is Zone.SENT and self.unrecorded is not None:
            return self.unrecorded
        return self.end

    def lasts(self, cut: Cut | None, mode: Mode) -> bool:
        """Does this cut leave the fault itself to be seen?"""
        return cut is None or (self.expected(cut, mode) == self.end)


# --- paths ----------------------------------------------------------------------------------------------


def cuts(*points: Point | Cut) -> tuple[Cut, ...]:
    return tuple(each if isinstance(each, Cut) else Cut(each) for each in points)


BEFORE = cuts(P.CLAIM_PREPARED, P.FENCE_BEFORE_COMMIT)
FENCED = cuts(P.FENCE_COMMITTED, P.FENCE_CHECKED, P.POST_CONNECTED)
SENT = cuts(P.POST_SENT, P.POST_ANSWERED)
SENDING = BEFORE + FENCED + SENT
RECORDED = cuts(P.OUTCOME_BEFORE_COMMIT, P.OUTCOME_COMMITTED)
INLINE = cuts(P.INLINE_STORED)
POLLED = cuts(P.POLL_ANSWERED, Cut(P.OUTCOME_BEFORE_COMMIT, 2), Cut(P.OUTCOME_COMMITTED, 2))
FETCHED = cuts(
    P.DOWNLOAD_STORED, Cut(P.OUTCOME_BEFORE_COMMIT, 3), Cut(P.OUTCOME_COMMITTED, 3), P.TRANSFER_COMMITTED
)
REGISTERED = cuts(P.REGISTER_BEFORE_COMMIT, P.REGISTER_COMMITTED)
SETTLED = cuts(P.SETTLE_BEFORE_COMMIT, P.SETTLE_COMMITTED)
DELIVERED = REGISTERED + SETTLED
WHOLE_VIDEO = SENDING + RECORDED + POLLED + FETCHED + DELIVERED
WHOLE_IMAGE = SENDING + INLINE + RECORDED + DELIVERED


def _after_mend(*points: Point) -> tuple[Cut, ...]:
    return tuple(Cut(each, mended=True) for each in points)


# --- the hands of the faults ------------------------------------------------------------------------------


def _close_port(scene: Scene) -> None:
    scene.line.close()


def _open_port(scene: Scene) -> None:
    scene.line.open()


def _script(kind: str, *answers: Answer) -> Act:
    def arrange(scene: Scene) -> None:
        scene.vendor.script(kind, *answers)

    return arrange


def _run(statement: str) -> Act:
    def act(scene: Scene) -> None:
        scene.shop.run(statement)

    return act


def _stalled(scene: Scene) -> None:
    scene.extra["impatient"] = True
    scene.vendor.script("images", Answer(accepts=True, then="stall"))


def _lose_queries(scene: Scene) -> None:
    scene.vendor.query_faults += [
        Answer(then="drop"),
        Answer(status=502, answer="<html>"),
        Answer(then="cut"),
    ]


def _strange_word(scene: Scene) -> None:
    scene.vendor.on_query = lambda _job: {"status": "sublimated"}


def _known_word(scene: Scene) -> None:
    scene.vendor.on_query = None
    _query_all(scene)


def _query_all(scene: Scene) -> None:
    """A person asks again, where the Task stands to be asked about."""
    for each in scene.tasks:
        if "query" in scene.show(each)["actions"]:
            query_task(scene.shop.studio, each, actor=PERSON)


def _break_files(scene: Scene) -> None:
    scene.vendor.file_faults += [Answer(then="cut"), Answer(then="drop"), Answer(status=503, answer="busy")]


def _dead_link(scene: Scene) -> None:
    scene.vendor.file_faults += [Answer(status=403, answer="expired")]


def _no_film(scene: Scene) -> None:
    scene.vendor.file_faults += [Answer(answer="<html>limit reached</html>" * 20)]


def _transfer_all(scene: Scene) -> None:
    for each in scene.tasks:
        if "transfer" in scene.show(each)["actions"]:
            transfer_task(scene.shop.studio, each, actor=PERSON)


def _refuse_key(scene: Scene) -> None:
    scene.vendor.key = "revoked"


def _refuse_key_once_accepted(scene: Scene) -> None:
    scene.vendor.on_post.append(lambda _seen: _refuse_key(scene))


def _restore_key(scene: Scene) -> None:
    scene.vendor.key = ""
    scene.vendor.on_post.clear()
    for each in scene.tasks:
        if "release-hold" in scene.show(each)["actions"]:
            release_hold(scene.shop.studio, each, actor=PERSON)


def _release_configuration(scene: Scene) -> None:
    """Another model for everything that is ordered from now on."""
    scene.binding_changes["model"] = "animatic-2"


# --- the rows ---------------------------------------------------------------------------------------------

_HELD = End("queued", ("rejectedBeforeAcceptance",), "reserved", 1, 0, "mendable", ("release-hold", "cancel"))

F01A = Fault(
    "F01a", "crash after the claim, before the fence", IMAGE, BEFORE,
    ((BEFORE[0], Mode.ONE), (BEFORE[1], Mode.STALE)),
)  # fmt: skip
F01A_AGAIN = Fault(
    "F01a", "crash while a refused connection is waited out, claimed and unfenced", IMAGE,
    cuts(P.OUTCOME_COMMITTED, Cut(P.CLAIM_PREPARED, 2, zone=Zone.BEFORE),
         Cut(P.FENCE_BEFORE_COMMIT, 2, zone=Zone.BEFORE)),
    ((Cut(P.OUTCOME_COMMITTED), Mode.ONE),),
    end=done("rejectedBeforeAcceptance"), arrange=_close_port, when_cut=_open_port,
)  # fmt: skip
F01B = Fault(
    "F01b", "crash after the fence, before the bytes; the vendor can be asked", VIDEO,
    (*FENCED, *_after_mend(P.TAKEOVER_COMMITTED, P.LOOKUP_ANSWERED)),
    ((FENCED[0], Mode.RESTART), (FENCED[2], Mode.STALE)), end=absent(),
)  # fmt: skip
F01B_SILENT = Fault(
    "F01b", "crash after the fence, before the bytes; nobody can be asked", IMAGE, FENCED,
    ((FENCED[1], Mode.TWO),), end=silent(0), look_up=False,
)  # fmt: skip
F02 = [
    Fault(
        "F02", f"{title}; the vendor can be asked", kind,
        SENT + RECORDED + cuts(P.TAKEOVER_COMMITTED, P.LOOKUP_ANSWERED, Cut(P.OUTCOME_COMMITTED, 2)),
        short, arrange=arrange, answers_late=False,
    )
    for kind, title, arrange, short in (
        (VIDEO, "answer lost, connection dropped", _script("videos", Answer(then="drop")),
         ((Cut(P.LOOKUP_ANSWERED), Mode.ONE), (Cut(P.POST_SENT), Mode.RESTART))),
        (IMAGE, "answer cut in the middle", _script("images", Answer(then="cut")),
         ((Cut(P.TAKEOVER_COMMITTED), Mode.TWO),)),
        (VIDEO, "500 though accepted", _script("videos", Answer(status=500, answer="oops")), ()),
        (IMAGE, "429 though accepted", _script("images", Answer(status=429, answer="")), ()),
    )
]  # fmt: skip
F02_SILENT = [
    Fault(
        "F02", f"{title}; nobody can be asked", IMAGE, SENT + RECORDED, short, end=silent(1),
        arrange=arrange, look_up=False, answers_late=False,
    )
    for title, arrange, short in (
        ("answer lost, connection dropped", _script("images", Answer(then="drop")),
         ((Cut(P.POST_SENT), Mode.STALE),)),
        ("503 and not accepted", _script("images", Answer(accepts=False, status=503, answer="<html>")), ()),
        ("stalled until the timeout", _stalled, ()),
    )
]  # fmt: skip
F03 = [
    Fault(
        "F03", f"acceptance cannot be written, {kind}", kind,
        cuts(P.POST_ANSWERED, *((P.INLINE_STORED,) if kind is IMAGE else ()), P.RECEIPT_WRITTEN,
             Cut(P.OUTCOME_BEFORE_COMMIT, zone=Zone.AFTER), P.OUTCOME_COMMITTED,
             *_after_mend(P.TAKEOVER_COMMITTED, P.OUTCOME_BEFORE_COMMIT, P.OUTCOME_COMMITTED)),
        short, arrange=_run(BREAK_T4), mend=_run("drop trigger no_disk on provider_attempts"), look_up=False,
    )
    for kind, short in (
        (IMAGE, ((Cut(P.RECEIPT_WRITTEN), Mode.ONE), (Cut(P.POST_ANSWERED), Mode.STALE))),
        (VIDEO, ((Cut(P.OUTCOME_COMMITTED, mended=True), Mode.RESTART),)),
    )
]  # fmt: skip
F04 = Fault(
    "F04", "queries lost on the way", VIDEO,
    SENDING + RECORDED + cuts(P.POLL_ANSWERED, Cut(P.POLL_ANSWERED, 3), Cut(P.POLL_ANSWERED, 4),
                              Cut(P.OUTCOME_BEFORE_COMMIT, 2), Cut(P.OUTCOME_COMMITTED, 3)) + DELIVERED,
    ((Cut(P.POLL_ANSWERED), Mode.TWO), (Cut(P.POLL_ANSWERED, 3), Mode.ONE)), arrange=_lose_queries,
)  # fmt: skip
F05 = Fault(
    "F05", "a status word nobody knows", VIDEO,
    SENDING + RECORDED + POLLED + _after_mend(P.REGISTER_COMMITTED),
    ((Cut(P.OUTCOME_COMMITTED, 2), Mode.ONE),), arrange=_strange_word, mend=_known_word,
    during=waiting("unrecognisedStatus"),
)  # fmt: skip
F07 = [
    Fault("F07", title, VIDEO, SENDING + RECORDED + POLLED + FETCHED + DELIVERED, short, arrange=arrange)
    for title, arrange, short in (
        ("downloads break off", _break_files, ((Cut(P.DOWNLOAD_STORED), Mode.ONE),)),
        ("the result's link is dead", _dead_link, ((Cut(P.TRANSFER_COMMITTED), Mode.RESTART),)),
    )
]
F07_NO_FILM = Fault(
    "F07", "what arrives is no film", VIDEO,
    cuts(P.DOWNLOAD_STORED, Cut(P.OUTCOME_COMMITTED, 3)), (), arrange=_no_film, mend=_transfer_all,
)  # fmt: skip
F08 = [
    Fault(
        "F08", f"stored, and registration fails, {kind}", kind,
        (SENDING + RECORDED + POLLED + FETCHED if kind is VIDEO else SENDING + INLINE + RECORDED)
        + _after_mend(P.TAKEOVER_COMMITTED, P.REGISTER_BEFORE_COMMIT, P.REGISTER_COMMITTED),
        short, arrange=_run(BREAK_REGISTRATION), mend=_run("drop trigger no_row on versions"),
        during=End(
            "needsReconciliation", ("completed",), "reserved", 1, 0, "registrationFailed", ("transfer",)
        ),
    )
    for kind, short in (
        (VIDEO, ((Cut(P.TRANSFER_COMMITTED), Mode.STALE),)),
        (IMAGE, ((Cut(P.REGISTER_BEFORE_COMMIT, mended=True), Mode.ONE),)),
    )
]  # fmt: skip
F09 = Fault(
    "F09", "registered, and settlement fails", IMAGE,
    SENDING + INLINE + RECORDED + REGISTERED + _after_mend(P.SETTLE_BEFORE_COMMIT, P.SETTLE_COMMITTED),
    ((Cut(P.REGISTER_COMMITTED), Mode.TWO), (Cut(P.SETTLE_COMMITTED, mended=True), Mode.ONE),
     (Cut(P.SETTLE_BEFORE_COMMIT, mended=True), Mode.STALE)),
    arrange=_run(BREAK_LEDGER), mend=_run("drop trigger no_ledger on ledger_entries"),
    during=End("succeeded", ("completed",), "settlementPending", 1, 1, "", ("regenerate",)),
)  # fmt: skip
F12 = [
    Fault("F12", f"another configuration is released meanwhile, {kind}", kind, whole, short,
          when_cut=_release_configuration)
    for kind, whole, short in (
        (VIDEO, WHOLE_VIDEO, ((Cut(P.OUTCOME_COMMITTED), Mode.TWO),)),
        (IMAGE, WHOLE_IMAGE, ((Cut(P.CLAIM_PREPARED), Mode.ONE),)),
    )
]  # fmt: skip
F13_REFUSED = Fault(
    "F13", "the key is refused at the send", IMAGE, SENDING + RECORDED,
    ((Cut(P.OUTCOME_COMMITTED), Mode.ONE),),
    end=done("rejectedBeforeAcceptance", posts=2), arrange=_refuse_key, mend=_restore_key, during=_HELD,
    unrecorded=absent(posts=1),
)  # fmt: skip
F13_WAITING = Fault(
    "F13", "the key is revoked while the job runs", VIDEO,
    cuts(P.OUTCOME_COMMITTED) + POLLED + _after_mend(P.TAKEOVER_COMMITTED, P.POLL_ANSWERED),
    ((Cut(P.OUTCOME_BEFORE_COMMIT, 2), Mode.ONE),), arrange=_refuse_key_once_accepted, mend=_restore_key,
    during=waiting("accessLost"),
)  # fmt: skip
FAULTS: tuple[Fault, ...] = (
    F01A, F01A_AGAIN, F01B, F01B_SILENT, *F02, *F02_SILENT, *F03, F04, F05, *F07, F07_NO_FILM, *F08, F09,
    *F12, F13_REFUSED, F13_WAITING,
)  # fmt: skip
