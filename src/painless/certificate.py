"""The proof of the gap, and the policy that it is about.

For any λ ≥ 0 the dual value bounds every feasible policy, at the cost of one unconstrained MDP:

    d(λ) = max_π V_r + λ·(V_c − b) ≥ V_r(π*)

**Polishing**: among mixtures of the iterates, of the Slater policy and of the best responses that gave the
dual values, a linear program with K + 1 rows picks the one with the largest reward that meets the
constraints. The stationary policy of the mixed occupancy has exactly the mixed values. The program's own
multipliers are the most promising λ for the next dual value. Since its best response joins the mixture, each
round is a step of Dantzig and Wolfe's method, which ends at the optimum even where the iterates stall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.bellman import occupancy, occupancy_policy, policy_utility, policy_value
from painless.feasibility import SlaterPolicy
from painless.planners.master import Mixture, best_mixture
from painless.planners.policy_iteration import policy_iteration
from painless.problem import CMDP
from painless.units import TOLERANCE

MEMORY = 1 << 22  # doubles that the candidates may take
ROUNDING = 1e-12  # relative to 1/(1−γ); a smaller gap is rounding


@dataclass(frozen=True)
class Answer:
    """A policy, its values evaluated anew, and the best bound with the multipliers that prove it."""

    policy: Array  # (S, A)
    value: Array  # (J,)
    upper_bound: float
    multiplier: Array  # (K,)
    feasible: bool

    @property
    def gap(self) -> float:
        """How much better than this policy any feasible policy could be."""
        return max(self.upper_bound - float(self.value[0]), 0.0)


class Certifier:
    """Collects candidate policies and dual values; polishes and proves on request.

    Everything is in normalised units. Memory is bounded: when the candidates are too many, those closest to
    being of use under the latest multipliers stay, the newest first.
    """

    def __init__(self, problem: CMDP, slater: SlaterPolicy, prior: Array) -> None:
        states, actions, constraints = problem.shape
        self.problem, self.slater, self.prior = problem, slater, prior
        self.capacity = int(np.clip(MEMORY // (states * actions), 4 * (constraints + 2), 512))
        self.candidates: list[tuple[Array, Array]] = [(slater.value, slater.policy)]  # values, policy
        self.upper_bound = np.inf
        self.multiplier = np.zeros(constraints)
        self._response: NDArray[np.intp] | None = None

    def add(self, value: Array, policy: Array) -> None:
        """Offer a policy (S, A) with its values (J,) to the mixture."""
        self.candidates.append((value, policy))
        if len(self.candidates) > self.capacity:
            self._prune()

    def polish(self) -> Mixture:
        """Return the best feasible mixture of the candidates."""
        mixture = best_mixture(self._values(), self.problem.threshold)
        if mixture is None:  # the Slater policy alone is feasible, to rounding
            weights = np.eye(len(self.candidates))[0]
            return Mixture(weights, np.zeros(len(self.multiplier)), float(self.slater.value[0]))
        return mixture

    def bound(self, multiplier: Array) -> float:
        """Return d(λ), keep it if it is the least so far, and offer the best response to the mixture."""
        problem = self.problem
        utility = problem.reward + np.tensordot(multiplier, problem.constraint_reward, 1)
        plan = policy_iteration(problem, utility, self._response)
        self._response = plan.actions
        dual = plan.upper_bound - float(multiplier @ problem.threshold)
        if dual < self.upper_bound:
            self.upper_bound, self.multiplier = dual, multiplier
        policy = plan.policy(problem.shape[1])
        state_value = plan.resolvent.state_value(policy_utility(problem.utility, policy))
        self.add(state_value @ problem.initial, policy)
        return dual

    def prove(
        self, multipliers: Iterable[Array], target: Callable[[float], float], rounds: int
    ) -> tuple[Mixture, bool]:
        """Bound at `multipliers`, then polish and bound in turn until the gap is at most `target`.

        The target may depend on the bound. Return the mixture, and whether it is optimal to rounding, so that more rounds cannot help.
        """
        for multiplier in multipliers:
            self.bound(multiplier)
        rounding = ROUNDING / (1 - self.problem.discount)
        mixture = self.polish()
        for _ in range(rounds):
            if self.upper_bound - mixture.value <= target(self.upper_bound):
                break
            dual = self.bound(mixture.multiplier)
            if dual - mixture.value <= rounding * (1 + mixture.multiplier.sum()):
                return mixture, True
            mixture = self.polish()
        return mixture, False

    def answer(self, mixture: Mixture) -> Answer:
        """Return the stationary policy of a mixture of the candidates, evaluated anew."""
        used = np.flatnonzero(mixture.weights)
        if len(used) == 1:
            return self.judge(self.candidates[used[0]][1])
        parts = [mixture.weights[k] * occupancy(self.problem, self.candidates[k][1]) for k in used]
        return self.judge(occupancy_policy(np.sum(parts, 0), self.prior))

    def judge(self, policy: Array) -> Answer:
        """Evaluate a policy; mix in the Slater policy where it misses a constraint, until it does not."""
        for share in (0.0, 1.0, 2.0, 1e3, np.inf):
            answer = self.assess(self._with_slater(policy, share))
            if answer.feasible:
                break
        return answer

    def assess(self, policy: Array) -> Answer:
        """Evaluate a policy as it is."""
        value = policy_value(self.problem, policy)
        return Answer(policy, value, self.upper_bound, self.multiplier, self.is_feasible(value))

    def is_feasible(self, value: Array) -> bool:
        """Whether values (J,) meet every constraint, to the tolerance of the definition."""
        scale = np.maximum(np.abs(self.problem.threshold), 1 / (1 - self.problem.discount))
        return bool((value[1:] >= self.problem.threshold - TOLERANCE * scale).all())

    def _with_slater(self, policy: Array, share: float) -> Array:
        """Mix in the Slater policy by `share` times what linearity asks for."""
        if share == 0.0:
            return policy
        if share == np.inf:
            return self.slater.policy
        shortfall = self.problem.threshold - policy_value(self.problem, policy)[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(shortfall > 0, shortfall / (shortfall + self.slater.slack), 0.0)
        part = min(share * float(np.nan_to_num(needed, nan=1.0).max(initial=0.0)), 1.0)
        mixed = (1 - part) * occupancy(self.problem, policy) + part * self.slater.occupancy
        return occupancy_policy(mixed, self.prior)

    def _values(self) -> Array:
        return np.array([value for value, _ in self.candidates])

    def _prune(self) -> None:
        multiplier = self.polish().multiplier
        values = self._values()
        score = values[:, 0] + (values[:, 1:] - self.problem.threshold) @ multiplier
        score[0] = np.inf  # the Slater policy stays: with it a feasible mixture exists
        newest_first = np.arange(len(score))[::-1]
        kept = newest_first[np.argsort(-score[newest_first], kind="stable")[: self.capacity // 2]]
        self.candidates = [self.candidates[k] for k in sorted(kept)]
