"""The episodes of one environment, an observation at a time, as keys that can be counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.environments.gymnasium_simulator import GymnasiumSimulator, first_of
from painless.environments.utilities import INFINITE
from painless.policies.observed import key_of, rows_of
from painless.simulation.simulator import Specification

WHOLE = (int, np.integer)
# The key of the observation, utilities, terminated, truncated.
Step = tuple[Hashable, list[float], bool, bool]


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
        self.step = self._stepper()

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

    def _stepper(self) -> Callable[[int], Step]:
        """Return `step`, a function of its own, since it is called in every step: it takes a step of the episode.

        Plain numbers under keys of info are read here, everything else by `utilities`.
        """
        simulator, known, take = self.simulator, self._known, self.environment.step
        interface, read, keys = simulator.interface, simulator.utilities.reader, simulator.utilities.keys
        actions = [interface.action(one) for one in range(0 if interface.product else simulator.actions)]

        def step(action: int) -> Step:
            self._steps += 1
            try:
                # Actions of a product are made each time.
                chosen = actions[action] if actions else interface.action(action)
                result = take(chosen)
                if keys is not None and len(result) == 5:
                    last, reward, terminated, truncated, info = result
                    if (
                        type(reward) is float
                        and -INFINITE < reward < INFINITE
                        and type(terminated) is bool
                        and type(truncated) is bool
                    ):
                        values = [reward]
                        for name, sign in keys:
                            value = info.get(name)
                            if type(value) is not float or not -INFINITE < value < INFINITE:
                                break
                            values.append(sign * value)
                        else:
                            self._last = last
                            key = known.get(last if type(last) is int else self._look(last))  # type: ignore[misc]
                            return self._key(last) if key is None else key, values, terminated, truncated
                last, values, terminated, truncated = read(self._last, chosen, result)
                self._last = last
                return self._key(last), values, terminated, truncated
            except Exception as error:
                raise self._trouble(error) from error

        return step

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
