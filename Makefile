# Targets: setup fmt check test test-all docs bench train
# A GPU build of torch, or another version: make setup TORCH='torch>=2.11,<3'
TORCH ?= torch==2.13.0
PYTHON ?= python3
WORKERS ?= 2

BIN := .venv/bin
STAMP := .venv/.setup
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export PYTHONUNBUFFERED := 1

.PHONY: setup fmt check test test-all docs bench train
.DEFAULT_GOAL := check

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) install '$(TORCH)'
	$(PIP) install --editable '.[dev]'
	touch $@

fmt: setup
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

check: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

test: setup
	$(BIN)/pytest --numprocesses=$(WORKERS)

test-all: setup
	$(BIN)/pytest --numprocesses=$(WORKERS) -m 'slow or not slow'

docs: setup
	$(BIN)/pytest tests/test_docs.py

bench: setup
	set -e; for script in $(wildcard benchmarks/*.py); do \
		echo "$$script"; $(BIN)/python "$$script"; \
	done

train: setup
	$(BIN)/rung train
