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
from dataclasses import dataclass, replace

import numpy as np

from painless.arrays import Array
from painless.bellman import occupancy_policy
from painless.feasibility import Feasibility, SlaterPolicy
from painless.judgement import Relaxation
from painless.planners.engine import UNIT_ROUNDOFF, Actions, Bracket, Engine, as_table, engine_of, occupancy
from painless.planners.master import Mixture, best_mixture
from painless.problem import CMDP

MEMORY = 1 << 22  # doubles that the candidates may take
MOST = 512  # candidates
ROUNDING = 1e-12  # relative to 1/(1−γ); a smaller gap is rounding
COARSE = 1e-2  # the gap that counts as open at first, relative to 1/(1−γ)
SHARE = 0.1  # how exact a swept best response is, relative to the open gap
FINEST = 1e-11  # of swept values, relative to 1/(1−γ)


@dataclass(frozen=True)
class Answer:
    """A policy, its values evaluated anew, and the best bound with the multipliers that prove it."""

    policy: Array  # (S, A)
    value: Array  # (J,)
    low: Array  # (J,) proved: the policy has at least these values
    upper_bound: float
    multiplier: Array  # (K,)
    feasible: bool

    @property
    def gap(self) -> float:
        """How much better than this policy any feasible policy could be."""
        return max(self.upper_bound - float(self.value[0]), 0.0)


def better(one: Answer, other: Answer) -> Answer:
    """Return the better of two answers: one that is feasible, then the one with the larger reward."""
    return max(one, other, key=lambda answer: (answer.feasible, answer.value[0]))


class Certifier:
    """Collects candidate policies and dual values; polishes and proves on request.

    Everything is in normalised units. Memory is bounded: when the candidates are too many, those closest to
    being of use under the latest multipliers stay, the newest first. Where the engine sweeps, best responses are kept as
    actions, and priced as exactly as the open gap asks for.

    Arguments:
        engine: solves the problem; by default that of its kind and size.
        precision: of the values of swept best responses, so fine that it does not count beside the gap to prove.
        relaxation: what counts as feasible; by default in the units of the problem.
    """

    def __init__(
        self,
        problem: CMDP,
        slater: SlaterPolicy,
        prior: Array,
        engine: Engine | None = None,
        precision: float = 0.0,
        relaxation: Relaxation | None = None,
    ) -> None:
        states, actions, constraints = problem.shape
        self.problem, self.slater, self.prior = problem, slater, prior
        self.relaxation = relaxation or Relaxation.of(problem)
        self.engine = engine or engine_of(problem)
        self.threshold = self._attainable()
        unit = 1 / (1 - problem.discount)
        self.precision = precision
        self.capacity = int(np.clip(MEMORY // (states * actions), 2 * (constraints + 2), MOST))  # tables
        self.candidates: list[tuple[Array, Array | Actions]] = [
            (slater.value, slater.policy)
        ]  # values, policy
        self.proved = [slater.low]  # values that some policies have at least
        self.upper_bound = float(problem.reward.max(where=problem.actions, initial=-np.inf)) * unit
        self.multiplier = np.zeros(constraints)
        self.response: Actions | None = None  # to the multipliers that prove the bound
        self._open = COARSE * unit  # the gap that is to be closed
        self._last: Actions | None = None
        self.rounding = 0.0  # of the last bound

    def add(self, value: Array, policy: Array | Actions) -> None:
        """Offer a policy, (S, A) or actions (S,), with its values (J,) to the mixture."""
        self.candidates.append((value, policy))
        taken = sum(policy.nbytes for _, policy in self.candidates)
        if taken > self.capacity * self.prior.nbytes or len(self.candidates) > MOST:
            self._prune()

    def polish(self) -> Mixture:
        """Return the best feasible mixture of the candidates."""
        mixture = best_mixture(self.values, self.threshold)
        if mixture is None:  # the Slater policy alone is feasible, to rounding
            weights = np.eye(len(self.candidates))[0]
            return Mixture(weights, np.zeros(len(self.multiplier)), float(self.slater.value[0]))
        return mixture

    def bound(self, multiplier: Array, tolerance: float | None = None) -> float:
        """Return d(λ), keep it if it is the least so far, and offer the best response to the mixture.

        A swept d(λ) is larger by at most `tolerance`, or as much as the open gap allows.
        """
        wanted = SHARE * self._open if tolerance is None else tolerance
        weight = np.append(1.0, multiplier)
        precision = max(self.precision, FINEST / (1 - self.problem.discount))
        response = self.engine.best(weight, max(wanted, precision), precision, self._last)
        self._last, self.rounding = response.actions, 2 * response.rounding
        threshold = self.problem.threshold
        rounding = (len(threshold) + 4) * UNIT_ROUNDOFF * float(multiplier @ np.abs(threshold))
        dual = response.upper_bound - float(multiplier @ threshold) + rounding
        if dual < self.upper_bound or self.response is None:
            self.response = response.actions
        if dual < self.upper_bound:
            self.upper_bound, self.multiplier = dual, multiplier
        self.add(response.middle, self.engine.stored(response.actions))
        self.proved.append(response.value)
        return dual

    def prove(
        self, multipliers: Iterable[Array], target: Callable[[float], float], rounds: int
    ) -> tuple[Mixture, bool]:
        """Bound at `multipliers`, then polish and bound in turn until the gap is at most `target`.

        The target may depend on the bound. Return the mixture, and whether it is optimal to rounding, so that more rounds cannot help.
        """
        for multiplier in multipliers:
            self.bound(multiplier)
        least = ROUNDING / (1 - self.problem.discount)
        mixture = self.polish()
        for _ in range(rounds):
            self._open = self.upper_bound - mixture.value
            if self._open <= target(self.upper_bound):
                break
            dual = self.bound(mixture.multiplier)
            if dual - mixture.value <= least * (1 + mixture.multiplier.sum()) + self.rounding:
                return mixture, True
            mixture = self.polish()
        return mixture, False

    def answer(self, mixture: Mixture) -> Answer:
        """Return the stationary policy of a mixture of the candidates, evaluated anew."""
        used = np.flatnonzero(mixture.weights)
        if len(used) == 1:
            return self.judge(as_table(self.candidates[used[0]][1], self.problem.shape[1]))
        parts = [mixture.weights[k] * occupancy(self.engine, self.candidates[k][1]) for k in used]
        return self.judge(occupancy_policy(np.sum(parts, 0), self.prior))

    def judge(self, policy: Array) -> Answer:
        """Evaluate a policy; mix in the Slater policy where it misses a constraint, until it does not.

        Where there is a Slater point the answer provably meets every constraint.
        """
        strictly = bool((self.slater.proved_slack > 0).all())
        answer = self.assess(policy)
        for share in (
            1.0,
            2.0,
            1e3,
            np.inf,
        ):  # of what linearity asks for; after the first what is left is rounding
            if self._meets(answer.low) if strictly else answer.feasible:
                break
            answer = self.assess(self._with_slater(answer, share))
        return answer

    def assess(self, policy: Array) -> Answer:
        """Evaluate a policy as it is."""
        return self._assessed(policy, self.engine.values(policy))

    def bounded(self, answer: Answer) -> Answer:
        """Return an answer with the bound that is the best by now."""
        return replace(answer, upper_bound=self.upper_bound, multiplier=self.multiplier)

    def known(self) -> Answer:
        """Return the best of the candidates by what is known of them, at no cost."""
        low = self.values - self.engine.rounding
        met = (low[:, 1:] >= self.threshold).all(1)
        best = int(np.where(met, low[:, 0], -np.inf).argmax()) if met.any() else 0
        policy = as_table(self.candidates[best][1], self.problem.shape[1])
        return self._assessed(
            policy, Bracket(low[best], self.values[best] + self.engine.rounding, self.values[best])
        )

    def _assessed(self, policy: Array, value: Bracket) -> Answer:
        feasible = self.relaxation.allows(policy, value.low)
        return Answer(policy, value.guess, value.low, self.upper_bound, self.multiplier, feasible)

    def _attainable(self) -> Array:
        """Return the thresholds that mixtures are to reach, (K,): lower ones where no policy has slack, by what still counts as met."""
        wanted = self.problem.threshold
        if self.slater.feasibility is Feasibility.SLACK:
            return wanted
        return np.minimum(self.slater.low[1:], wanted - 0.9 * self.relaxation.sure)

    def _meets(self, low: Array) -> bool:
        return bool((low[1:] >= self.problem.threshold).all())

    def _with_slater(self, answer: Answer, share: float) -> Array:
        """Mix in the Slater policy by `share` times what linearity asks for."""
        if share == np.inf:
            return self.slater.policy
        shortfall = self.problem.threshold - answer.low[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(shortfall > 0, shortfall / (shortfall + self.slater.proved_slack), 0.0)
        part = min(share * float(np.nan_to_num(needed, nan=1.0).max(initial=0.0)), 1.0)
        safe = (
            self.slater.occupancy
            if self.slater.occupancy.size
            else occupancy(self.engine, self.slater.policy)
        )
        mixed = (1 - part) * occupancy(self.engine, answer.policy) + part * safe
        return occupancy_policy(mixed, self.prior)

    @property
    def values(self) -> Array:
        """The values of all candidates, (n, J)."""
        return np.array([value for value, _ in self.candidates])

    def _prune(self) -> None:
        multiplier = self.polish().multiplier
        values = self.values
        score = values[:, 0] + (values[:, 1:] - self.problem.threshold) @ multiplier
        score[0] = np.inf  # the Slater policy stays: with it a feasible mixture exists
        newest_first = np.arange(len(score))[::-1]
        best_first = newest_first[np.argsort(-score[newest_first], kind="stable")]
        taken = np.cumsum([self.candidates[k][1].nbytes for k in best_first])
        kept = best_first[taken <= self.capacity // 2 * self.prior.nbytes][: MOST // 2]
        self.candidates = [self.candidates[k] for k in sorted(kept)]
