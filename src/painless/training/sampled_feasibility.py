"""Feasibility and the multiplier bound without a model, by the same coin-betting learners.

The policy maximises Σ_i w_i·V_{c_i} while the weights w look for the constraint that is missed most: together
they solve max_π min_i (V_{c_i} − b_i). Of the latest iterates the one with the largest smallest slack is tried
on fresh episodes. Any slack that is proved bounds the multipliers,

    U_i = 2/((1−γ) s_i)     in normalised units,

with s_i the lower end of a confidence interval: to over-estimate the slack would cut off λ*. Without a model
the answer can only be "no feasible policy found", never "infeasible".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.duals.maximin import Maximin
from painless.evaluators.base import Evaluator
from painless.features.base import FeatureMap
from painless.learners.coin_betting import CoinBetting
from painless.loop.framework import Position, take_step
from painless.planning.feasibility import multiplier_bound
from painless.policies import FeaturePolicy, start_policy
from painless.simulation.simulator import Simulator
from painless.training.evaluate import evaluate

WINDOW = 10  # iterations over which progress is judged
EPISODES = 400  # to confirm a candidate


@dataclass(frozen=True, eq=False)
class SampledSlack:
    """What the feasibility phase found."""

    slack: Array  # (K,) at least this much, with the stated confidence, in normalised units
    multiplier_bound: Array  # (K,) U; infinite where no slack was proved
    policy: FeaturePolicy
    iterations: int
    steps: int  # of the simulator, in all
    interrupted: bool = False  # by Ctrl-C, before it was known

    @property
    def found(self) -> bool:
        """Whether every constraint has a slack that is proved to be positive."""
        return bool((self.slack > 0).all())


def sampled_slack(
    simulator: Simulator,
    features: FeatureMap,
    evaluator: Evaluator[FeaturePolicy],
    rng: np.random.Generator,
    confidence: float = 0.95,
    iterations: int = 200,
) -> SampledSlack:
    """Look for a policy that meets all constraints strictly, in at most `iterations` iterations; units are normalised.

    On Ctrl-C the latest policy comes back, with no slack proved.
    """
    specification = simulator.specification
    count = len(specification.threshold)
    horizon = 1 / (1 - specification.discount)
    dual = Maximin(CoinBetting(normaliser=2 * horizon))
    policy = start_policy(CoinBetting(normaliser=horizon), features)
    position = Position(policy, dual.init(np.ones((1, max(count, 1)))))
    slacks: list[float] = []
    latest: list[FeaturePolicy] = []
    steps = 0
    best: SampledSlack | None = None
    try:
        while len(slacks) < iterations:
            step, position = take_step(specification, evaluator, dual, position, [rng])
            slacks.append(float((step.evaluation.value[0, 1:] - specification.threshold).min(initial=np.inf)))
            latest = [*latest[-WINDOW + 1 :], step.policy]
            steps += step.evaluation.steps
            if len(slacks) < iterations and not _settled(slacks):
                continue
            candidate = latest[int(np.argmax(slacks[-WINDOW:]))]
            seed = int(rng.integers(2**63))
            estimate = evaluate(candidate, simulator, episodes=EPISODES, confidence=confidence, seed=seed)
            steps += estimate.steps
            slack = estimate.slack
            bound = np.where(
                slack > 0, multiplier_bound(np.maximum(slack, 1e-300), 1 - specification.discount), np.inf
            )
            best = SampledSlack(slack, bound, candidate, len(slacks), steps)
            if best.found:
                break
    except KeyboardInterrupt:
        nothing = np.full(count, -np.inf)
        return SampledSlack(nothing, nothing * -1, latest[-1] if latest else policy, len(slacks), steps, True)
    assert best is not None
    return best


def _settled(slacks: list[float]) -> bool:
    """Whether the latest window of iterations is complete and no better than the one before it."""
    if len(slacks) % WINDOW or len(slacks) < 2 * WINDOW:
        return False
    latest, before = np.mean(slacks[-WINDOW:]), np.mean(slacks[-2 * WINDOW : -WINDOW])
    return bool(latest > 0 and latest - before <= 0.1 * abs(before))
