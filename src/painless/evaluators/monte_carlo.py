"""Monte Carlo: the mean discounted return of trajectories from a pair, cut off after H steps.

    q̂(s, a) = (1/m) Σ_i [ Σ_{t<H} γᵗ u(s_t, a_t) + γᴴ·min u/(1−γ) ],      (s_0, a_0) = (s, a)

The last term replaces what was cut off, so that shifting a utility shifts its estimate; where utilities
begin at 0 it is 0. The expectation is below the action value by at most γᴴ·span/(1−γ). Trajectories are independent,
so that the value at ρ, Σ ρ(s) π(a|s) q̂(s, a), has the standard error √(Σ (ρπ)² var/m).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.common.arguments import as_numbers, first
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.evaluators.base import Evaluation
from painless.evaluators.exact import TablePolicy
from painless.policies.learning_table import TabularQ
from painless.problem import CMDP

if TYPE_CHECKING:
    from painless.simulation.sampling import TableSampler

TRUNCATION = 1e-3  # the default horizon's bias, in parts of span/(1−γ)

Pairs = NDArray[np.int64]


class TableEstimate(NamedTuple):
    """What a sampling evaluator found for one run."""

    q: Array  # (J, S, A)
    standard_error: Array | None = None  # (J,) of the values at ρ


def require_count(name: str, value: int) -> None:
    """Reject numbers that are not positive integers."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} is {value!r}; give a whole number, 1 or more")


def available_pairs(problem: CMDP, pairs: ArrayLike | None = None) -> Pairs:
    """Check the indices s·A + a of pairs, (n,); None is all that are available."""
    available = problem.actions.reshape(-1)
    if pairs is None:
        return np.flatnonzero(available).astype(np.int64)
    given = as_numbers("pairs", pairs)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise InputError(
            f"pairs have shape {given.shape} and type {given.dtype}, not (n,) and whole numbers; "
            "give the index s·A + a of each"
        )
    wrong = (given < 0) | (given >= len(available))
    if wrong.any():
        raise InputError(
            f"pairs{first(wrong)} is {given[wrong][0]}, outside the table 0..{len(available) - 1}"
        )
    wrong = ~available[given]
    if wrong.any():
        state, action = divmod(int(given[wrong][0]), problem.shape[1])
        raise InputError(f"pairs{first(wrong)}: state {state} does not have action {action}; leave it out")
    known, count = np.unique(given, return_counts=True)
    if len(known) < len(given):
        raise InputError(f"pair {known[count > 1][0]} is given {count[count > 1][0]} times; give each once")
    return given.astype(np.int64)


def evaluate_runs(
    problem: CMDP,
    policy: TablePolicy,
    rngs: Sequence[np.random.Generator],
    estimate: Callable[[Array, np.random.Generator], TableEstimate],
) -> Evaluation:
    """Estimate every run of a batch by itself, from its own policy (S, A) and generator."""
    tables, (states, actions, _) = np.array(policy.probabilities, order="C"), problem.shape
    if tables.shape[1:] != (states, actions):
        raise InputError(f"the policy has shape {tables.shape}, not (B, S, A) = (B, {states}, {actions})")
    if len(rngs) != len(tables):
        raise InputError(f"{len(rngs)} generators for {len(tables)} runs; give each run its own")
    wrong = ~((tables >= 0) & (problem.actions | (tables == 0))).all(-1)
    wrong |= ~(np.abs(tables.sum(-1) - 1) <= 1e-8)
    if wrong.any():
        raise InputError(f"policy{first(wrong)} is not a distribution over the state's actions")
    runs = [estimate(table, rng) for table, rng in zip(tables, rngs, strict=True)]
    q = np.array([run.q for run in runs])
    value = np.array([initial_value(problem, *run) for run in zip(tables, q, strict=True)])
    errors = [run.standard_error for run in runs if run.standard_error is not None]
    return Evaluation(TabularQ(q), value, np.array(errors) if errors else None)


def initial_value(problem: CMDP, policy: Array, q: Array) -> Array:
    """V(ρ) = ⟨ρ, ⟨π, Q⟩⟩, (J,), for one policy (S, A) and its action values (J, S, A)."""
    weight = problem.initial[:, None] * policy
    return (weight * np.where(weight > 0, q, 0.0)).sum((-2, -1))


@dataclass(frozen=True, eq=False)
class MonteCarlo:
    """Estimates action values by the mean of `rollouts` trajectories from every available pair.

    Arguments:
        problem: a table.
        rollouts: m, for each pair.
        horizon: H, the steps of a trajectory. None makes the bias at most 1e-3·span/(1−γ).
        pairs: the indices s·A + a from which to start, in place of all. The action values of other available pairs
            are then not a number, and so is the value at ρ where the policy can start with one of them.

    `entry_returns` starts from entries of several pairs each, of which every rollout takes any.

    >>> import painless
    >>> evaluator = MonteCarlo(painless.gridworld(), rollouts=100)
    >>> evaluator.steps
    66
    >>> evaluator.bias_bound.round(4)
    array([0.0096, 0.0096])
    """

    problem: CMDP
    rollouts: int
    horizon: int | None = None
    pairs: ArrayLike | None = None

    def __post_init__(self) -> None:
        require_count("rollouts", self.rollouts)
        if self.horizon is not None:
            require_count("horizon", self.horizon)
        _ = self.start

    @cached_property
    def start(self) -> Pairs:
        """The pairs from which trajectories start, (n,)."""
        return available_pairs(self.problem, self.pairs)

    @property
    def steps(self) -> int:
        """H, given or by default."""
        if self.horizon is not None:
            return int(self.horizon)
        discount = self.problem.discount
        return max(1, ceil(log(TRUNCATION) / log(discount))) if discount > 0 else 1

    @property
    def bias_bound(self) -> Array:
        """γᴴ·span/(1−γ) of each utility, (J,)."""
        low, high = self._range
        return self._cut_off * (high - low)

    @property
    def _cut_off(self) -> float:
        discount = self.problem.discount
        return discount**self.steps / (1 - discount)

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        utility = self.problem.utility[:, self.problem.actions]
        return utility.min(-1), utility.max(-1)

    @cached_property
    def _sampler(self) -> TableSampler:
        from painless.simulation.sampling import table_sampler

        return table_sampler(self.problem)

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities of every run from the same trajectories."""
        return evaluate_runs(self.problem, policy, rngs, self._estimate)

    def _estimate(self, policy: Array, rng: np.random.Generator) -> TableEstimate:
        mean, variance = (self._everywhere(part) for part in self.returns(policy, rng))
        weight = (self.problem.initial[:, None] * policy).reshape(-1)
        return TableEstimate(mean.T.reshape(-1, *policy.shape), standard_error(weight, variance))

    def _everywhere(self, part: Array) -> Array:
        """Return (S·A, J) from (n, J): NaN where nothing started, 0 for masked pairs."""
        result = np.full((self.problem.actions.size, part.shape[1]), np.nan)
        result[~self.problem.actions.reshape(-1)] = 0.0
        result[self.start] = part
        return result

    def returns(self, policy: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the mean return from each pair of `start`, (n, J), and the variance of that mean.

        The variance of a single rollout is not known: ∞.
        """
        return self.entry_returns(policy, rng, tuple(self.start[:, None]))

    def entry_returns(
        self, policy: Array, rng: np.random.Generator, entries: Sequence[Pairs]
    ) -> tuple[Array, Array]:
        """Return the mean return from each entry, (n, J), and the variance of that mean; a rollout starts with any pair of its entry."""
        from painless.evaluators import _table_kernels as compiled
        from painless.simulation.sampling import policy_sums, stream

        mean, squares = compiled.returns(
            self._sampler,
            compiled.Starts.of(entries),
            policy_sums(policy),
            self.problem.discount,
            self.rollouts,
            self.steps,
            stream(rng),
        )
        count = self.rollouts
        variance = squares / (count * (count - 1)) if count > 1 else np.full_like(squares, np.inf)
        return mean + self._cut_off * self._range[0], variance


def standard_error(weight: Array, variance: Array) -> Array:
    """√(Σ w² var) of the weighted sum of n independent estimates, for variances (n, J): (J,)."""
    squared = (weight**2)[:, None]
    return np.sqrt((squared * np.where(squared > 0, variance, 0.0)).sum(0))


def reference_returns(
    sampler: TableSampler,
    entries: Sequence[Pairs],
    policy_cumulative: Array,
    discount: float,
    rollouts: int,
    horizon: int,
    key: np.uint64,
) -> Array:
    """Return the discounted return of every trajectory, (n, m, J), all in step: the kernel is held to it."""
    from painless.simulation.sampling import uniforms

    actions = len(policy_cumulative) // (int(sampler.state[-1]) + 1)
    every = np.arange(0, len(policy_cumulative) + 1, actions)
    transition, choice = (
        padded_rows(sampler.pointer, sampler.cumulative),
        padded_rows(every, policy_cumulative),
    )
    position = 2 * horizon * np.arange(len(entries) * rollouts)
    chosen = uniforms(key, position).reshape(-1, rollouts)
    drawn = [pairs[(u * len(pairs)).astype(int)] for pairs, u in zip(entries, chosen, strict=True)]
    pair = np.concatenate(drawn)
    total, weight = sampler.utility[pair], 1.0
    for t in range(1, horizon):
        u = uniforms(key, position + 2 * t)
        state = sampler.successor[sampler.pointer[pair] + (u[:, None] >= transition[pair]).sum(1)]
        u = uniforms(key, position + 2 * t + 1)
        pair = state * actions + (u[:, None] >= choice[state]).sum(1)
        weight *= discount
        total = total + weight * sampler.utility[pair]
    return total.reshape(len(entries), rollouts, -1)


def padded_rows(pointer: Pairs, cumulative: Array) -> Array:
    """Return rows of running sums as a matrix, padded with ones."""
    length = np.diff(pointer)
    result = np.ones((len(length), max(int(length.max()), 1)))
    for row, (start, stop) in enumerate(pairwise(pointer)):
        result[row, : stop - start] = cumulative[start:stop]
    return result
