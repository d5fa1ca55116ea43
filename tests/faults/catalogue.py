"""The fault set of §14 as data: how each fault is made, where its path can be cut, what must come of it.

A cut lies before the fence, between fence and bytes, between bytes and the row that tells of the answer,
or after that row. The first cut costs nothing, the second proves nothing was sent only to a vendor that
can be asked, the third leaves a request that may have been paid for, the last loses nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from signal import SIGKILL

from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.task_actions import query_task, release_hold, transfer_task
from tests.engine.conftest import PERSON
from tests.engine.test_callbacks import CHANNEL, NOW, message, signed
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
    job: str = "drain"  # which process is cut

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
    {
        P.CONFIRM_LOCKED,
        P.CONFIRM_BEFORE_COMMIT,
        P.FENCE_BEFORE_COMMIT,
        P.OUTCOME_BEFORE_COMMIT,
        P.REGISTER_BEFORE_COMMIT,
        P.SETTLE_BEFORE_COMMIT,
        P.DEADLINE_BEFORE_COMMIT,
        P.LATE_RESULT_BEFORE_COMMIT,
    }
)


# Whether a stale worker sends is decided by its own clock here, so real time has to pass.
BY_THE_CLOCK = frozenset({P.FENCE_CHECKED, P.POST_CONNECTED})


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
    way: tuple[Cut, ...] = ()  # the durable boundaries on the way to the fault, where it is not felt yet
    natural: bool = False  # leases run out by themselves
    bare: bool = True  # is there a fault without any cut?
    look_up: bool = True  # does the vendor's contract offer a verified look-up?
    answers_late: bool = True  # would a stale worker still hear an honest answer?
    modes: tuple[Mode, ...] = tuple(Mode)
    afterwards: Act = _nothing  # what comes when all is over, and must change no Task and no money

    def cells(self) -> list[tuple[Cut | None, Mode]]:
        """Every cut in every mode; on the way to the fault with one worker and with two."""
        found: list[tuple[Cut | None, Mode]] = [(None, Mode.ONE)] if self.bare else []
        found += [(cut, mode) for cut in self.way for mode in (Mode.ONE, Mode.TWO) if mode in self.modes]
        return found + [(cut, mode) for cut in self.cuts for mode in self.modes]

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


FOUND_OUT_SILENT = cuts(
    P.TAKEOVER_COMMITTED, Cut(P.OUTCOME_BEFORE_COMMIT, zone=Zone.AFTER), P.OUTCOME_COMMITTED
)
FOUND_OUT = FOUND_OUT_SILENT + cuts(
    P.LOOKUP_ANSWERED, Cut(P.OUTCOME_BEFORE_COMMIT, 2), Cut(P.OUTCOME_COMMITTED, 2)
)


def _after_mend(*points: Point) -> tuple[Cut, ...]:
    return tuple(Cut(each, mended=True) for each in points)


# --- the hands of the faults ------------------------------------------------------------------------------


def _crash_fenced(scene: Scene) -> None:
    scene.end_killed(scene.start(crash=f"{P.FENCE_COMMITTED}=kill"))
    scene.expire()


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


def _hide_key(scene: Scene) -> None:
    scene.key.rename(scene.key.with_name("hidden"))


def _show_key(scene: Scene) -> None:
    """The operator brings the key back and says so."""
    scene.key.with_name("hidden").rename(scene.key)
    for each in scene.tasks:
        release_hold(scene.shop.studio, each, actor=PERSON)


def _release_configuration(scene: Scene) -> None:
    """Another model for everything that is ordered from now on."""
    scene.binding_changes["model"] = "animatic-2"


def message_json(status: str, event: str) -> dict[str, object]:
    """One signed message of the vendor about its first job."""
    body = message(status=status)
    return {"channel": CHANNEL, "headers": signed(body, event=event), "body": body.decode(), "now_s": NOW}


def _shout(scene: Scene) -> None:
    """The same event several times, and others in the wrong order, from two processes at once."""
    same = [message_json("succeeded", "e1")] * 3
    others = [message_json(status, f"e-{status}") for status in ("failed", "processing", "succeeded")]
    for each in [scene.start("callback", messages=same + others) for _ in "ab"]:
        scene.end_well(each)


def _wait_for_a_callback(scene: Scene) -> None:
    """The job runs and runs; a worker waits with it; then somebody calls."""
    scene.vendor.polls_until_done = 10**6
    scene.beside = scene.start()
    scene.wait_for(lambda: scene.shop.states(scene.tasks[0])[0] == "waitingProvider")
    scene.messages = [message_json("succeeded", "e1")]


def _finish_and_call_again(scene: Scene) -> None:
    scene.vendor.polls_until_done = 1
    _shout(scene)


def _end_beside(scene: Scene) -> None:
    _finish_and_call_again(scene)
    assert scene.beside is not None
    scene.end_well(scene.beside)


def _pass_the_deadline(scene: Scene) -> None:
    """Accepted, not finished, and the published hours are over; its worker is gone."""
    scene.vendor.polls_until_done = 10**6
    worker = scene.start()
    scene.wait_for(lambda: scene.shop.states(scene.tasks[0])[0] == "waitingProvider")
    worker.signal(SIGKILL)
    worker.wait()
    scene.shop.run("update tasks set deadline_at = clock_timestamp() - interval '1 second'")


def _finish_late(scene: Scene) -> None:
    scene.vendor.polls_until_done = 1


def _deliver(scene: Scene) -> None:
    """Dagster's sensor hands the order out."""
    scene.run("deliver")


def _lose_dagster(scene: Scene) -> None:
    """Its queue and storage are gone: what was handed out and came to nothing is handed out again, twice."""
    scene.shop.run("update outbox set sent_at = sent_at - interval '1 hour'")
    for _ in range(2):
        scene.run("deliver")


# --- the rows ---------------------------------------------------------------------------------------------

_HELD = End("queued", ("rejectedBeforeAcceptance",), "reserved", 1, 0, "mendable", ("release-hold", "cancel"))

F01A = Fault(
    "F01a", "crash after the claim, before the fence", IMAGE, BEFORE,
    ((BEFORE[0], Mode.ONE), (BEFORE[1], Mode.STALE)), bare=False,
)  # fmt: skip
F01A_AGAIN = Fault(
    "F01a", "crash while a refused connection is waited out, claimed and unfenced", IMAGE,
    cuts(P.OUTCOME_COMMITTED, Cut(P.CLAIM_PREPARED, 2, zone=Zone.BEFORE),
         Cut(P.FENCE_BEFORE_COMMIT, 2, zone=Zone.BEFORE)),
    ((Cut(P.OUTCOME_COMMITTED), Mode.ONE),), bare=False,
    end=done("rejectedBeforeAcceptance"), arrange=_close_port, when_cut=_open_port,
)  # fmt: skip
F01B = [
    Fault("F01b", "crash after the fence, before the bytes; the vendor can be asked", VIDEO, FENCED,
          ((FENCED[0], Mode.RESTART), (FENCED[2], Mode.STALE)), end=absent(), bare=False, natural=True),
    Fault("F01b", "crash after the fence, and again while absence is being proven", VIDEO, FOUND_OUT,
          ((Cut(P.LOOKUP_ANSWERED), Mode.TWO), (Cut(P.OUTCOME_COMMITTED, 2), Mode.STALE)),
          end=absent(), arrange=_crash_fenced),
    Fault("F01b", "crash after the fence, before the bytes; nobody can be asked", IMAGE, FENCED,
          ((FENCED[1], Mode.TWO),), end=silent(0), look_up=False, bare=False, natural=True),
    Fault("F01b", "crash after the fence, and again while nobody can be asked", IMAGE, FOUND_OUT_SILENT,
          ((Cut(P.TAKEOVER_COMMITTED), Mode.RESTART),), end=silent(0), arrange=_crash_fenced, look_up=False),
]  # fmt: skip
F02 = [
    Fault(
        "F02", f"{title}; the vendor can be asked", kind,
        SENT + RECORDED + cuts(P.TAKEOVER_COMMITTED, P.LOOKUP_ANSWERED, Cut(P.OUTCOME_COMMITTED, 2)),
        short, arrange=arrange, answers_late=False, modes=tuple(Mode) if short else (Mode.ONE,),
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
        arrange=arrange, look_up=False, answers_late=False, modes=tuple(Mode) if short else (Mode.ONE,),
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
    cuts(P.POLL_ANSWERED, Cut(P.POLL_ANSWERED, 3), Cut(P.POLL_ANSWERED, 4),
         Cut(P.OUTCOME_BEFORE_COMMIT, 2), Cut(P.OUTCOME_COMMITTED, 3)) + DELIVERED,
    ((Cut(P.POLL_ANSWERED), Mode.TWO), (Cut(P.POLL_ANSWERED, 3), Mode.ONE)), arrange=_lose_queries,
    way=SENDING + RECORDED,
)  # fmt: skip
F05 = Fault(
    "F05", "a status word nobody knows", VIDEO,
    POLLED + _after_mend(P.REGISTER_COMMITTED),
    ((Cut(P.OUTCOME_COMMITTED, 2), Mode.ONE),), arrange=_strange_word, mend=_known_word,
    during=waiting("unrecognisedStatus"), way=SENDING + RECORDED,
)  # fmt: skip
F06A = [
    Fault(
        "F06a", "every callback comes several times", VIDEO, POLLED + FETCHED + DELIVERED,
        ((Cut(P.REGISTER_BEFORE_COMMIT), Mode.TWO),), when_cut=_shout, mend=_shout, afterwards=_shout,
        way=SENDING + RECORDED,
    ),
    Fault(
        "F06a", "a callback comes again because its receiver died", VIDEO,
        (Cut(P.CALLBACK_COMMITTED, job="callback"),),
        ((Cut(P.CALLBACK_COMMITTED, job="callback"), Mode.ONE),),
        arrange=_wait_for_a_callback, when_cut=_finish_and_call_again, mend=_end_beside,
        modes=(Mode.ONE, Mode.TWO),
    ),
]  # fmt: skip
F06B = Fault(
    "F06b", "callbacks come out of order, and after the end", VIDEO, RECORDED + POLLED + DELIVERED,
    ((Cut(P.OUTCOME_COMMITTED), Mode.ONE), (Cut(P.SETTLE_COMMITTED), Mode.STALE)),
    arrange=_shout, when_cut=_shout, mend=_shout, afterwards=_shout,
)  # fmt: skip
F07 = [
    Fault("F07", title, VIDEO, FETCHED + DELIVERED, short, arrange=arrange, way=SENDING + RECORDED + POLLED)
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
        (FETCHED if kind is VIDEO else RECORDED)
        + _after_mend(P.TAKEOVER_COMMITTED, P.REGISTER_BEFORE_COMMIT, P.REGISTER_COMMITTED),
        short, way=SENDING + (RECORDED + POLLED if kind is VIDEO else INLINE),
        arrange=_run(BREAK_REGISTRATION), mend=_run("drop trigger no_row on versions"),
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
    REGISTERED + _after_mend(P.SETTLE_BEFORE_COMMIT, P.SETTLE_COMMITTED),
    ((Cut(P.REGISTER_COMMITTED), Mode.TWO), (Cut(P.SETTLE_COMMITTED, mended=True), Mode.ONE),
     (Cut(P.SETTLE_BEFORE_COMMIT, mended=True), Mode.STALE)),
    way=SENDING + INLINE + RECORDED, arrange=_run(BREAK_LEDGER),
    mend=_run("drop trigger no_ledger on ledger_entries"),
    during=End("succeeded", ("completed",), "settlementPending", 1, 1, "", ("regenerate",)),
)  # fmt: skip
F10 = [
    Fault("F10", "Dagster's queue and storage are lost", IMAGE, WHOLE_IMAGE,
          ((Cut(P.FENCE_BEFORE_COMMIT), Mode.ONE), (Cut(P.INLINE_STORED), Mode.TWO)),
          arrange=_deliver, when_cut=_lose_dagster, mend=_lose_dagster, afterwards=_lose_dagster),
    Fault("F10", "the sensor dies between publishing and marking", IMAGE,
          (Cut(P.DISPATCH_PUBLISHED, job="deliver"), Cut(P.DISPATCH_MARKED, job="deliver")),
          ((Cut(P.DISPATCH_PUBLISHED, job="deliver"), Mode.TWO),
           (Cut(P.DISPATCH_MARKED, job="deliver"), Mode.ONE)),
          when_cut=_lose_dagster, modes=(Mode.ONE, Mode.TWO)),
]  # fmt: skip
F12 = [
    Fault("F12", f"another configuration is released meanwhile, {kind}", kind, whole, short,
          when_cut=_release_configuration)
    for kind, whole, short in (
        (VIDEO, WHOLE_VIDEO, ((Cut(P.OUTCOME_COMMITTED), Mode.TWO),)),
        (IMAGE, SENDING, ((Cut(P.CLAIM_PREPARED), Mode.ONE),)),
    )
]  # fmt: skip
F13_MISSING = Fault(
    "F13", "the key is missing before the send", IMAGE,
    (Cut(P.CLAIM_PREPARED, mended=True), Cut(P.FENCE_COMMITTED, mended=True, zone=Zone.FENCED),
     Cut(P.POST_SENT, mended=True)), (),
    arrange=_hide_key, mend=_show_key,
    during=End("queued", (), "reserved", 0, 0, "credentialMissing", ("release-hold", "cancel")),
)  # fmt: skip
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
F14 = Fault(
    "F14", "the result comes after the deadline", VIDEO,
    cuts(P.DEADLINE_BEFORE_COMMIT, P.DEADLINE_COMMITTED)
    + _after_mend(P.LATE_RESULT_BEFORE_COMMIT, P.LATE_RESULT_COMMITTED),
    ((Cut(P.DEADLINE_BEFORE_COMMIT), Mode.ONE), (Cut(P.DEADLINE_COMMITTED), Mode.TWO),
     (Cut(P.LATE_RESULT_BEFORE_COMMIT, mended=True), Mode.STALE),
     (Cut(P.LATE_RESULT_COMMITTED, mended=True), Mode.ONE)),
    arrange=_pass_the_deadline, mend=_finish_late,
    during=End("failed", ("accepted",), "released", 1, 0, "deadlinePassed", ("regenerate",)),
    end=End("failed", ("completed",), "released", 1, 1, "deadlinePassed", ("regenerate",)),
)  # fmt: skip
FAULTS: tuple[Fault, ...] = (
    F01A, F01A_AGAIN, *F01B, *F02, *F02_SILENT, *F03, F04, F05, *F06A, F06B, *F07,
    F07_NO_FILM, *F08, F09, *F10, *F12, F13_MISSING, F13_REFUSED, F13_WAITING, F14,
)  # fmt: skip
