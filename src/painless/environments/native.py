"""Vector environments of Gymnasium as they are: all their copies are stepped at once, and reset themselves.

How they do that is their `autoreset_mode`:

    next step   the step after the end of an episode only resets, and its action is ignored: such a step is not counted
    same step   the step that ends an episode returns the first observation of the next, and info["final_obs"] the last of this one
    disabled    whoever steps it resets it: reset(options={"reset_mask": …})

A copy that shall begin an episode elsewhere than at the end of another is reset by a mask where that is possible (`disabled`, `SyncVectorEnv`,
`AsyncVectorEnv`); else its steps are not counted until it ends. All copies are reset once they all wait.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from painless.common.arrays import Mask
from painless.common.errors import InputError
from painless.environments.copies import Observations, Stepped
from painless.environments.gymnasium_simulator import GymnasiumSimulator, first_of
from painless.environments.interface import Interface
from painless.simulation.simulator import Outcome, States


@dataclass(eq=False)
class NativeSimulator(GymnasiumSimulator):
    """A vector environment; more of them are made for more episodes than it has copies."""

    _groups: list[VectorCopies] = field(default_factory=list, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the environments behind: a copy elsewhere makes its own."""
        return {**super().__getstate__(), "_groups": []}

    @property
    def copies(self) -> int:
        """N, how many copies one of them has."""
        return int(self.pool[0].num_envs)

    @property
    def interface(self) -> Interface:
        """The spaces of one copy."""
        if "_interface" not in self.__dict__:
            one = self.pool[0]
            self._interface = Interface.of(one.single_observation_space, one.single_action_space, self.name)
        return self._interface

    @property
    def repeats(self) -> bool:
        """Whether observations can be counted: never here, since that is done an episode at a time."""
        if self.interface.small:
            raise InputError(
                f"{self.name} is a vector environment whose observations repeat; give the environment itself, so that they "
                "can be counted, or choose networks: Deep()"
            )
        return False

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Start `count` episodes with seeds drawn from `rng`."""
        while len(self._groups) * self.copies < count:
            self._groups.append(VectorCopies(self, len(self._groups)))
        self._steps = 0
        self._alive = [(k, self._groups[k // self.copies]) for k in range(count)]
        everyone = list(range(self.copies))
        rows = [
            one.start(everyone, [int(rng.integers(2**31))] * self.copies)
            for one in self._groups[: -(-count // self.copies)]
        ]
        return np.concatenate(rows)[:count].astype(float)

    def step(self, states: States, actions: NDArray[Any], rng: np.random.Generator) -> Outcome:
        """Step every episode that continues; `states` are those that the last call led to."""
        del rng
        if len(states) != len(self._alive):
            raise InputError(
                f"{self.name} keeps its own state: step all {len(self._alive)} episodes that go on"
            )
        self._steps += 1
        found = []
        for group in dict.fromkeys(group for _, group in self._alive):
            places = [k for k, (_, one) in enumerate(self._alive) if one is group]
            numbers = [self._alive[k][0] % self.copies for k in places]
            found.append(group.step(numbers, [actions[k] for k in places], [None] * len(places)))
        following, utilities, terminated, truncated = (
            np.concatenate([one[k] for one in found]) for k in range(4)
        )
        over = terminated | truncated
        self._alive = [pair for pair, ended in zip(self._alive, over, strict=True) if not ended]
        return Outcome(following.astype(float), utilities, terminated, truncated)


class VectorCopies:
    """The copies of one vector environment."""

    replays = False  # they share generators

    def __init__(self, simulator: NativeSimulator, place: int = 0) -> None:
        while len(simulator.pool) <= place:
            simulator.pool.append(simulator.make())
        self.simulator, self.vector = simulator, simulator.pool[place]
        self.count = count = int(self.vector.num_envs)
        self.mode = AutoresetMode(self.vector.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        inner = getattr(self.vector, "unwrapped", self.vector)
        self.restarts = self.mode is AutoresetMode.DISABLED or isinstance(
            inner, SyncVectorEnv | AsyncVectorEnv
        )
        self.lengths = np.zeros(count, int)
        self.fresh = np.zeros(count, dtype=bool)  # begins an episode with the next step
        self.waiting = np.ones(count, dtype=bool)  # is in an episode that does not count
        self.over = np.zeros(count, dtype=bool)  # the next step only resets
        self.raw: list[Any] = [None] * count
        self.seen: Observations = np.empty((count, simulator.interface.dimension), np.float32)

    def start(self, numbers: Sequence[int], seeds: Sequence[int | None]) -> Observations:
        """Begin an episode in these copies, now or as soon as it is possible."""
        if len(numbers) == self.count:
            self._reset(seeds[0])
        else:
            late = [k for k in numbers if not self.fresh[k]]
            if late and self.restarts and self.raw[0] is not None:
                self._reset_some(late)
            else:
                self.waiting[late] = True
        return self.seen[list(numbers)]

    def step(self, numbers: Sequence[int], actions: Sequence[Any], seeds: Sequence[int | None]) -> Stepped:
        """Step all copies, and return what these led to; the others take part, and do not count."""
        rows = list(numbers)
        if self.waiting[rows].all() and not self.over[rows].all():
            self._reset(seeds[0])
            return self._uncounted(rows)
        try:
            return self._stepped(rows, actions)
        except Exception as error:
            raise self.simulator.trouble(rows[0], error) from error

    def close(self) -> None:
        """Nothing to end here: the environment is the user's."""

    def _uncounted(self, rows: list[int]) -> Stepped:
        none = np.zeros(len(rows), dtype=bool)
        utilities = np.zeros((len(rows), 1 + len(self.simulator.constraints)))
        return Stepped(self.seen[rows], utilities, none, none, self.seen[rows], none)

    def _reset(self, seed: int | None) -> None:
        """Begin an episode in all copies."""
        try:
            observations = first_of(self.vector.reset(seed=seed))
            self._look(observations, range(self.count))
        except Exception as error:
            raise self.simulator.trouble(0, error) from error
        self._begun(np.ones(self.count, dtype=bool))
        self.over[:] = False

    def _reset_some(self, numbers: Sequence[int]) -> None:
        mask = np.zeros(self.count, dtype=bool)
        mask[list(numbers)] = True
        try:
            observations = first_of(self.vector.reset(options={"reset_mask": mask}))
            self._look(observations, numbers)
        except Exception as error:
            raise self.simulator.trouble(numbers[0], error) from error
        self._begun(mask)
        self.over[mask] = False

    def _begun(self, mask: Mask) -> None:
        self.lengths[mask], self.fresh[mask], self.waiting[mask] = 0, True, False

    def _look(self, observations: Any, numbers: Sequence[int]) -> None:
        """Remember the observations of these copies."""
        observations = copy.deepcopy(observations)  # an environment may write the next ones over them
        rows = list(iterate(self.vector.observation_space, observations))
        box = self.simulator.interface.observation["kind"] == "box"
        if box and len(numbers) == self.count and np.isfinite(observations).all():
            self.raw, self.seen = rows, np.asarray(observations).astype(np.float32).reshape(self.count, -1)
            return
        for k in numbers:
            self.raw[k] = rows[k]
            self.seen[k] = self.simulator.state(rows[k])

    def _actions(self, rows: list[int], actions: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the actions of these copies as the environment takes them, and those of all: the others repeat one."""
        chosen = [self.simulator.interface.action(action) for action in actions]
        everyone = [chosen[0]] * self.count
        for k, action in zip(rows, chosen, strict=True):
            everyone[k] = action
        space = self.vector.action_space
        return chosen, np.array(everyone, dtype=space.dtype).reshape(space.shape)

    def _stepped(self, rows: list[int], actions: Sequence[Any]) -> Stepped:
        chosen, everyone = self._actions(rows, actions)
        self.simulator._steps = int(self.lengths[rows].max()) + 1
        result = self.vector.step(everyone)
        terminated, truncated = (np.asarray(part, dtype=bool).reshape(self.count) for part in result[-3:-1])
        reset = self.over.copy()
        counted = ~(self.waiting | reset)
        before, (observations, info) = list(self.raw), (result[0], result[-1])
        self._look(observations, range(self.count))
        self.lengths += 1
        own = terminated | truncated  # ends that the environment has seen
        cut = counted & ~own & (self.lengths >= self.simulator.time_limit)
        last = self._final(info, own)
        following = self.seen.copy()
        for k, row in last.items():
            following[k] = self.simulator.state(row)
        utilities = np.zeros((len(rows), 1 + len(self.simulator.constraints)))
        for place, k in enumerate(rows):
            if counted[k]:
                step = (last.get(k, self.raw[k]), *self._parts(result, k, ended=k in last))
                _, utilities[place], *_ = self.simulator.utilities.read(before[k], chosen[place], step)
        self._go_on(rows, own, cut, reset)
        ended = counted[rows]
        return Stepped(
            following[rows],
            utilities,
            terminated[rows] & ended,
            (cut | truncated & ~terminated)[rows] & ended,
            self.seen[rows],
            ended,
        )

    def _final(self, info: dict[str, Any], own: Mask) -> dict[int, Any]:
        """Return the last observations of the episodes that ended, by copy, where the environment has already reset."""
        if self.mode is not AutoresetMode.SAME_STEP or not own.any():
            return {}
        if "final_obs" not in info:
            raise InputError(
                "info has no key 'final_obs' at the end of an episode; an environment that resets in the same step reports "
                "the last observation there"
            )
        rows = info["final_obs"]
        if isinstance(rows, dict | tuple):
            rows = list(iterate(self.vector.observation_space, rows))
        return {int(k): rows[k] for k in np.flatnonzero(own)}

    def _parts(self, result: tuple[Any, ...], k: int, *, ended: bool) -> tuple[Any, ...]:
        """Return what a step of one copy returned, without the observation."""
        info = result[-1]
        info = info["final_info"] if ended and "final_info" in info else info
        return (*(part[k] for part in result[1:-1]), row_of(info, k))

    def _go_on(self, rows: list[int], own: Mask, cut: Mask, reset: Mask) -> None:
        """Note who begins an episode, who waits, and reset those that can be."""
        self.fresh[:] = False
        self._begun(reset)
        self.over = own & (self.mode is AutoresetMode.NEXT_STEP)
        if self.mode is AutoresetMode.SAME_STEP:
            self._begun(own)
        self.waiting |= cut | self.over
        again = cut & self.restarts | own & (self.mode is AutoresetMode.DISABLED)
        if again.any():
            self._reset_some(np.flatnonzero(again).tolist())
        idle = np.ones(self.count, dtype=bool)
        idle[rows] = False
        self.waiting |= idle
        self.fresh &= ~idle


def row_of(info: dict[str, Any], k: int) -> dict[str, Any]:
    """Return the info of one copy: the entries of which the mask says that it has them.

    >>> row_of({"cost": np.array([1.0, 2.0]), "_cost": np.array([True, False])}, 0)
    {'cost': np.float64(1.0)}
    """
    return {
        key: row_of(value, k) if isinstance(value, dict) else value[k]
        for key, value in info.items()
        if not (key.startswith("_") and key[1:] in info)
        and (f"_{key}" not in info or info[f"_{key}"][k])
        and (isinstance(value, dict) or len(np.atleast_1d(value)) > k)
    }
