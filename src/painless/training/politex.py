"""Algorithm 1 of the paper, Coin-Betting Politex, whole: from samples alone, in one call.

    1. a coreset C and its distribution ω                            (Algorithm 3)
    2. max_π V̂_c by the same coin-betting learners, and ζ̂, U = 2/(ζ̂(1−γ))
    3. for t = 0..T−1: m trajectories from every entry of C, eq. lspg, V̂_c(ρ);
       coin betting for the policy (eq. cb-primal) and for λ (eq. cb-dual)

ζ̂ is the lower end of a confidence interval from fresh episodes: V̂_c(π̃) − b itself, as printed, is larger than the truth where the features
flatter π̃, and U may then be below λ*. The weights θ̂ of every iteration are stored, and the policy at a state is computed from them
where the state is encountered, which is the same as updating it there in every iteration. With `CBP(alpha)` in place of
`CBP.theoretical()` it is Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from painless.bellman import action_value, policy_transition, policy_utility, policy_value, resolvent
from painless.common import arguments
from painless.common.arguments import share, whole
from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.evaluators.design_rollouts import (
    DesignRollouts,
    require_generative,
    state_coreset,
    states_met,
    table_of,
)
from painless.features import Coreset, FeatureMap, feature_matrix
from painless.loop.algorithm_case import INITIAL_MULTIPLIER
from painless.loop.algorithms import CBP, Algorithm, Situation, require_algorithm, require_single
from painless.loop.approximation import approximation_error
from painless.loop.framework import Position, Trace, take_step
from painless.planning.feasibility import multiplier_bound
from painless.policies import FeaturePolicy, MixturePolicy, start_policy
from painless.policies.table import restricted
from painless.problem import CMDP
from painless.simulation.scaled_simulator import ScaledSimulator
from painless.simulation.simulator import Simulator, States, TableSimulator, require_simulator
from painless.training.sampled_feasibility import SampledSlack, sampled_slack

EPISODES = 100  # of the uniform policy, whose states the coreset is chosen from
CANDIDATES = 1000  # states at most
TOLERANCE = 2**-0.5  # ε' of Algorithm 3


@dataclass(frozen=True, eq=False)
class Politex:
    """What Algorithm 1 found, in the user's units."""

    policy: MixturePolicy  # the paper's answer: the iterates, each with equal weight
    trace: Trace  # exact where the model is known, else estimates
    coreset: Coreset
    states: States  # of the coreset's rows k·A + a
    slater_gap: Array  # (K,) ζ̂, a lower bound on the slack of `slater_policy` with the stated confidence
    slater_policy: FeaturePolicy
    multiplier_bound: Array  # (K,) U
    steps: int  # of the simulator
    status: str

    @property
    def found(self) -> bool:
        """Whether the feasibility phase found a policy with slack, without which there are no iterates."""
        return bool((self.slater_gap > 0).all())


def coin_betting_politex(
    problem: CMDP | Simulator,
    algorithm: Algorithm | None = None,
    *,
    features: FeatureMap | None = None,
    rollouts: int = 50,
    iterations: int = 400,
    tolerance: float = TOLERANCE,
    feasibility_iterations: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> Politex:
    """Run Algorithm 1: coreset, ζ, rollouts from the coreset, least squares and coin betting, all from samples.

    Arguments:
        problem: a table, or a simulator with generative access, whose `step` accepts any state.
        algorithm: `CBP.theoretical()` by default, which is Algorithm 1; `CBP(alpha)` is Algorithm 2.
        features: φ(s, a); by default those that the simulator suggests.
        rollouts: m, the trajectories for each entry of the coreset and iteration.
        iterations: T.
        tolerance: ε' of the coreset.
        feasibility_iterations: the maximum number of iterations that look for ζ.
        confidence: the probability that ζ̂ is at most the true slack.
        seed: random seed.

    On a table the trace holds exact values. Without a model the coreset is chosen among states that random episodes meet. Ctrl-C
    returns what was done so far.

    >>> import painless
    >>> from painless.features import TileCoding
    >>> tiles = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
    >>> found = coin_betting_politex(painless.gridworld(), features=tiles, rollouts=5, iterations=3)
    >>> len(found.coreset.entries), len(found.trace)
    (56, 3)
    """
    simulator = TableSimulator(problem) if isinstance(problem, CMDP) else require_simulator(problem)
    require_generative(simulator)
    chosen = CBP.theoretical() if algorithm is None else algorithm
    require_single(require_algorithm(chosen))
    whole("iterations", iterations)
    whole("feasibility_iterations", feasibility_iterations)
    share("confidence", confidence)
    suggest = getattr(simulator, "features", None)
    mapped = features if features is not None else suggest() if callable(suggest) else None
    if mapped is None:
        raise InputError("this problem suggests no features; give features, such as a TileCoding")
    if mapped.actions != simulator.specification.actions:
        raise InputError(
            f"the features have {mapped.actions} actions and the problem {simulator.specification.actions}"
        )
    run = _Politex(simulator, chosen, mapped, rollouts, tolerance, arguments.seed(seed))
    with one_thread():
        return run.run(iterations, feasibility_iterations, confidence)


class _Politex:
    """One run of Algorithm 1."""

    def __init__(
        self,
        simulator: Simulator,
        algorithm: Algorithm,
        features: FeatureMap,
        rollouts: int,
        tolerance: float,
        seed: int,
    ) -> None:
        self.scaled, self.algorithm, self.features = ScaledSimulator(simulator), algorithm, features
        self.specification = simulator.specification
        self.rngs = [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(3)]
        self.table = table_of(simulator)
        self.states = states_met(self.scaled, EPISODES, CANDIDATES, self.rngs[0])
        available = None if self.table is None else self.table.actions
        self.coreset = state_coreset(features, self.states, tolerance, available)
        self.evaluator = DesignRollouts(self.scaled, features, self.states, self.coreset, rollouts)
        self.steps = 0

    def run(self, iterations: int, feasibility_iterations: int, confidence: float) -> Politex:
        """Find ζ, then iterate."""
        policies: list[FeaturePolicy] = []
        rows: list[tuple[Array, Array]] = []
        slack = self._slack(feasibility_iterations, confidence)
        status = "Completed."
        if not slack.found:
            why = "interrupted" if slack.interrupted else "no feasible policy found; loosen the limits"
            return self._result([slack.policy], rows, slack, f"Stopped: {why}.")
        learner, dual = self.algorithm.build(self._situation(slack.multiplier_bound, iterations))
        multiplier = np.full((1, len(slack.slack)), INITIAL_MULTIPLIER)
        position = Position(start_policy(learner, self.features), dual.init(multiplier))
        try:
            while len(rows) < iterations:
                step, position = take_step(
                    self.scaled.specification, self.evaluator, dual, position, [self.rngs[2]]
                )
                self.steps += step.evaluation.steps
                value = self._value(step.policy, step.evaluation.value[0])
                policies.append(step.policy)
                rows.append((value, step.weight[0, 1:]))
        except KeyboardInterrupt:
            status = f"Stopped: interrupted after {len(rows)} iterations."
        return self._result(policies[: len(rows)] or [slack.policy], rows, slack, status)

    def _slack(self, iterations: int, confidence: float) -> SampledSlack:
        """Return ζ̂ in normalised units; on a table, with what the time limit may leave out taken off."""
        if not len(self.specification.threshold):
            policy = start_policy(self.algorithm.build(self._situation(np.empty(0), 1))[0], self.features)
            return SampledSlack(np.empty(0), np.empty(0), policy, 0, 0)
        found = sampled_slack(
            self.scaled, self.features, self.evaluator, self.rngs[1], confidence, iterations
        )
        self.steps += found.steps
        if self.table is None:
            return found
        scaled = self.scaled.specification
        rest = scaled.discount ** (scaled.time_limit or 0) / (1 - scaled.discount)
        slack = found.slack + rest * np.minimum(scaled.low[1:], 0.0)
        bound = multiplier_bound(np.maximum(slack, 1e-300), 1 - scaled.discount)
        return SampledSlack(slack, bound, found.policy, found.iterations, found.steps, found.interrupted)

    def _situation(self, bound: Array, iterations: int) -> Situation:
        scaled = self.scaled.specification
        extent = np.minimum(scaled.low[1:], 0.0), np.maximum(scaled.high[1:], 0.0)
        return Situation(
            *(1 - scaled.discount, scaled.actions, scaled.threshold, bound, iterations),
            simulated=True,
            utility_range=extent,
        )

    def _value(self, policy: FeaturePolicy, estimate: Array) -> Array:
        """Return the values of an iterate in the user's terms: exact on a table, else the estimates."""
        if self.table is None:
            return estimate * self.specification.span * self.specification.sign
        return policy_value(self.table, table_policy(policy, self.table)) * self.specification.sign

    def _result(
        self, policies: list[FeaturePolicy], rows: list[Any], slack: SampledSlack, status: str
    ) -> Politex:
        span, count = self.specification.span, len(self.specification.threshold)
        values = np.array([value for value, _ in rows]).reshape(len(rows), 1 + count)
        weights = np.array([weight for _, weight in rows]).reshape(len(rows), count) * span[0] / span[1:]
        return Politex(
            policy=MixturePolicy.uniform(tuple(policies)),
            trace=Trace(values[:, 0], values[:, 1:], weights, exact=self.table is not None),
            coreset=self.coreset,
            states=self.states,
            slater_gap=slack.slack * span[1:],
            slater_policy=slack.policy,
            multiplier_bound=slack.multiplier_bound * span[0] / span[1:],
            steps=self.steps,
            status=status,
        )


def table_policy(policy: FeaturePolicy, table: CMDP) -> Array:
    """Return a policy over features as a table, (S, A), without the actions that states do not have."""
    return restricted(policy.at(np.arange(table.shape[0]))[0], table.actions)


def errors_afterwards(found: Politex, table: CMDP, features: FeatureMap) -> tuple[float, float]:
    """Return ε_b of a run on a table, and the largest |Q̂ − Q| that it had, over iterates and utilities, in units of their spans.

    The last iterate's Q̂ led to no policy, and is left out.
    """
    matrix = feature_matrix(features, table.shape[0])[table.actions.reshape(-1)]
    span = TableSimulator(table).specification.span
    bias = error = 0.0
    iterates: Any = found.policy.policies
    for policy, following in pairwise(iterates):
        probabilities = table_policy(policy, table)
        inverse = resolvent(policy_transition(table, probabilities), table.discount)
        value = inverse.state_value(policy_utility(table.utility, probabilities))
        exact = action_value(table, table.utility, value)[:, table.actions] / span[:, None]
        estimate = following.last.weights[0] @ matrix.T
        bias = max(bias, float(approximation_error(matrix, exact).max()))
        error = max(error, float(np.abs(estimate - exact).max()))
    return bias, error
