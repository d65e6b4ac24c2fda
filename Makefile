# `make` prints this help: each target's text is what stands after ##.
PYTHON ?= python3
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

test: lint types libraries ## everything that must be green: lint, types, all tests on two processes
	$(PYTHON) -m pytest -q -n 2 --dist worksteal tests

tiny: ## the smoke test, under five seconds
	$(PYTHON) -m pytest -q tests/test_tiny.py

lint: ## ruff: rules and format
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

libraries: ## the published kernels that tests/libraries runs
	$(PYTHON) tests/libraries/install.py

types: ## mypy --strict
	$(PYTHON) -m mypy

fuzz: ## random kernels on every machine: 20,000, resumable (delete fuzz.json to start anew)
	nice -n 10 $(PYTHON) benchmarks/fuzz.py 20000 --state fuzz.json

ladder: ## all kernels of the suite on every rung, nothing left out; then 10,000 random ones, resumable (climb.json)
	nice -n 10 $(PYTHON) -m pytest -q -n 2 --dist worksteal tests/differential tests/libraries --ladder-all
	nice -n 10 $(PYTHON) benchmarks/fuzz.py 10000 --ladder --jobs 2 --state climb.json

device: ## on a machine with a CUDA device: everything compiled, run and compared there
	$(PYTHON) benchmarks/device.py --json benchmarks/results/device.json

bless: ## rewrite the expected diagnostics of tests/fail and examples/bugs
	$(PYTHON) -m pytest -q tests/fail tests/test_examples.py --bless

size: ## files over 400 lines
	@find blockstep interp compiler debugger tests -name '*.py' -not -type l | xargs wc -l | awk '$$1 > 400 && $$2 != "total"'

.PHONY: help test tiny lint types libraries fuzz bless size
