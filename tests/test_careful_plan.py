"""Plans on logs whose margins are part of what is planned: what the bound rests on, and what it brings."""

import numpy as np
import pytest

import painless
from painless.bellman import policy_value
from painless.counting.careful_plan import best_plan, careful_plans
from painless.counting.completion import completed
from painless.counting.judgement import exposure, judge
from painless.logs.answer import limits_of
from painless.policies.table import dirichlet_policy
from tests.logs import drawn, walk, world

GARNET, BUDGET = world()
ROLES = {"reward": "reward", "episode": "episode"}
CRITERIA = {
    "discounted": ({"discount": 0.9}, BUDGET),
    "total": ({"discount": 1, "done": "done"}, 9.0),
    "average": ({"average": True}, 0.45),
}


def read(criterion, rows=1500, seed=1):
    options, budget = CRITERIA[criterion]
    columns = walk(200, seed) if criterion == "total" else drawn(GARNET, rows, seed=seed)
    return painless.from_log(columns, constraint_cost={"cost": budget}, **ROLES, **options)


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_exposure_is_the_variance_of_a_pair_that_is_always_taken(criterion):
    """d² q = d · π · (D q), with d = π D: the bound is tight where a plan takes one action."""
    model = read(criterion).model
    policy = dirichlet_policy(model.tried_or_all, np.random.default_rng(0))
    judged = judge(model, policy)
    found = judged.occupancy * policy * exposure(model, policy)
    np.testing.assert_allclose(found.reshape(len(found), -1), judged.pair_variance, rtol=1e-9, atol=1e-15)


def test_the_linear_bound_is_above_the_margin():
    """e/2 + Σ d·D·q/(2e) ≥ √(Σ d² q) for every e, with equality only if d = D and e is the error."""
    model = read("discounted").model
    rng = np.random.default_rng(1)
    for _ in range(20):
        policy = dirichlet_policy(model.tried_or_all, rng)
        judged = judge(model, policy)
        error = judged.error * rng.uniform(0.3, 3.0, len(judged.error))
        steps = (judged.occupancy * exposure(model, policy)).sum((1, 2))
        first = judged.error**2 - judged.pair_variance.sum(1)
        assert ((error + (steps + first) / error) / 2 >= judged.error * (1 - 1e-12)).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_no_worse_than_what_was_done_or_what_is_optimal(seed):
    """Both are candidates: a safe one is never given up for another with a smaller pessimistic reward."""
    log = read("discounted", seed=seed)
    found = careful_plans(log.model, limits_of(log, 0.95))
    best = best_plan(found, limits_of(log, 0.95))
    assert best.safe
    assert not found[0].safe  # the optimum of the estimate uses the limit up
    assert all(best.merit >= one.merit for one in found if one.safe)
    assert all((one.slack >= -1e-9).all() for one in found if one.safe)


def test_where_a_plan_does_not_come_it_does_what_is_best_for_the_limits():
    """From the start one goes to the shop for good; an accident may lead to the street, where waiting costs and leaving does not."""
    rows = [("start", "go", "shop", 1.0, 0.0)] * 50 + [("shop", "stay", "shop", 1.0, 0.0)] * 50
    rows += [("street", "wait", "street", 0.0, 1.0)] * 20 + [("street", "leave", "shop", 0.0, 0.0)] * 20
    log = painless.from_log(rows, constraint_cost={4: 1.0}, initial="start", discount=0.9)
    place = {name: k for k, name in enumerate(log.actions)}
    policy = log.model.tried_or_all / log.model.tried_or_all.sum(1, keepdims=True)
    street = list(log.states).index("street")
    found = completed(log.model, policy)
    assert found[street, place["leave"]] == 1
    others = [k for k in range(len(policy)) if k != street]
    np.testing.assert_array_equal(found[others], policy[others])


def test_rare_pairs_that_promise_much_do_not_lead_astray():
    """Of forty choices each was tried once or twice, some with luck; one is known well. The plan keeps to it, and meets the limit."""
    rng = np.random.default_rng(3)
    rows = [("s", "known", "s", 1.0 + 0.1 * rng.normal(), 0.1 + 0.05 * rng.random()) for _ in range(2000)]
    rows += [
        ("s", f"rare {k}", "s", 1.5 * rng.random(), 0.2 * rng.random()) for k in range(40) for _ in range(2)
    ]
    log = painless.from_log(rows, constraint_cost={4: 1.5}, discount=0.9)
    found = painless.solve(log)
    assert found.feasible is True
    assert found.policy["s"]["known"] > 0.9
    assert found.reward_value > 9.5


def test_more_data_claims_no_less_on_average():
    """Four and sixteen times the rows of the same kind: at least as many limits met, narrower intervals, and a better return on the truth."""
    met, width, value = [], [], []
    for rows in (150, 600, 2400):
        logs = [drawn(GARNET, rows, seed=100 + seed) for seed in range(8)]
        found = [
            painless.solve(painless.from_log(log, constraint_cost={"cost": BUDGET}, discount=0.9, **ROLES))
            for log in logs
        ]
        met.append(sum(one.feasible is True for one in found))
        width.append(np.mean([np.ptp(one.constraint_interval[0]) for one in found]))
        value.append(
            np.mean(
                [policy_value(GARNET, one.policy.probabilities[: len(GARNET.initial)])[0] for one in found]
            )
        )
    assert met == sorted(met)
    assert met[-1] == 8
    assert width[0] > width[1] > width[2]
    assert value[0] < value[2]


def test_who_rests_for_ever_meets_what_was_never_seen():
    """At home nothing ever happened in three hundred rows, but a total counts every step to come: that is no claim, and going is one."""
    rows = [("home", "rest", "home", 0.0, 0.0, False)] * 300
    rows += [("home", "go", "there", 1.0, 0.01 * (k % 10 == 0), True) for k in range(300)]
    names = {"reward": 3, "done": 5, "initial": "home", "discount": 1}
    resting = painless.from_log(rows[:300] + rows[300:310], constraint_cost={4: 1e-6}, **names)
    assert painless.solve(resting).feasible is not True
    going = painless.solve(painless.from_log(rows, constraint_cost={4: 0.1}, **names))
    assert going.feasible is True
    assert going.policy["home"]["go"] == pytest.approx(1)
