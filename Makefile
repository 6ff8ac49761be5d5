# Every target makes and fills $(VENV) itself when needed, with the newest supported Python it finds. `make` alone lists them.
# Settings:  make test WORKERS=4    make demo PYTHON=3.12    make test VENV=/tmp/venv

VENV ?= .venv
PYTHON ?=
WORKERS ?= 2
# Of make paper:
PRESET ?= quick
TRACK ?= loop
SEED ?= 0
CLUSTER ?=

PY := $(VENV)/bin/python
READY := $(VENV)/.filled

.DEFAULT_GOAL := help
.PHONY: help demo cockpit test test-slow test-all test-arm64 mutants bench paper paper-all results api lint lock format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

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

test-all: ## make test on each supported Python, in environments of their own: .venv-3.11, .venv-3.12, .venv-3.13
	@for version in 3.11 3.12 3.13; do $(MAKE) --no-print-directory test VENV=.venv-$$version PYTHON=$$version || exit 1; done

test-arm64: $(READY) ## drive in emulated arm64 systems of Debian trixie and bookworm and compare the scores (root, Debian; slow)
	@.ci/arm64 $(abspath $(PY)) trixie bookworm

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

api: $(READY) ## write the reference of the public names, out of their docstrings, to api_output/
	@$(PY) docs/make_api.py

lint: $(READY) ## ruff (rules and format) and mypy
	@echo "== Checking rules, format and types"
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --check --quiet . || { echo "The files above are not formatted; run: make format"; exit 1; }
	@$(PY) -m mypy

format: $(READY) ## put all files into the project's format
	@echo "== Formatting"
	@$(PY) -m ruff check --fix --quiet .
	@$(PY) -m ruff format .

lock: ## write constraints.lock, the hashes of what constraints.txt names; asks the package index
	@python3 .ci/lock.py

clean: ## remove the virtual environment, caches, build leftovers, demo_output/ and paper_output/
	@echo "== Removing what can be made again"
	@rm -rf build dist *.egg-info .venv-3.* .arm64 demo_output paper_output cockpit_car bench_output api_output .pytest_cache .ruff_cache .mypy_cache .coverage
	@find . -name __pycache__ -type d -not -path "./$(VENV)/*" -prune -exec rm -rf {} +
	@if [ -f "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi

$(READY): setup.py constraints.txt constraints.lock
	@.ci/environment "$(VENV)" "$(PYTHON)"
