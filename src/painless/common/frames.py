"""Columns as a DataFrame of pandas or Polars; neither is needed otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from painless.common.errors import InputError

LIBRARIES = ("pandas", "polars")  # the first that is installed

Columns = Mapping[str, Sequence[Any] | NDArray[Any]]


def to_frame(columns: Columns, make: Callable[[Any], Any] | None = None) -> Any:
    """Return columns as a frame: what `make` makes of a dictionary, by default a DataFrame of pandas, or else of Polars.

    >>> to_frame({"state": ["in", "out"]}, make=dict)
    {'state': ['in', 'out']}
    """
    if make is not None and not callable(make):
        raise InputError(f"make is {make!r}; give what makes a frame, such as polars.DataFrame")
    return (_installed() if make is None else make)(dict(columns))


def _installed() -> Callable[[Any], Any]:
    for name in LIBRARIES:
        try:
            found: Callable[[Any], Any] = import_module(name).DataFrame
        except ImportError:
            continue
        return found
    raise InputError(
        "neither pandas nor Polars is installed; install one with: pip install 'painless-cmdp[frames]', or give make=dict for plain columns"
    )
