"""The time loops of the sampling evaluators, compiled. The equations are in `td` and `monte_carlo`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.compiling import njit
from painless.simulation.sampling import Indices, TableSampler, draw, draw_row, uniform

DRAWS = 3  # numbers of an update of TD(0): the pair, its successor, the next action


@njit
def expected_updates(
    sampler: TableSampler,
    pairs: Indices,
    policy: Array,
    rate: float,
    discount: float,
    key: np.uint64,
    first: int,
    count: int,
    q: Array,
) -> None:
    """Apply the updates first..first + count − 1 of TD(0) to `q` (S·A, J), expected over the next action.

    V(s) = ⟨π(·|s), Q(s, ·)⟩ is kept beside Q: a change of Q(s, a) by δ changes it by π(a|s)·δ. So an update costs
    O(J), whatever the number of actions.
    """
    pointer, successor, cumulative = sampler.pointer, sampler.successor, sampler.cumulative
    state, utility = sampler.state, sampler.utility
    n, utilities = len(pairs), q.shape[1]
    value = np.zeros((state[-1] + 1, utilities))
    for pair in range(len(policy)):
        for j in range(utilities):
            value[state[pair], j] += policy[pair] * q[pair, j]
    for k in range(first, first + count):
        pair = pairs[int(uniform(key, DRAWS * k) * n)]
        after = successor[draw_row(pointer, cumulative, pair, key, DRAWS * k + 1)]
        here, probability = state[pair], policy[pair]
        for j in range(utilities):
            change = rate * (utility[pair, j] + discount * value[after, j] - q[pair, j])
            q[pair, j] += change
            value[here, j] += probability * change


@njit
def sampled_updates(
    sampler: TableSampler,
    pairs: Indices,
    policy_cumulative: Array,
    rate: float,
    discount: float,
    key: np.uint64,
    first: int,
    count: int,
    q: Array,
) -> None:
    """Apply the updates first..first + count − 1 of TD(0) to `q` (S·A, J), with a drawn next action."""
    pointer, successor, cumulative = sampler.pointer, sampler.successor, sampler.cumulative
    utility, n, utilities = sampler.utility, len(pairs), q.shape[1]
    actions = len(policy_cumulative) // (sampler.state[-1] + 1)
    for k in range(first, first + count):
        pair = pairs[int(uniform(key, DRAWS * k) * n)]
        start = successor[draw_row(pointer, cumulative, pair, key, DRAWS * k + 1)] * actions
        after = draw(policy_cumulative, start, start + actions, uniform(key, DRAWS * k + 2))
        for j in range(utilities):
            q[pair, j] += rate * (utility[pair, j] + discount * q[after, j] - q[pair, j])


class Starts(NamedTuple):
    """The pairs from which trajectories start, as the rows of a CSR matrix: each rollout takes any pair of its row."""

    pointer: Indices  # (n + 1,)
    pair: Indices

    @classmethod
    def of(cls, entries: Sequence[Indices]) -> Starts:
        """Lay out the pairs of each entry."""
        length = [len(pairs) for pairs in entries]
        return cls(np.concatenate([[0], np.cumsum(length)]).astype(np.int64), np.concatenate(entries))


def returns(
    sampler: TableSampler,
    starts: Starts,
    policy_cumulative: Array,
    discount: float,
    rollouts: int,
    horizon: int,
    key: np.uint64,
) -> tuple[Array, Array]:
    """Return the mean of the discounted returns from every start and their summed squared deviations, (n, J)."""
    shape = (len(starts.pointer) - 1, sampler.utility.shape[1])
    mean, squares = np.zeros(shape), np.zeros(shape)
    given = (sampler, starts, policy_cumulative, discount, rollouts, horizon, key)
    write_returns(*given, np.empty(shape[1]), mean, squares)
    return mean, squares


@njit
def write_returns(
    sampler: TableSampler,
    starts: Starts,
    policy_cumulative: Array,
    discount: float,
    rollouts: int,
    horizon: int,
    key: np.uint64,
    one: Array,
    mean: Array,
    squares: Array,
) -> None:
    """Add the returns from every start to `mean` and `squares` (n, J), which are 0; `one` (J,) is scratch space."""
    pointer, successor, cumulative = sampler.pointer, sampler.successor, sampler.cumulative
    utility, utilities = sampler.utility, sampler.utility.shape[1]
    actions = len(policy_cumulative) // (sampler.state[-1] + 1)
    for i in range(len(mean)):
        first, count = starts.pointer[i], starts.pointer[i + 1] - starts.pointer[i]
        for rollout in range(rollouts):
            position = 2 * horizon * (i * rollouts + rollout)
            chosen = int(uniform(key, position) * count) if count > 1 else 0
            pair, weight = starts.pair[first + chosen], 1.0
            for j in range(utilities):
                one[j] = utility[pair, j]
            for t in range(1, horizon):
                start = successor[draw_row(pointer, cumulative, pair, key, position + 2 * t)] * actions
                pair = draw(policy_cumulative, start, start + actions, uniform(key, position + 2 * t + 1))
                weight *= discount
                for j in range(utilities):
                    one[j] += weight * utility[pair, j]
            for j in range(utilities):
                deviation = one[j] - mean[i, j]
                mean[i, j] += deviation / (rollout + 1)
                squares[i, j] += deviation * (one[j] - mean[i, j])
