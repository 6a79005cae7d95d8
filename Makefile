# Two commands do all the set-up on a fresh machine, each on its own: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test lint types tests bench bench-scale clean

run: .venv/.run
	$(BIN)/python examples/gridworld.py --out out/gridworld

test: lint types tests

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.test
	$(BIN)/mypy

tests: .venv/.test
	$(BIN)/pytest -n 2

bench: .venv/.test
	$(BIN)/python -m benchmarks

bench-scale: .venv/.test
	$(BIN)/python -m benchmarks.scale

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

.venv/.test: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	touch .venv/.run $@

clean:
	rm -rf .venv out
