"""Models given as functions: the same answers as the model stored as arrays, the same bits for any number of threads, and clear errors."""

from functools import cache

import numpy as np
import pytest
import scipy

import painless
from painless import InputError
from painless.engines.engine import engine_of
from painless.engines.function import Function
from painless.engines.sweeps import function_block
from painless.engines.sweeps.function_blocks import Here
from painless.engines.sweeps.function_krylov import Krylov
from painless.engines.sweeps.function_sweeps import FunctionSweeps
from painless.policies.action_mixture import ActionMixture
from painless.problem import _callback_kernels as kernels
from painless.problem import callbacks
from painless.problem.units import normalise
from painless.solving.solution import Kind

SIDE = 12
STATES = 90
PLAIN_CHECK = kernels.check._function  # not compiled


def grid_successors(s, a, target, probability):
    """Four moves on a torus that slip with probability 0.2."""
    row, column = s // SIDE, s % SIDE
    target[0], target[1] = (row + 1) % SIDE * SIDE + column, (row - 1) % SIDE * SIDE + column
    target[2], target[3] = row * SIDE + (column + 1) % SIDE, row * SIDE + (column - 1) % SIDE
    for k in range(4):
        probability[k] = 0.85 if k == a else 0.05
    return 4


def grid_utilities(s, a):
    """A reward in few cells, and a cost in many."""
    return 1.0 if s % 29 == 3 else 0.0, 0.5 * (s % 3 == 0)


def garnet_successors(s, a, target, probability):
    """Three successors anywhere, some of them equal or s itself; some actions are missing."""
    if a == 2 and s % 4 == 1:
        return 0
    total = 0.0
    for k in range(3):
        target[k] = (s * 31 + (s * (k + 2) + a * 17 + 5) * (k + 1) * 13) % STATES if k else (s + a) % STATES
        probability[k] = 1.0 + (s * 7 + a * 3 + k * 11) % 5
        total += probability[k]
    for k in range(3):
        probability[k] /= total
    return 3


def garnet_utilities(s, a):
    """A cost to minimise, a constraint reward and a constraint cost, of which one is an integer."""
    return -3.0 + (s * 13 + a * 29) % 17 / 4, (s * 5 + a * 7) % 11 / 3 - 1, (s + 2 * a) % 4


def grid(budget=1.2, **given):
    """Return the grid as functions."""
    given = {"initial": 0, "discount": 0.9, "budget": budget, **given}
    return painless.from_function(SIDE * SIDE, 4, grid_successors, grid_utilities, **given)


def stored(states, actions, successors, utilities, limits):
    """Return the arrays of a model given as plain functions: transitions, mask, utilities."""
    target, probability = np.empty(8, np.int64), np.empty(8)
    rows, columns, data = [], [], []
    mask, utility = np.zeros((states, actions), bool), np.zeros((1 + limits, states, actions))
    for s in range(states):
        for a in range(actions):
            count = successors(s, a, target, probability)
            mask[s, a] = count > 0
            utility[:, s, a] = utilities(s, a)
            rows += [s * actions + a] * count
            columns += target[:count].tolist()
            data += probability[:count].tolist()
    return scipy.sparse.csr_array((data, (rows, columns)), shape=(states * actions, states)), mask, utility


@cache
def grid_arrays():
    """Return the grid as arrays."""
    return stored(SIDE * SIDE, 4, grid_successors, grid_utilities, 1)


def stored_grid(budget=1.2, discount=0.9):
    """Return the grid as a problem of arrays."""
    transition, _, utility = grid_arrays()
    initial = np.eye(SIDE * SIDE)[0]
    return painless.CMDP(
        transition,
        utility[0],
        initial=initial,
        discount=discount,
        constraint_cost=utility[1],
        budget=budget,
    )


def garnet():
    """Return the Garnet as functions, and as arrays."""
    start = {0: 0.25, 7: 0.75}
    given = {"discount": 0.95, "threshold": [2.0], "budget": [25.0]}
    model = painless.from_function(
        STATES, 3, garnet_successors, garnet_utilities, initial=start, minimise=True, **given
    )
    transition, mask, utility = stored(STATES, 3, garnet_successors, garnet_utilities, 2)
    initial = np.zeros(STATES)
    initial[[0, 7]] = 0.25, 0.75
    problem = painless.CMDP(
        transition,
        cost=utility[0],
        initial=initial,
        actions=mask,
        constraint_reward=utility[1],
        constraint_cost=utility[2],
        **given,
    )
    return model, problem


def table(actions, count):
    """Return actions (S,) as probabilities (S, A)."""
    return np.eye(count)[actions]


@pytest.mark.parametrize("budget", [0.8, 1.2, 9.0])
def test_the_answer_is_that_of_the_linear_program(budget):
    model, problem = grid(budget), stored_grid(budget)
    solution = painless.solve(model, tolerance=1e-6)
    optimum = painless.solve(problem, painless.LinearProgram(), tolerance=1e-9)
    assert solution.status.kind is Kind.SOLVED
    assert solution.feasible
    assert solution.reward_value <= optimum.upper_bound * (1 + 1e-12)
    assert solution.upper_bound >= optimum.reward_value * (1 - 1e-12)
    assert solution.gap <= 1e-6 * solution.upper_bound
    assert (solution.constraint_value <= budget).all()
    assert (solution.violation == 0).all()
    assert solution.price_range[0, 0] <= optimum.price_range[0, 1] + 1e-9
    assert solution.price_range[0, 1] >= optimum.price_range[0, 0] - 1e-9
    each = [painless.value(table(actions, 4), problem) for actions in solution.policy.actions]
    reward = solution.policy.weights @ [one.reward_value for one in each]
    cost = solution.policy.weights @ [one.constraint_value[0] for one in each]
    assert reward >= solution.reward_value * (1 - 1e-10)
    assert cost <= budget * (1 + 1e-10)


def test_missing_actions_and_both_kinds_of_limits():
    model, problem = garnet()
    assert repr(model) == "FunctionModel(90 states, 3 actions, 2 constraints, discount 0.95)"
    for one, other in zip(model.utility_range, problem.utility_range, strict=True):
        assert np.array_equal(one, other)
    solution, other = (painless.solve(one, tolerance=1e-6) for one in (model, problem))
    assert solution.status.kind is Kind.SOLVED
    assert solution.minimise
    assert solution.sense == (">=", "<=")
    assert solution.reward_value == pytest.approx(other.reward_value, abs=solution.gap + other.gap)
    assert all(problem.actions[np.arange(STATES), actions].all() for actions in solution.policy.actions)
    found = painless.value(solution, model)
    assert found.feasible
    assert found.reward_value <= solution.reward_value + 1e-9


def test_values_of_a_policy_are_those_of_the_stored_model():
    model, problem = garnet()
    actions = np.where(problem.actions[:, 2], 2, 1)
    ours, theirs = painless.value(actions, model), painless.value(table(actions, 3), problem)
    assert ours.reward_value == pytest.approx(theirs.reward_value, rel=1e-9)
    assert ours.constraint_value == pytest.approx(theirs.constraint_value, rel=1e-9)
    assert ours.met.tolist() == theirs.met.tolist()


def sweeps_of(monkeypatch, threads, pieces, backend=None):
    """Return sweeps of the grid in some pieces, on some threads."""
    monkeypatch.setattr(function_block, "cores", lambda: threads)
    monkeypatch.setattr(function_block, "MANY", 0)
    monkeypatch.setattr(function_block, "STATES", SIDE * SIDE // pieces)
    return FunctionSweeps(normalise(grid())[0].on(backend))


def values_of(sweeps):
    """Return the values (S, J) of all blocks."""
    return np.concatenate(sweeps.blocks._each("values"))


class InThisProcess:
    """A backend that keeps objects here."""

    def __init__(self, workers, fails=None):
        self.workers, self.fails, self.calls = workers, fails, 0

    def keep(self, kind, arguments):
        return [Counted(self, kind, one) for one in arguments]


class Counted(Here):
    """An object that is interrupted once, at some call."""

    def __init__(self, backend, kind, arguments):
        super().__init__(kind, arguments)
        self.backend = backend

    def call(self, method, *arguments):
        self.backend.calls += 1
        if self.backend.calls == self.backend.fails:
            raise KeyboardInterrupt
        return super().call(method, *arguments)


def test_a_sweep_is_that_of_its_reference(monkeypatch):
    sweeps = sweeps_of(monkeypatch, 1, 3)
    weight, gamma = np.array([0.6, 0.4]), 0.9
    normal = normalise(stored_grid())[0]
    rng = np.random.default_rng(0)
    (block,) = (one._object for one in sweeps.blocks._kept)
    block.vectors["value"][:] = rng.random((sweeps.states, sweeps.utilities))
    block.choice[:] = rng.integers(4, size=sweeps.states)
    for even in (True, False, False, True):
        old, ascending = block.vectors["value"].copy(), sweeps._ascending
        expected, actions = reference(normal, old, block.choice, None, even, ascending, 3, gamma)
        swept = sweeps.follow(even)
        assert block.vectors["value"] == pytest.approx(expected, rel=1e-12, abs=1e-13)
        change = expected - old if even else np.vstack([expected - old, np.zeros(2)])
        assert swept.low == pytest.approx(change.min(0))
        assert swept.high == pytest.approx(change.max(0))
        old, ascending = block.vectors["value"].copy(), sweeps._ascending
        expected, actions = reference(normal, old, block.choice, weight, even, ascending, 3, gamma)
        swept = sweeps.improve(weight, even)
        assert block.vectors["value"] == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert np.array_equal(block.choice, actions)
        moved = (expected - old) @ weight
        assert swept.most == pytest.approx(moved.max() if even else max(moved.max(), 0.0), abs=1e-12)


def reference(normal, old, choice, weight, even, ascending, pieces, gamma):
    """Sweep state by state with arrays; with weights (J,) the best action is taken."""
    kernel = normal.transition.toarray().reshape(SIDE * SIDE, 4, -1)
    new, actions, states = old.copy(), choice.copy(), SIDE * SIDE
    for k in range(pieces):
        begin, end = k * states // pieces, (k + 1) * states // pieces
        value = old.copy()
        for s in range(begin, end) if ascending else range(end - 1, begin - 1, -1):
            source = old if even else value
            q = normal.utility[:, s].T + gamma * kernel[s] @ source
            q = (
                q
                if even
                else (q - gamma * kernel[s, :, s][:, None] * source[s])
                / (1 - gamma * kernel[s, :, s])[:, None]
            )
            if weight is not None:
                best = int((q @ weight).argmax())
                actions[s] = best if (q @ weight)[best] > (q @ weight)[choice[s]] + 1e-15 else choice[s]
            value[s] = new[s] = q[actions[s]]
    return new, actions


@pytest.mark.parametrize(("threads", "workers"), [(2, 1), (5, 1), (1, 2), (1, 3), (2, 7), (1, 50)])
def test_any_number_of_threads_and_blocks_gives_the_same_bits(monkeypatch, threads, workers):
    found = []
    for given in ((1, None), (threads, InThisProcess(workers) if workers > 1 else None)):
        sweeps = sweeps_of(monkeypatch, given[0], 7, given[1])
        shown = []
        for even in (True, False, False, True):
            shown += [sweeps.improve(np.array([0.7, 0.3]), even), sweeps.follow(even)]
            sweeps.extrapolate(shown[-1])
        Krylov(sweeps).improve(lambda widths: False, 5)
        shown.append(sweeps.improve(np.array([0.2, 0.8]), True))
        found.append(
            (values_of(sweeps), sweeps.blocks.policy(), sweeps.sizes, *(x for one in shown for x in one))
        )
    assert len(sweeps.blocks._kept) == min(workers, 7)
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_the_answer_is_the_same_on_several_blocks(monkeypatch):
    monkeypatch.setattr(function_block, "STATES", 50)
    model = grid()
    here, there = (painless.solve(one, tolerance=1e-6) for one in (model, model.on(InThisProcess(3))))
    assert there.status.kind == "solved"
    assert np.array_equal(here.policy.actions, there.policy.actions)
    assert (here.reward_value, here.upper_bound) == (there.reward_value, there.upper_bound)
    assert np.array_equal(here.multiplier, there.multiplier)


@pytest.mark.parametrize("call", range(11, 70, 6))
def test_an_interruption_between_blocks_leaves_no_stale_values(monkeypatch, call):
    """What is proved after it is true: no block reads rows that others had before."""
    backend = InThisProcess(3, call)
    sweeps = sweeps_of(monkeypatch, 1, 7, backend)
    exact = engine_of(normalise(stored_grid())[0])

    def go_on():
        for _ in range(100):
            sweeps.improve(np.array([0.7, 0.3]), False)
            sweeps.extrapolate(sweeps.follow(False))
            Krylov(sweeps).improve(lambda widths: False, 1)

    with pytest.raises(KeyboardInterrupt):
        go_on()
    true = exact.values(sweeps.blocks.policy())
    for _ in range(200):
        swept = sweeps.follow(True)
        rounding = sweeps.rounding(sweeps.sizes)
        assert (swept.value + sweeps.tail * swept.low - rounding <= true.high).all()
        assert (swept.value + sweeps.tail * swept.high + rounding >= true.low).all()
    assert swept.value == pytest.approx(true.guess, rel=1e-8)


def test_backends_that_cannot_keep_values_are_refused():
    with pytest.raises(InputError, match="Local does not keep values"):
        grid().on(painless.backends.Local(2))
    with pytest.raises(InputError, match="workers are not started"):
        painless.solve(grid().on(painless.backends.Dask(workers=2)))


def test_krylov_solves_for_all_utilities(monkeypatch):
    sweeps = sweeps_of(monkeypatch, 1, 2)
    assert Krylov(sweeps).improve(lambda widths: bool(widths.max() < 1e-12), 200)
    exact = painless.engines.engine.engine_of(normalise(stored_grid())[0])
    bounds = exact.values(np.zeros(SIDE * SIDE, dtype=np.uint8))
    assert values_of(sweeps)[0] == pytest.approx(bounds.guess, rel=1e-9)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 0.0])
def test_bounds_hold_at_every_tolerance(tolerance):
    normal = normalise(grid())[0]
    engine = engine_of(normal)
    exact = engine_of(normalise(stored_grid())[0])
    assert isinstance(engine, Function)
    assert exact.exact
    for weight in np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]]):
        response = engine.best(weight, tolerance, tolerance)
        best = exact.best(weight, 0.0, 0.0)
        assert response.upper_bound >= best.weighted_value - 1e-13
        assert response.upper_bound - response.weighted_value <= 3 * tolerance + 1e-10
        true = exact.values(response.actions)
        assert (response.value <= true.high).all()
        assert (2 * response.middle - response.value >= true.low).all()


def test_without_constraints_and_from_everywhere():
    def reward(s, a):
        return grid_reward(s)

    def grid_reward(s):
        return 1.0 if s % 29 == 3 else 0.0

    import numba

    grid_reward = numba.njit(grid_reward)
    everywhere = np.full(SIDE * SIDE, 1 / (SIDE * SIDE))
    model = painless.from_function(
        SIDE * SIDE,
        4,
        grid_successors,
        reward,
        initial=everywhere,
        discount=0.9,
        names={"actions": list("nsew")},
    )
    transition, _, utility = grid_arrays()
    problem = painless.CMDP(transition, utility[0], initial=everywhere, discount=0.9)
    solution, other = (painless.solve(one, tolerance=1e-8) for one in (model, problem))
    assert solution.reward_value == pytest.approx(other.reward_value, rel=1e-7)
    assert len(solution.policy) == 1
    assert "drawn" not in str(solution.status)
    assert [*solution.policy.names["actions"].texts] == list("nsew")


def test_limits_and_discounts_change_without_a_new_check():
    model = grid().with_limits([1.0]).with_discount(0.85)
    solution = painless.solve(model, tolerance=1e-6)
    other = painless.solve(stored_grid(1.0, 0.85), tolerance=1e-6)
    assert solution.reward_value == pytest.approx(other.reward_value, abs=solution.gap + other.gap)
    assert model.name("constraints", 0) == "constraint 1"
    assert model.index("states", 5) == 5
    assert model.index("constraints", 0) == 0


def test_infeasible_limits_are_explained():
    solution = painless.solve(grid(0.01))
    assert solution.status.kind is Kind.INFEASIBLE
    assert np.isfinite(solution.remedy).all()
    remedied = painless.solve(grid(float(solution.remedy[0]) * 1.001))
    assert remedied.feasible
    other = painless.solve(stored_grid(0.01))
    assert solution.remedy == pytest.approx(other.remedy, rel=1e-5)


def test_a_budget_of_zero_has_no_slater_point():
    def utilities(s, a):
        return 1.0 if s % 29 == 3 else 0.0, 1.0 if a == 0 else 0.0

    model = painless.from_function(
        SIDE * SIDE, 4, grid_successors, utilities, initial=0, discount=0.9, budget=0.0
    )
    solution = painless.solve(model)
    assert solution.status.kind in (Kind.STOPPED, Kind.SOLVED)
    assert (solution.violation <= 1e-6).all()


def test_the_time_limit_returns_some_policy():
    solution = painless.solve(grid(), time_limit=1e-9)
    assert solution.status.kind is Kind.STOPPED
    assert isinstance(solution.policy, ActionMixture)
    assert not solution.feasible
    assert np.isinf(solution.gap)


def test_solutions_and_policies_are_stored(tmp_path):
    solution = painless.solve(grid(names={"actions": ["s", "n", "e", "w"], "constraints": ["cost"]}))
    solution.save(tmp_path / "found")
    again = painless.Solution.load(tmp_path / "found")
    for policy in (again.policy, painless.load_policy(tmp_path / "found")):
        assert np.array_equal(policy.actions, solution.policy.actions)
        assert np.array_equal(policy.weights, solution.policy.weights)
        assert policy.names["actions"].texts == solution.policy.names["actions"].texts
    assert again.as_dict() == solution.as_dict()
    assert not (tmp_path / "found" / "policy.csv").exists()
    solution.policy.save(tmp_path / "policy.npz")
    read = painless.load_policy(tmp_path / "policy.npz")
    assert np.array_equal(read.actions, solution.policy.actions)
    assert "144 states" in repr(read)
    drawn = read.draw(np.random.default_rng(0))
    assert any(np.array_equal(drawn, actions) for actions in read.actions)
    with pytest.raises(painless.InputError, match="no arrays to write; save the solution alone"):
        solution.save(tmp_path / "other", grid())
    for asked in (lambda: solution.table, lambda: solution.policy.probabilities):
        with pytest.raises(painless.InputError, match="no table of probabilities"):
            asked()
    with pytest.raises(painless.InputError, match="not of a stored problem"):
        solution.require_fit(stored_grid())


@pytest.mark.parametrize(
    ("actions", "weights", "message"),
    [
        (np.zeros(3, np.uint8), [1.0], "unsigned integers"),
        (np.zeros((1, 3)), [1.0], "unsigned integers"),
        (np.zeros((2, 3), np.uint8), [1.0], "2 policies need 2 weights"),
        (np.zeros((2, 3), np.uint8), [1.0, 1.0], "not a distribution"),
    ],
)
def test_mixtures_that_are_none(actions, weights, message):
    with pytest.raises(painless.InputError, match=message):
        ActionMixture(actions, np.array(weights))


@pytest.mark.parametrize(
    "asked",
    [
        lambda model: painless.solve(model, painless.LinearProgram()),
        lambda model: painless.solve(model, painless.PRM()),
        lambda model: painless.solve(model, iterations=3),
        lambda model: painless.frontier(model),
        lambda model: model.transition,
        lambda model: model.utility,
    ],
)
def test_what_needs_arrays_says_so(asked):
    with pytest.raises(painless.InputError, match="a model given as functions stores no"):
        asked(grid())


def test_other_refusals(tmp_path):
    model = grid()
    assert not hasattr(model, "transition")
    assert not hasattr(model, "nonsense")
    with pytest.raises(painless.InputError, match="no arrays to write to"):
        model.save(tmp_path / "model.npz")
    with pytest.raises(painless.InputError, match=r"takes no initial_policy|stores no actions"):
        painless.solve(model, initial_policy=np.full((144, 4), 0.25))
    with pytest.raises(painless.InputError, match="not of a stored problem"):
        painless.sensitivity(model)
    with pytest.raises(painless.InputError, match="are not computed"):
        engine_of(model).visits(np.zeros(144, np.uint8))
    with pytest.raises(painless.InputError, match="takes no initial_policy"):
        engine_of(model).action_values(np.zeros((144, 4)), np.arange(2), 0.1)
    with pytest.raises(painless.InputError, match="give an action for each of 144 states"):
        painless.value(np.zeros(3, int), model)
    with pytest.raises(painless.InputError, match=r"policy\[0, 0\] is 4; actions are 0 to 3"):
        painless.value(np.full(144, 4), model)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"initial": 144}, "initial is too large"),
        ({"initial": {}}, "initial is empty"),
        ({"initial": {0: 0.5}}, "sums to 0.5"),
        ({"initial": [1.0, 0.0]}, "initial has 2 entries, but there are 144 states"),
        ({"minimise": "yes"}, "give True if the first utility is a cost"),
        ({"budget": [1.0, 2.0]}, "returns 2 numbers, but there are 2 limits"),
        ({"budget": None}, "returns 2 numbers, but there are 0 limits"),
        ({"most_successors": 2}, r"successors\(0, 0\) returns 4; give at most most_successors=2"),
        ({"discount": 1.0}, "discount is 1.0"),
    ],
)
def test_arguments_that_are_refused(given, message):
    with pytest.raises(painless.InputError, match=message):
        grid(**given)


def test_functions_that_are_refused():
    def make(successors, utilities=grid_utilities):
        return painless.from_function(144, 4, successors, utilities, initial=0, discount=0.9, budget=1.0)

    with pytest.raises(painless.InputError, match="successors is 3; give a function"):
        make(3)
    with pytest.raises(painless.InputError, match=r"successors does not compile: .*write a function"):
        make(lambda s, a, target, probability: undefined_name(s))  # noqa: F821
    with pytest.raises(painless.InputError, match="return how many there are"):
        make(lambda s, a, target, probability: 0.5)
    with pytest.raises(painless.InputError, match="utilities raises ValueError"):
        make(grid_successors, raising)


def raising(s, a):
    """Raise an error."""
    if s >= 0:
        raise ValueError("no")
    return 1.0, 1.0


def checked_plainly(monkeypatch, successors, utilities=lambda s, a, out: out.fill(1.0), most=3):
    """Check all pairs without compiling."""
    monkeypatch.setattr(kernels, "check", PLAIN_CHECK)
    return callbacks.checked(callbacks.Callbacks(successors, utilities, most), 5, 2, 1)


def wrong_pair(count=1, target=0, probability=1.0):
    """Return successors of which those of the pair (3, 1) are wrong."""

    def successors(s, a, targets, probabilities):
        here = (s, a) == (3, 1)
        targets[0], probabilities[0] = (target, probability) if here else (s, 1.0)
        return count if here else 1

    return successors


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": 4}, r"successors\(3, 1\) returns 4"),
        ({"count": -1}, r"successors\(3, 1\) returns -1"),
        ({"target": 5}, r"successors\(3, 1\) gives state 5; states are 0 to 4"),
        ({"target": -1}, r"successors\(3, 1\) gives state -1"),
        ({"probability": -0.5}, "gives the probability -0.5"),
        ({"probability": np.nan}, "gives the probability nan"),
        ({"probability": 0.9}, r"successors\(3, 1\) sum to 0.900000, not 1"),
        ({"probability": 1 + 1e-7}, "sum to 1.0000001"),
    ],
)
def test_pairs_that_are_wrong_are_named(monkeypatch, wrong, message):
    with pytest.raises(painless.InputError, match=message):
        checked_plainly(monkeypatch, wrong_pair(**wrong))


def test_states_and_utilities_that_are_wrong_are_named(monkeypatch):
    with pytest.raises(painless.InputError, match="state 4 has no action"):
        checked_plainly(monkeypatch, lambda s, a, t, p: wrong_pair()(s, a, t, p) if s < 4 else 0)

    def infinite(s, a, out):
        out[0] = np.inf if s == 2 else 0.0

    with pytest.raises(
        painless.InputError, match=r"utilities\(2, 0\)\[0\] is inf; every utility must be finite"
    ):
        checked_plainly(monkeypatch, wrong_pair(), infinite)
    found = checked_plainly(monkeypatch, lambda s, a, t, p: a and wrong_pair()(s, a, t, p))
    assert found.first.tolist() == [1] * 5


def test_utilities_that_overflow_are_refused():
    with pytest.raises(painless.InputError, match="beyond ±1e"):
        painless.problem.validation.require_representable("utilities", np.zeros(2), np.array([1.0, 1e200]))


def test_rows_close_to_one_are_divided_by_their_sum():
    def successors(s, a, target, probability):
        target[0], target[1] = 0, 1
        probability[0], probability[1] = 0.5, 0.5 + 4e-9
        return 2

    target, probability = np.empty(2, np.int64), np.empty(2)
    assert kernels.row._function(successors, 0, 0, target, probability) == 2
    assert probability.sum() == pytest.approx(1.0, abs=1e-15)
