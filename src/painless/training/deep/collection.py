"""Collect steps for updates, and the episodes that finish on the way; play whole episodes to judge policies.

The first episodes are cut at staggered lengths, as a truncation that is not counted. Open episodes are remembered by their seeds and actions, so
that a run that continues can play them again to where they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array, Mask
from painless.environments.copies import Copies, Observations
from painless.policies.action_heads import Rows
from painless.policies.network import NetworkPolicy

SEEDS = 2**31


class Finished(NamedTuple):
    """What whole episodes collected, in the internal sense."""

    discounted: Array  # (n, J)
    total: Array  # (n, J)
    length: Array  # (n,)

    @classmethod
    def of(cls, rows: Sequence[tuple[Array, Array, int]], utilities: int) -> Finished:
        """Join episodes."""
        if not rows:
            return cls(np.empty((0, utilities)), np.empty((0, utilities)), np.empty(0))
        discounted, total, length = zip(*rows, strict=True)
        return cls(np.array(discounted), np.array(total), np.array(length, float))

    def chosen(self, episodic: Mask) -> Array:
        """Return what limits are on, (n, J): totals for limits on whole episodes, else discounted sums."""
        return np.where(np.append(False, episodic), self.total, self.discounted)


class Played(NamedTuple):
    """Episodes that were played, in the order in which they were asked for."""

    finished: Finished
    which: Any  # (n,) the policy of each
    steps: int  # that they took, all together
    first: Any  # (n, D) their first observations


class Batch(NamedTuple):
    """H steps of N copies."""

    observations: Any  # (H, N, D) normalised
    following: Any  # (H, N, D) normalised, before a reset
    actions: Rows  # (H, N, m)
    density: Any  # (H, N)
    utilities: Array  # (H, N, J)
    terminated: Mask  # (H, N)
    ended: Mask  # (H, N)
    counted: Mask  # (H, N) whether it was a step of an episode
    running: Array  # (n, J) discounted sums since the start of the episode, of the steps that count
    raw: Any  # (n, D) as observed
    finished: Finished


class Collector:
    """Steps N copies of an environment by a policy.

    Arguments:
        copies: of the environment.
        count: N.
        utilities: J.
        discount: γ.
        stagger: steps over which the cuts of the first episodes are spread.
        rng: for seeds and actions.
    """

    def __init__(
        self,
        copies: Copies,
        count: int,
        utilities: int,
        discount: float,
        stagger: int,
        rng: np.random.Generator,
    ) -> None:
        self.copies, self.count, self.discount, self.rng = copies, count, discount, rng
        self.numbers, self.utilities = list(range(count)), utilities
        staggered = stagger >= count and copies.restarts
        self.cuts = {(k + 1) * stagger // count: k for k in range(count - 1)} if staggered else {}
        self.taken = 0  # steps of each copy
        self.seeds = self._draw(count)
        self.actions: list[list[Any]] = [[] for _ in range(count)]  # of the open episodes
        self.sums = np.zeros((3, count, utilities))  # discounted from the start, total, discounted backwards
        self.factor = np.ones((count, 1))
        self.observations: Observations = np.empty((0, 0), np.float32)

    def _draw(self, count: int) -> list[int]:
        return self.rng.integers(SEEDS, size=count).tolist()

    def begin(self) -> Observations:
        """Start all copies."""
        self.observations = self.copies.start(self.numbers, self.seeds)
        return self.observations

    def collect(self, policy: NetworkPolicy, horizon: int) -> Batch:
        """Take `horizon` steps in every copy."""
        head, rows = policy.head, []
        episodes: list[tuple[Array, Array, int]] = []
        for _ in range(horizon):
            seen = policy.normalised(self.observations)
            actions, density = head.draw(policy.outputs_of(seen), self.rng)
            raw = self.observations
            chosen = head.for_environment(actions)
            seeds = self._draw(self.count)
            outcome = self.copies.step(self.numbers, list(chosen), seeds)
            self.taken += 1
            ended, counted = outcome.terminated | outcome.truncated, outcome.counted
            self.observations = outcome.observations
            self._count(outcome.utilities, counted)
            running = self.sums[2].copy()
            episodes += [
                (self.sums[0, k].copy(), self.sums[1, k].copy(), len(self.actions[k]) + 1)
                for k in np.flatnonzero(ended)
            ]
            self._log(chosen, seeds, ended, counted)
            cut = self.cuts.get(self.taken)
            if cut is not None and not ended[cut]:
                ended = ended.copy()
                ended[cut] = True
                self._cut(cut)
            rows.append(
                (
                    seen,
                    policy.normalised(outcome.following),
                    actions,
                    density,
                    outcome.utilities,
                    outcome.terminated,
                    ended | ~counted,
                    counted,
                    running,
                    raw,
                )
            )
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        running, raw = (column[columns[7]].reshape(columns[7].sum(), -1) for column in columns[8:])
        steps = dict(zip(Batch._fields, columns[:8], strict=False))
        return Batch(**steps, running=running, raw=raw, finished=Finished.of(episodes, self.utilities))

    def _count(self, utilities: Array, counted: Mask) -> None:
        """Add a step to what the open episodes have collected."""
        self.sums[0] += self.factor * utilities
        self.sums[1] += utilities
        self.sums[2] = self.sums[2] * self.discount + utilities
        self.factor[counted] *= self.discount

    def _log(self, chosen: Rows, seeds: list[int], ended: Mask, counted: Mask) -> None:
        for k in self.numbers:
            if ended[k]:
                self._forget(k, seeds[k])
            elif counted[k]:
                self.actions[k].append(chosen[k])

    def _forget(self, k: int, seed: int) -> None:
        self.sums[:, k], self.factor[k] = 0.0, 1.0
        self.seeds[k], self.actions[k] = seed, []

    def _cut(self, k: int) -> None:
        """End an episode early; it is not counted."""
        seed = self._draw(1)[0]
        self._forget(k, seed)
        self.observations = self.observations.copy()
        self.observations[k] = self.copies.start([k], [seed])[0]

    def open_episodes(self) -> dict[str, Any]:
        """Return the open episodes as arrays."""
        lengths = np.array([len(one) for one in self.actions], np.int64)
        flat = [action for one in self.actions for action in one]
        return {
            "open_seeds": np.array(self.seeds, np.int64),
            "open_lengths": lengths,
            "open_actions": np.array(flat) if flat else np.zeros(0),
            "open_observations": self.observations,
            "open_sums": self.sums,
            "open_factor": self.factor,
            "taken": self.taken,
        }

    def reopen(self, content: Any) -> int:
        """Play the open episodes of a checkpoint again; return how many had to be restarted, since they went another way.

        Those are not counted.
        """
        self.seeds = [int(seed) for seed in content["open_seeds"]]
        self.taken = int(content["taken"])
        if not self.copies.replays:
            self.observations = self.copies.start(self.numbers, self._draw(self.count))
            return self.count
        self.sums, self.factor = np.array(content["open_sums"]), np.array(content["open_factor"])
        wanted = np.asarray(content["open_observations"], np.float32)
        ends = np.cumsum(content["open_lengths"])
        parts = np.split(np.asarray(content["open_actions"]), ends[:-1])
        self.observations, lost = self.copies.start(self.numbers, self.seeds), 0
        for k, part in enumerate(parts):
            self.actions[k] = list(part)
            for action in part:
                outcome = self.copies.step([k], [action], [self.seeds[k]])
                self.observations[k] = outcome.observations[0]
                if outcome.terminated[0] or outcome.truncated[0]:
                    break
            if not np.array_equal(self.observations[k], wanted[k]):
                lost += 1
                self.observations[k] = self.copies.start([k], [self.seeds[k]])[0]
                self._forget(k, self.seeds[k])
        return lost


def play(
    policies: Sequence[NetworkPolicy],
    which: Sequence[int],
    copies: Copies,
    count: int,
    discount: float,
    rng: np.random.Generator,
    more: Callable[[int, int], bool] = lambda steps, running: True,
    seeds: Sequence[int] | None = None,
) -> Played:
    """Play one episode for each entry of `which`, the number of its policy; all that are started count.

    `more(steps, running)` says whether another may start; `seeds` are those of the environment for each, which are drawn otherwise.
    """
    waiting, steps = list(enumerate(which)), 0
    open_: dict[int, tuple[int, int]] = {}  # by copy: place and policy
    seen: dict[int, Any] = {}
    sums: dict[int, tuple[Array, Array]] = {}
    found: dict[int, tuple[Array, Array, int]] = {}
    lengths: dict[int, int] = {}
    first: dict[int, Any] = {}
    utilities = 1
    while True:
        idle = [k for k in range(min(count, len(which))) if k not in open_]
        begun = []
        for k in idle:
            if waiting and more(steps, len(open_)):
                open_[k] = waiting.pop(0)
                begun.append(k)
        if begun:
            given = None if seeds is None else [seeds[open_[k][0]] for k in begun]
            rows = copies.start(begun, given or rng.integers(SEEDS, size=len(begun)).tolist())
            for k, row in zip(begun, rows, strict=True):
                seen[k], lengths[k] = row, 0
        if not open_:
            break
        numbers = sorted(open_)
        actions: dict[int, Any] = {}
        for policy in sorted({open_[k][1] for k in numbers}):
            mine = [k for k in numbers if open_[k][1] == policy]
            drawn = policies[policy].choose(np.array([seen[k] for k in mine]), rng)
            actions.update(zip(mine, drawn, strict=True))
        outcome = copies.step(numbers, [actions[k] for k in numbers], [None] * len(numbers))
        steps += len(numbers)
        utilities = outcome.utilities.shape[1]
        for row, k in enumerate(numbers):
            if not outcome.counted[row]:
                seen[k] = outcome.observations[row]
                continue
            if lengths[k] == 0:
                sums[k] = (np.zeros(utilities), np.zeros(utilities))
                first[open_[k][0]] = seen[k]
            part = outcome.utilities[row]
            discounted, total = sums[k]
            sums[k] = (discounted + discount ** lengths[k] * part, total + part)
            lengths[k] += 1
            seen[k] = outcome.following[row]
            if outcome.terminated[row] or outcome.truncated[row]:
                found[open_.pop(k)[0]] = (*sums[k], lengths[k])
    places = sorted(found)
    played = np.array([which[place] for place in places], int)
    finished = Finished.of([found[place] for place in places], utilities)
    return Played(finished, played, steps, np.array([first[place] for place in places]))
