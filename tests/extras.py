"""Other libraries that tests need: left out where they are not installed, but not in CI, which installs them."""

import importlib
import os

import pytest


def library(name):
    """Return a library by its name."""
    try:
        return importlib.import_module(name)
    except ImportError:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{name} is not installed")
