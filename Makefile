# Everything that this project does, on a machine with Python >= 3.11, Java >= 17, make and git.
# `make setup` installs what the others need into .venv; they all begin with it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test test-long lint format bench schema lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): a minute or two the first time (PySpark alone is 450 MB)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

## The tour: a real broker, a lived-in state, plan, apply, drift, and clients that may and may not.
demo: $(STAMP)
	$(BIN)/reconciler demo

## Everything but the long tests.
test: $(STAMP)
	$(BIN)/python -m pytest -m "not long"

## The long tests: large clusters.
test-long: $(STAMP)
	$(BIN)/python -m pytest -m long --timeout 3600

## Format, style, types, import contracts; changes nothing.
lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

## Bring the code into the format that `make lint` checks.
format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## What the figures in benchmarks/README.md rest on.
bench: $(STAMP)
	$(BIN)/python -m benchmarks

## Write the committed JSON Schemas again.
schema: $(STAMP)
	$(BIN)/reconciler schema --out schema

## Resolve requirements.lock again from pyproject.toml (needs uv).
lock:
	uv pip compile --quiet pyproject.toml --extra sandbox --extra msk-iam --extra fleet --extra policy --group dev --universal \
	  --python-version 3.11 --generate-hashes --no-header --output-file requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
