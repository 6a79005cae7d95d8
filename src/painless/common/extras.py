"""Packages that are not required: whether they are here, and what to install."""

from __future__ import annotations

import importlib.util

from painless.common.errors import InputError

INSTALL_DEEP = "install it with: pip install 'painless-cmdp[deep]'"


def torch_is_installed() -> bool:
    """Whether networks can be trained here; torch itself is not imported."""
    return importlib.util.find_spec("torch") is not None


def require_torch() -> None:
    """Raise an error that says what to install."""
    if not torch_is_installed():
        raise InputError(
            f"networks need torch; {INSTALL_DEEP}, or choose a method over features: train(…, CBP())"
        )
