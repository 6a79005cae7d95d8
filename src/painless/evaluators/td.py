"""TD(0): the action value of a randomly drawn pair moves towards the target of one sampled transition.

    Q(s, a) ← Q(s, a) + α·(u(s, a) + γ ⟨π(·|s'), Q(s', ·)⟩ − Q(s, a)),       s' ~ P(·|s, a)

Every call starts at Q = 0 and makes n·N updates, at pairs drawn uniformly from the N available ones (Sutton 1988; paper, app.
D.1). Since each update is linear in Q and its draws are its own, the expectation is known. With k = n·N,

    E Q_k = Q − (I − (α/N)·(I − γ P Π))ᵏ Q

and the bias is at most (1 − α(1−γ)/N)ᵏ ≈ exp(−α(1−γ)n) of the largest |Q|. For n = 1000, α = 0.01 and γ = 0.9 that is 0.37: the
samples of the paper's experiments reduce bias more than variance.

Nearly all of this bias can be measured. The slowest part to learn is the level, which is common to all pairs, and the same updates on
the constant utility 1, whose action values are 1/(1−γ), show how much of it is learned: with e = (1−γ)·Q̂₁, (S, A),

    Q ← Q̂ + V·(1 − e),       V = ⟨ρ, ⟨π, Q̂⟩⟩/⟨ρ, ⟨π, e⟩⟩

That is TD(0) from the level V in place of zero, where V is the value at ρ that comes out. It is linear in the utility, exact
for constants, and costs no samples. Dividing by e instead does the same to V, but distorts the advantages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.evaluators.base import Evaluation
from painless.evaluators.exact import TablePolicy
from painless.evaluators.monte_carlo import (
    Pairs,
    TableEstimate,
    available_pairs,
    evaluate_runs,
    require_count,
)
from painless.problem import CMDP

if TYPE_CHECKING:
    from painless.simulation.sampling import TableSampler


@dataclass(frozen=True, eq=False)
class TemporalDifference:
    """Estimates action values by TD(0), with `samples` updates for each available pair on average.

    Arguments:
        problem: a table.
        samples: n.
        rate: α, the step size, in (0, 1].
        expected: whether the target averages over the next action, as in the equation, or draws it.
        levelled: whether the bias that a constant utility reveals is taken out. False is the paper's TD(0), from zero.

    >>> import painless
    >>> round(TemporalDifference(painless.gridworld(), samples=3000).bias_factor, 3)
    0.05

    References:
        Sutton, "Learning to predict by the methods of temporal differences", Machine Learning 3, 1988.
    """

    problem: CMDP
    samples: int
    rate: float = 0.01
    expected: bool = True
    levelled: bool = True

    def __post_init__(self) -> None:
        require_count("samples", self.samples)
        if not 0 < self.rate <= 1:
            raise InputError(f"rate is {self.rate}, outside (0, 1]; give a step size such as 0.01")

    @cached_property
    def _pairs(self) -> Pairs:
        return available_pairs(self.problem)

    @cached_property
    def _sampler(self) -> TableSampler:
        from painless.simulation.sampling import table_sampler

        sampler = table_sampler(self.problem)
        if not self.levelled:
            return sampler
        constant = np.ones((len(sampler.utility), 1))
        return sampler._replace(utility=np.concatenate([sampler.utility, constant], axis=1))

    @property
    def bias_factor(self) -> float:
        """(1 − α(1−γ)/N)^(n·N): from zero, the bias is at most this part of the largest |Q|."""
        pairs = int(self.problem.actions.sum())
        return float((1 - self.rate * (1 - self.problem.discount) / pairs) ** (self.samples * pairs))

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities of every run from the same transitions."""
        return evaluate_runs(self.problem, policy, rngs, self._estimate)

    def _estimate(self, policy: Array, rng: np.random.Generator) -> TableEstimate:
        from painless.evaluators import _table_kernels as compiled
        from painless.simulation.sampling import policy_sums, stream

        q = np.zeros_like(self._sampler.utility)
        updates = compiled.expected_updates if self.expected else compiled.sampled_updates
        updates(
            self._sampler,
            self._pairs,
            policy.reshape(-1) if self.expected else policy_sums(policy),
            float(self.rate),
            self.problem.discount,
            stream(rng),
            0,
            self.samples * len(self._pairs),
            q,
        )
        table = q.T.reshape(-1, *policy.shape)
        return TableEstimate(self._level(table, policy) if self.levelled else table)

    def _level(self, table: Array, policy: Array) -> Array:
        """Take the revealed bias out of action values (J + 1, S, A), the last of which are those of the utility 1."""
        learned = (1 - self.problem.discount) * table[-1]
        return level(table[:-1], learned, self.problem.initial[:, None] * policy) * self.problem.actions


def level(q: Array, learned: Array, weight: Array) -> Array:
    """Q̂ + V·(1 − e) with V = ⟨w, Q̂⟩/⟨w, e⟩, for action values (J, S, A), `learned` e and `weight` w, (S, A) each.

    >>> level(np.array([[[3.0, 1.0]]]), np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]]))
    array([[[5., 3.]]])
    """
    total = float((weight * learned).sum())
    level = (q * weight).sum((1, 2)) / total if total > 0 else np.zeros(len(q))
    return np.asarray(q + level[:, None, None] * (1 - learned))


def reference_update(
    sampler: TableSampler,
    pairs: Pairs,
    policy: Array,
    rate: float,
    discount: float,
    key: np.uint64,
    position: int,
    q: Array,
    *,
    expected: bool,
) -> Array:
    """Return the action values (S·A, J) after one more update: the equation, the reference for the kernels."""
    from painless.simulation.sampling import policy_sums, uniforms

    first, second, third = uniforms(key, 3 * position + np.arange(3))
    pair = pairs[int(first * len(pairs))]
    row = slice(sampler.pointer[pair], sampler.pointer[pair + 1])
    state = sampler.successor[row][(second >= sampler.cumulative[row]).sum()]
    next_q = q.reshape(*policy.shape, -1)[state]  # (A, J)
    cumulative = policy_sums(policy).reshape(policy.shape)[state]
    following = policy[state] @ next_q if expected else next_q[(third >= cumulative).sum()]
    result = q.copy()
    result[pair] += rate * (sampler.utility[pair] + discount * following - q[pair])
    return result
