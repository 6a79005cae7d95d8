"""Hypothesis without a clock, since timings never decide a test, and with the same examples for everyone. One command line.

`HYPOTHESIS_PROFILE=fresh` draws new examples, as `make soak` does; a failure then prints how to repeat it.
"""

import itertools
import os
import sys
import time

import pytest
from hypothesis import HealthCheck, settings

from painless import cli

for name, fixed in (("fixed", True), ("fresh", False)):
    settings.register_profile(
        name,
        deadline=None,
        derandomize=fixed,
        print_blob=not fixed,
        database=None if fixed else settings.default.database,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; return its exit code, output and errors."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["painless", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return stop.value.code or 0, captured.out, captured.err

    return call


@pytest.fixture
def steady_clock(monkeypatch):
    """A clock on which each look takes a tenth of a millisecond, however busy the machine is."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 1e-4 * next(ticks))
