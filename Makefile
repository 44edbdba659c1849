# make demo, make test: all the set-up there is. Both make .venv themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := python -m pip install --quiet --disable-pip-version-check
PIP := $(BIN)/$(INSTALL) --constraint constraints.txt

# Compiled code is kept whatever the environment says: tests start hundreds of processes, and each would compile it all.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo construction-demo test neighbours check bench docs generated release results finder-model direction-model screenshots clean

demo: $(VENV)/.core
	$(BIN)/evidencebench demo
	@echo; echo "The command lies in $(BIN); '. $(BIN)/activate' puts it on the path."

# All steps that make a benchmark, on a synthetic review, against a server for trials on this machine.
construction-demo: $(VENV)/.core
	$(PIP) --editable '.[serve]'
	$(BIN)/evidencebench construct demo

# worksteal, so that one process has most tests of a file, and its fixtures. A test that hangs is named.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal --timeout 300

# The packages that users plug evidencebench into, each in an environment of its own, with its real release.
NEIGHBOURS := ray inspect mteb exports
# One that hangs ends, and says where.
IN_TIME := -o faulthandler_timeout=240 -o faulthandler_exit_on_timeout=true
neighbours: $(NEIGHBOURS:%=neighbour-%)

.PHONY: $(NEIGHBOURS:%=neighbour-%)
$(NEIGHBOURS:%=neighbour-%): neighbour-%: .venv-%/.ready
	.venv-$*/bin/python -m pytest -W default $(IN_TIME) tests/neighbours/$* # their packages warn of what is theirs

.venv-%/.ready: pyproject.toml tests/neighbours/%/constraints.txt
	$(PYTHON) -m venv .venv-$*
	$(if $(filter mteb,$*),.venv-$*/bin/$(INSTALL) torch==2.13.0)
	.venv-$*/bin/$(INSTALL) --no-compile --constraint tests/neighbours/$*/constraints.txt --editable '.[test-$*]'
	touch $@

# Every warning is an error.
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Fails below 100 %. It reads the packages of whichever python is first on the path.
TYPED := PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=$(VENV)/types \
	pyright --verifytypes evidencebench --ignoreexternal > $(VENV)/types.txt

check: $(VENV)/.dev $(VENV)/.types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(TYPED) || { cat $(VENV)/types.txt; false; }
	$(BIN)/lint-imports
	$(SITE)

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run_all.py

results: $(VENV)/.dev
	$(BIN)/python tools/make_results.py

# The model that `finder` answers with. EI is the published folder of Evidence Inference 2.0.
EI ?= ../shared/data/evidence_inference
QUESTIONS ?= ../shared/data/questions/trials.json
finder-model: $(VENV)/.dev
	mkdir -p build
	$(BIN)/evidencebench data convert $(EI) build/evidence_inference.json --from txt --overwrite
	$(BIN)/python tools/make_finder_model.py build/evidence_inference.json --leave-out $(QUESTIONS)

# The weights that `find --split-by direction` answers with, and their part of docs/results.md.
direction-model: $(VENV)/.dev
	mkdir -p build
	$(BIN)/evidencebench data convert $(EI) build/evidence_inference.json --from txt --overwrite
	$(BIN)/python tools/make_direction_model.py build/evidence_inference.json --figures

screenshots: $(VENV)/.dev
	EVIDENCEBENCH_TESTS=thorough EVIDENCEBENCH_SCREENSHOTS=docs/screenshots $(BIN)/python -m pytest -q tests/pages/browser/test_walk.py

# The site, which can be read without a network: build/site/index.html.
docs: $(VENV)/.docs
	$(SITE)

# What is made of the code: the sample, docs/cli.md, docs/features.md and the notebook.
generated: $(VENV)/.dev
	$(BIN)/python tools/make_sample.py
	$(BIN)/python tools/make_cli_reference.py
	$(BIN)/python tools/make_feature_table.py
	$(BIN)/python tools/run_notebook.py

# Builds dist/, checks it, and says what a person does next.
release: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tools/check_release.py

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) torch==2.13.0 # by itself: where a build for this machine's processor lies at hand, pip then takes that one
	$(PIP) --editable '.[test,lint,docs]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) --editable '.[docs]'
	touch $@

$(VENV)/.release: $(VENV)/.core
	$(PIP) --editable '.[release]'
	touch $@

# inspect_ai for its types only, where nothing imports it: what it requires does not agree with constraints.txt.
$(VENV)/.types: $(VENV)/.core tests/neighbours/inspect/constraints.txt
	rm -rf $(VENV)/types
	$(BIN)/$(INSTALL) --no-compile --no-deps --target $(VENV)/types \
		--constraint tests/neighbours/inspect/constraints.txt inspect_ai
	touch $@

clean:
	rm -rf $(VENV) $(NEIGHBOURS:%=.venv-%) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
