# Two commands: `make quickstart` and `make test`. Both need Python 3.11 or newer, make and
# nothing else; everything they install goes to .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# More workers than cores only makes each test slower; two is what CI has. Files begin in the order
# of tests/conftest.py.
JOBS ?= 2
SPREAD := --dist loadfile --no-loadscope-reorder
# Where it is set, as images of containers do to stay small, each of thousands of processes, and
# each run of the tests, would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Stamps: a second call installs again only if what is to be installed has changed.
BASE := $(VENV)/.stamp-base
TEST := $(VENV)/.stamp-test

.DEFAULT_GOAL := help
.PHONY: help quickstart install install-test compiled test lint format architecture docs docs-serve kernels clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

quickstart: $(BASE) ## Install, search with a small real study, write its report to runs/quickstart
	$(BIN)/archloom run studies/quickstart.yaml
	$(BIN)/archloom report runs/quickstart

install: $(BASE) ## Make .venv with archloom in it (editable)

install-test: $(TEST) ## The same with what tests and linters need

# On all cores before the tests: those that want a kernel wait for the one that compiles it.
compiled: $(TEST) ## Compile all kernels, once on a machine
	$(BIN)/archloom compile --weaving --workers $(JOBS)

test: compiled ## Run the tests; of long sweeps a sample of their cases
	$(BIN)/pytest -n $(JOBS) $(SPREAD)

test-all: compiled ## Run the tests and every case of all sweeps
	$(BIN)/pytest -n $(JOBS) $(SPREAD) -m ""

lint: $(TEST) ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TEST) ## Put files into the project's format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

architecture: $(TEST) ## Draw the packages again in docs/explanation/architecture.md
	$(BIN)/python -m docs.draw_architecture

docs: $(TEST) ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open site/index.html"

docs-serve: $(TEST) ## Serve the documentation at http://127.0.0.1:8000, as it is edited
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

kernels: $(TEST) ## Write down again which kernels a study compiles before it begins
	$(BIN)/python -m docs.record_kernels
	$(BIN)/python -m docs.record_kernels weaving > /dev/null

clean: ## Remove .venv and everything that tools left behind; keeps runs/
	rm -rf $(VENV) build dist site archloom.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-venv:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: '$(PYTHON)' was not found; install Python 3.11 or newer, or say PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: '$(PYTHON)' is $$($(PYTHON) --version 2>&1), archloom needs 3.11 or newer; say PYTHON=python3.11" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# torch first and by its exact pin: a looser request may bring gigabytes of GPU libraries.
$(BASE): $(VENV)/.stamp-venv pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(TEST): $(BASE)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	@touch $@
