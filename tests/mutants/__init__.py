"""The tester tested: bugs planted one at a time, each to be caught by the tests named with it.

`make mutants` copies the tree, applies one patch of `catalogue.py`, runs the named tests and puts the
line back. A patch that no test notices fails the run. `docs/mutants.md` is written by a full run.
"""
