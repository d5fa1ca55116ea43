"""Names of tests that show a thing, checked to exist: `engine.test_faults:f04_lost_queries…`."""

from importlib import import_module


def shown_by(*names: str) -> None:
    """Hold that every named test is there. A name is its folder and file, a colon, what follows `test_`.

    Behind a class (`Suite.test_…`) the dotted name is followed.
    """
    missing = [name for name in names if not _exists(name)]
    assert missing == []


def _exists(name: str) -> bool:
    module, _, function = name.partition(":")
    found: object = import_module(f"tests.{module}")
    *outer, last = function.split(".")
    for each in outer:
        found = getattr(found, each, None)
    return callable(getattr(found, f"test_{last}", None))
