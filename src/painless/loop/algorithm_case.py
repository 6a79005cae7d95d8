"""A case as an algorithm sees it: what it may know, and the loop that runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.engines.total import Total
from painless.evaluators import Entropic, Evaluator, exact_evaluator
from painless.loop.algorithms import Algorithm, Situation
from painless.loop.framework import Step, Trace, iterate
from painless.planning.case import Case
from painless.planning.certificate import Certifier
from painless.planning.feasibility import multiplier_bound
from painless.policies.learning_table import LearningTable
from painless.problem import Criterion

ROUGH = 1e-2  # the relative gap up to which the largest gain over the Slater policy is proved for totals
ROUGH_ROUNDS = 50
LARGEST_GAIN = 1e3  # of it if none is proved, in units of a total
INITIAL_MULTIPLIER = 1.0  # λ_0 in normalised units, as in the paper

Steps = Iterator[Step[LearningTable[Any]]]


class AlgorithmCase(Case):
    """A case for an algorithm."""

    def trace(self, trace: Trace) -> Trace:
        """Return the trace of one run in the user's terms."""
        values = self.value(np.column_stack([trace.reward_value, trace.constraint_value]))
        return Trace(values[:, 0], values[:, 1:], self.units.multiplier(trace.multiplier), trace.exact)

    def situation(self, iterations: int | None) -> Situation:
        """Return what an algorithm may know."""
        problem = self.problem
        step = 1 - problem.discount if problem.criterion is Criterion.DISCOUNTED else 1 / problem.unit
        bound = multiplier_bound(self.slater.slack, step)
        if isinstance(self.engine, Total):
            step, bound = self._totals(self.engine)
        low, high = (side[1:] for side in self.normal.utility_range)
        return Situation(
            *(step, problem.shape[1], self.normal.threshold, bound, iterations),
            utility_range=(low, high),
        )

    def _totals(self, engine: Total) -> tuple[float, Array]:
        """Return the weight of a step, and U: totals have no bound but one that is proved for this problem.

        Σ λ*_i s_i ≤ V_r(π*) − V_r(π_Slater) ≤ d(λ) − V_r(π_Slater)
        """
        certifier = Certifier(engine, self.slater, relaxation=self.relaxation)
        certifier.prove((), lambda bound: ROUGH * abs(bound), ROUGH_ROUNDS)
        uniform = engine.allowed / engine.allowed.sum(1, keepdims=True)
        scale = engine.scale(uniform)
        most = certifier.game.upper - float(self.slater.low[0])
        gain = max(most, ROUGH * scale) if np.isfinite(most) else LARGEST_GAIN * scale
        return 1 / scale, 2 * gain / self.slater.slack

    def steps(
        self,
        algorithm: Algorithm,
        prior: Array,
        iterations: int | None,
        seed: int,
        evaluator: Evaluator[Any] | None = None,
    ) -> Steps:
        """Start the loop from the policies `prior`, (B, S, A), with exact evaluation by default."""
        learner, dual = algorithm.build(self.situation(iterations))
        multiplier = np.full((len(prior), self.normal.shape[2]), INITIAL_MULTIPLIER)
        policy = LearningTable.start(learner, prior)
        rngs = [np.random.default_rng(seed) for _ in prior]
        if evaluator is None:
            evaluator = exact_evaluator(self.normal, self.engine)
            strength = getattr(algorithm, "future_entropy", None)
            if strength is not None and self.normal.criterion is Criterion.DISCOUNTED:
                evaluator = Entropic(evaluator, self.normal, strength)
        return iterate(self.normal, evaluator, policy, dual, multiplier=multiplier, rngs=rngs)
