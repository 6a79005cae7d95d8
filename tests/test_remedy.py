"""What is advised for infeasible problems works: each number is tried by solving the loosened problem."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import CMDP, ColumnGeneration, LinearProgram
from painless.solving.solution import Kind

from .problems import garnets


@settings(max_examples=60)
@given(
    garnets(constraints=(1, 3)),
    st.floats(0.01, 3.0),
    st.sampled_from([None, LinearProgram(), ColumnGeneration()]),
)
def test_every_number_that_is_advised_is_enough(problem, far, algorithm):
    spans = np.array([np.ptp(c[problem.actions]) for c in problem.constraint_reward])
    beyond = problem.limit + problem.sign[1:] * far * spans / (1 - problem.discount)
    tight = problem.with_limits(beyond)
    solution = painless.solve(tight, algorithm)
    if solution.status.kind is not Kind.INFEASIBLE:
        return
    for index, limit in enumerate(solution.remedy):
        if np.isfinite(limit):
            loosened = tight.limit.copy()
            loosened[index] = limit
            assert painless.solve(tight.with_limits(loosened)).feasible
            assert index in solution.infeasibility.conflict
    loosened = [
        (value if slack < 0 else limit)
        for value, slack, limit in zip(
            solution.constraint_value, solution.infeasibility.joint_slack, tight.limit, strict=True
        )
    ]
    assert painless.solve(tight.with_limits(loosened)).feasible


def test_the_last_number_is_the_remedy():
    solution = painless.solve(painless.gridworld(threshold=2.7))
    numbers = re.findall(r"\d+\.\d+", str(solution.status))
    assert float(numbers[-1]) == solution.remedy[0]
    assert painless.solve(painless.gridworld(threshold=solution.remedy[0])).feasible


def test_constraints_that_nothing_alone_mends():
    """Two limits out of reach each on its own: no single one of them suffices."""
    problem = CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[[1.0, 0.0]], [[0.0, 1.0]]],
        threshold=[3.0, 3.0],
    )
    solution = painless.solve(problem)
    assert np.isnan(solution.remedy).all()
    assert "alone is not enough" in str(solution.status)
    assert "together constraint 1 to 1 and constraint 2 to 1" in str(solution.status)


def test_a_constant_constraint_that_is_missed():
    problem = CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[[1.0, 1.0]]],
        threshold=[2.5],
    )
    solution = painless.solve(problem)
    assert solution.status.kind is Kind.INFEASIBLE
    assert solution.remedy.tolist() == [2.0]
    assert solution.violation == pytest.approx([0.5])


@pytest.mark.parametrize("second", [1.98, 3.6e-9])
def test_beside_an_extreme_limit_the_advice_is_that_of_the_presolved_problem(second):
    """The third limit leaves one action, whose second value is 0; advice of 3.6e-9 was no help."""
    problem = CMDP(
        np.ones((1, 3, 1)),
        [[2.0, 1.0, 2.0]],
        initial=[1.0],
        discount=0.0,
        constraint_reward=[[[1.0, 1.0, 2.0]], [[1.0, 2.0, 0.0]], [[0.0, 1.0, 2.0]]],
        threshold=[1.78, second, 2.0],
    )
    solution = painless.solve(problem)
    assert solution.infeasibility.conflict == (1, 2)
    assert solution.remedy[1] == 0
    assert painless.solve(problem.with_limits([1.78, 0.0, 2.0])).feasible
    if np.isfinite(solution.remedy[2]):
        assert painless.solve(problem.with_limits([1.78, second, solution.remedy[2]])).feasible


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_the_remedy_of_a_budget_below_nothing_is_none_at_all(discount):
    paths = painless.CMDP(
        transition=[[[0, 0.8, 0.2], [0, 1.0, 0]], [[0, 1.0, 0]] * 2, [[0, 0, 1.0]] * 2],
        cost=[[1.0, 3.0], [0.0, 0.0], [0.0, 0.0]],
        initial=[1.0, 0, 0],
        discount=discount,
        constraint_cost=painless.reach([2]),
        budget=-0.05,
    )
    found = painless.solve(paths)
    assert found.remedy == 0
    assert "Set its limit to 0 or looser" in found.status.sentence
    assert painless.solve(paths.with_limits([0.0])).feasible
