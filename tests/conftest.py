"""One Hypothesis profile: no clock, since timings never decide a test, and the same examples for everyone in CI. One command line."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from painless import cli

settings.register_profile(
    "painless",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("painless")


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
