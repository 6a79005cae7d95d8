# Two commands do all the set-up on a fresh machine, each on its own: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test lint types tests docs soak coverage bench track bench-scale score clean

run: .venv/.run
	$(BIN)/python examples/gridworld.py --out out/gridworld

test: lint types tests docs

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.test
	$(BIN)/mypy

tests: .venv/.test
	$(BIN)/pytest -n 2 -r fEs

docs: .venv/.test
	$(BIN)/sphinx-build --quiet --fresh-env --write-all --fail-on-warning --keep-going docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

soak: .venv/.test
	$(BIN)/python -m tests.soak

# Numba's kernels are invisible to a tracer while they are compiled: their own tests run once more without compiling.
KERNEL_TESTS := tests/test_engine.py tests/test_components.py tests/test_features.py tests/test_feature_policies.py tests/test_sampling_evaluators.py tests/test_simulators.py

coverage: .venv/.test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -n 2 -W "ignore:overflow encountered in scalar" $(KERNEL_TESTS) || true  # some are about compiling itself
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: .venv/.test
	$(BIN)/python -m benchmarks

track: .venv/.test
	$(BIN)/python -m benchmarks.track

bench-scale: .venv/.test
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.by_family

score: .venv/.run
	$(BIN)/painless score --figure out/score.svg

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

.venv/.test: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev,docs]'
	touch .venv/.run $@

clean:
	rm -rf .venv out docs/_build docs/gallery
