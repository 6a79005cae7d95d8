"""Feasibility: the Slater policy, the joint slack, the multiplier bound, and infeasibility explained.

The Slater policy maximises min_i (V_{c_i} − b_i)/span_i, one policy for all constraints at once. It is
the solution of a matrix game between policies and weights of the constraints: the best response to the
weights is one unconstrained MDP, the best mixture a tiny linear program. The two values close in on the
slack. With s_i its slacks, Σ λ*_i s_i ≤ V_r(π*) − V_r(π_Slater), so that in normalised units

    U_i = 2/((1−γ) s_i)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from painless.arrays import Array
from painless.bellman import occupancy_policy, occupancy_value
from painless.planners.master import Mixture, largest_slack
from painless.planners.policy_iteration import policy_iteration
from painless.policy import uniform_policy
from painless.problem import CMDP
from painless.units import TOLERANCE

ROUNDS = 1000  # of the game; a handful is usual


class Feasibility(Enum):
    """Whether the constraints can be met together."""

    SLACK = "some policy exceeds every threshold"
    TIGHT = "the constraints can be met, but with nothing to spare"
    NONE = "no policy meets all constraints"


@dataclass(frozen=True)
class SlaterPolicy:
    """The policy with the largest smallest slack, of a problem in normalised units."""

    policy: Array  # (S, A)
    occupancy: Array  # (S, A)
    value: Array  # (J,)
    slack: Array  # (K,) V_c − b of this policy
    weight: Array  # (K,) of the constraints; no policy has a larger slack under them, which proves this one
    feasibility: Feasibility
    evaluations: int = 0  # of policies that the search took


@dataclass
class _Columns:
    """The policies found so far, as values and occupancies."""

    value: list[Array] = field(default_factory=list)
    occupancy: list[Array] = field(default_factory=list)
    evaluations: int = 0


def slater_policy(problem: CMDP) -> SlaterPolicy:
    """Return the policy with the largest smallest slack; `problem` is in normalised units."""
    count = problem.shape[2]
    scale = 1 / (1 - problem.discount)
    columns = _Columns()
    mixture = Mixture(np.ones(1), np.full(count, 1 / max(count, 1)), -np.inf)
    least, proof = np.inf, mixture.multiplier  # the best bound on the slack, and the weights that prove it
    for _ in range(ROUNDS):
        weight = mixture.multiplier
        upper = _respond(problem, weight, columns) - float(weight @ problem.threshold)
        if upper < least:
            least, proof = upper, weight
        mixture = largest_slack(np.array(columns.value)[:, 1:], problem.threshold) if count else mixture
        if least - mixture.value <= 0.1 * TOLERANCE * scale or count <= 1:
            break
    occupancy = np.tensordot(mixture.weights, np.array(columns.occupancy), 1)
    policy = occupancy_policy(occupancy, uniform_policy(problem.actions))
    value = occupancy_value(problem, occupancy)
    slack = value[1:] - problem.threshold
    return SlaterPolicy(policy, occupancy, value, slack, proof, judge(slack, scale), columns.evaluations)


def _respond(problem: CMDP, weight: Array, columns: _Columns) -> float:
    """Add the best response to the constraints' weights; return the largest weighted value of any policy."""
    utility = np.tensordot(weight, problem.constraint_reward, 1) if len(weight) else problem.reward
    plan = policy_iteration(problem, utility)
    occupancy = plan.resolvent.state_occupancy(problem.initial)[:, None] * plan.policy(problem.shape[1])
    columns.evaluations += plan.evaluations
    columns.occupancy.append(occupancy)
    columns.value.append(occupancy_value(problem, occupancy))
    return plan.upper_bound


def judge(slack: Array, scale: float) -> Feasibility:
    """Say what slacks V_c − b (K,) mean, to the tolerance; `scale` is 1/(1−γ)."""
    smallest = slack.min(initial=np.inf)
    if smallest > TOLERANCE * scale:
        return Feasibility.SLACK
    return Feasibility.TIGHT if smallest >= -TOLERANCE * scale else Feasibility.NONE


def multiplier_bound(slack: Array, discount: float) -> Array:
    """U_i = 2/((1−γ) s_i) in normalised units, (K,): twice the largest that λ*_i can be (paper, Lemma 1)."""
    return 2 / ((1 - discount) * slack)


def attainable_slack(problem: CMDP) -> Array:
    """Return the largest slack V_c − b of each constraint taken on its own, (K,)."""
    plans = (policy_iteration(problem, utility) for utility in problem.constraint_reward)
    return np.array([plan.value for plan in plans]) - problem.threshold


def conflict(problem: CMDP) -> list[int]:
    """Return constraints that cannot be met together, though any smaller choice of them can.

    `problem` is infeasible and in normalised units. Each constraint in turn is left out, and stays out
    where the rest is still infeasible.
    """
    members = list(range(problem.shape[2]))
    for index in list(members):
        rest = [i for i in members if i != index]
        smaller = problem.with_constraints(
            problem.reward, problem.constraint_reward[rest], problem.threshold[rest]
        )
        if slater_policy(smaller).feasibility is Feasibility.NONE:
            members = rest
    return members
