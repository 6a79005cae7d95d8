"""Logs that look better than they are: what no row shows is not claimed."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks import log_truths
from benchmarks import logs as benchmark

import painless
from painless import InputError
from painless.common.clock import Clock
from painless.counting.judgement import judge
from painless.frontiers.frontier import frontier
from painless.logs import answer as answers
from painless.logs.answer import answer, claims, curse_of, limits_of
from tests.logs import drawn, world

PROBLEM, BUDGET = world()


def one_state(actions, **options):
    """Return a log of one state: by action, the rewards and the costs of its rows."""
    rows = [("s", name, "s", *one) for name, listed in actions.items() for one in listed]
    return painless.from_log(rows, constraint_cost={4: 0.84}, discount=0.9, **options)


def test_zeros_say_nothing():
    """That a cost did not come in 400 rows does not say how large it is when it comes."""
    columns = drawn(PROBLEM, 400, seed=1) | {"falls": [0.0] * 400}
    roles = {"reward": "reward", "episode": "episode", "discount": 0.9}
    log = painless.from_log(columns, constraint_cost={"cost": 9.9, "falls": 0.5}, **roles)
    found = painless.solve(log)
    assert found.verdict == ("met", "unclear")
    assert found.feasible is None
    assert "No row of the log has any falls" in found.status
    assert "times as many rows" not in found.status
    assert found.check(log).verdict == ("met", "unclear")
    assert set(painless.frontier(log.with_limits({"falls": 0.5}), constraint="falls").verdict) == {"unclear"}
    gains = painless.from_log(columns, constraint_reward={"falls": 1.0}, **roles)
    assert painless.solve(gains).verdict == ("unclear",)  # nor is it missed


def two_rooms(episodes):
    """Return episodes that begin in a good room, where a step is free, and go on to a bad one, where it costs 1."""
    good, bad = 60 // episodes, 40 // episodes
    rows = []
    for episode in range(episodes):
        rooms = ["good"] * good + ["bad"] * bad + ["good"]
        steps = pairwise(rooms)
        rows += [(here, "stay", there, 1.0, float(here == "bad"), episode) for here, there in steps]
    names = ("state", "action", "next_state", "reward", "cost", "episode")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_one_episode_says_little_of_where_others_begin():
    roles = {"reward": "reward", "constraint_cost": {"cost": 0.9}, "discount": 0.7, "episode": "episode"}
    one = painless.from_log(two_rooms(1), **roles)
    assert painless.solve(one).feasible is None
    given = painless.from_log(two_rooms(1), initial="good", **roles)
    assert painless.solve(given).feasible is True
    spread = [
        judge(one.model, one.model.behaviour).error[1],
        judge(given.model, given.model.behaviour).error[1],
    ]
    first = judge(one.model, one.model.behaviour).state_value[1]
    assert spread[0] ** 2 - spread[1] ** 2 == pytest.approx(np.ptp(first) ** 2 / 4 / 2)


def test_one_episode_has_a_curse():
    """The rows of one episode are drawn into two halves; where it began, both know."""
    log = painless.from_log(
        drawn(PROBLEM, 200, seed=5, length=200), reward="reward", constraint_cost={"cost": BUDGET},
        episode="episode", discount=0.9,
    )  # fmt: skip
    assert log.model.episodes == 1
    assert curse_of(log, limits_of(log, 0.95)).max() > 0


def test_halves_that_cannot_be_planned_on_leave_it_unclear(monkeypatch):
    def refused(*_):
        raise InputError("a loop pays for ever")

    monkeypatch.setattr(answers, "curse", refused)
    columns = drawn(PROBLEM, 300, seed=2)
    roles = {"reward": "reward", "episode": "episode", "discount": 0.9}
    log = painless.from_log(columns, constraint_cost={"cost": 9.9}, **roles)
    found = painless.solve(log)
    assert found.verdict == ("unclear",)
    assert np.isfinite(found.reward_value)
    assert set(frontier(log).verdict) == {"unclear"}


def test_one_pair_alone_may_put_a_value_off():
    """Eleven rows without a cost are compatible with one in more than a quarter of the rows to come."""
    safe = [(0.0, float(k < 4)) for k in range(400)]
    found = painless.solve(one_state({"safe": safe, "risky": [(1.0, 0.0)] * 11}))
    risky = found.policy.at("s")[0]
    share = 1 - 0.025 ** (1 / 11)  # of rows with a cost, at most
    assert found.feasible is True
    assert 0 < 10 * risky * share <= 0.84
    certain = painless.solve(one_state({"safe": safe, "risky": [(1.0, 0.0)] * 4000}))
    assert certain.policy.at("s")[0] > 0.99


def test_choices_that_the_log_hardly_has_are_no_claim():
    places = [f"p{k}" for k in range(8)]
    rows = [(here, "on", there, 1.0, 0.1 * (k % 2), 0)
            for k, (here, there) in enumerate(zip(places * 8, (places * 8)[1:], strict=False))]  # fmt: skip
    few, many = (
        painless.from_log(rows[:count], reward=3, constraint_cost={4: 5.0}, episode=5, initial="p0", discount=0.9)
        for count in (24, 60)
    )  # fmt: skip
    found = painless.solve(few)
    assert found.verdict == ("unclear",)
    assert "fewer than 5 rows" in found.status
    assert painless.solve(many).verdict == ("met",)
    assert painless.solve(many).check(few).verdict == ("unclear",)


def test_totals_bend():
    """A total is a cost over the chance of the end: 10 of 50 rows that end mean 5 steps, and, at two standard errors, 11."""
    rows = [("s", "on", "s", 1.0, 1.0, k // 5, k % 5 == 4) for k in range(50)]
    log = painless.from_log(rows, constraint_cost={4: 9.0}, episode=5, done=6, discount=1, reward=3)
    judged = judge(log.model, np.ones((1, 1)))
    assert judged.value[1] == pytest.approx(-5.0)
    least = 0.2 - 1.96 * np.sqrt(0.2 * 0.8 / 50)
    assert judged.error[1] > (1 / least - 5) / 1.96
    assert judged.error[0] < 2.0  # the reward's is that of the delta method


def test_the_benchmark_counts_as_logs_are_read():
    truth = log_truths.CHOSEN["garnet 0"]()
    place, begins = truth.drawn("mixed", 700, np.random.default_rng(1))
    counted = benchmark.read(truth, place, begins)
    columns = truth.log("mixed", 700, np.random.default_rng(1))
    columns["step"] = np.arange(700)
    listed = painless.from_log(
        columns, reward="reward", constraint_cost={"cost": truth.budget}, episode="episode", step="step",
        done="done", **truth.criterion,
    )  # fmt: skip
    for name in ("counts", "sums", "squares", "starts"):
        one, other = (getattr(log.memory, name).sum(0) for log in (counted, listed))
        np.testing.assert_allclose(one, other, rtol=1e-12)
    found, solution = answer(counted, 0.95, Clock()), painless.solve(listed)
    assert found.judged.value[0] == pytest.approx(solution.reward_value, rel=1e-9)
    assert claims(counted, found.judged, found.curse, found.limits) == solution.verdict
