"""Totals whose components are solved one after the other: against SciPy's components, backward induction, and a linear program."""

import numpy as np
import pytest
import scipy

import painless
from painless.bellman import reachable
from painless.engines import components, pair_rows, reduction, row_sweeps, swept_total, total_iteration
from painless.engines.sweeps import _component_kernels as kernels
from painless.engines.sweeps import in_order
from painless.engines.sweeps._ordered_kernels import raised_in_order
from painless.engines.sweeps.chain import ChangingChain, chain_of
from painless.engines.sweeps.in_order import OrderedRows
from painless.engines.sweeps.state_threads import StateThreads
from painless.engines.total import Total
from painless.problem.units import normalise


def layered(seed, states=1500, back=0.0):
    """Return a problem whose actions lead to lower states or stay, and to the next higher one with probability `back`; it ends in state 0."""
    rng = np.random.default_rng(seed)
    pairs, here = 3 * states, np.repeat(np.arange(states), 3)
    steps = rng.integers(1, 12, pairs)
    stay = rng.random(pairs) * 0.5 * (rng.random(pairs) < 0.5)
    parts = [
        (stay, here),
        (np.full(pairs, back), np.minimum(here + 1, states - 1)),
        (1 - stay - back, np.maximum(here - steps, 0)),
    ]
    kernel = sum(scipy.sparse.csr_array((p, (np.arange(pairs), to)), (pairs, states)) for p, to in parts)
    costs = 0.1 + rng.random((2, states, 3))
    return painless.CMDP(
        scipy.sparse.csr_array(kernel),
        cost=costs[0],
        constraint_cost=costs[1],
        budget=np.inf,
        initial=np.eye(states)[-1],
        discount=1.0,
        end=[0],
    )


def ordered(problem):
    """Return the rows of a problem in order, a policy that stops, and its pricer."""
    engine = Total(problem)
    swept = engine._swept(np.ones(2))[1]
    return OrderedRows(swept.pricer.rows, lambda: None), swept.pricer._choice, swept.pricer


@pytest.mark.parametrize("seed", range(20))
def test_components_are_numbered_after_those_that_they_lead_to(seed):
    rng = np.random.default_rng(seed)
    states, pairs, branching = 40, 80, 2
    origin = np.repeat(np.arange(states), 4)
    successor = rng.integers(states, size=pairs * branching)
    successor = np.where(rng.random(len(successor)) < 0.05 * seed, successor, np.minimum(successor, origin))
    first, pointer = np.arange(0, pairs + 1, 2), np.arange(0, pairs * branching + 1, branching)
    label = kernels.components_in_order(*(part.astype(np.uint32) for part in (first, pointer, successor)))
    graph = scipy.sparse.coo_array((np.ones(len(origin)), (origin, successor)), (states, states)).tocsr()
    number, truth = scipy.sparse.csgraph.connected_components(graph, connection="strong")
    assert len({*zip(label.tolist(), truth.tolist(), strict=True)}) == number == label.max() + 1
    assert (label[origin] >= label[successor]).all()


def test_a_model_without_cycles_takes_one_sweep():
    problem = layered(1)
    rows, choice, pricer = ordered(problem)
    value, weight = np.zeros(len(choice)), np.array([1.0, 0.3])
    arrays = (
        *pricer.rows[:4],
        weight @ pricer.rows.utility,
        in_order.EVEN,
        rows._bold,
        rows.order,
        rows._spans,
        False,
    )
    assert kernels.best_in_order(*arrays, 0.0, 0.0, 10**9, value, choice.copy()) == len(choice)
    # Backward induction
    truth, cost = np.zeros(1500), weight @ np.reshape(-problem.utility, (2, -1))
    kernel = problem.transition.toarray()
    for state in range(1, 1500):
        pairs = np.arange(3 * state, 3 * state + 3)
        ahead = kernel[pairs][:, :state] @ truth[:state]
        truth[state] = ((cost[pairs] + ahead) / (1 - kernel[pairs, state])).min()
    assert -value.min() == pytest.approx(truth.max(), rel=1e-12)


@pytest.mark.parametrize("back", [0.0, 0.1])
def test_a_policy_its_values_and_its_visits(back):
    rows, choice, pricer = ordered(layered(2, back=back))
    initial, chains = pricer.initial, ChangingChain(pricer.rows, 1.0, StateThreads())
    known = np.zeros((len(choice), 3))
    found = rows.price(np.array([1.0, 0.5]), 1e-6, 1e-9, initial, choice, chains, known)
    assert found is not None
    chain = chain_of(pricer.rows, 1.0, found.choice)
    visits = rows.visits(chain, initial)
    assert visits.sum() == pytest.approx(found.time @ initial, rel=1e-2)
    assert visits @ chain.gain == pytest.approx(found.value.T @ initial, rel=1e-9)
    better = rows.longest(np.array([1.0, 0.5]) @ pricer.rows.utility, choice)
    assert better @ initial == pytest.approx(found.value @ [1.0, 0.5] @ initial, rel=1e-2)


@pytest.mark.parametrize(("seed", "back"), [(3, 0.0), (4, 0.0), (5, 0.05), (6, 0.2)])
def test_a_limit_against_a_linear_program(seed, back):
    free = layered(seed, 700, back)
    spent = painless.solve(free, tolerance=1e-9).constraint_value[0]
    problem = free.with_limits([0.96 * spent])
    found = painless.solve(problem, tolerance=1e-9)
    going = np.arange(3, problem.transition.shape[0])
    here = scipy.sparse.csr_array((np.ones(len(going)), (going // 3 - 1, np.arange(len(going)))))
    truth = scipy.optimize.linprog(
        -problem.reward.ravel()[going],
        A_ub=-problem.constraint_reward.reshape(1, -1)[:, going],
        b_ub=-problem.threshold,
        A_eq=here - scipy.sparse.csr_array(problem.transition[going].T)[1:],
        b_eq=problem.initial[1:],
        method="highs-ipm",  # the simplex method gives up on some of these
    )
    assert found.reward_value == pytest.approx(truth.fun, rel=1e-7)
    assert found.gap <= 1e-9 * found.reward_value
    assert found.multiplier == pytest.approx(-truth.ineqlin.marginals, rel=1e-3)


def test_mixing_models_are_left_to_other_sweeps():
    garnet = painless.garnet(900, 3, 4, 1, seed=2, discount=0.99, dense=False)
    kernel = 0.99 * garnet.transition
    total = painless.CMDP(
        kernel,
        garnet.reward,
        constraint_reward=garnet.constraint_reward,
        threshold=garnet.threshold,
        initial=garnet.initial,
        discount=1.0,
    )
    engine = Total(normalise(total)[0])
    engine.best(np.array([1.0, 0.2]), 1e-8, 1e-9)
    pricer = engine._swept(np.ones(2))[1].pricer
    assert pricer._ordered == []


def waiting(states=3000):
    """Return a problem whose states lead down at a cost, or wait at twice that cost: by the guard's weights, going on is worth as much as stopping."""
    here = np.arange(states)
    pairs, to = np.arange(2 * states), np.column_stack([np.maximum(here - 1 - here % 3, 0), here])
    return painless.CMDP(
        scipy.sparse.csr_array((np.ones(2 * states), (pairs, to.reshape(-1))), (2 * states, states)),
        cost=np.tile([0.5, 1.0], (states, 1)),
        initial=np.eye(states)[-1],
        discount=1.0,
        end=[0],
    )


@pytest.mark.parametrize("make", [waiting, lambda: layered(5), lambda: layered(6, back=0.1)])
def test_sweeps_show_that_a_problem_is_well_posed(make, monkeypatch):
    problem = make()

    def refuse(*_, **__):
        raise AssertionError("policy iteration is not needed")

    monkeypatch.setattr("painless.engines.well_posed.improved", refuse)
    engine = Total(problem)
    weight, value = engine.guard
    ahead = (problem.transition @ value).reshape(problem.actions.shape)
    least = 1 + np.tensordot(weight, problem.utility, 1) + ahead
    pairs = engine.whole.pairs & (engine.whole.rests.label < 0)[:, None]
    assert pairs.sum() > 1000
    assert (value[:, None] >= least)[pairs].all()


def test_windows_carry_changes_through_a_large_component(monkeypatch):
    """Where some transitions lead back, windows find the same values with a fraction of the work."""
    problem, weight, found = layered(7, 20_000, 0.2), np.array([1.0, 0.5]), {}
    for large in (10**9, in_order.LARGE):
        monkeypatch.setattr(in_order, "LARGE", large)
        rows, choice, pricer = ordered(problem)
        assert (len(rows._spans) > len(rows.bounds) - 1) == (large < 10**9)
        value, taken = np.zeros(len(choice)), choice.copy()
        arrays = (
            *pricer.rows[:4],
            weight @ pricer.rows.utility,
            in_order.EVEN,
            rows._bold,
            rows.order,
            rows._spans,
            False,
        )
        work = kernels.best_in_order(*arrays, 0.0, 1e-9, 10**9, value, taken)
        values, rows._most = np.zeros((len(choice), 3)), 10**9
        assert rows.evaluate(chain_of(pricer.rows, 1.0, taken), 1e-9, values)
        found[large] = work, value, values
    (most, value, values), (work, same, other) = found.values()
    assert work < 0.3 * most
    np.testing.assert_allclose(same, value, rtol=1e-9)
    np.testing.assert_allclose(other[:, :2], values[:, :2], rtol=1e-9)
    np.testing.assert_allclose(values[:, :2] @ weight, value, rtol=1e-9)


def swept(rows, pricer, choice, taken_further):
    """Return the work for a policy and for its values, and both values, without windows."""
    whole, part = np.array([[0, len(choice), 0]], dtype=np.uint32), np.full(1, kernels.BOLD)
    value, taken, weight = np.zeros(len(choice)), choice.copy(), np.array([1.0, 0.5])
    further = rows._further if taken_further else in_order.EVEN
    arrays = (*pricer.rows[:4], weight @ pricer.rows.utility, further, part, rows.order, whole, False)
    work = kernels.best_in_order(*arrays, 0.0, 1e-10, 10**9, value, taken)
    chain, values = chain_of(pricer.rows, 1.0, taken), np.zeros((len(choice), 3))
    if taken_further:
        further = kernels.chain_relaxation(*chain[:5], rows._label, rows._place)
    arrays = (*chain, further, np.full(1, kernels.BOLD), rows.order, whole, False)
    steps = kernels.values_in_order(*arrays, 0.0, np.full(3, 1e-10), 10**9, values)
    np.testing.assert_allclose(values[:, :2] @ weight, value, rtol=1e-8)
    return work, steps, value, values, part[0]


@pytest.mark.parametrize(("seed", "back"), [(9, 0.1), (10, 0.2), (11, 0.25)])
def test_changes_are_taken_further_where_some_transitions_lead_back(seed, back):
    """Over-relaxation finds the same values with less work; where much of it does not help, less is used."""
    rows, choice, pricer = ordered(layered(seed, 1_200, back))
    most, longest, value, values, _ = swept(rows, pricer, choice, False)
    work, steps, same, other, part = swept(rows, pricer, choice, True)
    assert work < 0.95 * most
    assert steps < 0.95 * longest
    assert part == (kernels.CAREFUL if back > 0.1 else kernels.BOLD)
    np.testing.assert_allclose(same, value, rtol=1e-8)
    np.testing.assert_allclose(other, values, rtol=1e-8)


def test_changes_are_not_taken_further_where_they_grow_by_that():
    rows, choice, pricer = ordered(layered(12, 800, 0.2))
    truth = swept(rows, pricer, choice, False)[2]
    rows._further = np.full(len(rows._further), 3.0)
    *_, found, _, part = swept(rows, pricer, choice, True)
    assert part == 0
    np.testing.assert_allclose(found, truth, rtol=1e-8)


def test_windows_end_where_they_do_not_converge():
    """A span with a limit takes no more sweeps than that, and others with one are left out until the next without."""
    rows, choice, pricer = ordered(layered(8, 2_000, 0.3))
    utility = np.array([1.0, 0.5]) @ pricer.rows.utility

    def work(windows, last):
        spans = np.array([[0, 1000, 1]] * windows + [[0, len(choice), 0], *last], dtype=np.uint32)
        arrays = (*pricer.rows[:4], utility, in_order.EVEN, rows._bold, rows.order, spans, False)
        return kernels.best_in_order(*arrays, 0.0, 1e-9, 10**9, np.zeros(len(choice)), choice.copy())

    enough = kernels.MISSED + 1
    assert work(5, []) == work(enough, []) != work(enough - 1, [])
    assert work(5, [[0, 100, 1]]) == work(5, []) + 100


@pytest.mark.parametrize("seed", range(3))
def test_proofs_in_one_pass_are_those_of_arrays(monkeypatch, seed):
    engine = Total(normalise(layered(seed, 900, 0.1 * seed))[0])
    _, swept = engine._swept(np.ones(2))
    weight = np.array([1.0, 0.4])
    priced = swept.pricer.price(weight, 1e-4, 1e-5)
    utility, value = weight @ swept.utility, priced.value @ weight
    over = total_iteration.excess(swept.quotient, utility, value)
    monkeypatch.setattr(total_iteration, "COMPILED", 0)
    found = total_iteration.largest_excess(swept.quotient, utility, value)
    assert found == pytest.approx(over.max(), rel=1e-9, abs=1e-13)
    assert np.isnan(total_iteration.largest_excess(swept.quotient, utility, np.full_like(value, np.nan)))


@pytest.mark.parametrize("back", [0.0, 0.2])
def test_nodes_are_numbered_after_those_that_they_lead_to(monkeypatch, back):
    """Whatever the states' numbers, and with the same answers."""
    problem, weight = layered(9, 3_000, back), np.array([1.0, 0.5])
    shuffled = np.random.default_rng(1).permutation(3_000)
    place, pairs = np.argsort(shuffled), (3 * shuffled[:, None] + np.arange(3)).ravel()
    mixed = painless.CMDP(
        scipy.sparse.csr_array(problem.transition[pairs][:, shuffled]),
        cost=-problem.reward[shuffled],
        constraint_cost=-problem.constraint_reward[:, shuffled],
        budget=np.inf,
        initial=problem.initial[shuffled],
        discount=1.0,
        end=[int(place[0])],
    )
    quotient = Total(mixed)._quotient(weight)[1]
    kernel = quotient.rows.kernel.tocoo()
    lead = kernel.coords[1] - quotient.rows.state[kernel.coords[0]]
    assert (lead <= 0).all() if not back else kernel.data[lead > 0].sum() < 0.4 * kernel.data.sum()
    found = [Total(one).best(weight, 1e-9, 1e-9) for one in (problem, mixed)]
    assert found[0].upper_bound == pytest.approx(found[1].upper_bound, rel=1e-9)
    assert found[0].value == pytest.approx(found[1].value, rel=1e-9)
    before = quotient.utility(mixed.utility), quotient.initial
    monkeypatch.setattr(reduction, "COMPILED", 10**9)
    usual = Total(mixed)._quotient(weight)[1]
    there = np.flatnonzero(usual.node >= 0)
    number = quotient.node[there[np.argsort(usual.node[there])]]
    assert (before[1][number] == usual.initial).all()
    order = np.argsort(number[usual.rows.state], kind="stable")
    assert (usual.utility(mixed.utility)[:, order] == before[0]).all()
    assert (usual.pair[order] == quotient.pair).all()


@pytest.mark.parametrize("back", [0.0, 0.1])
def test_a_bound_that_is_raised_in_order_is_a_proof(back):
    engine = Total(normalise(layered(10, 2_000, back))[0])
    weight = np.array([1.0, 0.4])
    swept = engine._swept(weight)[1]
    priced, quotient = swept.pricer.price(weight, 1e-9, 1e-9), swept.quotient
    utility, value = weight @ swept.utility, priced.value @ weight
    bound = swept._bound_in_order(weight, 0.0, value, priced.time)
    usual = total_iteration.at_start(quotient, value)
    assert usual <= bound <= usual + 1e-9 * abs(usual)
    # Every row is checked: values that are too low are raised, or refused.
    low = value - np.linspace(0, 1, len(value))
    found = swept._bound_in_order(weight, 0.0, low, priced.time)
    assert found is None or found >= usual - 1e-9 * abs(usual)
    arrays = (np.append(quotient.rows.first, len(utility)).astype(np.uint32), *quotient.rows.arrays)
    raised = np.empty(len(value))
    rest = (quotient.is_stop, swept.utility, weight, 0.0, 1e-14, *swept.pricer.order, value, priced.time)
    assert raised_in_order(*arrays, *rest, 2.0, 3, raised)
    assert total_iteration.largest_excess(quotient, utility, raised) <= 0
    # An order in which states come before those that they lead to proves nothing.
    order, bounds = swept.pricer.order
    turned = (
        *(quotient.is_stop, swept.utility, weight, 0.0, 1e-14),
        order[::-1].copy(),
        (len(order) - bounds[::-1]).astype(np.uint32),
    )
    assert not raised_in_order(*arrays, *turned, value, priced.time, 2.0, 3, raised)


def test_states_that_some_pairs_reach():
    rng = np.random.default_rng(3)
    kernel = scipy.sparse.random_array((600, 200), density=0.004, rng=rng, format="csr")
    pairs, initial = rng.random((200, 3)) < 0.7, np.eye(200)[7]
    found = components.reached_states(
        *(kernel.indptr.astype(np.uint32), kernel.indices.astype(np.uint32)), pairs.ravel(), initial, 3
    )
    graph = sum(scipy.sparse.diags_array(1.0 * pairs[:, a]) @ kernel[a::3] for a in range(3))
    assert (found == reachable(scipy.sparse.csr_array(graph), initial)).all()
    assert 1 < found.sum() < 200


@pytest.mark.parametrize("mixed", [False, True])
def test_values_are_proved_in_one_pass_as_by_arrays(mixed):
    """Of one policy, and of a mixture: what is left of u + PV − V, in all steps that W proves."""
    engine = Total(normalise(layered(11, 900, 0.1))[0])
    _, swept = engine._swept(np.ones(2))
    priced = [swept.pricer.price(np.array([1.0, price]), 1e-4, 1e-5) for price in (0.2, 3.0)]
    choices, shares = (
        np.array([swept._known.kept[one.choice.astype(np.intp)] for one in priced]),
        np.array([1.0]),
    )
    if mixed:
        shares, values = swept.pricer.mixed(
            np.array([one.choice for one in priced]), np.array([0.6, 0.4]), 1e-6
        )
    else:
        choices, values = choices[1:], priced[1]
        shares = np.ones(choices.shape)
    quotient, terms = swept.quotient, 3 * len(choices) * (swept.quotient.rows.terms + 1) + swept_total.STEPS
    kernel, rounding = quotient.rows.kernel, terms * swept_total.UNIT_ROUNDOFF
    chain = sum(scipy.sparse.diags_array(s) @ kernel[c] for s, c in zip(shares, choices, strict=True))
    gain = np.einsum("kn,jkn->nj", shares, swept.utility[:, choices])
    size = chain @ np.abs(values.value) + np.abs(gain) + np.abs(values.value)
    left = np.abs(gain + chain @ values.value - values.value) + rounding * size
    after = chain @ values.time
    held = (values.time - after - rounding * (values.time + after)).min()
    guess = quotient.initial @ values.value
    error = left.max(0) * (quotient.initial @ values.time) / held
    found = swept._proved_values(choices, shares, values)
    np.testing.assert_allclose(found.guess, guess, rtol=1e-12)
    np.testing.assert_allclose(found.high - found.low, 2 * error, rtol=1e-2)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_passes_over_rows_are_those_of_arrays(monkeypatch, seed):
    """Ways to some states, rows that do not stay, and rows whose others are empty, of a large model as of a small one."""
    rng = np.random.default_rng(seed)
    states, pairs = 60, 150
    chance = scipy.sparse.random_array((pairs, states), density=0.04, rng=rng, format="csr")
    state = np.sort(np.append(np.arange(states), rng.integers(states, size=pairs - states)))
    rows, targets = pair_rows.PairRows(chance, state, states), rng.random(states) < 0.1
    expected, plain = rows.leading_to(targets), row_sweeps.kept_rows(rows)
    monkeypatch.setattr(pair_rows, "COMPILED", 0)
    monkeypatch.setattr(row_sweeps, "COMPILED", 0)
    np.testing.assert_array_equal(rows.leading_to(targets), expected)
    for one, other in zip(row_sweeps.kept_rows(rows).sparse[:4], plain.sparse[:4], strict=True):
        np.testing.assert_array_equal(one, other)
    stuck = scipy.sparse.csr_array((np.ones(pairs), (np.arange(pairs), state)), (pairs, states))
    assert len(row_sweeps.kept_rows(pair_rows.PairRows(stuck, state, states)).kept) == 0
    full = np.flatnonzero(np.diff(chance.indptr))
    assert len(full) < pairs
    np.testing.assert_array_equal(reduction._chosen(chance, full).toarray(), chance[full].toarray())
    np.testing.assert_array_equal(reduction._chosen(chance, full[1:]).toarray(), chance[full[1:]].toarray())


@pytest.mark.parametrize("back", [0.0, 0.2])
def test_components_are_found_once(back):
    """Sweeps take over the components that the nodes are numbered by."""
    swept = Total(layered(13, 12_000, back))._swept(np.ones(2))[1]
    known = swept.pricer._label
    np.testing.assert_array_equal(known, kernels.components_in_order(*swept.pricer.rows[:3]))
    ours, own = (
        OrderedRows(swept.pricer.rows, lambda: None, known),
        OrderedRows(swept.pricer.rows, lambda: None),
    )
    np.testing.assert_array_equal(ours.order, own.order)
    np.testing.assert_array_equal(ours._spans, own._spans)
