# The two commands of the README are `make study` and `make test`; each sets up what it needs.

PYTHON ?= python3
WORKERS ?= logical
BIN := .venv/bin

.PHONY: study test setup bench lint

study: setup
	$(BIN)/resolvent fetch
	$(BIN)/pytest -n $(WORKERS)

test: setup
	$(BIN)/pytest tests -n $(WORKERS)

bench: setup
	$(BIN)/python -m bench $(BENCH)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
