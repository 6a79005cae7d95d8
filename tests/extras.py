"""What not every machine has. Libraries are left out where they are not installed, but not in CI, which installs them."""

import importlib
import os

import pytest

POSIX = pytest.mark.skipif(
    os.name != "posix", reason="signals, pipes and limits of processes as POSIX has them"
)


def library(name):
    """Return a library by its name."""
    try:
        return importlib.import_module(name)
    except ImportError:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{name} is not installed")
