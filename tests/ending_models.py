"""Random models for total rewards until the end, and the linear program of visits that judges them."""

import numpy as np
import scipy
from scipy.optimize import linprog

import painless
from painless import InputError
from tests.averages import random_transition


def random_problem(rng):
    """Draw a problem that is well posed: with ends, rows that end, loops that lose, masks, and limits of all kinds."""
    while True:
        try:
            return _drawn(rng)
        except InputError:  # loops without a bound, or no way to the end
            continue


def _drawn(rng):
    states, actions, count = int(rng.integers(2, 8)), int(rng.integers(1, 4)), int(rng.integers(0, 3))
    transition = random_transition(rng, states, actions)
    if rng.random() < 0.7:
        short = rng.random((states, actions)) < 0.5
        transition[short] *= rng.uniform(0.1, 0.95, int(short.sum()))[:, None]
    available = rng.random((states, actions)) < 0.8
    available[np.arange(states), rng.integers(actions, size=states)] = True
    utility = rng.normal(-0.5, 1.0, size=(1 + count, states, actions))
    losing = rng.random(1 + count) < 0.6
    utility[losing] = -np.abs(utility[losing])
    given = {
        "transition": scipy.sparse.csr_array(transition.reshape(-1, states))
        if rng.random() < 0.5
        else transition,
        "initial": rng.dirichlet(np.ones(states))
        if rng.random() < 0.5
        else np.eye(states)[rng.integers(states)],
        "discount": 1.0,
        "end": [int(rng.integers(states))] if rng.random() < 0.7 else None,
        "actions": available,
    }
    objective = {"reward": utility[0]} if rng.random() < 0.5 else {"cost": -utility[0]}
    free = painless.CMDP(**given, **objective)
    if not count:
        painless.solve(free)  # raises an error if it is not well posed
        return free
    start = painless.value(
        painless.solve(free),
        free._replace(
            constraint_reward=utility[1:], threshold=np.full(count, -np.inf), sense=(">=",) * count
        ),
    )
    limit = start.constraint_value + rng.choice([-0.5, -0.05, 0.2, 3.0], count)
    problem = painless.CMDP(**given, **objective, constraint_reward=utility[1:], threshold=limit)
    painless.solve(problem)
    return problem


class Visits:
    """The linear program over visits; the process rests at its end states alone."""

    def __init__(self, problem):
        self.problem = problem
        states, actions, _ = problem.shape
        kernel = problem.transition
        self.kernel = kernel.reshape(-1, states) if isinstance(kernel, np.ndarray) else kernel.toarray()
        self.end = np.zeros(states, dtype=bool) if problem.end is None else problem.end
        came = problem.initial > 0  # a loop where nothing comes to has no bound in the program
        for _ in range(states):
            taken = (problem.actions & (came & ~self.end)[:, None]).reshape(-1)
            came = came | (self.kernel[taken] > 0).any(0)
        self.going = np.flatnonzero(problem.actions & (came & ~self.end)[:, None])
        self.actions = actions

    def optimum(self):
        """Return the largest total of a feasible policy; None where there is none."""
        problem, states = self.problem, len(self.end)
        here = np.zeros((states, len(self.going)))
        here[self.going // self.actions, np.arange(len(self.going))] = 1
        balance = (here - self.kernel[self.going].T)[~self.end]
        utility = problem.utility.reshape(len(problem.utility), -1)[:, self.going]
        limited = np.isfinite(problem.threshold)
        if not len(self.going):  # it ends where it starts
            return 0.0 if (problem.threshold[limited] <= 0).all() else None
        result = linprog(
            -utility[0],
            A_ub=-utility[1:][limited],
            b_ub=-problem.threshold[limited],
            A_eq=balance,
            b_eq=problem.initial[~self.end],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert result.status in (0, 2), result.message
        return -result.fun if result.status == 0 else None

    def values(self, policy):
        """Return the totals of all utilities under a policy (S, A), after 2⁴⁰ steps."""
        policy = policy / policy.sum(1, keepdims=True)
        chain = np.einsum("sa,sat->st", policy, self.kernel.reshape(*policy.shape, -1))
        total = np.einsum("sa,jsa->sj", policy, self.problem.utility)
        for _ in range(40):
            total, chain = total + chain @ total, chain @ chain
        return total.T @ self.problem.initial
