"""What will happen in a schedule, drawn from its seed: a list of entries, each of which can be left out.

An entry names its moment: a virtual time, or the how manieth visit of a place. So the others keep their
meaning when one is taken away, which is what shrinking a failing history needs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from shortdrama_pipeline.crashpoints import Point
from tests.simulation.vendor import CALLBACK_FAULTS, CREATE_FAULTS, FILE_FAULTS, LOOKUP_FAULTS, QUERY_FAULTS

# Placed in code that no schedule runs: Dagster's dispatch, the allocation, the compensation desk.
ELSEWHERE = frozenset(
    {
        Point.ALLOCATE_COMMITTED,
        Point.DISPATCH_PUBLISHED,
        Point.DISPATCH_MARKED,
        Point.COMPENSATION_BETWEEN,
        Point.COMPENSATION_BEFORE_COMMIT,
        Point.COMPENSATION_COMMITTED,
    }
)
POINTS = tuple(each for each in Point if each not in ELSEWHERE)
BINDINGS = ("steady", "shy", "mute", "hurried")
FAULTS = {
    "create": CREATE_FAULTS, "query": QUERY_FAULTS, "lookup": LOOKUP_FAULTS, "file": FILE_FAULTS,
    "callback": CALLBACK_FAULTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """`kind` at `at` (milliseconds, or the how manieth visit), with what it needs to know."""

    kind: str
    at: int
    what: str = ""
    more: int = 0

    def __str__(self) -> str:
        return f"{self.kind:9} {self.at:>6} {self.what} {self.more or ''}".rstrip()


@dataclass(frozen=True, slots=True)
class Plan:
    """One schedule. `seed` also draws latencies, interleaving and ids."""

    seed: str
    entries: tuple[Entry, ...]

    def of(self, kind: str) -> list[Entry]:
        return [each for each in self.entries if each.kind == kind]

    def without(self, dropped: Iterable[Entry]) -> "Plan":
        gone = list(dropped)
        return Plan(self.seed, tuple(each for each in self.entries if each not in gone))


def draw(seed: int, number: int) -> Plan:
    """The plan of schedule `number` of a run."""
    random = Random(f"{seed}/{number}")
    drawn = _Drawing(random)
    drawn.orders()
    drawn.workers()
    drawn.crash(POINTS[number % len(POINTS)])
    drawn.crash(POINTS[(number * 5 + 11) % len(POINTS)])
    if random.random() < 0.4:
        drawn.crash(random.choice(POINTS))
    for _ in range(random.choice((0, 1, 2, 3, 4))):
        drawn.vendor()
    for _ in range(random.choice((0, 0, 1, 2, 3))):
        drawn.circumstance()
    for _ in range(random.choice((0, 1, 2, 3))):
        drawn.person()
    return Plan(f"{seed}/{number}", tuple(sorted(set(drawn.entries), key=lambda each: (each.kind, each.at))))


class _Drawing:
    def __init__(self, random: Random) -> None:
        self._random = random
        self.entries: list[Entry] = []

    def add(self, kind: str, at: int, what: str = "", more: int = 0) -> None:
        self.entries.append(Entry(kind, at, what, more))

    def orders(self) -> None:
        """`what` is binding and manner, `more` how many items."""
        random = self._random
        for number in range(random.choice((1, 1, 2, 2, 3))):
            binding = random.choice(("steady", "steady", "steady", "shy", "mute", "hurried"))
            manner = random.choice(("job", "job", "inline"))
            self.add("order", number * random.choice((5, 300, 4000)) + 10 + number, f"{binding} {manner}",
                     random.choice((1, 1, 2, 3)))  # fmt: skip

    def workers(self) -> None:
        for number in range(self._random.choice((1, 2, 2, 3))):
            self.add("worker", number * self._random.choice((0, 400, 3000)) + number)

    def crash(self, point: Point) -> None:
        random = self._random
        action = random.choice(("kill", "kill", "kill", "pause", "fail"))
        nth = random.choice((1, 1, 1, 1, 2, 3))
        if point in _RARE:
            nth = 1
        more = random.choice((3_000, 16_000, 25_000, 60_000)) if action == "pause" else 0
        self.add("crash", nth, f"{point} {action}", more)
        for entry in _LEADS.get(point, ()):
            self.entries.append(entry)

    def vendor(self) -> None:
        site = self._random.choice(("create", "create", "create", "query", "file", "callback", "lookup"))
        nth = self._random.choice((1, 1, 2, 3, 4))
        if any(each.kind == site and each.at == nth for each in self.entries):
            return
        self.add(site, nth, self._random.choice(FAULTS[site]))
        if site == "lookup":
            self.entries.extend(_SILENCE)

    def circumstance(self) -> None:
        """What happens to machines, lines and configuration."""
        random = self._random
        at = random.randrange(100, 20_000)
        match random.choice(
            ("db", "db", "db", "away", "kill", "pause", "stop", "disk", "key", "recover", "deploy")
        ):
            case "db":
                self.add(
                    "db", random.randrange(1, 60), random.choice(("refused", "lost", "lost", "deadlock"))
                )
            case "away":
                self.add("away", at, "", random.choice((500, 4_000, 25_000)))
            case "kill":
                self.add("kill", at, "", random.randrange(3))
            case "pause":
                self.add("pause", at, str(random.randrange(3)), random.choice((2_000, 22_000, 40_000)))
            case "stop":
                self.add("stop", at, "", random.randrange(3))
            case "disk":
                self.add("disk", random.randrange(1, 5))
            case "key":
                self.add(
                    "key",
                    at,
                    random.choice(("removed", "changed", "revoked")),
                    random.choice((3_000, 30_000)),
                )
            case "recover":
                self.add("recover", at)
            case "deploy":
                self.add("deploy", at, random.choice(("price", "model", "contract")))

    def person(self) -> None:
        random = self._random
        at = random.randrange(50, 20_000)
        what = random.choice(
            ("click-again", "click-again", "other-key", "revoke", "cancel", "query", "transfer",
             "release-hold", "plan-again", "forged-callback")
        )  # fmt: skip
        self.add("person", at, what, random.randrange(4))


_CIRCUMSTANCES = (
    "db", "db", "db", "away", "kill", "pause", "stop", "disk", "key", "recover", "deploy",
)  # fmt: skip
_SILENCE = (Entry("create", 1, "dropped"),)
_LATE = (Entry("order", 1, "hurried job", 1), Entry("create", 1, "endless"))
_RARE = frozenset({Point.LATE_RESULT_BEFORE_COMMIT, Point.LATE_RESULT_COMMITTED})  # hardly ever reached twice
_LEADS: dict[Point, tuple[Entry, ...]] = {
    Point.LOOKUP_ANSWERED: _SILENCE,
    Point.RECEIPT_WRITTEN: (Entry("away-post", 1, "", 4_000),),
    Point.TAKEOVER_COMMITTED: (Entry("kill", 900, "", 0),),
    Point.DEADLINE_BEFORE_COMMIT: _LATE,
    Point.DEADLINE_COMMITTED: _LATE,
    Point.LATE_RESULT_BEFORE_COMMIT: _LATE,
    Point.LATE_RESULT_COMMITTED: _LATE,
    Point.DOWNLOAD_STORED: (Entry("order", 15, "steady job", 1),),
    Point.TRANSFER_COMMITTED: (Entry("order", 15, "steady job", 1),),
    Point.POLL_ANSWERED: (Entry("order", 15, "steady job", 1),),
    Point.CALLBACK_COMMITTED: (Entry("order", 15, "steady job", 2),),
    Point.INLINE_STORED: (Entry("order", 15, "steady inline", 1),),
}


def shrink(entries: Sequence[Entry]) -> Iterable[list[Entry]]:
    """Ever smaller sets of entries to leave out: halves first, then one by one."""
    size = max(1, len(entries) // 2)
    while True:
        for start in range(0, len(entries), size):
            yield list(entries[start : start + size])
        if size == 1:
            return
        size //= 2
