"""Gymnasium environments with a native vector version as simulators of many episodes at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Mask
from painless.common.errors import InputError
from painless.environments.gymnasium_simulator import GymnasiumSimulator
from painless.simulation.simulator import Outcome, States


@dataclass(eq=False)
class VectorGymnasiumSimulator(GymnasiumSimulator):
    """A native vector environment. Episodes that have ended are stepped along, and ignored, until the next reset.

    All episodes of a batch share one seed, drawn from the run's generator. The constraints come from `info`, as arrays
    with one entry for each episode.
    """

    options: dict[str, Any] = field(default_factory=dict)
    _vectors: dict[int, Any] = field(default_factory=dict)  # by the number of episodes
    _going: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))  # running episodes

    def __getstate__(self) -> dict[str, Any]:
        """Leave the environments behind: a copy elsewhere makes its own."""
        state = super().__getstate__()
        state.pop("_vector", None)
        return {**state, "_vectors": {}}

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Start `count` episodes with a seed drawn from `rng`."""
        if count not in self._vectors:
            self._vectors[count] = gymnasium.make_vec(
                self.name, num_envs=count, vectorization_mode="vector_entry_point", **self.options
            )
        self._vector, self._steps, self._going = self._vectors[count], 0, np.arange(count)
        self._alive = list(enumerate([self._vector] * count))
        seed = int(rng.integers(2**31))
        observations, _ = self._call(0, lambda: self._vector.reset(seed=seed))
        return np.asarray(observations, dtype=float).reshape(count, -1)

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Step every episode that continues; `states` are those that the last call led to."""
        del rng
        if len(states) != len(self._going):
            raise InputError(
                f"{self.name} keeps its own state: step all {len(self._going)} episodes that go on"
            )
        self._steps += 1
        everyone = np.zeros(self._vector.num_envs, np.intp)
        everyone[self._going] = actions
        observations, rewards, terminated, truncated, info = self._call(
            0, lambda: self._vector.step(everyone)
        )
        going = self._going
        following = np.asarray(observations, dtype=float).reshape(self._vector.num_envs, -1)[going]
        if not np.isfinite(following).all():
            raise InputError(f"{self._place(int(going[0]))} an observation is not finite")
        utilities = [self._column(rewards, "reward", going)]
        for constraint in self.constraints:
            key = str(constraint.key)
            if constraint.index is not None or key not in info:
                raise InputError(
                    f"{self._place(0)} info has no key '{key}'; its keys: {', '.join(sorted(info)) or 'none'}"
                )
            utilities.append(constraint.sign * self._column(info[key], f"info['{key}']", going))
        ended: Mask = np.asarray(terminated | truncated)[going]
        self._going = going[~ended]
        self._alive = [(int(i), self._vector) for i in self._going]
        cut = np.asarray(truncated)[going] & ~np.asarray(terminated)[going]
        return Outcome(following, np.stack(utilities, 1), np.asarray(terminated)[going], cut)

    def _column(self, values: Any, what: str, going: NDArray[np.intp]) -> NDArray[np.float64]:
        column = np.asarray(values, dtype=float)[going]
        if not np.isfinite(column).all():
            raise InputError(
                f"{self._place(int(going[0]))} {what} is not finite; every step must report a number"
            )
        return column
