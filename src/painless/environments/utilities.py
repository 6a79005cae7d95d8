"""What a step of an environment is worth: the objective and all constraints, read from what `step` returned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.environments.constraint import Constraint, Function

PLAIN = (float, int)
SIMPLE = frozenset((float, int, bool))  # types of numbers that need no conversion
INFINITE = math.inf
Read = tuple[Any, list[float], bool, bool]  # the observation, utilities (J,), terminated, truncated
ARGUMENTS = "(observation, action, next_observation, reward, terminated, info)"
LONGEST = 50  # characters of the keys of info that an error names


@dataclass(frozen=True)
class Utilities:
    """Reads the J utilities of a step, in the internal sense.

    Arguments:
        objective: the entry of a vector reward to maximise.
        reward: a function of (observation, action, next_observation, reward, terminated, info) to maximise instead.
        constraints: what else is read.
    """

    objective: int | None
    reward: Function | None
    constraints: tuple[Constraint, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the function behind that reads: a copy elsewhere makes its own."""
        return type(self), (self.objective, self.reward, self.constraints)

    def read(self, before: Any, action: Any, result: tuple[Any, ...]) -> Read:
        """Return the observation, utilities (J,), and whether the episode was terminated or truncated."""
        return self.reader(before, action, result)

    @cached_property
    def reader(self) -> Callable[[Any, Any, tuple[Any, ...]], Read]:
        """`read` as a function of its own: it is called in every step, and looks up nothing of this object."""
        own, objective = self.reward, self.objective
        sources = self.sources if own is None else [(own, None, "reward", 1.0), *self.sources]
        plain = own is None and objective is None

        def read(before: Any, action: Any, result: tuple[Any, ...]) -> Read:
            if len(result) == 5:
                observation, reward, terminated, truncated, info = result
            else:
                observation, reward, terminated, truncated, info = _of_six(result)
            ended = terminated if type(terminated) is bool else bool(terminated)
            if plain and type(reward) in SIMPLE and -INFINITE < reward < INFINITE:
                values = [float(reward)]
            else:
                values = [] if own is not None else [entry(reward, objective)]
            for function, index, name, sign in sources:
                if function is not None:
                    try:
                        value = function(before, action, observation, reward, ended, info)
                    except Exception as error:
                        raise raised(name, error) from error
                    if type(value) not in SIMPLE or not -INFINITE < value < INFINITE:
                        value = converted(value, name, None)
                elif index is not None:
                    value = entry(reward, index)
                else:
                    value = info.get(name)
                    if type(value) is not float or not -INFINITE < value < INFINITE:
                        value = converted(value, name, info)
                values.append(sign * value)
            return observation, values, ended, truncated if type(truncated) is bool else bool(truncated)

        return read

    @property
    def plain_sources(self) -> list[tuple[Function | None, str, float]] | None:
        """The functions, or keys of info, that constraints are read from, and their signs, if the reward is the environment's own and a single number; else None."""
        own = self.reward is None and self.objective is None
        if not own or any(index is not None for _, index, _, _ in self.sources):
            return None
        return [(function, name, sign) for function, _, name, sign in self.sources]

    @cached_property
    def sources(self) -> list[tuple[Function | None, int | None, str, float]]:
        """Where each constraint is read: a function, an entry of the reward, or a key of info; its name, and its sign."""
        return [(one.function, one.index, one.source, one.sign) for one in self.constraints]


def raised(name: str, error: Exception) -> InputError:
    """Return the error that says that a function of the user raised one."""
    return InputError(f"the function {shown(name, 20)} raised {shown(error, 50)}; it is given {ARGUMENTS}")


def converted(value: Any, name: str, info: Any) -> float:
    """Return what a function returned, or what `info` has under a key if it is given, as a finite number."""
    return _number(value, f"the value of {name}") if info is None else _info(info, name)


def _of_six(result: Any) -> tuple[Any, ...]:
    """Return Safety-Gymnasium's six-tuple, in which the cost stands between reward and terminated, as the five of Gymnasium."""
    if not isinstance(result, tuple) or len(result) != 6:
        what = f"{len(result)} values" if isinstance(result, tuple) else shown(result)
        raise InputError(
            f"step returned {what}; it must return (observation, reward, terminated, truncated, info), as Gymnasium has it"
        )
    observation, reward, cost, terminated, truncated, info = result
    return observation, reward, terminated, truncated, {**info, "cost": cost}


def entry(reward: Any, index: int | None = None) -> float:
    """Return a reward, or an entry of a vector reward."""
    if index is None and isinstance(reward, PLAIN):
        return _finite(float(reward), "reward")
    values = np.atleast_1d(_numbers(reward, "reward"))
    if index is None and values.size != 1:
        raise InputError(f"the reward has {values.size} entries; say which to maximise with objective=")
    if index is not None and not 0 <= index < values.size:
        raise InputError(
            f"the reward has {values.size} entries, so there is no reward[{index}]; count from 0"
        )
    return _finite(float(values[index or 0]), "reward" if index is None else f"reward[{index}]")


def _info(info: Any, key: str) -> float:
    value = info.get(key)
    if type(value) in SIMPLE and -INFINITE < value < INFINITE:
        return float(value)
    if key not in info:
        if key == "reward":
            raise InputError("info has no key 'reward'; for a limit on the reward itself write reward[0]")
        known = ", ".join(sorted(map(str, info))) or "none"
        known = known if len(known) <= LONGEST else f"{known[:LONGEST]}…"
        raise InputError(
            f"info has no key {shown(key, 30)}; its keys: {known}; name one that every step has, or give a function"
        )
    return _number(value, f"info['{key}']")


def _number(given: Any, what: str) -> float:
    if isinstance(given, PLAIN):
        return _finite(float(given), what)
    value = _numbers(given, what)
    if value.size != 1:
        raise InputError(f"{what} has shape {value.shape}, not a single number")
    return _finite(float(value.reshape(-1)[0]), what)


def _numbers(given: Any, what: str) -> Array:
    """Return what an environment reported as an array; None, which NumPy takes for NaN, is none."""
    try:
        if given is None:
            raise TypeError
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} is {shown(given)}, a {type(given).__name__} and not a number; return one"
        ) from None


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise InputError(f"{what} is {value}; every step must report a finite number")
    return value
