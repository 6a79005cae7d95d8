"""The collection: contracts of its learners and duals, what its papers prove as properties, and each method's claim in kind."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import painless
from painless import GDA, InputError, LinearProgram, PrimalDual, solve
from painless.bellman import policy_value
from painless.checks import check_dual, check_learner
from painless.duals import PID, Alternating, AugmentedLagrangian, Lagrangian, LogBarrier, Margin, Vaidya
from painless.duals.margin import decay
from painless.duals.vaidya import cut, volumetric_centre
from painless.evaluators.entropic import later_entropy
from painless.learners import (
    NuPI,
    OptimisticGradient,
    OptimisticHedge,
    OptimisticProjection,
    ProjectedGradient,
    RegularisedGradient,
)
from painless.learners.optimistic_projection import project
from painless.loop.algorithms import ALGORITHMS
from painless.loop.batch import solve_batch
from painless.loop.collection import (
    NPGPD,
    OPGPD,
    RPGPD,
    AugmentedLagrangianMethod,
    DualVaidya,
    FlexDOME,
    LogBarrierMethod,
    NuPILagrangian,
    PIDLagrangian,
    ReLOAD,
    npg_pd_bounds,
)
from painless.loop.situation import Situation
from painless.policies.table import dirichlet_policy

COLLECTION = {
    "pid": (PIDLagrangian(), PIDLagrangian(1.0, 0.1, 0.5, 0.3)),
    "nupi": (NuPILagrangian(), NuPILagrangian(0.2, 0.5, 0.3, 0.2)),
    "opg-pd": (OPGPD(), OPGPD(0.3)),
    "rpg-pd": (RPGPD(), RPGPD(0.3, 0.01)),
    "reload": (ReLOAD(), ReLOAD(0.3, 0.2)),
    "augmented-lagrangian": (AugmentedLagrangianMethod(), AugmentedLagrangianMethod(0.3, 3, 0.2)),
    "log-barrier": (LogBarrierMethod(), LogBarrierMethod(0.02, 0.3)),
    "flexdome": (FlexDOME(), FlexDOME(0.3, 0.2, 0.02, 0.3, 0.7)),
    "npg-pd": (NPGPD(),),
    "vaidya": (DualVaidya(), DualVaidya(0.05, 3)),
}
ALL = [one for several in COLLECTION.values() for one in several]


def test_the_collection_is_registered():
    assert {*COLLECTION} <= {*ALGORITHMS}
    for name, several in COLLECTION.items():
        assert several[0] == ALGORITHMS[name]()


@pytest.mark.parametrize("make", [OptimisticHedge, OptimisticProjection, lambda: OptimisticProjection(1e4)])
def test_contract_on_the_simplex(make):
    check_learner(make, np.array([[[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]] * 3), simplex=True)


@pytest.mark.parametrize(
    "make",
    [NuPI, lambda: NuPI(0.1, 1.0, 0.5, 0.0, 2.0), OptimisticGradient, lambda: RegularisedGradient(0.3, 0.1)],
)
def test_contract_on_the_line(make):
    check_learner(make, np.ones((3, 2)))


@pytest.mark.parametrize("constraints", [0, 1, 3])
@pytest.mark.parametrize(
    "make",
    [
        PID,
        AugmentedLagrangian,
        lambda: AugmentedLagrangian(0.5, 3),
        lambda: LogBarrier(0.1, 5.0),
        lambda: Margin(Lagrangian(ProjectedGradient(0.1), 5.0), 0.5),
        lambda: Vaidya(5.0, 1),
        lambda: Vaidya(5.0, 2),
    ],
)
def test_contract_of_duals(make, constraints):
    check_dual(make, constraints)


@pytest.mark.parametrize(
    "problem",
    [
        painless.gridworld(),
        painless.garnet(12, 3, 4, 2, seed=1),
        painless.garnet(9, 3, 4, 1, seed=1, dense=False),
    ],
)
def test_row_of_a_batch_is_the_run_alone(problem):
    start = dirichlet_policy(problem.actions, np.random.default_rng(0))
    traces = solve_batch(problem, ALL, iterations=25, initial_policies=[start] * len(ALL))
    for algorithm, trace in zip(ALL, traces, strict=True):
        alone = solve(problem, algorithm, iterations=25, initial_policy=start).trace
        np.testing.assert_array_equal(trace.constraint_value, alone.constraint_value, err_msg=f"{algorithm}")
        np.testing.assert_array_equal(trace.multiplier, alone.multiplier, err_msg=f"{algorithm}")


@pytest.mark.parametrize("algorithm", [several[0] for several in COLLECTION.values()])
def test_without_constraints_and_over_other_criteria(algorithm):
    free = painless.CMDP(
        np.full((2, 2, 2), 0.5), reward=[[1.0, 0.0], [0.0, 0.5]], initial=[0.5, 0.5], discount=0.9
    )
    assert solve(free, algorithm, iterations=30).feasible
    assert solve(painless.gridworld(threshold=0.3).with_horizon(5), algorithm, iterations=5).trace is not None


# What papers prove


@given(
    arrays(float, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(-3, 3)), st.floats(0.01, 1)
)
def test_nu_pi_is_gradient_ascent_and_the_optimistic_gradient_as_special_cases(gains, rate):
    plain, gradient = NuPI(rate, 0.0), ProjectedGradient(rate)
    optimistic = NuPI(rate, rate)
    states = [learner.init(np.ones(2)) for learner in (plain, gradient, optimistic)]
    expected, before = np.ones(2), gains[0]
    for gain in gains:
        states = [
            learner.update(gain, one)
            for learner, one in zip((plain, gradient, optimistic), states, strict=True)
        ]
        expected, before = expected + rate * (2 * gain - before), gain
        np.testing.assert_array_equal(states[0].decision, states[1].decision)
        np.testing.assert_allclose(states[2].decision, expected, atol=1e-9)


@given(arrays(float, st.integers(1, 6), elements=st.floats(-5, 5)), st.randoms(use_true_random=False))
def test_projection_is_the_nearest_point(point, random):
    allowed = np.array([random.random() < 0.7 for _ in point])
    allowed[random.randrange(len(point))] = True
    nearest = project(point, allowed)
    assert nearest.sum() == pytest.approx(1)
    assert (nearest >= 0).all()
    assert not nearest[~allowed].any()
    for action in np.flatnonzero(allowed):  # no vertex lies in the direction of the point
        assert (point - nearest)[allowed] @ (np.eye(len(point))[action] - nearest)[allowed] <= 1e-9


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**31), st.integers(50, 400))
def test_npg_pd_keeps_its_bounds(seed, iterations):
    problem = painless.garnet(6, 3, 3, 1, seed, discount=0.5)  # utilities in [0, 1]
    slack = _slack(problem)
    assume(slack > 1e-6)  # else nothing iterates: the best policy has the most of the constraint
    best = solve(problem, LinearProgram())
    trace = solve(problem, NPGPD(), iterations=iterations).trace
    gap, violation = npg_pd_bounds(iterations, 0.5, slack)
    assert best.reward_value - trace.reward_value.mean() <= gap
    assert problem.threshold[0] - trace.constraint_value.mean() <= violation


def _slack(problem):
    most = solve(
        painless.CMDP(
            problem.transition,
            problem.constraint_reward[0],
            initial=problem.initial,
            discount=problem.discount,
        ),
        LinearProgram(),
    )
    return float(most.reward_value - problem.threshold[0])


def test_npg_pd_needs_a_horizon():
    with pytest.raises(InputError, match="NPG-PD need a known horizon"):
        solve(painless.gridworld(), NPGPD())


@settings(max_examples=30)
@given(arrays(float, st.tuples(st.integers(1, 20), st.just(1), st.just(2)), elements=st.floats(-2, 2)))
def test_the_augmented_lagrangian_with_one_step_is_alternating_gradient_ascent(shortfalls):
    one, other = AugmentedLagrangian(0.3, 1), Alternating(ProjectedGradient(0.3), start=1.0)
    states = [dual.init(np.ones((1, 2))) for dual in (one, other)]
    for shortfall in shortfalls:
        played = [dual.play(shortfall, state) for dual, state in zip((one, other), states, strict=True)]
        states = [state for _, state in played]
        np.testing.assert_array_equal(played[0][0], played[1][0])


@given(arrays(float, (2, 3), elements=st.floats(-2, 2)))
def test_complementary_slackness_of_the_log_barrier(shortfall):
    barrier, upper = 0.05, 4.0
    weight, _ = LogBarrier(barrier, upper).play(shortfall, LogBarrier(barrier, upper).init(shortfall))
    multiplier = weight[:, 1:] / weight[:, :1]
    inside = -shortfall > barrier / upper
    np.testing.assert_allclose((multiplier * -shortfall)[inside], barrier)
    np.testing.assert_allclose(multiplier[~inside], upper)


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2**31))
def test_cutting_planes_converge_linearly(dimension, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(dimension, dimension)) + np.eye(dimension)
    form, minimum = root @ root.T, rng.uniform(0.05, 0.95, dimension)
    dual = Vaidya(1.0, 1)
    state, values = dual.init(np.ones((1, dimension))), []
    for _ in range(25 * dimension):
        (polytope,) = state.polytopes
        away = polytope.centre - minimum
        values.append(away @ form @ away)
        _, state = dual.play(-(form @ away)[None], state)
    best = np.minimum.accumulate(values)
    assert best[-1] <= 1e-4 * np.trace(form)
    assert len(state.polytopes[0].offset) <= 60


def test_cutting_planes_keep_the_minimum_and_stop_without_a_gradient():
    box = Vaidya(1.0).init(np.ones((1, 2))).polytopes[0]
    assert cut(box, np.zeros(2)) is box
    smaller = cut(box, np.array([1.0, 0.0]))
    assert smaller.centre[0] < 0.5
    assert smaller.centre[1] == pytest.approx(0.5, abs=1e-3)
    moved = volumetric_centre(box.normal, box.offset, np.array([0.9, 0.2]))
    np.testing.assert_allclose(moved, [0.5, 0.5], atol=1e-3)


def test_the_margin_decays_as_said():
    assert decay(9, 0.5) == pytest.approx(1 / 3)
    seen = []

    class Listening:
        def init(self, multiplier):
            return ()

        def play(self, shortfall, state):
            seen.append(float(shortfall[0, 0]))
            return np.ones((1, 2)), state

    dual = Margin(Listening(), 0.5, 0.5)
    state = dual.init(np.ones((1, 1)))
    for _ in range(4):
        _, state = dual.play(np.zeros((1, 1)), state)
    np.testing.assert_allclose(seen, 0.5 / np.sqrt([1, 2, 3, 4]))


def test_later_entropy_is_that_of_a_reward():
    problem = painless.garnet(5, 3, 3, seed=3)
    policy = dirichlet_policy(problem.actions, np.random.default_rng(0))
    entropy = -(policy * np.log(policy)).sum(-1, keepdims=True) * np.ones((1, 3))
    paid = problem.with_constraints(entropy, problem.constraint_reward, problem.threshold)
    total = policy_value(paid, policy)[0]
    bonus = later_entropy(problem, policy[None])[0]
    np.testing.assert_allclose(problem.initial @ (entropy[:, 0] + (policy * bonus).sum(-1)), total)


# What papers claim, in kind, on the gridworld

WORLD = painless.gridworld()
OPTIMUM = solve(WORLD, LinearProgram()).reward_value


def last(algorithm, iterations, world=WORLD):
    trace = solve(world, algorithm, iterations=iterations).trace
    return trace.reward_value, trace.constraint_value[:, 0]


def restlessness(values):
    """Return how much values still move in their last fifth."""
    tail = values[-len(values) // 5 :]
    return tail.max() - tail.min()


def test_last_iterates_converge_where_promised_and_those_of_gradients_circle():
    reward, constraint = last(OPGPD(0.3), 500)
    assert abs(reward[-1] - OPTIMUM) < 1e-9
    moved = [restlessness(constraint[:count]) for count in (100, 200, 300, 400)]
    assert (np.diff(np.log(moved)) < -1).all()  # linear: each hundred iterations shrink it by a factor
    assert restlessness(last(ReLOAD(), 500)[1]) < 0.02
    assert restlessness(last(GDA(1.0, 1.0), 500)[1]) > 0.3


def test_rpg_pd_converges_to_the_regularised_solution():
    reward, constraint = last(RPGPD(0.2, 0.1), 900)
    assert restlessness(constraint[:300]) > 10 * restlessness(constraint)
    weaker, _ = last(RPGPD(0.2, 0.05), 900)
    assert 0 < OPTIMUM - weaker[-1] < OPTIMUM - reward[-1]


def test_pid_dampens_what_the_integral_overshoots():
    integral = last(PIDLagrangian(0.0, 0.3, 0.0), 600)[1]
    damped = last(PIDLagrangian(1.0, 0.3, 0.0), 600)[1]
    assert restlessness(damped) < 0.2 * restlessness(integral)


def test_nu_pi_dampens_what_gradient_ascent_overshoots():
    plain = last(NuPILagrangian(0.3, 0.0), 600)[1]
    damped = last(NuPILagrangian(0.3, 3.0), 600)[1]
    assert restlessness(damped) < 0.2 * restlessness(plain)


def test_the_last_iterate_of_the_augmented_lagrangian_is_nearly_optimal():
    reward, constraint = last(AugmentedLagrangianMethod(), 600)
    assert abs(reward[-1] - OPTIMUM) < 5e-3
    assert constraint[-1] > WORLD.threshold[0] - 5e-3


def test_the_log_barrier_stays_inside_once_it_is_and_ends_within_its_bound():
    barrier = 0.002
    reward, constraint = last(LogBarrierMethod(barrier, 0.3), 600)
    inside = np.flatnonzero(constraint >= WORLD.threshold[0])[0]
    assert (constraint[inside:] >= WORLD.threshold[0]).all()
    # K μ, and what the last steps are from the maximum
    assert 0 <= OPTIMUM - reward[-1] <= barrier * 10 + 1e-3


def test_the_margin_lowers_the_strong_violation():
    def strong(margin):
        return np.maximum(WORLD.threshold[0] - last(FlexDOME(margin=margin), 400)[1], 0).mean()

    assert strong(0.5) < 0.7 * strong(1e-9)


def test_few_cuts_find_the_price():
    found = solve(WORLD, DualVaidya(0.002, 20), iterations=600)
    assert abs(found.trace.reward_value[-1] - OPTIMUM) < 0.02
    assert found.trace.multiplier[-1, 0] == pytest.approx(0.1732, abs=0.02)


def test_the_learner_alone_is_no_dual_and_pieces_combine():
    own = PrimalDual(lambda s: OptimisticHedge(), lambda s: Vaidya(s.multiplier_bound), "mixed pieces")
    assert solve(WORLD, own, iterations=50).feasible


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (PIDLagrangian(proportional=-1.0), "proportional is -1.0; it must be a number of at least 0"),
        (NuPILagrangian(smoothing=1.0), "smoothing is 1.0; it must lie between"),
        (NuPILagrangian(integral=0.0), "integral is 0.0; it must be a positive number"),
        (OPGPD(rate=0.0), "rate is 0.0"),
        (RPGPD(entropy=20.0), "entropy 20.0 times rate 0.1 is at least 1"),
        (AugmentedLagrangianMethod(inner=1.5), "inner is 1.5; it must be a positive whole number"),
        (LogBarrierMethod(barrier=-1.0), "barrier is -1.0"),
        (FlexDOME(margin=0.0), "margin is 0.0"),
        (DualVaidya(inner=0), "inner is 0; it must be a positive whole number"),
    ],
)
def test_bad_settings_are_named(algorithm, words):
    with pytest.raises(InputError, match=words):
        solve(WORLD, algorithm, iterations=3)


def test_the_situation_knows_the_slack():
    from painless.loop.collection.flexdome import slack

    situation = Situation(0.1, 4, np.array([1.5]), np.array([18.9165869]), 100)
    np.testing.assert_allclose(slack(situation), 1.0572731808)
