"""Public checks for people who write their own learner, dual, evaluator or problem.

Each check raises an AssertionError that says which promise is broken. The library's own pieces pass them in
the test suite.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.duals.base import Dual
from painless.evaluators.base import Evaluator
from painless.learners.base import Learner
from painless.planning.linear_program import LinearProgram
from painless.policies.learning_table import LearningTable
from painless.policies.table import dirichlet_policy
from painless.problem import CMDP, load, require_problem
from painless.solving.solve import solve

ROUNDS = 20


def check_learner(
    make: Callable[[], Learner[Any]], prior: Array, *, simplex: bool = False, seed: int = 0
) -> None:
    """Check that a learner is pure, starts at its prior, stays finite, and treats rows of a batch alike.

    `prior` is (B, …) with B ≥ 2. With `simplex`, decisions must be distributions that are zero where the prior is.

    >>> from painless.learners import CoinBetting
    >>> check_learner(CoinBetting, np.full((2, 3), 1 / 3), simplex=True)
    """
    rng = np.random.default_rng(seed)
    learner = make()
    state = learner.init(prior)
    assert np.array_equal(state.decision, prior), "the first decision is not the prior"
    alone = [make().init(row[None]) for row in prior]
    for round_ in range(ROUNDS):
        gain = rng.uniform(-1, 1, prior.shape)
        frozen = deepcopy(state)
        following = learner.update(gain, state)
        assert _same_state(frozen, state), "update changed its state"
        again = learner.update(gain, state)
        assert np.array_equal(following.decision, again.decision), "the same update gave two results"
        assert following.decision.shape == prior.shape, f"decision has shape {following.decision.shape}"
        assert np.isfinite(following.decision).all(), f"decision is not finite after {round_ + 1} gains"
        alone = [learner.update(g[None], one) for g, one in zip(gain, alone, strict=True)]
        rows = np.concatenate([one.decision for one in alone])
        assert np.array_equal(rows, following.decision), "a row of the batch differs from the run alone"
        if simplex:
            _check_simplex(following.decision, prior)
        state = following


def _same_state(one: Any, other: Any) -> bool:
    """Whether two states, of tuples, arrays and numbers, are equal; what is not a number equals itself.

    >>> _same_state((np.array([np.nan, 1.0]), 2), (np.array([np.nan, 1.0]), 2))
    True
    """
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(_same_state, one, other))
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        return False
    return bool(((first == second) | ((first != first) & (second != second))).all())


def check_dual(make: Callable[[], Dual[Any]], constraints: int = 2, *, seed: int = 0) -> None:
    """Check that a dual is pure, plays finite weights that are not negative, and treats rows of a batch alike.

    >>> from painless.duals import Switching
    >>> check_dual(Switching)
    """
    rng = np.random.default_rng(seed)
    dual, start = make(), np.ones((3, constraints))
    state = dual.init(start)
    alone = [make().init(row[None]) for row in start]
    for round_ in range(ROUNDS):
        shortfall = rng.uniform(-1, 1, start.shape)
        frozen, kept = deepcopy(state), shortfall.copy()
        weight, following = dual.play(shortfall, state)
        assert _same_state(frozen, state), "play changed its state"
        assert np.array_equal(kept, shortfall), "play changed the shortfalls"
        assert np.array_equal(weight, dual.play(shortfall, state)[0]), "the same play gave two results"
        assert weight.shape == (3, 1 + constraints), f"weights have shape {weight.shape}, not (B, J)"
        assert np.isfinite(weight).all(), f"a weight is not finite in round {round_ + 1}"
        assert (weight >= 0).all(), f"a weight is negative in round {round_ + 1}"
        played = [dual.play(g[None], one) for g, one in zip(shortfall, alone, strict=True)]
        rows = np.concatenate([one for one, _ in played])
        assert np.array_equal(rows, weight), "a row of the batch differs from the run alone"
        alone, state = [one for _, one in played], following


def _check_simplex(decision: Array, prior: Array) -> None:
    assert (decision >= 0).all(), "a probability is negative"
    assert np.allclose(decision.sum(-1), 1.0, atol=1e-12), "probabilities do not sum to 1"
    assert (decision[prior == 0] == 0).all(), "an action with prior 0 has a positive probability"


def check_evaluator(make: Callable[[CMDP], Evaluator[Any]], problem: CMDP, *, seed: int = 0) -> None:
    """Check an evaluator's shapes, that its numbers depend on its generators only, and its batches.

    >>> import painless
    >>> from painless.evaluators import ExactEvaluator
    >>> check_evaluator(ExactEvaluator, painless.gridworld())
    """
    states, actions, constraints = problem.shape
    rng = np.random.default_rng(seed)
    tables = np.array([dirichlet_policy(problem.actions, rng) for _ in range(3)])

    def evaluate(rows: list[int]) -> Any:
        rngs = [np.random.default_rng((seed, row)) for row in rows]
        return make(problem).evaluate(LearningTable.start(_Still(), tables[rows]), rngs)

    batch = evaluate([0, 1, 2])
    everywhere = np.arange(states)
    q = batch.q.at(everywhere)
    assert batch.value.shape == (3, 1 + constraints), f"value has shape {batch.value.shape}, not (B, J)"
    assert q.shape == (3, 1 + constraints, states, actions), f"q.at has shape {q.shape}, not (B, J, n, A)"
    assert np.isfinite(batch.value).all(), "a value is not finite"
    weight = np.eye(1 + constraints)[[0, 0, 0]]
    assert np.allclose(batch.q.combine(weight), q[:, 0]), "combine with all weight on the reward is not its Q"
    for row in range(3):
        alone = evaluate([row])
        assert np.array_equal(alone.value[0], batch.value[row]), f"run {row} differs from the run alone"
        assert np.array_equal(alone.q.at(everywhere)[0], q[row]), f"run {row} differs from the run alone"


class _Still:
    """A learner that never moves."""

    def init(self, prior: Array) -> Any:
        from painless.learners.projected_gradient import ProjectedGradientState

        return ProjectedGradientState(prior)

    def update(self, gain: Array, state: Any) -> Any:
        del gain
        return state


def check_problem(make: Callable[[], CMDP]) -> None:
    """Check that a problem is the same each time it is made, survives its file, and has one solution by two planners.

    These are the default of `solve` and the linear program. If no policy is feasible, both must say so.

    >>> import painless
    >>> check_problem(painless.gridworld)
    """
    if not callable(make):
        raise InputError(f"make is {make!r}; give a function that makes the problem")
    problem, again = require_problem(make()), require_problem(make())
    assert _same(problem, again), (
        "two calls gave two different problems; draw from a seed that is an argument"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        problem.save(path)
        assert _same(problem, load(path)), "the problem does not survive its file"
    plan, found = solve(problem, LinearProgram()), solve(problem)
    assert plan.feasible == found.feasible, "solve and the linear program disagree on feasibility"
    if plan.feasible:
        sign = -1 if problem.minimise else 1
        slack = 1e-6 * max(abs(plan.reward_value), 1e-9)
        assert sign * found.reward_value <= sign * plan.reward_value + slack, "solve beats the linear program"
        assert sign * found.upper_bound >= sign * plan.reward_value - slack, (
            "the bound of solve is below the optimum"
        )


def _same(one: CMDP, other: CMDP) -> bool:
    def plain(problem: CMDP) -> list[Any]:
        kernel = (
            problem.transition if isinstance(problem.transition, np.ndarray) else problem.transition.toarray()
        )
        arrays = (kernel, problem.utility, problem.threshold, problem.initial, problem.actions)
        return [*arrays, problem.discount, problem.sense, problem.minimise]

    return all(np.array_equal(a, b) for a, b in zip(plain(one), plain(other), strict=True))
