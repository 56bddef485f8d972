PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help venv peers trust mutation properties fuzz lowest audit coverage demo docs dist test slow lint bench study reproduce clean

help:            ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

# One stamp per set of extras: `make test` after `make demo` installs only what is missing.
$(VENV)/.venv-stamp:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.%-stamp: pyproject.toml | $(VENV)/.venv-stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

venv: $(VENV)/.demo-stamp $(VENV)/.test-stamp $(VENV)/.lint-stamp  ## Create .venv with everything a developer needs

# fuzzy-c-means pins numpy < 2, so the peers live in an environment of their own; tests, benchmarks and `make trust` use them if it is there.
PEERS := $(VENV)-peers/bin/python
export AFCM_FUZZY_C_MEANS_PYTHON := $(if $(wildcard $(PEERS)),$(abspath $(PEERS)))

peers:  ## Install fuzzy-c-means and soft-clustering beside, for what compares with them
	$(PYTHON) -m venv $(VENV)-peers
	$(PEERS) -m pip install --quiet --disable-pip-version-check fuzzy-c-means soft-clustering pandas

trust: $(VENV)/.test-stamp  ## Bad input and faults, ours and the peers': tables in docs/trust (about four minutes)
	$(BIN)/python -m trust $(ARGS)

mutation: $(VENV)/.test-stamp  ## Do the tests notice small mistakes in the mathematics? (hours on two cores the first time; ARGS="--only graph.kernels" for some)
	$(BIN)/python -m trust.mutation $(ARGS)

properties: $(VENV)/.test-stamp  ## The promises of every estimator on many more random problems, drawn afresh (about eight minutes)
	AFCM_EXAMPLES=60 $(BIN)/python -m pytest -q tests/properties

fuzz: $(VENV)/.test-stamp  ## A hundred thousand damaged files for every reader (up to an hour; ARGS="--seed 1" for others)
	$(BIN)/python -m trust.fuzzing $(ARGS)

lowest: $(VENV)/.test-stamp  ## The tests with the lowest versions that pyproject.toml promises, in an environment of their own
	$(PYTHON) -m venv $(VENV)-lowest
	$(BIN)/python -m trust.lowest test dask > $(VENV)-lowest/pins.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r $(VENV)-lowest/pins.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(BIN)/python -m trust.habits lowest --python $(VENV)-lowest/bin/python

audit: $(VENV)/.audit-stamp  ## Known weaknesses of the installed packages (asks the network)
	$(BIN)/python -m trust.habits audit

coverage: $(VENV)/.coverage-stamp $(VENV)/.test-stamp  ## The lines that the tests run
	$(BIN)/python -m coverage run -m pytest -q
	$(BIN)/python -m trust.habits coverage

demo: $(VENV)/.demo-stamp  ## Fit k-means, PlainAFCM and AFCM on the toys and Iris; writes out/demo.png and out/report.html
	$(BIN)/python -m afcm.demo --out out

docs: $(VENV)/.docs-stamp  ## The site with its gallery: out/docs/index.html (some minutes; AFCM_DOCS=quick leaves out the slow examples)
	$(BIN)/python -m sphinx -b html -W --keep-going -n -q -d out/docs-cache docs out/docs
	$(BIN)/python docs/check_links.py out/docs

dist: $(VENV)/.release-stamp  ## Wheel and sdist in dist/, checked, and the README's first lines in an empty environment (PYTHON=python3.14 for another Python)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist > /dev/null
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear out/empty
	out/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	out/empty/bin/python -I trust/first_lines.py README.md

# One process for each core, with one thread for linear algebra: more threads than cores wait for each other.
EVERY_CORE := -q -n auto --dist loadfile

test: $(VENV)/.test-stamp  ## Run the tests (PYTEST_ARGS="-x tests/graph" for some, in one process)
	$(if $(PYTEST_ARGS),,OMP_NUM_THREADS=1) $(BIN)/python -m pytest $(or $(PYTEST_ARGS),$(EVERY_CORE) -m "not slow")

slow: $(VENV)/.test-stamp  ## Run the tests that `make test` leaves out because they take long
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(EVERY_CORE) -m slow

lint: $(VENV)/.lint-stamp  ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench-stamp  ## Speed and memory against the peers (hours in all; NAME="eigen fcm" for some)
	$(BIN)/python -m benchmarks $(NAME)

DATA ?= ../shared/data

study: $(VENV)/.bench-stamp  ## Quality without labels (docs/label-free.md), under noise (docs/noise-results.md), of memberships (docs/posterior-results.md) and on public shapes (docs/suite-results.md), over an hour (NAME="toys count" for some; NAME=suite DATA=FOLDER)
	$(BIN)/python -m studies $(NAME) --data $(DATA)

reproduce: $(VENV)/.reproduce-stamp  ## The paper's tables and figures beside ours, docs/reproduction (over an hour; ARGS="--only iris" for some)
	$(BIN)/afcm reproduce --data $(DATA) --out docs/reproduction $(ARGS)

clean:           ## Remove the virtual environment and outputs
	rm -rf $(VENV) $(VENV)-peers $(VENV)-lowest out .pytest_cache .mypy_cache .ruff_cache .hypothesis
