"""The paper's guarantees, corrected so that they hold, as functions of what was measured.

With exact evaluation and any comparator π that meets the constraints, in normalised units:

    R^p = Σ_t ⟨π − π_t, Q_r + λ_t·Q_c⟩_ν = (1−γ) Σ_t [(V_r − V_r,t) + λ_t·(V_c − V_c,t)],   ν = (1−γ) d
    R^d_i(u) = Σ_t (λ_t,i − u)·(V_c,t,i − b_i)

Theorem 1's first half is then an identity: bound − OG = mean(λ_t)·(V_c − b). Its second half as printed is
false with measured regrets; true is

    Σ_i (U_i − λ*_i)·[CV_i]₊ ≤ {R^p + (1−γ) Σ_i R^d_i(u_i)}/((1−γ)T) + ε g,   u_i = U_i where violated, else 0

with g = 2(1 + ΣU_i)/(1−γ) + ΣU_i for values known to ±ε (the paper's factor lacks the 2).

With entropy regularisation ν the regret of the policy is, with H the entropy of a distribution over actions,

    R^p_ν = Σ_t ⟨π − π_t, Q_r + λ_t·Q_c⟩_ν + ν Σ_t [H(π) − H(π_t)]_ν ≤ Σ_t ⟨π − π_t, Q_r + λ_t·Q_c − ν log π_t⟩_ν

whose right side is the regret that the learners bound. The paper prints −ν Σ_t Σ_s d^{π_t}(s) H(π_t(·|s)) in place of the second sum: without the
comparator's entropy, and with the states of π_t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.bellman import occupancy
from painless.common.arrays import Array
from painless.learners import coin_betting_regret, sigmoid_betting_regret
from painless.loop.algorithms import Situation
from painless.loop.approximation import Sampling
from painless.loop.framework import Step
from painless.policies.learning_table import LearningTable
from painless.problem import CMDP


class Regrets:
    """Measures the primal and the dual regret of one run, step by step, against a comparator (S, A).

    Arguments:
        problem: in normalised units.
        comparator: π, (S, A).
        entropy: ν, for the regularised regret.
    """

    def __init__(self, problem: CMDP, comparator: Array, entropy: float = 0.0) -> None:
        self.problem, self.comparator, self.entropy = problem, comparator, entropy
        visits = occupancy(problem, comparator).sum(-1)
        self._distribution = (1 - problem.discount) * visits  # ν, (S,)
        self.primal = 0.0
        self._lost_entropy = self._printed_entropy = 0.0
        self._values: list[Array] = []
        self._multipliers: list[Array] = []

    def add(self, step: Step[LearningTable[Any]]) -> None:
        """Count one step of the first run of a batch."""
        lagrangian = step.evaluation.q.combine(step.weight)[0]
        difference = self.comparator - step.policy.probabilities[0]
        self.primal += float(self._distribution @ (difference * lagrangian).sum(-1))
        self._values.append(step.evaluation.value[0])
        self._multipliers.append(step.weight[0, 1:])
        if self.entropy:
            self._add_entropy(step.policy.probabilities[0])

    def _add_entropy(self, policy: Array) -> None:
        kept = action_entropy(policy)
        self._lost_entropy += float(self._distribution @ (action_entropy(self.comparator) - kept))
        visits = (1 - self.problem.discount) * occupancy(self.problem, policy).sum(-1)
        self._printed_entropy -= float(visits @ kept)

    @property
    def regularised(self) -> float:
        """R^p_ν, the primal regret with the entropy of policies counted as reward."""
        return self.primal + self.entropy * self._lost_entropy

    @property
    def regularised_as_printed(self) -> float:
        """R^p_ν as the paper prints it, with π_t for the π in its entropy."""
        return self.primal + self.entropy * self._printed_entropy

    @property
    def iterations(self) -> int:
        """T, the steps counted."""
        return len(self._values)

    @property
    def value(self) -> Array:
        """The average of V_r and V_c, (J,)."""
        return np.mean(self._values, 0)

    @property
    def multiplier(self) -> Array:
        """The average multiplier, (K,)."""
        return np.mean(self._multipliers, 0)

    def dual(self, comparator: Array) -> Array:
        """R^d_i(u_i) of each constraint, (K,)."""
        slack = np.array(self._values)[:, 1:] - self.problem.threshold
        return ((np.array(self._multipliers) - comparator) * slack).sum(0)

    def optimality_gap_bound(self) -> float:
        """Theorem 1's bound on OG, for values known exactly."""
        return self._bound(np.zeros(len(self.problem.threshold)))

    def violation_bound(self, multiplier_bound: Array) -> float:
        """The corrected bound on Σ_i (U_i − λ*_i)·[CV_i]₊, for values known exactly."""
        violated = self.value[1:] < self.problem.threshold
        return self._bound(np.where(violated, multiplier_bound, 0.0))

    def _bound(self, comparator: Array) -> float:
        discount = self.problem.discount
        total = self.primal + (1 - discount) * self.dual(comparator).sum()
        return float(total / ((1 - discount) * self.iterations))


def action_entropy(policy: Array) -> Array:
    """H(π(·|s)) = −Σ_a π log π of every state, (S,).

    >>> action_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.6931, 0.    ])
    """
    positive = np.where(policy > 0, policy, 1.0)
    return -(positive * np.log(positive)).sum(-1) + 0.0


def policy_divergence(comparator: Array, start: Array) -> Array:
    """KL(π‖π_0) in each state, (S,); ∞ where π takes an action that π_0 never does."""
    positive = comparator > 0
    with np.errstate(divide="ignore"):
        ratio = np.where(positive, comparator, 1.0) / np.where(positive, start, 1.0)
    return (comparator * np.log(ratio)).sum(-1)


def error_factor(multiplier_bound: Array, discount: float) -> float:
    """The factor g = 2(1 + ΣU_i)/(1−γ) + ΣU_i: what an error of ε in every value adds to Theorem 1, per ε."""
    total = float(multiplier_bound.sum())
    return 2 * (1 + total) / (1 - discount) + total


@dataclass(frozen=True)
class ClosedForm:
    """A bound that is known before the run; vacuous where it exceeds the largest possible value."""

    optimality_gap: float
    weighted_violation: float  # bounds Σ_i (U_i − λ*_i)·[CV_i]₊
    vacuous: bool
    error: float = 0.0  # ε̃, of the action values, but for δ
    error_term: float = 0.0  # ε̃·g, which is part of both bounds


def cbp_bound(
    situation: Situation,
    divergence: float,
    initial_multiplier: float = 1.0,
    sampling: Sampling | None = None,
) -> ClosedForm:
    """The corollary for CBP with the sigmoid dual, in its unsimplified form, on a table or over features.

    `divergence` is KL(π*‖π_0) averaged over ν. The paper's Ψ is undefined where (T+1)U < 1; this is not.
    The dual half is proved for the unclipped bettor. `sampling` says how action values were estimated, None for exact ones: with a
    norm it makes this the corollary for linear function approximation.
    """
    iterations = _horizon(situation)
    primal = situation.normaliser * coin_betting_regret(divergence, iterations, horizon_known=True)
    bound, upper = situation.shortfall_bound, situation.multiplier_bound
    start = np.minimum(initial_multiplier, upper)
    at_zero = sigmoid_betting_regret(start, iterations * bound, bound)
    at_upper = sigmoid_betting_regret(np.abs(upper - start), iterations * bound, bound)
    return _closed_form(situation, primal, at_zero, np.maximum(at_zero, at_upper), sampling)


def gda_bound(
    situation: Situation, divergence: float | None = None, sampling: Sampling | None = None
) -> ClosedForm:
    """The corollary for GDA with its theoretical rates.

    R^p ≤ N√T·(KL + ln A)/√(2 ln A) with KL(π*‖π_0) averaged over ν as `divergence`; from the uniform policy it is at most ln A, the
    default, and then R^p ≤ N·√(2T ln A) as in the paper. R^d_i(u) ≤ U_i√T·(1 + (H(1−γ))²)/(2(1−γ)), which is the paper's where H = 1/(1−γ).
    """
    iterations, most = _horizon(situation), np.log(situation.actions)
    distance = most if divergence is None else divergence
    primal = situation.normaliser * np.sqrt(iterations) * (distance + most) / np.sqrt(2 * max(most, 1e-300))
    scale = (1 + (situation.shortfall_bound * situation.step) ** 2) / 2
    dual = situation.multiplier_bound * np.sqrt(iterations) * scale / situation.step
    return _closed_form(situation, float(primal), dual, dual, sampling)


def _horizon(situation: Situation) -> int:
    if situation.iterations is None:
        raise ValueError("a closed form needs a known horizon; give iterations")
    return situation.iterations


def _closed_form(
    situation: Situation, primal: float, at_zero: Array, at_any: Array, sampling: Sampling | None
) -> ClosedForm:
    iterations = _horizon(situation)
    shared = primal / (situation.step * iterations)
    error, added = 0.0, 0.0
    if sampling is not None:
        estimates = iterations * (1 + len(situation.threshold))
        error = sampling.error(1 - situation.step, estimates)
        added = error * error_factor(situation.multiplier_bound, 1 - situation.step)
    gap = shared + float(at_zero.sum()) / iterations + added
    violation = shared + float(at_any.sum()) / iterations + added
    return ClosedForm(gap, violation, gap > 1 / situation.step, error, added)
