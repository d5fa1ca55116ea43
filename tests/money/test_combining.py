"""What gathers while one batch runs goes together into the next, and everybody gets its own answer."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from shortdrama_pipeline.errors import Conflict
from shortdrama_pipeline.services.combining import Combiner


def test_a_caller_alone_goes_alone_at_once() -> None:
    batches: list[list[int]] = []

    def run(asked: Sequence[int]) -> list[int]:
        batches.append(list(asked))
        return [each * 10 for each in asked]

    told: list[Sequence[int]] = []
    combiner = Combiner(run, told.append)
    assert [combiner.ask(each) for each in (1, 2)] == [10, 20]
    assert batches == [[1], [2]]
    assert told == [[10], [20]]


def test_those_who_wait_go_together_and_in_order_of_arrival() -> None:
    busy, go, batches = Event(), Event(), list[list[int]]()

    def run(asked: Sequence[int]) -> list[int]:
        batches.append(list(asked))
        if 0 in asked:
            busy.set()
            go.wait(5)
        return [each * 10 for each in asked]

    combiner = Combiner(run, lambda _: None)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(combiner.ask, 0)
        busy.wait(5)
        others = [pool.submit(combiner.ask, each) for each in range(1, 8)]
        while len(combiner._waiting) < len(others):
            go.wait(0.001)
        go.set()
        assert [each.result() for each in (first, *others)] == [each * 10 for each in range(8)]
    assert [len(each) for each in batches] == [1, 7]


def test_one_that_fails_does_not_take_the_others_with_it() -> None:
    busy, go = Event(), Event()

    def run(asked: Sequence[int]) -> list[int]:
        if 0 in asked:
            busy.set()
            go.wait(5)
        if 3 in asked:
            raise Conflict("three")
        return list(asked)

    combiner = Combiner(run, lambda _: None)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(combiner.ask, 0)
        busy.wait(5)
        others = [pool.submit(combiner.ask, each) for each in range(1, 5)]
        while len(combiner._waiting) < len(others):
            go.wait(0.001)
        go.set()
        assert first.result() == 0
        assert [each.result() for each in others if each is not others[2]] == [1, 2, 4]
        with pytest.raises(Conflict):
            others[2].result()
