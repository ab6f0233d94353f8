# Sets up, runs and checks the project. `make` alone lists what there is.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two goals at once would install into one environment at the same time.
.NOTPARALLEL:
# A pipe fails where pip fails.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

VENV := .venv
PYTHON ?= $(shell for minor in 11 12 13 14; do command -v python3.$$minor && exit; done; command -v python3)
BIN := $(VENV)/bin
# What a run needs, and what the checks need beyond it; each stamp is newer than the files that it was installed from.
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
DEMO := $(VENV)/.installed-demo
NOTEBOOK := $(VENV)/.installed-notebook
PINS := pyproject.toml constraints.txt $(wildcard hatch_build.py src/ease/wikimedia/dumps/*.pyx src/ease/wikimedia/wikitext/passes.py)
# Only `make lock` and LOCKED need it: `pipx install uv`
UV ?= uv
# LOCKED=yes: `make setup-dev` installs the files of uv.lock alone, by their hashes (torch with CUDA)
LOCKED ?=
# pip would compile one library after the other; COMPILE uses all cores.
PIP := PYTHONUNBUFFERED=1 $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --no-compile
INSTALL := $(PIP) -c constraints.txt
# pip's lines as a few of progress; its errors go to stderr.
STEPS := awk '/^Collecting/ && ++n % 50 == 0 {print "  " n " libraries found"} \
	/^Building wheels/ {sub(/.*: /, ""); print "  compiling " $$0} \
	/^Installing collected/ {print "  installing " NF - 3 " libraries"} {fflush()}'
LOCK := $(VENV)/locked.txt
INSTALL_LOCK := $(UV) export --frozen --quiet --no-emit-project $(patsubst %,--extra=%,demo dev docs spark) -o $(LOCK) && \
	$(PIP) --require-hashes -r $(LOCK) | $(STEPS)
# Bytecode of every library takes a minute of CPU time and 0.5 GB. Where Python may not write bytecode, it would compile
# what it imports at each start, which takes three times as long, so the set-up waits for COMPILE. Elsewhere the first
# starts write what they import, and COMPILE does the rest in the background. Some libraries have files that are no Python.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib src
COMPILE_AFTER_SETUP = $(if $(PYTHONDONTWRITEBYTECODE),echo "Compiling bytecode: a minute"; $(COMPILE) || true,\
	(nice -n 19 $(COMPILE) &) > /dev/null 2>&1 < /dev/null)
# Not needed again once PyICU is compiled.
CHECK_TOOLS := $(BIN)/python -c 'import icu' 2>/dev/null || scripts/system_packages.sh build $(BIN)/python
# Passed on to `kedro run` or pytest: make train ARGS="--params=multilingual.ease.training.seed=1"
ARGS ?=
# Processes that share the tests, a file each; one thread each for arithmetic.
WORKERS ?= 2
# What `make check` and `make test` run: the fast tests start no project, server, Spark, browser or training.
FAST := not (project or server or training or spark or browser or slow or long)
TESTS ?= -m "not long"
DATA ?= data/test
BENCHMARKS ?= ingestion_speed wikidata_ingestion mining_speed training_speed large_batches encoding_speed search_memory start_up

export DO_NOT_TRACK := true
export MLFLOW_DISABLE_TELEMETRY := true
# Without cached bytecode each of the many Python processes would compile torch and transformers again.
unexport PYTHONDONTWRITEBYTECODE
# Homebrew keeps ICU out of the places where compilers look.
ifneq ($(shell command -v brew),)
export PKG_CONFIG_PATH := $(shell brew --prefix icu4c 2>/dev/null)/lib/pkgconfig:$(PKG_CONFIG_PATH)
endif

.PHONY: help setup setup-dev compile train demo check test test-all lint format unit test-data rehearse bench gpu viz mlflow notebook lock release prune validate docs docs-links docs-notebooks clean

help:  ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup: $(RUN)  ## Make .venv with what a run needs

setup-dev: $(DEV)  ## Make .venv with what the checks need too

compile: | $(BIN)/python  ## Write the bytecode of all libraries, where Python may not (PYTHONDONTWRITEBYTECODE)
	@$(COMPILE) || true

train: $(RUN)  ## Set up, then run the main job on the sample wiki
	$(BIN)/kedro run --pipelines=train_multilingual $(ARGS)

demo: $(DEMO)  ## Search the sentences in a browser, models side by side; ARGS="--port=8001"
	$(BIN)/python -m ease.search serve $(ARGS)

check: lint  ## Style, types and the fast tests: under two minutes, for the inner loop
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --max-worker-restart=0 -m "$(FAST)" $(ARGS)

test: lint unit  ## Set up where needed, then run all checks and all tests but the longest

test-all: lint  ## All checks and all tests, with coverage
	$(MAKE) unit TESTS="--cov --cov-report=term:skip-covered" ARGS="$(ARGS)"

lint: $(DEV)  ## Style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)  ## Put the code into the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: $(DEV)  ## The tests of `make test` without the checks; ARGS="tests/io -k locks" chooses
	@scripts/system_packages.sh java || echo "Going on: tests marked 'spark' cannot run."
	@scripts/system_packages.sh browser || echo "Going on: tests marked 'browser' cannot run."
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0 $(TESTS) $(ARGS)

test-data: $(DEV)  ## Download the real data that tests read, into DATA
	$(BIN)/python -m tests.real_data $(DATA)

rehearse: $(DEV)  ## Every pipeline and method at the paper's scale, on small inputs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/rehearsal/rehearse_all.py --durations=0 $(ARGS)

bench: $(DEV)  ## Time what needs no GPU beside its peers
	@for script in $(BENCHMARKS); do echo "\n## $$script\n"; $(BIN)/python -m benchmarks.$$script || exit 1; done

validate: $(RUN)  ## Check all rows of all tables of the data folder
	$(BIN)/python -m ease.datasets $(ARGS)

docs: $(DEV)  ## Build the documents as a site in build/site
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "Open build/site/index.html"

docs-links: $(DEV)  ## Try every address that the documents name (needs the network)
	$(BIN)/python -m sphinx -q -b linkcheck docs build/links

docs-notebooks: $(DEV)  ## Run the notebooks in this trained project; the site shows the copies with outputs
	$(BIN)/python scripts/run_notebooks.py $(ARGS)

gpu:  ## Test and time what needs a GPU, with that machine's own torch: make gpu PYTHON=python3
	PYTHONPATH="src:.:$$PYTHONPATH" $(PYTHON) -m benchmarks.gpu $(ARGS)

viz: $(RUN)  ## Show the pipelines in a browser
	@$(BIN)/python -m ease.servers viz $(ARGS)

mlflow: $(RUN)  ## Compare the runs in a browser
	@$(BIN)/python -m ease.servers mlflow $(ARGS)

notebook: $(NOTEBOOK)  ## Open the notebooks in a browser; as root: ARGS=--allow-root
	$(BIN)/jupyter-notebook --notebook-dir=notebooks $(ARGS)

lock:  ## Write uv.lock with the versions of constraints.txt; needs uv
	$(UV) lock $$(sed -n 's/^[A-Za-z].*==/-P &/p' constraints.txt) $(ARGS)

# A wheel with compiled modules is for one Python and platform, which the index refuses: this one is for all.
release: $(DEV)  ## List the published models, build the package and check it; prints the upload's command
	$(BIN)/python scripts/list_models.py $(wildcard published/*)
	rm -rf dist
	HATCH_BUILD_NO_HOOKS=true $(BIN)/hatchling build
	$(BIN)/twine check --strict dist/*
	@echo "Upload the package: $(BIN)/twine upload dist/*"

prune: $(RUN)  ## List old versions and parsed parts; ARGS=--delete removes them
	@$(BIN)/python -m ease.pruning $(ARGS)

clean:  ## Remove caches and reports; .venv, data and models stay
	rm -rf .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .grimp_cache build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' || \
		{ echo "EASE needs Python 3.11 to 3.14, and '$(PYTHON)' is not: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@scripts/system_packages.sh build $(PYTHON)
	$(PYTHON) -m venv --upgrade-deps $(VENV)  # an older pip takes twice as long

$(RUN): $(PINS) | $(BIN)/python
	@$(CHECK_TOOLS)
	@echo "Installing into $(VENV): a few minutes, of which PyICU takes one to compile"
	@$(INSTALL) -e '.[project]' | $(STEPS)
	@touch $@
	@$(COMPILE_AFTER_SETUP)

$(DEV): $(PINS) | $(BIN)/python
	@$(CHECK_TOOLS)
	@echo "Installing into $(VENV): a few minutes, of which PyICU takes one to compile"
	@$(if $(LOCKED),$(INSTALL_LOCK))
	@$(INSTALL) -e '.[demo,dev,docs,spark]' | $(STEPS)
	@touch $(RUN) $(DEMO) $@
	@$(COMPILE_AFTER_SETUP)

$(DEMO) $(NOTEBOOK): $(PINS) | $(BIN)/python
	@$(CHECK_TOOLS)
	@echo "Installing into $(VENV): a few minutes, of which PyICU takes one to compile"
	@$(INSTALL) -e '.[$(@:$(VENV)/.installed-%=%)]' | $(STEPS)
	@touch $(RUN) $@
	@$(COMPILE_AFTER_SETUP)
