"""The episodes of one environment, an observation at a time, as keys that can be counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.environments.gymnasium_simulator import GymnasiumSimulator, first_of
from painless.policies.observed import key_of, rows_of
from painless.simulation.simulator import Specification

WHOLE = (int, np.integer)


class GymnasiumEpisodes:
    """One environment of a simulator, an episode after the other.

    An observation is checked and turned into a key once; after that it is looked up as it is.
    """

    def __init__(self, simulator: GymnasiumSimulator) -> None:
        self.simulator = simulator
        self.environment = simulator.pool[0] if simulator.pool else simulator.make()
        self._number, self._last, self._steps = -1, None, 0
        self._known: dict[Hashable, Hashable] = {}  # keys of observations, by what they look like
        self._look: Callable[[Any], Hashable] | None = None  # None before the first observation
        self._take, self._read = self.environment.step, simulator.utilities.reader
        actions = range(simulator.actions) if not simulator.interface.product else ()
        self._actions = [simulator.interface.action(one) for one in actions]  # of a product, made each time

    @property
    def specification(self) -> Specification:
        """That of the simulator."""
        return self.simulator.specification

    def start(self, seed: int | None) -> Hashable:
        """Begin an episode; with a seed, those after it follow from it as well."""
        self._number += 1
        self._steps = 0
        try:
            self._last = first_of(self.environment.reset(seed=seed))
            if self._look is None:
                self._look = _look_of(self._last)
            return self._key(self._last)
        except Exception as error:
            raise self._trouble(error) from error

    def step(self, action: int) -> tuple[Hashable, list[float], bool, bool]:
        """Take a step of the episode."""
        self._steps += 1
        try:
            chosen = self._actions[action] if self._actions else self.simulator.interface.action(action)
            last, values, terminated, truncated = self._read(self._last, chosen, self._take(chosen))
            self._last = last
            key = self._known.get(last if type(last) is int else self._look(last))  # type: ignore[misc]
            return self._key(last) if key is None else key, values, terminated, truncated
        except Exception as error:
            raise self._trouble(error) from error

    def _key(self, observation: Any) -> Hashable:
        look = self._look(observation)  # type: ignore[misc]
        if look in self._known:
            return self._known[look]
        key = key_of(self.simulator.state(observation))
        if look is not None:
            self._known[look] = key
        return key

    def _trouble(self, error: Exception) -> InputError:
        self.simulator._steps = self._steps
        return self.simulator.trouble(self._number, error)

    def observations(self, keys: Sequence[Any]) -> Array:
        """Return the observations behind keys, (n, D)."""
        return rows_of(keys)


def _look_of(first: Any) -> Callable[[Any], Hashable]:
    """Return how observations like the first are looked up: arrays by their bytes, whole numbers and tuples as they are.

    None is said of observations that are unlike it.
    """
    if isinstance(first, np.ndarray):
        kind, shape = first.dtype, first.shape
        return lambda seen: (
            seen.tobytes()
            if type(seen) is np.ndarray and seen.dtype is kind and seen.shape == shape
            else None
        )
    if isinstance(first, tuple) and all(isinstance(part, WHOLE) for part in first):
        return _hashable
    return lambda seen: seen if isinstance(seen, WHOLE) else None


def _hashable(seen: Any) -> Hashable:
    try:
        hash(seen)
    except TypeError:
        return None
    return seen if type(seen) is tuple else None
