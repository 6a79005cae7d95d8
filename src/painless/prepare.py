"""What comes before an algorithm starts: units, constant constraints, the Slater policy, the loop itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.algorithms import Algorithm, Situation
from painless.arrays import Array
from painless.evaluators import Evaluator, exact_evaluator
from painless.feasibility import Feasibility, SlaterPolicy, multiplier_bound, slater_policy
from painless.framework import Step, Trace, iterate
from painless.judgement import Relaxation, misses_constant
from painless.planners.engine import Engine, engine_of
from painless.policy import LearningTable
from painless.presolve import presolve
from painless.problem import CMDP
from painless.units import Units, normalise, utility_range

INITIAL_MULTIPLIER = 1.0  # λ_0 in normalised units, as in the paper

Steps = Iterator[Step[LearningTable[Any]]]


@dataclass(frozen=True)
class Prepared:
    """A problem in normalised units, and what is known before an algorithm starts."""

    problem: CMDP
    normal: CMDP  # without pairs that no feasible policy takes
    units: Units
    relaxation: Relaxation
    engine: Engine  # what solves the normalised problem: factorised systems or sweeps
    slater: SlaterPolicy

    @property
    def feasibility(self) -> Feasibility:
        """Whether the constraints can be met together."""
        missed = misses_constant(self.problem, self.units)
        return Feasibility.NONE if missed.any() else self.slater.feasibility

    def value(self, value: Array) -> Array:
        """Return normalised values (..., J') as (..., J) in the user's terms, with constant constraints."""
        index = np.append(0, 1 + self.units.kept)
        result = np.broadcast_to(self.units.offset, (*value.shape[:-1], len(self.units.offset))).copy()
        result[..., index] += value * self.units.span[index]
        return result * self.problem.sign

    def trace(self, trace: Trace) -> Trace:
        """Return the trace of one run in the user's terms."""
        values = self.value(np.column_stack([trace.reward_value, trace.constraint_value]))
        return Trace(values[:, 0], values[:, 1:], self.units.multiplier(trace.multiplier), trace.exact)

    def situation(self, iterations: int | None) -> Situation:
        """Return what an algorithm may know."""
        discount = self.problem.discount
        bound = multiplier_bound(self.slater.slack, discount)
        low, high = (side[1:] for side in utility_range(self.normal))
        return Situation(
            *(discount, self.problem.shape[1], self.normal.threshold, bound, iterations),
            utility_range=(low, high),
        )

    def steps(
        self,
        algorithm: Algorithm,
        prior: Array,
        iterations: int | None,
        seed: int,
        evaluator: Evaluator[Any] | None = None,
    ) -> Steps:
        """Start the loop from the policies `prior`, (B, S, A), with exact evaluation unless told otherwise."""
        learner, dual = algorithm.build(self.situation(iterations))
        multiplier = np.full((len(prior), self.normal.shape[2]), INITIAL_MULTIPLIER)
        policy = LearningTable.start(learner, prior)
        rngs = [np.random.default_rng(seed) for _ in prior]
        evaluator = evaluator or exact_evaluator(self.normal, self.engine)
        return iterate(self.normal, evaluator, policy, dual, multiplier=multiplier, rngs=rngs)


def prepare(problem: CMDP, tick: Callable[[], None] = lambda: None) -> Prepared:
    """Presolve, normalise the units, set constant constraints aside, and find the Slater policy."""
    smaller, met = presolve(problem)
    normal, units = normalise(smaller, met)
    relaxation = Relaxation(smaller, normal, units)
    engine = engine_of(normal)
    engine.heed(tick)
    return Prepared(problem, normal, units, relaxation, engine, slater_policy(normal, engine, relaxation))
