"""The episodes of one environment, an observation at a time, as keys that can be counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.environments.adapter import GymnasiumSimulator, first_of
from painless.policies.observed import key_of, rows_of
from painless.simulation.simulator import Specification


class GymnasiumEpisodes:
    """One environment of a simulator, an episode after the other.

    An observation is checked and turned into a key once; after that it is looked up as it is.
    """

    def __init__(self, simulator: GymnasiumSimulator) -> None:
        self.simulator = simulator
        self.environment = simulator.pool[0] if simulator.pool else simulator.make()
        self._number, self._last = -1, None
        self._known: dict[Hashable, Hashable] = {}  # keys of observations, by what they look like
        self._look: Callable[[Any], Hashable] = _nothing
        self._read = simulator.utilities.read

    @property
    def specification(self) -> Specification:
        """That of the simulator."""
        return self.simulator.specification

    def start(self, seed: int | None) -> Hashable:
        """Begin an episode; with a seed, those after it follow from it as well."""
        simulator = self.simulator
        self._number += 1
        simulator._steps = 0
        try:
            self._last = first_of(self.environment.reset(seed=seed))
            self._look = _look_of(self._last)
            return self._key(self._last)
        except Exception as error:
            raise simulator.trouble(self._number, error) from error

    def step(self, action: int) -> tuple[Hashable, list[float], bool, bool]:
        """Take a step of the episode."""
        simulator = self.simulator
        simulator._steps += 1
        try:
            chosen = simulator.interface.action(action)
            last, values, terminated, truncated = self._read(
                self._last, chosen, self.environment.step(chosen)
            )
            self._last = last
            return self._key(last), values, terminated, truncated
        except Exception as error:
            raise simulator.trouble(self._number, error) from error

    def _key(self, observation: Any) -> Hashable:
        look = self._look(observation)
        if look is None:
            return key_of(self.simulator.state(observation))
        key = self._known.get(look)
        if key is None:
            self._known[look] = key = key_of(self.simulator.state(observation))
        return key

    def observations(self, keys: Sequence[Any]) -> Array:
        """Return the observations behind keys, (n, D)."""
        return rows_of(keys)


def _nothing(observation: Any) -> None:
    """Say nothing of an observation."""


def _of_array(observation: Any) -> Hashable:
    return (observation.tobytes(), observation.shape, observation.dtype.char)


def _as_it_is(observation: Any) -> Hashable:
    return observation


def _look_of(observation: Any) -> Callable[[Any], Hashable]:
    """Return how an observation like this one is looked up: arrays by their bytes, numbers and tuples of numbers as they are."""
    if isinstance(observation, np.ndarray):
        return _of_array
    parts = observation if isinstance(observation, tuple) else (observation,)
    return _as_it_is if all(isinstance(part, int | np.integer) for part in parts) else _nothing
