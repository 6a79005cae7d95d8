"""Random models for totals until an end, and an independent linear program over visits that judges the answers.

    max Σ d·r    subject to    Σ_a d(s, a) + stop(s) − Σ P d = ρ,    Σ d·c ≥ b,    d, stop ≥ 0

`stop` is 0 but where one may stay for ever without any utility, and at the end.
"""

import argparse
import sys
from collections import Counter
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import scipy
from scipy.optimize import linprog

import painless
from painless import CMDP, InputError
from painless.engines import iterated, reduction, total, total_iteration, transient
from painless.solving.solution import Kind


class Drawn:
    """A random problem, with masks, ends, rows that end, rests, and loops that pay or cost."""

    def __init__(self, rng):
        states, actions, count = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(0, 3))
        self.kernel = np.zeros((states, actions, states))
        for s, a in np.ndindex(states, actions):
            number = int(rng.integers(1, min(4, states + 1)))
            self.kernel[s, a, rng.choice(states, number, replace=False)] = rng.dirichlet(np.ones(number))
            if rng.random() < 0.3:
                self.kernel[s, a] *= rng.choice([0.0, 0.5, 0.9])
        self.reward, self.constraint = (
            rng.normal(size=(states, actions)),
            rng.normal(size=(count, states, actions)),
        )
        kind = rng.choice(["any", "shortest path", "paying loops", "whole numbers"])
        if kind == "shortest path":
            self.reward = -np.abs(self.reward)
        elif kind == "paying loops" and count:
            self.reward = np.abs(self.reward) * (rng.random((states, actions)) < 0.5)
            self.constraint[0] = -np.abs(self.constraint[0])
        elif kind == "whole numbers":
            self.reward = np.round(-3 * rng.random((states, actions))) / 2
            self.constraint = -np.round(2 * rng.random((count, states, actions)))
        free = rng.random((states, actions)) < 0.3
        self.reward[free], self.constraint[:, free] = 0.0, 0.0
        self.mask = rng.random((states, actions)) < 0.8
        self.mask[np.arange(states), rng.integers(actions, size=states)] = True
        self.end = rng.random(states) < 0.2
        self.initial = rng.dirichlet(np.ones(states)) * (rng.random(states) < 0.6)
        if not self.initial.any():
            self.initial[0] = 1.0
        self.initial /= self.initial.sum()
        self.threshold = rng.normal(size=count) - 0.5
        self.sparse, self.costs = rng.random() < 0.5, rng.random() < 0.3

    def problem(self):
        """Return the problem, with costs and budgets or rewards and thresholds."""
        kernel = self.kernel
        if self.sparse:
            kernel = scipy.sparse.csr_array(kernel.reshape(-1, kernel.shape[-1]))
        terms = {"initial": self.initial, "discount": 1.0, "end": self.end, "actions": self.mask}
        limited = len(self.threshold) > 0
        if self.costs:
            if limited:
                terms |= {"constraint_cost": -self.constraint, "budget": -self.threshold}
            return CMDP(kernel, cost=-self.reward, **terms)
        if limited:
            terms |= {"constraint_reward": self.constraint, "threshold": self.threshold}
        return CMDP(kernel, self.reward, **terms)

    def reached(self):
        """Return the states that some policy comes to."""
        seen = {int(s) for s in np.flatnonzero(self.initial > 0)}
        todo = sorted(seen)
        while todo:
            s = todo.pop()
            if not self.end[s]:
                after = np.flatnonzero((self.kernel[s, self.mask[s]] > 0).any(0))
                todo += [int(t) for t in after if int(t) not in seen]
                seen |= {int(t) for t in after}
        return seen

    def rests(self):
        """Return where one may stay for ever without any utility, by removing states that may have to leave."""
        free = (
            self.mask & (self.reward == 0) & (self.constraint == 0).all(0) & (self.kernel.sum(-1) > 1 - 1e-9)
        )
        rests = np.ones(len(self.end), dtype=bool)
        while True:
            stays = free & ~(self.kernel[:, :, ~rests] > 0).any(-1)
            kept = (self.end | stays.any(1)) & rests
            if (kept == rests).all():
                return rests
            rests = kept

    def stopping(self, rests):
        """Return the pairs (S, A) after which one can still stop almost surely: no other may be visited at all.

        Without this the program would count rounds in a loop that nobody leaves, and that nobody who stops comes to.
        """
        kept = self.mask.copy()
        while True:
            leaves = self.kernel.sum(-1) < 1 - 1e-9
            stops = self.end | rests | (kept & leaves).any(1)
            while True:
                more = stops | (kept & (self.kernel[:, :, stops] > 0).any(-1)).any(1)
                if (more == stops).all():
                    break
                stops = more
            left = kept & ~(self.kernel[:, :, ~stops] > 0).any(-1) & stops[:, None]
            if (left == kept).all():
                return kept
            kept = left

    def program(self):
        """Solve the linear program; return SciPy's result."""
        states, reached, rests = len(self.end), self.reached(), self.rests()
        stopping = self.stopping(rests)
        pairs = [(s, a) for s, a in np.argwhere(stopping) if not self.end[s] and s in reached]
        flow = np.zeros((states, len(pairs) + states))
        for column, (s, a) in enumerate(pairs):
            flow[s, column] += 1
            flow[:, column] -= self.kernel[s, a]
        flow[np.arange(states), len(pairs) + np.arange(states)] = 1.0
        bounds = [(0, None)] * len(pairs) + [(0, None if rest else 0) for rest in rests]
        objective = np.array([*(self.reward[s, a] for s, a in pairs), *np.zeros(states)])
        held = np.array([[*(table[s, a] for s, a in pairs), *np.zeros(states)] for table in self.constraint])
        limits = {"A_ub": -held, "b_ub": -self.threshold} if len(held) else {}
        return linprog(-objective, A_eq=flow, b_eq=self.initial, bounds=bounds, **limits)


@contextmanager
def all_swept():
    """Sweep chains of any size, as large ones are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (iterated, total):
            patch.setattr(module, "FACTORISED", 0)
        for module in (reduction, total_iteration):
            patch.setattr(module, "DENSE_NODES", 0)
        patch.setattr(iterated, "QUICK_STATES", 0)
        patch.setattr(transient, "DENSE", 0)
        yield


def check(seed, tolerance=1e-6):
    """Judge the answer to one random problem; return what it was."""
    drawn = Drawn(np.random.default_rng(seed))
    problem, truth = drawn.problem(), drawn.program()
    sign = problem.sign[0]
    refused = ""
    try:
        found = painless.solve(problem, tolerance=tolerance)
    except InputError as error:
        refused = str(error)
    if refused:
        assert truth.status != 0 or "cannot be judged" in refused, (seed, refused, truth)
        return "refused"
    if truth.status == 2:
        assert found.status.kind is Kind.INFEASIBLE, (seed, found.status)
        return "infeasible"
    assert truth.status == 0, (seed, found.status, truth.message)
    best = -truth.fun
    size = max(abs(best), 1e-3)
    assert found.status.kind is not Kind.INFEASIBLE, (seed, found.status)
    assert sign * found.upper_bound >= best - 1e-7 * size, seed
    if "no table of probabilities does" in str(found.status):
        return "memory"
    assert found.feasible, (seed, found.status)
    again = painless.value(found, problem)
    assert again.feasible, seed
    assert again.reward_value == pytest.approx(found.reward_value, rel=1e-7, abs=1e-9)
    assert sign * found.reward_value <= best + 1e-6 * size, seed
    if found.status.kind is Kind.SOLVED:
        assert sign * found.reward_value >= best - 2 * tolerance * size, seed
        if problem.shape[2] == 1:  # the price of the linear program lies in the range
            price = -truth.ineqlin.marginals[0]
            low, high = found.price_range[0]
            assert low - 1e-6 * (1 + price) <= price <= high + 1e-6 * (1 + price), seed
        return "solved"
    return "a gap"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--swept", action="store_true", help="sweep models of any size")
    given = parser.parse_args()
    with all_swept() if given.swept else nullcontext():
        found = Counter(check(given.seed + k) for k in range(given.count))
    print(dict(found))
    return 0 if found["a gap"] <= 0.02 * given.count else 1


if __name__ == "__main__":
    sys.exit(main())
