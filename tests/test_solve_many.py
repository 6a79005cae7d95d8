"""Variants of one model, each from where the last one ended: the same claims as `solve`, at less cost."""

import pickle

import numpy as np
import pytest
import scipy
from benchmarks.variants import VARIANTS, changed, discounts, prices, probabilities
from benchmarks.variants import model as variant_model

import painless
from painless.backends import Local
from painless.engines.engine import engine_of
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.planning import ColumnGeneration
from painless.planning.case import Case
from painless.planning.master import best_mixture
from painless.planning.planner import Ending, Planned, Task
from painless.problem.units import normalise
from painless.solving import many


@pytest.fixture(scope="module")
def garnet():
    return painless.garnet(600, 4, 5, constraints=1, seed=1, discount=0.95, dense=False)


def perturbed(problem, seed):
    return probabilities(problem, 1, np.random.default_rng(seed))[0]


def agree(one, other):
    """Whether two solutions make claims that do not contradict each other."""
    return one.status.kind == other.status.kind and (
        one.status.kind == "infeasible"
        or abs(one.reward_value - other.reward_value) <= one.gap + other.gap + 1e-9
    )


def limited(problem):
    return [problem.with_limits(problem.limit * factor) for factor in (0.9, 0.97, 1.0, 1.01, 50.0, 0.95)]


def variants(problem):
    return [
        *limited(problem),
        *(perturbed(problem, seed) for seed in range(2)),
        *discounts(problem, 3, None),
        *prices(problem, 2, np.random.default_rng(5)),
    ]


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


@pytest.mark.parametrize("kind", [discounts, prices, probabilities])
def test_prices_of_a_similar_model_are_a_start_at_tight_tolerances(garnet, kind):
    """The slack there tells how far a price is to move; nothing is solved to more than the variant asks for."""
    chosen = kind(garnet, 5, np.random.default_rng(8))
    found = painless.solve_many(chosen, tolerance=1e-6)
    assert all(one.status.kind == "solved" for one in found)
    assert sum(one.best_responses for one in found[1:]) <= 22
    for one, variant in zip(found[1:3], chosen[1:3], strict=True):
        assert agree(one, painless.solve(variant, tolerance=1e-6))


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


@pytest.fixture(scope="module", params=["garnet", "dense", "grid", "maze", "inventory"])
def model(request):
    """A model of each way to evaluate policies: even sweeps, elimination in a band and in an order, groups of states."""
    return variant_model(request.param, 600, 1, 3, 0.97)


@pytest.mark.parametrize("kind", ["prices", "discounts", "probabilities"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_similar_models_agree_with_solve_and_take_few_best_responses(model, kind, tolerance):
    chosen = VARIANTS[kind](model, 6, np.random.default_rng(1))
    found = painless.solve_many(chosen, tolerance=tolerance)
    for one, variant in zip(found, chosen, strict=True):
        alone = painless.solve(variant, tolerance=tolerance)
        assert one.status.kind == "solved"
        assert agree(one, alone)
        assert (one.violation == 0).all()
        low, high = one.price_range.T
        assert (low <= alone.price_range[:, 1] + 1e-9).all()
        assert (alone.price_range[:, 0] <= high + 1e-9).all()
    if tolerance == 1e-3:
        assert sum(one.best_responses for one in found[1:]) <= 3.5 * (len(found) - 1)


@pytest.mark.parametrize("constraints", [0, 3])
@pytest.mark.parametrize("kind", ["prices", "discounts", "probabilities"])
def test_similar_models_with_no_limit_or_several(constraints, kind):
    chosen = VARIANTS[kind](variant_model("garnet", 400, constraints, 2, 0.95), 4, np.random.default_rng(2))
    for one, variant in zip(painless.solve_many(chosen), chosen, strict=True):
        assert one.status.kind == "solved"
        assert agree(one, painless.solve(variant))


def test_values_of_recalled_policies_are_proved(model):
    """Bounds of a policy from values and visits of a similar model, also where nothing is known of it, and if the graph is another one."""
    chosen = [normalise(one)[0] for one in probabilities(model, 4, np.random.default_rng(4))]
    first = ColumnGeneration().plan(chosen[0], 1e-3).certifier
    used = [first.game.columns[k].policy for k in np.flatnonzero(first.game.mixture.weights)]
    policies = [*used, np.zeros_like(used[0])]
    before = first.engine
    for normal in chosen[1:]:
        engine = engine_of(normal, 128)
        engine.continue_from(before)
        for policy in policies:
            for precision in (1e-2, 1e-6):
                found, exact = (
                    engine.recall(policy, precision * engine.unit),
                    engine_of(normal).values(policy),
                )
                assert (found.low <= exact.high).all()
                assert (found.high >= exact.low).all()
                assert (found.high - found.low <= 2.01 * precision * engine.unit).all()
        before = engine


def test_bounds_without_values_are_proved(model):
    engine, weight = engine_of(normalise(model)[0], 128), np.array([1.0, 0.5])
    rough, fine = engine.bound(weight, 1e-3 * engine.unit), engine.best(weight, 1e-9, 1e-9)
    assert fine.weighted_value <= rough.upper_bound <= fine.upper_bound + 1e-3 * engine.unit
    assert not np.isfinite(rough.weighted_value)


def test_an_infeasible_variant_in_the_middle(garnet):
    chosen = probabilities(garnet, 5, np.random.default_rng(6))
    chosen[2] = changed(chosen[2], threshold=garnet.threshold + 1e3)
    found = painless.solve_many(chosen)
    assert [one.status.kind.value for one in found] == [*["solved"] * 2, "infeasible", *["solved"] * 2]
    assert sum(one.best_responses for one in found[3:]) <= 6  # from where the last feasible one ended


def test_other_graphs_and_masks_follow_each_other(garnet):
    rng = np.random.default_rng(7)
    mask = rng.random(garnet.actions.shape) < 0.7
    mask[~mask.any(1), 0] = True
    chosen = [garnet, changed(garnet, actions=mask), garnet, variant_model("garnet", 600, 1, 8, 0.95), garnet]
    for one, variant in zip(painless.solve_many(chosen), chosen, strict=True):
        assert one.status.kind == "solved"
        assert agree(one, painless.solve(variant))


def criteria():
    """Small models of each criterion, with limits that bind."""
    rng = np.random.default_rng(9)
    kernel, utility = rng.dirichlet(np.ones(6), (6, 3)), rng.random((2, 6, 3))
    stopping = kernel.copy()
    stopping[:, :, 5] += 0.3
    stopping /= stopping.sum(-1, keepdims=True)
    stopping[5] = np.eye(6)[5]
    ending = utility.copy()
    ending[:, 5] = 0.0
    yield {"transition": kernel, "horizon": 7}, utility, 3.9
    yield {"transition": stopping, "discount": 1.0}, ending, 0.8
    yield {"transition": kernel, "average": True}, utility, 0.55


@pytest.mark.parametrize("place", range(3))
def test_other_criteria_are_solved_as_before(place):
    parts, utility, limit = [*criteria()][place]
    rng, chosen = np.random.default_rng(3), []
    for _ in range(4):
        priced = utility * rng.uniform(0.98, 1.02, utility.shape)
        given = {"constraint_reward": priced[1:], "threshold": [limit], "initial": np.full(6, 1 / 6)} | parts
        chosen.append(painless.CMDP(given.pop("transition"), priced[0], **given))
    for one, variant in zip(painless.solve_many(chosen), chosen, strict=True):
        assert one.status.kind == "solved"
        assert agree(one, painless.solve(variant))


def test_similar_models_give_the_same_bits_whatever_the_number_of_workers(garnet, monkeypatch):
    monkeypatch.setattr(many, "BLOCK", 3)
    chosen = [
        *probabilities(garnet, 4, np.random.default_rng(1)),
        *prices(garnet, 3, np.random.default_rng(2)),
    ]
    alone, beside = painless.solve_many(chosen), painless.solve_many(chosen, backend=Local(2))
    for one, other in zip(alone, beside, strict=True):
        assert (one.reward_value, one.upper_bound) == (other.reward_value, other.upper_bound)
        np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)
        np.testing.assert_array_equal(one.price_range, other.price_range)


def test_dense_tables_have_the_rows_of_sparse_ones():
    dense = variant_model("dense", 150, 1, 1, 0.9)
    flat = scipy.sparse.csr_array(dense.transition.reshape(-1, 150))
    rows = sparse_rows(dense)
    for one, other in zip(rows[1:4], (flat.indptr, flat.indices, flat.data), strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_mixture_meets_a_limit_that_no_policy_meets(monkeypatch):
    """It takes no linear program to see: to import a solver for it takes longer than many variants do."""
    monkeypatch.setattr("painless.planning.highs.minimise", None)
    assert best_mixture(np.array([[1.0, 0.3], [0.5, 0.4]]), np.array([0.5])) is None


def test_policies_are_recalled_only_if_the_tolerance_is_loose(garnet):
    case, other = Case.of(garnet), Case.of(perturbed(garnet, 1))
    found = ColumnGeneration().answer(case, Task(1e-3, many.Clock()))
    known = many._Known.of(found)
    loose, tight = (many._start(other, known, tolerance)["recalled"] for tolerance in (1e-3, 1e-4))
    assert loose.policies
    assert not tight.policies
    np.testing.assert_array_equal(loose.prices, tight.prices)


@pytest.mark.parametrize("kind", ["limits", "probabilities"])
def test_each_block_starts_from_the_answer_to_the_first_variant(model, kind, monkeypatch):
    monkeypatch.setattr(many, "BLOCK", 2)
    chosen = VARIANTS[kind](model, 6, np.random.default_rng(11))
    found = painless.solve_many(chosen)
    assert all(one.status.kind == "solved" for one in found)
    assert max(one.best_responses for one in found[2::2]) <= 6
    for one, variant in zip(found, chosen, strict=True):
        assert agree(one, painless.solve(variant))


def test_a_first_variant_that_is_infeasible_or_fails(garnet, monkeypatch):
    monkeypatch.setattr(many, "BLOCK", 1)
    chosen = [changed(garnet, threshold=garnet.threshold + 1e3), garnet, garnet]
    assert [one.status.kind.value for one in painless.solve_many(chosen)] == ["infeasible", *["solved"] * 2]
    monkeypatch.setattr(many, "_solved", lambda *ignored: 1 / 0)
    with pytest.raises(painless.InputError, match="variant 0 has no result: ZeroDivisionError"):
        painless.solve_many(chosen)


def test_what_is_packed_is_what_was_known(model):
    """Engines go on alike from themselves and from their bytes, whose keys do not depend on the process."""
    first, second = (normalise(one)[0] for one in probabilities(model, 2, np.random.default_rng(12)))
    engine = ColumnGeneration().plan(first, 1e-4, engine=engine_of(first, 128)).certifier.engine
    found = []
    for before in (pickle.loads(pickle.dumps(engine)), pickle.loads(pickle.dumps(engine))):
        other = engine_of(second, 128)
        other.continue_from(before)
        found.append(other.best(np.array([1.0, 0.3]), 1e-5 * other.unit, 1e-6 * other.unit))
    assert (found[0].actions == found[1].actions).all()
    np.testing.assert_array_equal(found[0].value, found[1].value)
    assert engine._mixer._visits.keys() == pickle.loads(pickle.dumps(engine))._mixer._visits.keys()


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_are_those_of_best_responses(seed):
    """At the price that is found, the policy beyond is as good as the best one, and lies on the other side of the limit."""
    problem = normalise(variant_model("garnet", 300, 1, seed, 0.9))[0]
    engine = engine_of(problem, 128)
    response = engine.best(np.array([1.0, 0.5]), 0.0, 1e-9)
    for shift in (-0.01, 0.01):
        threshold = float(response.middle[1]) + shift
        found = engine.exchange(threshold)
        assert found.start == pytest.approx(0.5)
        assert found.slack == pytest.approx(-shift)
        assert (found.price - 0.5) * shift > 0
        assert abs(found.further - 0.5) >= abs(found.price - 0.5)
        value = engine.values(found.policy).guess
        assert (value[1] - threshold) * shift > 0
        best = engine_of(problem, 128).best(np.array([1.0, found.price]), 1e-9, 1e-9)
        assert best.upper_bound - value @ [1.0, found.price] < 1e-3
    far = engine.exchange(float(response.middle[1]) + 1e3)
    assert far.policy is None
    assert engine_of(problem, 128).exchange(0.0) is None


def test_a_dense_table_is_laid_out_like_another_one():
    one = variant_model("dense", 150, 1, 1, 0.9)
    rows, (other,) = sparse_rows(one), probabilities(one, 1, np.random.default_rng(3))
    for problem in (one, other, prices(one, 1, np.random.default_rng(3))[0]):
        like = sparse_rows(problem, like=rows)
        assert like.successor is rows.successor
        for mine, its in zip(like[:6], sparse_rows(problem)[:6], strict=True):
            np.testing.assert_array_equal(mine, its)
    moved = one.transition.copy()
    moved[0, 0] = np.roll(moved[0, 0], 1)
    strange = changed(one, transition=moved)
    for mine, its in zip(sparse_rows(strange, like=rows)[:5], sparse_rows(strange)[:5], strict=True):
        np.testing.assert_array_equal(mine, its)
    assert sparse_rows(variant_model("dense", 140, 1, 1, 0.9), like=rows).successor is not rows.successor


def test_where_no_limit_has_a_price_the_best_policy_is_the_answer(garnet):
    chosen = [one.with_limits([-1e3]) for one in probabilities(garnet, 4, np.random.default_rng(4))]
    for tolerance in (1e-3, 1e-6):
        found = painless.solve_many(chosen, tolerance=tolerance)
        assert all(one.status.kind == "solved" for one in found)
        assert sum(one.best_responses for one in found[1:]) == 3


def test_large_models_are_not_packed(garnet, monkeypatch):
    found = many._solved(garnet, 1e-3, None)[1]
    assert found.packed()
    monkeypatch.setattr(many, "PACKED", 1000)
    assert found.packed() == b""


def test_policies_that_stay_the_answer_are_recalled_at_tight_tolerances(garnet):
    case, other = Case.of(garnet), Case.of(perturbed(garnet, 1))
    found = ColumnGeneration().answer(case, Task(1e-3, many.Clock()))
    first = many._Known.of(found)
    again = many._Known.of(found, first)
    assert (first.stayed, again.stayed) == (False, True)
    assert many._start(other, again, 1e-6)["recalled"].policies


def test_models_given_as_functions_follow_others(garnet):
    def successors(s, a, target, probability):
        target[0], target[1], probability[0], probability[1] = s, (s + 1) % 20, 0.5, 0.5
        return 2

    def utilities(s, a):
        return a * (s % 3), a * (s % 4)

    ring = painless.from_function(20, 2, successors, utilities, initial=0, discount=0.9, budget=3.0)
    variants = [garnet, ring, ring.with_limits([2.0]), garnet]
    for found, problem in zip(painless.solve_many(variants), variants, strict=True):
        alone = painless.solve(problem)
        assert found.status.kind == "solved"
        assert max(found.reward_value, alone.reward_value) <= min(found.upper_bound, alone.upper_bound)
