"""Variants of one model, each from where the last one ended: the same claims as `solve`, at less cost."""

import numpy as np
import pytest

import painless
from painless.backends import Local
from painless.planning import ColumnGeneration
from painless.planning.case import Case
from painless.planning.planner import Ending, Planned, Task
from painless.problem.units import normalise
from painless.solving import many


@pytest.fixture(scope="module")
def garnet():
    return painless.garnet(600, 4, 5, constraints=1, seed=1, discount=0.95, dense=False)


def perturbed(problem, seed):
    rng, kernel = np.random.default_rng(seed), problem.transition.copy()
    kernel.data = kernel.data * rng.uniform(0.98, 1.02, len(kernel.data))
    kernel.data /= np.repeat(kernel.sum(1), np.diff(kernel.indptr))
    return painless.CMDP(
        kernel,
        problem.reward,
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=problem.constraint_reward,
        threshold=problem.threshold,
    )


def agree(one, other):
    """Whether two solutions make claims that do not contradict each other."""
    return one.status.kind == other.status.kind and (
        one.status.kind == "infeasible"
        or abs(one.reward_value - other.reward_value) <= one.gap + other.gap + 1e-9
    )


def limited(problem):
    return [problem.with_limits(problem.limit * factor) for factor in (0.9, 0.97, 1.0, 1.01, 50.0, 0.95)]


def variants(problem):
    discounts = [
        painless.CMDP(
            problem.transition,
            problem.reward,
            initial=problem.initial,
            discount=discount,
            constraint_reward=problem.constraint_reward,
            threshold=problem.threshold * 0.05 / (1 - discount),
        )
        for discount in (0.94, 0.96)
    ]
    return [*limited(problem), *(perturbed(problem, seed) for seed in range(2)), *discounts]


@pytest.mark.parametrize("small", [False, True])
def test_agrees_with_solve(garnet, small):
    problem = painless.gridworld() if small else garnet
    chosen = limited(problem) if small else variants(problem)
    for one, variant in zip(painless.solve_many(chosen), chosen, strict=True):
        assert agree(one, painless.solve(variant))


def test_other_limits_take_few_best_responses(garnet):
    chosen = [garnet.with_limits(garnet.limit * factor) for factor in np.linspace(0.95, 1.0, 6)]
    found = painless.solve_many(chosen)
    assert all(one.status.kind == "solved" for one in found)
    assert sum(one.best_responses for one in found[1:]) <= 10


def test_bounds_of_other_limits_hold(garnet):
    normal = normalise(garnet)[0]
    first = ColumnGeneration().plan(normal, 1e-4)
    other = normal.with_limits(normal.limit * 0.98)
    warm = ColumnGeneration().plan(other, 1e-4, bounds=first.certifier.game.bounds)
    cold = ColumnGeneration().plan(other, 1e-4)
    assert warm.answer.upper_bound >= cold.answer.low[0]
    assert cold.answer.upper_bound >= warm.answer.low[0]


def test_the_same_bits_whatever_the_number_of_workers(garnet, monkeypatch):
    monkeypatch.setattr(many, "BLOCK", 2)
    chosen = limited(garnet)[:4]
    alone, beside = painless.solve_many(chosen), painless.solve_many(chosen, backend=Local(2))
    for one, other in zip(alone, beside, strict=True):
        assert (one.reward_value, one.upper_bound) == (other.reward_value, other.upper_bound)
        np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)


def test_progress_is_told(garnet, monkeypatch):
    monkeypatch.setattr(many, "BLOCK", 2)
    told = []
    painless.solve_many([garnet] * 3, progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]


def test_nothing_to_solve():
    assert painless.solve_many([]) == []


def test_problems_of_any_size_follow_each_other(garnet):
    chosen = [painless.gridworld(), garnet, painless.gridworld(constraints=3)]
    for one, variant in zip(painless.solve_many(chosen), chosen, strict=True):
        assert agree(one, painless.solve(variant))


@pytest.mark.parametrize(
    ("problems", "options", "message"),
    [
        ([1], {}, "problem"),
        ([], {"tolerance": 0.0}, "tolerance is 0.0; it must be a positive number"),
        ([], {"progress": 3}, "progress"),
    ],
)
def test_refusals(problems, options, message):
    with pytest.raises(painless.InputError, match=message):
        painless.solve_many(problems, **options)


def test_a_variant_that_fails_is_named(garnet, monkeypatch):
    def broken(*ignored):
        raise ValueError("broken")

    monkeypatch.setattr(many, "_solved", broken)
    with pytest.raises(painless.InputError, match="variants 0 to 1 have no result: ValueError: broken"):
        painless.solve_many([garnet, garnet])


def test_engines_of_another_kind_are_no_start(garnet):
    case = Case.of(painless.gridworld())
    swept = ColumnGeneration().answer(Case.of(garnet), Task(1e-3, many.Clock())).certifier.engine
    found = ColumnGeneration().answer(case, Task(1e-3, many.Clock(), before=swept))
    assert round(float(case.value(found.answer.value)[0]), 2) == 1.65


def test_ctrl_c_ends_all_variants(monkeypatch):
    """`solve` returns its best answer so far; here that would be taken for the answer, and the next variant would begin."""
    interrupted = Planned("column-generation", Case.of(painless.gridworld()), ending=Ending.INTERRUPT)
    monkeypatch.setattr(ColumnGeneration, "answer", lambda self, case, task: interrupted)
    with pytest.raises(KeyboardInterrupt):
        painless.solve_many([painless.gridworld()])
