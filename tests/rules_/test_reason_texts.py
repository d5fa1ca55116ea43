"""Every reason that a Task can carry has a sentence of its own for the producer (P-13.1)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortdrama_pipeline
from shortdrama_pipeline.rules.polling import QueryCase
from shortdrama_pipeline.rules.states import TaskState
from shortdrama_pipeline.rules.task_actions import TEXTS, user_text
from shortdrama_pipeline.rules.tasks import HandBack

ROOT = Path(shortdrama_pipeline.__file__).parent
CONSTANTS = {"CODE", "LATE_CODE"}


def trees() -> Iterator[ast.Module]:
    """Yield the engine's files; a Quote's reasons are another kind, with sentences of their own."""
    for file in sorted((ROOT / "services").glob("*.py")):
        text = file.read_text()
        if "rules.quotes import" not in text:
            yield ast.parse(text)


def literals(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from (*literals(body), *literals(other))
        case _:
            pass


def codes() -> set[str]:
    """Collect what the engine writes: the first word of `Reason`, what `stop` is given, rules and SQL."""
    found = {str(each) for each in (*QueryCase, *HandBack)}
    for tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="Reason"), args=[first, *_]):
                    found |= set(literals(first))
                case ast.Call(func=ast.Name(id="stop"), args=[_, _, third, *_]):
                    found |= set(literals(third))
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in CONSTANTS:
                    found |= set(literals(value))
                case ast.Dict(keys=[ast.Constant(value="code"), *_], values=[first, *_]):
                    found |= set(literals(first))
                case _:
                    pass
    consequences = (ROOT / "rules" / "attempts.py").read_text()
    found |= set(re.findall(r'TaskStep\.[A-Z_]+, "([a-zA-Z]+)"', consequences))
    found |= set(re.findall(r'ReservationStep\.[A-Z]+, "([a-zA-Z]+)"', consequences))
    found |= set(re.findall(r"then '([a-zA-Z]+)'", (ROOT / "store" / "tasks.py").read_text()))
    return {each for each in found if re.fullmatch("[a-z][a-zA-Z]+", each)}


def test_the_collection_finds_what_is_known_to_be_written() -> None:
    assert {
        "requestNotBuildable",
        "channelChanged",
        "resultTooLarge",
        "resultNotStored",
        "checkpointBroken",
        "mendable",
        "capacity",
        "grantExpired",
        "deadlinePassed",
        "overdue",
    } <= codes()


@pytest.mark.parametrize("code", sorted(codes()))
def test_a_reason_has_its_sentence(code: str) -> None:
    assert code in TEXTS
    assert user_text(TaskState.QUEUED, code) != "Waiting for its turn."
