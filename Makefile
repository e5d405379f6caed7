# Everything that this project does, on a machine with Python >= 3.11, Java >= 17, make and git.
# `make setup` installs what the others need into .venv; they all begin with it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Test processes side by side, each with brokers of its own: all but one wait more than they work.
WORKERS ?= 5

# Which of the tests that need Go: `COMPAT="compat and not long"` leaves those out whose judges take minutes to build.
COMPAT ?= compat

# All that is installed is compiled at once, or `BYTECODE=` what is imported, when it is.
BYTECODE ?= --compile-bytecode

# Test processes and the commands that they run would each compile what they import, where somebody forbids to keep it.
unexport PYTHONDONTWRITEBYTECODE

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv unpacks and compiles on all processors, half the time of pip; it comes by its hash as everything else. It does not
# read what pip is told about indexes and proxies: where that is told, and wherever uv fails, pip installs all.
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps
INSTALL_ALL = ! $(BIN)/python -m pip config list | grep -qE 'index|proxy|trusted-host|client-cert' \
	  && awk '/^[^ \#]/ {ours = /^uv==/} ours' requirements.lock >$(VENV)/uv.lock \
	  && $(PIP) --require-hashes --no-deps -r $(VENV)/uv.lock \
	  && $(UV) --require-hashes $(BYTECODE) -r requirements.lock && $(UV) -e .

.PHONY: setup demo test test-ci test-compat test-long explore mutants lint format bench figures schema reference docs dist pictures lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): a minute or two the first time (PySpark alone is 450 MB)"
	@$(INSTALL_ALL) || { $(PIP) --require-hashes -r requirements.lock && $(PIP) --no-deps -e .; }
	@touch $@

## The tour: a real broker, a lived-in state, plan, apply, drift, clients that may and may not; then a fleet on Spark.
demo: $(STAMP)
	@echo "the demo takes one to three minutes, most of it Spark's; it says at its end how long it took"
	$(BIN)/reconciler demo --fleet

## Everything but the long tests.
test: $(STAMP)
	$(BIN)/python -m pytest -m "not long and not compat" --processes $(WORKERS) --durations 50

## Brokers of other makes, on franz-go's kfake; the chart by Helm's code; needs Go 1.26.
test-compat: $(STAMP)
	@command -v go >/dev/null || { echo "Go 1.26 or newer is needed: https://go.dev/dl" >&2; exit 1; }
	$(BIN)/python -m pytest -m "$(COMPAT)" tests/compat --durations 10

## The pipelines on engines: nektos/act for GitHub's workflows, gitlab-ci-local for GitLab's; needs Go 1.26.
test-ci: $(STAMP)
	$(BIN)/python -m tests.integration.ci.act
	$(BIN)/python -m pytest -m engines tests/integration/ci --durations 10

## The long tests: large clusters, and every variant of what quick tests hold by one.
test-long: $(STAMP)
	$(BIN)/python -m pytest -m "long and not compat and not engines" --timeout 3600

## The property tests on other examples in every run, and more of them. What fails here becomes an @example.
explore: $(STAMP)
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest tests/property tests/unit -m "not long and not compat" --processes $(WORKERS)

## Known faults that tests must notice; then faults at random places, and the share that they notice.
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants
	$(BIN)/python -m tests.mutants.sampled

## Format, style, types, import contracts, the words of documents; changes nothing.
lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck --external-sources .ci/run .ci/image action/*.sh examples/ci/*.sh
	$(BIN)/python .ci/words.py

## Bring the code into the format that `make lint` checks.
format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## What the figures in docs/performance.md rest on.
bench: $(STAMP)
	$(BIN)/python -m benchmarks

## Sizes, stack depth and homonyms of the code, on a broker; writes docs/decisions/figures.md.
figures: $(STAMP)
	$(BIN)/python -m benchmarks.figures --write

## The documents as a site, in site/.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet

## The README's pictures again, by the tests' browser.
pictures: $(STAMP)
	$(BIN)/python -m tests.browser.pictures

## Wheel, sdist and bill of materials, in dist/.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/pyproject-build --no-isolation --outdir dist
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --validate \
	  --output-file dist/kafka-reconciler.cdx.json requirements-runtime.lock

## Write the committed JSON Schemas again.
schema: $(STAMP)
	$(BIN)/reconciler schema --out schema

## Write the pages that are generated again: help texts, lint rules, laws of each kind.
reference: $(STAMP)
	$(BIN)/python -m tests.integration.commands_page
	$(BIN)/python -m tests.unit.access.lint_page
	$(BIN)/python -m tests.security.laws_page
	$(BIN)/python -m tests.unit.packages_page

## Resolve the lock files again from pyproject.toml (needs uv).
lock:
	uv pip compile --quiet pyproject.toml --extra sandbox --extra msk-iam --extra fleet --extra policy --extra terraform --group dev --universal \
	  --python-version 3.11 --generate-hashes --no-header --output-file requirements.lock
	uv pip compile --quiet pyproject.toml --extra policy --extra msk-iam --group install --universal \
	  --python-version 3.11 --generate-hashes --no-header --constraint requirements.lock --output-file requirements-runtime.lock
	uv pip compile --quiet pyproject.toml --extra policy --extra msk-iam --extra fleet --group install --universal \
	  --python-version 3.11 --generate-hashes --no-header --constraint requirements.lock --output-file requirements-fleet.lock
	uv pip compile --quiet --group platforms --universal \
	  --python-version 3.11 --generate-hashes --no-header --constraint requirements.lock --output-file tests/integration/fleet/platforms.lock

clean:
	rm -rf $(VENV) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
