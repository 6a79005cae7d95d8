"""Environments made of what a user names: ids, "module:Class", functions and environments."""

from __future__ import annotations

import copy
import importlib
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from painless.common.errors import InputError, shown

LONGEST = 200  # characters of an error

COMMAND_LINE = "gym:"  # in front of an id there; here it may be left out

Maker = Callable[[], Any]


def name_of(environment: Any) -> str:
    """Return the id of an environment, or the name of its class."""
    spec = getattr(environment, "spec", None)
    return type(environment).__name__ if spec is None else str(spec.id)


def imported(environment: Any) -> Any:
    """Import the module of "module:id" and return the id, or the class of "module:Class"; return anything else as it is.

    >>> imported("gym:FrozenLake-v1")
    'FrozenLake-v1'
    """
    if not isinstance(environment, str):
        return environment
    environment = environment.removeprefix(COMMAND_LINE)
    if ":" not in environment:
        return environment
    module, name = environment.split(":", 1)
    try:
        made = getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError, TypeError) as error:
        raise InputError(
            f"cannot import {shown(module)}: {shown(str(error))}; install it, or run in the folder where it is"
        ) from error
    return made if name not in gymnasium.registry and callable(made) else name


def maker_of(environment: Any, options: dict[str, Any]) -> Maker:
    """Return a function that makes environments like the given one."""
    if isinstance(environment, str):
        try:
            gymnasium.spec(environment)
        except gymnasium.error.Error as error:
            raise InputError(_unknown(environment, error)) from error
        return lambda: gymnasium.make(environment, **options)
    if isinstance(environment, type) or (callable(environment) and not hasattr(environment, "step")):
        return lambda: environment(**options)
    if not hasattr(environment, "step") or not hasattr(environment, "reset"):
        raise InputError(
            f"{shown(environment)} is no environment; give an id, an environment with reset and step, or a function that makes one"
        )
    vector = isinstance(environment, VectorEnv)
    if not vector and getattr(environment, "spec", None) is not None and not _is_changed(environment):
        return lambda: gymnasium.make(environment.spec)
    return lambda: copy.deepcopy(environment)


def _is_changed(environment: Any) -> bool:
    """Whether an environment has wrappers that its specification does not make again."""
    try:
        return type(gymnasium.make(environment.spec)) is not type(environment)
    except Exception:  # whatever it is, the environment is copied instead
        return True


def _unknown(name: str, error: Exception) -> str:
    """Return one line on an id that cannot be made."""
    reason = " ".join(str(error).split()).rstrip(".")
    text = f"Gymnasium does not know '{name}': {reason}"
    advice = "; write module:id or module:Class, or import the module that registers it (--import)"
    return (text if len(text) + len(advice) <= 200 else f"Gymnasium does not know '{name[:60]}'") + advice


def first_made(make: Maker, environment: Any) -> Any:
    """Make the first environment, or say in one line why not."""
    try:
        first = make()
    except gymnasium.error.DependencyNotInstalled as error:  # it says what to install
        text = f"{shown(environment)} could not be made: {error}"
        raise InputError(textwrap.shorten(text, LONGEST, placeholder="…")) from error
    except Exception as error:
        raise InputError(
            f"{shown(environment, 50)} could not be made: {shown(error, 100)}; check its arguments"
        ) from error
    if not callable(getattr(first, "step", None)):
        raise InputError(f"{shown(environment)} made {shown(first)}, which is no environment; return one")
    for space in ("observation_space", "action_space"):
        if not hasattr(first, space):
            raise InputError(
                f"{shown(type(first).__name__)} has no {space}; give it one, such as gymnasium.spaces.Discrete(2)"
            )
    return first


def place_of(given: Any) -> str | None:
    """Return "module:name" of a function or class that another process can import; None of others.

    >>> place_of(gymnasium.make), place_of(lambda: None)
    ('gymnasium.envs.registration:make', None)
    """
    module, name = getattr(given, "__module__", None), getattr(given, "__qualname__", "")
    if module in (None, "__main__") or not name.isidentifier():
        return None
    return f"{module}:{name}" if getattr(sys.modules.get(str(module)), name, None) is given else None


def source_of(environment: Any, first: Any, options: dict[str, Any]) -> dict[str, Any] | None:
    """Describe how to make the environment again in another process; None if there is no way."""
    if isinstance(environment, str):
        return {"simulator": f"gym:{environment}", "options": options}
    place = place_of(environment)
    if place is not None:
        return {"simulator": f"python:{place}", "options": options}
    spec = getattr(first, "spec", None)
    if spec is not None and not callable(environment) and not _is_changed(first):
        return {"simulator": f"gym:{spec.id}", "options": dict(spec.kwargs)}
    return None
