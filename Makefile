# `make help` lists the targets. Everything runs in .venv, which `make setup` builds from the lock.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from
FAULTS := $(VENV)/fault-cells

.DEFAULT_GOAL := help
.PHONY: help setup demo dev test chaos dagster-faults check faults racing mutants bench lock

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

setup: $(STAMP) ## build .venv from requirements.lock with pip alone

# The stamp holds what the environment was made from, so a changed lock or pyproject makes it anew.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make setup PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## a script goes in, a finished episode comes out
	@$(BIN)/shortdrama demo

dev: setup ## start everything a studio uses, until Ctrl-C
	@$(BIN)/shortdrama dev

test: setup ## the whole test suite
	@$(BIN)/python -m pytest -q -n 2 --ignore tests/dagster_/test_killed_ticks.py $(PYTEST_ARGS)

soak: setup ## simulate N schedules from SEED (make soak N=5000 SEED=1), on both cores
	@$(BIN)/python -m tests.simulation --jobs 2 --schedules $(or $(N),5000) --seed $(or $(SEED),1)

chaos: setup ## real processes killed and PostgreSQL restarted while 2,000 items are bought (SEED, ITEMS, SECONDS)
	@$(BIN)/python -m tests.chaos

dagster-faults: setup ## backfills, retries and a lost database under the real daemon
	@$(BIN)/python -m pytest -q -x tests/dagster_/faults_with_daemon.py tests/dagster_/test_killed_ticks.py

check: setup ## format, lint, types, and the walls between the rooms
	@$(BIN)/ruff format --check --quiet . || { $(BIN)/ruff format --diff --quiet . | head -40; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

faults: setup ## kill real processes at every durable boundary; writes docs/fault-matrix.md
	@rm -rf $(FAULTS) && mkdir -p $(FAULTS)
	@SHORTDRAMA_FAULTS=full SHORTDRAMA_FAULTS_OUT=$(FAULTS) $(BIN)/python -m pytest -q -n 4 tests/faults $(PYTEST_ARGS)
	@$(BIN)/python -m tests.faults.page $(FAULTS) docs/fault-matrix.md

racing: setup ## 64 racers, 100 rounds, at each place where only one may act
	@SHORTDRAMA_RACING_ROUNDS=100 $(BIN)/python -m pytest -q tests/racing $(PYTEST_ARGS)

mutants: setup ## plant bugs one at a time; each must be caught
	@$(BIN)/python -m tests.mutants --report docs/mutants.md

bench: setup ## measure the hot paths (BENCH_ARGS="--peers FOLDER --million" for all)
	@$(BIN)/python -m bench $(BENCH_ARGS)

lock: ## write requirements.lock anew from pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --no-strip-extras --generate-hashes \
		--no-emit-index-url --no-header --no-annotate --python-version 3.11 --quiet --output-file requirements.lock
