"""The evaluators of units, made from plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from painless.common.registry import build
from painless.evaluators import EVALUATORS

DEFAULTS: Mapping[str, Mapping[str, Any]] = {"td": {"levelled": False}}  # the paper's TD(0), from zero


def call(make: Callable[..., Any], settings: Mapping[str, Any], word: str = "setting") -> Any:
    """Make something from plain data: its name and its settings."""
    given = {key: value for key, value in settings.items() if key != "name"}
    return build(str(settings["name"]), make, given, word)


def make_evaluator(settings: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return the evaluator factory of a unit, for a table or for a simulator and features; None for exact evaluation."""
    name = str(settings["name"])
    if name == "exact":
        return None
    complete = {**DEFAULTS.get(name, {}), **settings}
    return lambda *source: call(partial(EVALUATORS[name], *source), complete)
