"""Garnets: thresholds placed by sweeps are those of policy iteration, and nothing depends on how draws are grouped."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless.problems.binding import PRECISION, room
from painless.solving.solution import Kind

module = sys.modules["painless.problems.garnet"]


@pytest.mark.parametrize("constraints", [1, 2, 4])
def test_swept_thresholds_are_the_planned_ones(constraints):
    problem = painless.garnet(40, 3, 4, constraints, seed=2, dense=False)
    planned, swept = (room(problem, exact_states=size) for size in (40, 39))
    assert_array_equal(planned[0] + 0.5 * planned[1], problem.limit)
    assert_allclose(swept, planned, atol=20 * PRECISION / (1 - 0.9))
    assert (swept[1] != planned[1]).any()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("constraints", [1, 3])
def test_the_tightest_swept_thresholds_can_be_met(constraints, seed):
    problem = painless.garnet(30, 3, 4, constraints, seed=seed, tightness=1.0)
    greedy, improvement = room(problem, exact_states=0)
    solution = painless.solve(problem.with_limits(greedy + improvement), painless.LinearProgram())
    assert solution.status.kind is Kind.SOLVED
    assert (solution.multiplier > 0).any()


def test_more_than_2000_states_are_swept(monkeypatch):
    monkeypatch.setattr("painless.problems.binding.policy_iteration", lambda *_: pytest.fail("factorised"))
    assert painless.garnet(2001, 2, 3, seed=1, dense=False).shape == (2001, 2, 1)


@pytest.mark.parametrize("ranked", [module.RANKED, 0])
def test_draws_do_not_depend_on_their_grouping(monkeypatch, ranked):
    monkeypatch.setattr(module, "RANKED", ranked)
    whole = painless.garnet(20, 3, 6, 0, seed=4)
    monkeypatch.setattr(module, "DRAWN", 13)
    assert_array_equal(painless.garnet(20, 3, 6, 0, seed=4).transition, whole.transition)
    assert ((whole.transition > 0).sum(-1) == 6).all()


def test_indices_take_four_bytes():
    problem = painless.garnet(50, dense=False)
    assert problem.transition.indices.dtype == problem.transition.indptr.dtype == np.int32


@pytest.mark.parametrize(("states", "sparse"), [(500, False), (501, True)])
def test_large_models_are_sparse_unless_asked_for(states, sparse):
    assert painless.garnet(states, 2, 3, constraints=0).is_sparse == sparse
    assert painless.garnet(states, 2, 3, constraints=0, dense=sparse).is_sparse != sparse
