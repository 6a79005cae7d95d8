"""TD(0): the action value of a pair drawn at random moves a little towards what one transition says.

    Q(s, a) ← Q(s, a) + α·(u(s, a) + γ ⟨π(·|s'), Q(s', ·)⟩ − Q(s, a)),       s' ~ P(·|s, a)

Every call starts at Q = 0 and makes n·N updates, at pairs drawn uniformly from the N available ones (Sutton 1988; paper, app.
D.1). Since each update is linear in Q and its draws are its own, the expectation is known. With k = n·N,

    E Q_k = Q − (I − (α/N)·(I − γ P Π))ᵏ Q

and the bias is at most (1 − α(1−γ)/N)ᵏ ≈ exp(−α(1−γ)n) of the largest |Q|. For n = 1000, α = 0.01 and γ = 0.9 that is 0.37: the
samples of the paper's experiments buy bias before they buy variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from painless.arrays import Array
from painless.errors import InputError
from painless.evaluators.base import Evaluation
from painless.evaluators.exact import TablePolicy
from painless.evaluators.monte_carlo import Estimate, Pairs, available_pairs, evaluate_runs, require_count
from painless.problem import CMDP

if TYPE_CHECKING:
    from painless.kernels import TableSampler


@dataclass(frozen=True, eq=False)
class TemporalDifference:
    """Estimates action values by TD(0) from zero, with `samples` updates for each available pair on average.

    Arguments:
        problem: a table.
        samples: n.
        rate: α, the step size, in (0, 1].
        expected: whether the target averages over the next action, as in the equation, or draws it.

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

    def __post_init__(self) -> None:
        require_count("samples", self.samples)
        if not 0 < self.rate <= 1:
            raise InputError(f"rate is {self.rate}, outside (0, 1]; give a step size such as 0.01")

    @cached_property
    def _pairs(self) -> Pairs:
        return available_pairs(self.problem)

    @cached_property
    def _sampler(self) -> TableSampler:
        from painless.kernels import table_sampler

        return table_sampler(self.problem)

    @property
    def bias_factor(self) -> float:
        """(1 − α(1−γ)/N)^(n·N): the bias is at most this part of the largest |Q|."""
        pairs = int(self.problem.actions.sum())
        return float((1 - self.rate * (1 - self.problem.discount) / pairs) ** (self.samples * pairs))

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities of every run from the same transitions."""
        return evaluate_runs(self.problem, policy, rngs, self._estimate)

    def _estimate(self, policy: Array, rng: np.random.Generator) -> Estimate:
        from painless.evaluators import _table_kernels as compiled
        from painless.kernels import policy_sums, stream

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
        return Estimate(q.T.reshape(-1, *policy.shape))


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
    """Return the action values (S·A, J) after one more update: the equation, to which the kernels are held."""
    from painless.kernels import policy_sums, uniforms

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
