# Every target finds a Python 3.11 and makes and fills $(VENV) itself when needed. `make` alone lists them.
# Settings:  make test WORKERS=4    make demo PYTHON=/opt/python3.11/bin/python3.11    make test VENV=/tmp/venv

VENV ?= .venv
PYTHON ?=
WORKERS ?= 2
# Of make paper:
PRESET ?= quick
TRACK ?= loop
SEED ?= 0
CLUSTER ?=

PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check
READY := $(VENV)/.filled
IS_PYTHON_311 := import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))

.DEFAULT_GOAL := help
.PHONY: help demo cockpit test test-slow test-next mutants bench paper paper-all results lint lock format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(READY) ## drive the embedded simulator and write pictures to demo_output/
	@echo "== Driving the demo; results go to demo_output/"
	@$(PY) -m donkey_aicc demo --out demo_output

cockpit: $(READY) ## a simulated car that drives by itself, with the live cockpit in your browser; Ctrl-C ends
	@if [ ! -d cockpit_car ]; then $(PY) -m donkey_aicc createcar --path cockpit_car >/dev/null; fi
	@echo "== Open the link below; the drive is recorded in cockpit_car/data"
	@cd cockpit_car && $(abspath $(PY)) manage.py drive --headless

test: lint ## lint, then all tests but the slow ones
	@echo "== Running the tests with $(WORKERS) workers"
	@$(PY) -m pytest -n $(WORKERS)

test-slow: $(READY) ## the statistical and minutes-long tests
	@echo "== Running the slow tests with $(WORKERS) workers"
	@$(PY) -m pytest -m slow -n $(WORKERS)

test-next: $(READY) ## the tests that need no donkeycar, on Python 3.12 and 3.13 with numpy 2, where those are installed
	@$(PY) .ci/test_next.py -- -n $(WORKERS)

mutants: $(READY) ## put small mistakes into the code and count those that the tests notice (MUTANTS="--sample 5")
	@$(PY) -m tests.mutants $(MUTANTS)

bench: $(READY) ## print timings of this machine
	@$(PY) benchmarks/run_all.py

paper: $(READY) ## one run of the study (PRESET=tiny|quick|paper TRACK= SEED= CLUSTER=tcp://...); goes on where it stopped
	@$(PY) -m studies experiment --out paper_output/$(PRESET)-$(subst :,_,$(TRACK))-$(SEED) --preset $(PRESET) --track $(TRACK) \
	  --seed $(SEED) --workers $(WORKERS) $(if $(CLUSTER),--cluster $(CLUSTER))

# Other tracks train the world model of the reference run further; other model seeds share the drives of seed 0.
RUN = $(PY) -m studies experiment --preset $(PRESET) --seed 0 --workers $(WORKERS) $(if $(CLUSTER),--cluster $(CLUSTER))
paper-all: $(READY) ## all runs of the study, then the results pages (PRESET=quick|paper CLUSTER=); goes on where it stopped
	@$(RUN) --out paper_output/loop-0 --track loop --model-seed 0 --extras
	@set -e; for track in hairpin oval chicane seed:2026; do \
	  $(RUN) --out paper_output/$$(echo $$track | tr : _)-0 --track $$track --model-seed 0 --start models/reference; done
	@set -e; for track in loop hairpin; do for seed in 1 2; do \
	  $(RUN) --out paper_output/$$track-$$seed --track $$track --model-seed $$seed --start models/reference \
	  --data paper_output/$$track-0/data; done; done
	@$(PY) -m studies results paper_output/*-[0-9]

results: $(READY) ## write the results pages from studies/results/runs
	@$(PY) -m studies results

lint: $(READY) ## ruff (rules and format) and mypy
	@echo "== Checking rules, format and types"
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --check --quiet . || { echo "The files above are not formatted; run: make format"; exit 1; }
	@$(PY) -m mypy

format: $(READY) ## put all files into the project's format
	@echo "== Formatting"
	@$(PY) -m ruff check --fix --quiet .
	@$(PY) -m ruff format .

lock: $(READY) ## write constraints.lock, the hashes of what constraints.txt names; asks the package index
	@$(PY) .ci/lock.py

clean: ## remove the virtual environment, caches, build leftovers, demo_output/ and paper_output/
	@echo "== Removing what can be made again"
	@rm -rf build dist *.egg-info .venv-next-* demo_output paper_output cockpit_car bench_output .pytest_cache .ruff_cache .mypy_cache .coverage
	@find . -name __pycache__ -type d -not -path "./$(VENV)/*" -prune -exec rm -rf {} +
	@if [ -f "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi

$(READY): setup.py constraints.txt constraints.lock
	@if ! "$(PY)" -c "$(IS_PYTHON_311)" 2>/dev/null; then \
	  found=; \
	  for candidate in $(PYTHON) python3.11 python3 python; do \
	    if "$$candidate" -c "$(IS_PYTHON_311)" >/dev/null 2>&1; then found=$$candidate; break; fi; \
	    if [ "$$candidate" = "$(PYTHON)" ]; then echo "PYTHON=$$candidate is not a usable Python 3.11; trying others"; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "donkey_aicc needs Python 3.11 with its venv module, and none was found. One of these gets it:"; \
	    echo "  Debian, Ubuntu:  sudo apt install python3.11 python3.11-venv"; \
	    echo "  macOS:           brew install python@3.11"; \
	    echo "  pyenv:           pyenv install 3.11 && pyenv local 3.11"; \
	    echo "  uv:              uv python install 3.11 && make PYTHON=\"\$$(uv python find 3.11)\" $(MAKECMDGOALS)"; \
	    echo "  conda:           conda create -n py311 python=3.11 && conda activate py311"; \
	    exit 1; \
	  fi; \
	  echo "== Making $(VENV) with $$("$$found" --version) ($$(command -v "$$found"))"; \
	  if [ -f "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi; \
	  "$$found" -m venv "$(VENV)"; \
	fi
	@echo "== Filling $(VENV) with the versions in constraints.txt (only when they change; the first time takes minutes)"
	@awk '/^setuptools==/,!/\\$$/' constraints.lock > $(VENV)/setuptools.lock
	@$(PIP) --no-deps --require-hashes -r $(VENV)/setuptools.lock
	@$(PIP) --no-deps --require-hashes --no-build-isolation -r constraints.lock
	@$(PIP) --no-build-isolation -c constraints.txt -e '.[dev,cluster]'
	@touch $@
