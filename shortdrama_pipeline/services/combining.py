"""Natural batching: what gathers while one transaction runs goes together into the next (performance.md 2).

A caller that finds nobody at work goes at once, alone. Only under a crowd does the next leader give
those who were answered just now a moment to come back, since one commit for all is cheaper than two.
Everybody gets an answer of its own; when a whole batch fails, its members are tried one by one.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
TOGETHER_MAX = 64
CROWD_WAIT_S_MAX = 10 / 1000
CROWD_WAIT_PART = 4  # of the time the last batch took


@dataclass(slots=True, eq=False)
class _Ticket(Generic[Asked, Answer]):
    asked: Asked
    answer: Answer | None = None
    error: BaseException | None = None
    done: bool = False


@dataclass(slots=True)
class Combiner(Generic[Asked, Answer]):
    """`run` answers a batch in order, inside one transaction of its own; threads share the combiner.

    `after` is called once per batch with its answers, when the next batch may already run.
    """

    run: Callable[[Sequence[Asked]], Sequence[Answer]]
    after: Callable[[Sequence[Answer]], None]
    _waiting: list[_Ticket[Asked, Answer]] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _busy: bool = False
    _crowd: int = 1  # how many were answered or waiting when the last batch ended
    _patience_s: float = 0

    def ask(self, asked: Asked) -> Answer:
        """Return the answer to `asked`, or raise what answering it raised."""
        ticket: _Ticket[Asked, Answer] = _Ticket(asked)
        with self._changed:
            self._waiting.append(ticket)
            self._changed.notify_all()
            self._changed.wait_for(lambda: ticket.done or not self._busy)
            tickets = [] if ticket.done else self._take(ticket)
        if tickets:
            self._lead(tickets)
        if ticket.error is not None:
            raise ticket.error
        assert ticket.answer is not None
        return ticket.answer

    def _take(self, mine: _Ticket[Asked, Answer]) -> list[_Ticket[Asked, Answer]]:
        """Become the leader of all who wait. Called with `_changed` held."""
        if self._crowd > 1:
            self._crowd_gathers()
        self._busy = True
        others = [each for each in self._waiting if each is not mine]
        self._waiting = others[TOGETHER_MAX - 1 :]
        return [mine, *others[: TOGETHER_MAX - 1]]

    def _crowd_gathers(self) -> None:
        self._busy = True
        try:
            self._changed.wait_for(lambda: len(self._waiting) >= self._crowd, self._patience_s)
        finally:  # an interrupted leader must not leave the others waiting for ever
            self._busy = False
            self._changed.notify_all()

    def _lead(self, tickets: Sequence[_Ticket[Asked, Answer]]) -> None:
        began_s = time.monotonic()
        self._answer(tickets)
        with self._changed:
            self._busy = False
            self._patience_s = min((time.monotonic() - began_s) / CROWD_WAIT_PART, CROWD_WAIT_S_MAX)
            self._crowd = min(len(self._waiting) + len(tickets), TOGETHER_MAX)
            self._changed.notify_all()
        self.after([each.answer for each in tickets if each.answer is not None])

    def _answer(self, tickets: Sequence[_Ticket[Asked, Answer]]) -> None:
        try:
            answers = self.run([each.asked for each in tickets])
        except BaseException as error:  # noqa: BLE001 - handed to every caller that waits for it
            if len(tickets) > 1 and isinstance(error, Exception):
                for each in tickets:
                    self._answer([each])
                return
            for each in tickets:
                each.error, each.done = error, True
            return
        for each, answer in zip(tickets, answers, strict=True):
            each.answer, each.done = answer, True
