"""Episodes rolled out by the workers of a backend, for simulators that are slow to step.

Episodes are cut into chunks of a fixed size, each with its own generator, so that a result depends on the seed
and not on the number of workers. It differs from that without a backend, where all episodes advance in lockstep. The
policy travels to every worker in every iteration; where a step costs microseconds, as in CartPole here, lockstep is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from painless.backends import Backend, Error
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.simulation.rollouts import Acts, Trajectories, lockstep
from painless.simulation.simulator import Outcome, Simulator, Specification, States

CHUNK = 5  # episodes that advance together
_kept: dict[str, Simulator] = {}  # on a worker: the simulator of the run that it works for


class Chunk(NamedTuple):
    """Some episodes: their place among all, how many, and the seed of their generator."""

    place: int
    episodes: int
    seed: int


@dataclass(frozen=True, eq=False)
class Share:
    """What one worker gets."""

    token: str  # of the simulator, so that a worker makes its environments once
    simulator: Simulator
    policy: Acts
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, eq=False)
class DistributedSimulator:
    """A simulator whose episodes are rolled out by workers."""

    inner: Simulator
    backend: Backend
    token: str = field(default_factory=lambda: uuid4().hex)

    @property
    def specification(self) -> Specification:
        """The inner one's."""
        return self.inner.specification

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Draw the first states of `count` episodes, here."""
        return self.inner.reset(count, rng)

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Take one action in each state, here."""
        return self.inner.step(states, actions, rng)

    def fused_rollout(
        self, policy: Acts, episodes: int, rng: np.random.Generator, span: Array
    ) -> Trajectories:
        """Roll out all episodes on the workers, with utilities divided by `span`."""
        chunks = cut(episodes, rng)
        count = min(self.backend.workers, len(chunks))
        shares = [Share(self.token, self.inner, policy, tuple(chunks[k::count])) for k in range(count)]
        found: dict[int, Trajectories] = {}
        for _, result in self.backend.map(roll_out_share, shares):
            if isinstance(result, Error):
                raise InputError(result.message) if result.final else RuntimeError(result.message)
            found.update(result)
        return joined([found[chunk.place] for chunk in chunks], span)


def cut(episodes: int, rng: np.random.Generator) -> list[Chunk]:
    """Cut episodes into chunks, with seeds drawn from the run's generator.

    >>> [chunk.episodes for chunk in cut(12, np.random.default_rng(0))]
    [5, 5, 2]
    """
    starts = range(0, episodes, CHUNK)
    seeds = rng.integers(2**63, size=len(starts))
    return [
        Chunk(place, min(CHUNK, episodes - start), int(seed))
        for place, (start, seed) in enumerate(zip(starts, seeds, strict=True))
    ]


def roll_out_share(share: Share) -> dict[int, Trajectories]:
    """Roll out the chunks of one worker."""
    if share.token not in _kept:
        _kept.clear()
        _kept[share.token] = share.simulator
    simulator = _kept[share.token]
    return {
        place: lockstep(simulator, share.policy, episodes, np.random.default_rng(seed))
        for place, episodes, seed in share.chunks
    }


def joined(parts: Sequence[Trajectories], span: Array) -> Trajectories:
    """Put the steps and returns of all chunks together, in their order."""

    def all_of(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return Trajectories(
        all_of("states"),
        all_of("actions"),
        all_of("utilities") / span,
        all_of("successors"),
        all_of("terminated"),
        all_of("returns") / span,
    )
