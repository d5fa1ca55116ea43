"""Natural batching: what gathers while one transaction runs goes together into the next (performance.md 2).

No timer and no added delay: a caller that finds nobody at work goes at once, alone. Everybody gets an
answer of its own; when a whole batch fails, its members are tried one by one.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
TOGETHER_MAX = 64


@dataclass(slots=True)
class _Ticket(Generic[Asked, Answer]):
    asked: Asked
    answer: Answer | None = None
    error: BaseException | None = None
    done: bool = False


@dataclass(slots=True)
class Combiner(Generic[Asked, Answer]):
    """`run` answers a batch in order, inside one transaction of its own; threads share the combiner."""

    run: Callable[[Sequence[Asked]], Sequence[Answer]]
    _waiting: list[_Ticket[Asked, Answer]] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, asked: Asked) -> Answer:
        """Return the answer to `asked`, or raise what answering it raised."""
        ticket: _Ticket[Asked, Answer] = _Ticket(asked)
        with self._guard:
            self._waiting.append(ticket)
        with self._turn:
            if not ticket.done:
                self._answer(self._take(ticket))
        if ticket.error is not None:
            raise ticket.error
        assert ticket.answer is not None
        return ticket.answer

    def _take(self, mine: _Ticket[Asked, Answer]) -> list[_Ticket[Asked, Answer]]:
        with self._guard:
            others = [each for each in self._waiting if each is not mine]
            taken = [mine, *others[: TOGETHER_MAX - 1]]
            self._waiting = others[TOGETHER_MAX - 1 :]
        return taken

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
