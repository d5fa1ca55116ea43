"""A planted bug that no longer fits its line, or names no test, would prove nothing."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_each_planted_bug_still_fits_its_line_and_names_tests_that_are_there(mutant: Mutant) -> None:
    whole = (ROOT / mutant.file).read_text()
    assert whole.count(mutant.old) == 1
    compile(whole.replace(mutant.old, mutant.new), mutant.file, "exec")
    for each in mutant.tests:
        place, _, name = each.partition("::")
        assert (ROOT / place).exists(), each
        assert not name or f"def {name}(" in (ROOT / place).read_text(), each


def test_there_are_at_least_forty_of_different_names() -> None:
    assert len(MUTANTS) >= 40
    assert max(Counter(each.name for each in MUTANTS).values()) == 1
