"""Logs with a horizon, totals until the end and long-run averages: values, errors, claims, and what came of the episodes."""

import json

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import painless
from painless import InputError
from painless.cli.app import app
from painless.counting.judgement import advantage, judge
from painless.engines.drawn import Drawn
from painless.logs.adding import Adding
from painless.logs.answer import limits_of
from painless.logs.behaviour import behaviour, judged_behaviour
from painless.logs.check import weighted
from painless.policies.table import uniform_policy
from painless.report.page_log import LogRecord, log_page
from tests.logs import drawn, walk, world

CRITERIA = {
    "horizon": {"horizon": 12},
    "discounted horizon": {"horizon": 12, "discount": 0.9},
    "total": {"discount": 1, "done": "done"},
    "average": {"average": True},
}
LIMITS = {"horizon": 5.2, "discounted horizon": 3.4, "total": 7.0, "average": 0.42}
GARNET, BUDGET = world()


def rows_of(name, seed, rows=1500):
    return walk(rows // 6, seed) if name == "total" else drawn(GARNET, rows, seed)


def read(name, columns, limit=None, **options):
    limit = LIMITS[name] if limit is None else limit
    return painless.from_log(
        columns,
        reward="reward",
        constraint_cost={"cost": limit},
        episode="episode",
        **CRITERIA[name],
        **options,
    )


def some_policy(log, seed=0):
    """Return a random policy of the states that were seen."""
    tried = log.model.tried_or_all
    shape = (log.adding.horizon, *tried.shape) if log.adding.horizon else tried.shape
    table = np.random.default_rng(seed).exponential(size=shape) * tried
    return table / table.sum(-1, keepdims=True)


def true_value(name, policy):
    """Return reward and cost of a policy on the truth."""
    if name == "total":
        found = painless.value(policy.probabilities[:4], truth_of_walks())
        return found.reward_value, found.constraint_value[0]
    found = painless.value(
        policy, GARNET.with_average() if name == "average" else GARNET.with_horizon(**horizon(name))
    )
    steps = sum(CRITERIA[name].get("discount", 1.0) ** t for t in range(12)) if "horizon" in name else 1.0
    return found.reward_value, steps - found.constraint_value[0]


def horizon(name):
    return {"horizon": 12, "discount": CRITERIA[name].get("discount", 1.0)}


@pytest.mark.parametrize("name", CRITERIA)
def test_values_are_those_of_the_estimated_problem(name):
    log = read(name, rows_of(name, 1))
    judged = judge(log.model, some_policy(log))
    found = painless.value(log.policy(judged), log.problem)
    assert judged.value[0] == pytest.approx(found.reward_value)
    assert -judged.value[1] == pytest.approx(found.constraint_value[0])
    assert (judged.error > 0).all()


@pytest.mark.parametrize("name", CRITERIA)
def test_the_influence_is_the_derivative(name):
    """Moving a little of the frequency of a pair from one successor to another changes the values as the delta method says."""
    log = read(name, rows_of(name, 2, 600))
    policy = some_policy(log, 3)
    judged, memory = judge(log.model, policy), log.memory
    pair = int(np.argmax(np.bincount(memory.pairs)))
    one, other = np.flatnonzero(memory.pairs == pair)[:2]
    step = 1e-4 * memory.counts[0, one]
    moved = memory.copy()
    moved.counts = memory.counts.copy()
    mean = memory.sums.sum(0) / memory.counts.sum(0)[:, None]
    for entry, change in ((one, -step), (other, step)):
        moved.counts[0, entry] += change
    moved.sums = memory.sums.copy()
    moved.sums[0] = mean * moved.counts.sum(0)[:, None] - memory.sums[1]
    change = judge(log.model_of(moved), policy).value - judged.value
    share = step / memory.visits.reshape(-1)[pair]
    expected = share * (judged.influence[:, other] - judged.influence[:, one])
    np.testing.assert_allclose(change, expected, rtol=2e-3, atol=1e-12)


@pytest.mark.parametrize("name", CRITERIA)
def test_errors_are_those_of_repetitions(name):
    values, errors = [], []
    for seed in range(30):
        log = read(name, rows_of(name, 100 + seed, 600))
        policy = uniform_policy(log.model.tried_or_all)
        policy = np.broadcast_to(policy, (12, *policy.shape)) if log.adding.horizon else policy
        judged = judge(log.model, policy)
        values.append(judged.value)
        errors.append(judged.error)
    ratio = np.std(values, axis=0, ddof=1) / np.mean(errors, axis=0)
    assert (ratio > 0.6).all(), ratio
    assert (ratio < 1.3).all(), ratio


@pytest.mark.parametrize("name", CRITERIA)
def test_claims_hold_on_the_truth(name):
    met = wrong = 0
    for seed in range(3):
        log = read(name, rows_of(name, 40 + seed))
        found = painless.solve(log)
        reward, cost = true_value(name, found.policy)
        met += found.feasible is True
        wrong += found.feasible is True and cost > LIMITS[name] + 1e-9
        assert found.reward_interval[0] - 1 < reward
    assert met >= 2
    assert wrong <= 1


def truth_of_walks():
    """Return the problem that `walk` draws from: p1 … p4, the end."""
    kernel = np.zeros((4, 2, 4))
    reward = np.zeros((4, 2))
    for s in range(4):
        for a, up in enumerate((0.75, 0.55)):  # fast, slow, as their names are sorted
            if s < 3:
                kernel[s, a, s + 1] = up
            else:
                reward[s, a] = 10 * up
            if s > 0:
                kernel[s, a, s - 1] = 1 - up
    cost = np.tile([1.5, 1.0], (4, 1))
    return painless.CMDP(
        kernel, reward, initial=[0, 1, 0, 0], discount=1.0, constraint_cost=cost, budget=LIMITS["total"],
        names={"states": ["p1", "p2", "p3", "p4"], "actions": ["fast", "slow"]},
    )  # fmt: skip


def achieved(log):
    return behaviour(log, judged_behaviour(log), limits_of(log, 0.95), 0.95)


def test_what_the_episodes_brought():
    columns = drawn(GARNET, 1000, seed=4)
    rewards = np.reshape(columns["reward"], (-1, 50))
    was = achieved(read("horizon", columns))
    assert was.mean[0] == pytest.approx(rewards[:, :12].sum(1).mean())
    assert was.episodes == 20
    assert was.low[0] < was.mean[0] < was.high[0]
    was = achieved(read("average", columns))
    assert was.mean[0] == pytest.approx(rewards.mean())
    assert was.low[0] < was.model_value[0] < was.high[0]
    walks = walk(200, 5)
    walks["done"][-1] = False  # the last one is cut off
    was = achieved(read("total", walks))
    assert was.episodes == 199


def test_short_episodes_do_not_tell_of_a_longer_horizon():
    columns = drawn(GARNET, 600, seed=4, length=10)
    assert achieved(read("horizon", columns)).episodes == 0


@pytest.mark.parametrize("name", CRITERIA)
def test_differences_from_the_behaviour_add_up(name):
    log = read(name, rows_of(name, 8))
    found = painless.solve(log)
    beyond = found.extrapolation
    assert beyond.difference[0] == pytest.approx(found.reward_value - found.behaviour.model_value[0])
    assert beyond.needed[0].worth > 0
    judged = judge(log.model, found.policy.probabilities[..., : len(log.states), :])
    own = judge(log.model, some_policy(log, 1))
    gain = advantage(log.model, own)
    part = gain * judged.occupancy if judged.stages is None else (gain * judged.stages).sum(1)
    np.testing.assert_allclose(part.sum((1, 2)), judged.value - own.value, rtol=1e-6)


@pytest.mark.parametrize("name", CRITERIA)
def test_check_and_frontier_and_page(name, tmp_path, monkeypatch):
    monkeypatch.setattr("painless.frontiers.logged.POINTS", 2)
    log = read(name, rows_of(name, 9, 600))
    found = painless.solve(log)
    other = found.check(read(name, rows_of(name, 10, 600)))
    assert other.low[1] < found.constraint_value[0] + 1
    assert other.unknown == 0
    found.save(tmp_path / "answer")
    record = LogRecord.load(tmp_path / "answer")
    np.testing.assert_array_equal(record.log.counts, log.counts)
    assert record.log.adding == log.adding
    page = log_page(record, "saved")
    assert str(log.adding) in page
    assert "Other limits" in page
    with pytest.raises(InputError, match=r"has the criterion discount 0\.5, this one"):
        found.check(
            painless.from_log(rows_of(name, 9), reward="reward", constraint_cost={"cost": 1.0}, discount=0.5)
        )


def test_weights_of_the_behaviour_itself_are_1():
    for name, columns in (("total", walk(300, 3)), ("horizon", drawn(GARNET, 1500, seed=3))):
        log = read(name, columns)
        mean, low, high, worth = weighted(
            log, log.model.behaviour.reshape(-1, *log.counts[: len(log.states)].shape), 0.95
        )
        np.testing.assert_allclose(mean, log.returns.mean(average=False))
        assert worth == pytest.approx(log.returns.episodes)
        assert (low < mean).all()
        assert (mean < high).all()


def test_a_draw_between_policies_has_the_averages():
    log = read("average", drawn(GARNET, 900, seed=2))
    parts = tuple(some_policy(log, seed) for seed in (1, 2))
    judged = judge(log.model, Drawn(parts, np.array([0.25, 0.75])))
    each = [judge(log.model, part) for part in parts]
    np.testing.assert_allclose(judged.value, 0.25 * each[0].value + 0.75 * each[1].value)
    assert (judged.error <= 0.25 * each[0].error + 0.75 * each[1].error + 1e-12).all()
    assert type(log.policy(judged)).__name__ == "TableMixture"


def test_averages_say_nothing_where_a_worse_part_is_never_left():
    """Two parts that the log never leaves: from the better one, a transition that was never seen could lead to the other for good."""
    rows = [("good", "stay", "good", 1.0, 0.0, 0)] * 50 + [("bad", "stay", "bad", 0.0, 1.0, 1)] * 50
    names = ("state", "action", "next_state", "reward", "cost", "episode")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    found = painless.solve(read("average", columns, initial="good"))
    assert found.feasible is None
    assert found.verdict == ("unclear",)


def test_averages_leave_out_where_the_log_breaks_off():
    columns = drawn(GARNET, 500, seed=2)
    columns["next_state"][-1] = "nowhere"
    log = read("average", columns)
    assert log.rows == 499
    assert np.isfinite(painless.solve(log).constraint_interval).all()


def test_totals_that_may_never_end():
    rows = [("in", "wait", "in", 1.0, 0.0, 0, False), ("in", "go", "out", 0.0, 0.0, 0, True)] * 5
    names = ("state", "action", "next_state", "reward", "cost", "episode", "done")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns["episode"] = [k // 2 for k in range(10)]
    with pytest.raises(InputError, match="in"):
        painless.solve(read("total", columns))


ERRORS = {
    "a log does not say how its steps add up": {},
    "the total until the end needs rows that end": {"discount": 1.0},
    "no row ends an episode by column 'done'": {"discount": 1, "done": "done"},
    "done has no meaning beside average=True": {"average": True, "done": "done"},
    "discount has no meaning beside average=True": {"average": True, "discount": 0.9},
    "horizon is 0; it must be a whole number": {"horizon": 0},
    "average is 'yes'": {"average": "yes"},
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message):
    columns = drawn(GARNET, 100, seed=1) | {"done": [False] * 100}
    with pytest.raises(InputError, match=message):
        painless.from_log(columns, reward="reward", episode="episode", **ERRORS[message])


def test_words():
    assert str(Adding(0.9)) == "discount 0.9"
    assert str(Adding(0.9, horizon=3)) == "horizon 3, discount 0.9"
    assert "total until the end" in repr(read("total", walk(50, 1)))


# The command line


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.output


def test_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr("painless.frontiers.logged.POINTS", 2)
    path = tmp_path / "log.csv"
    pandas.DataFrame(drawn(GARNET, 1000, seed=1)).to_csv(path, index=False)
    roles = (path, "--log", "-p", "reward=reward", "-p", "episode=episode", "-p", "constraint_cost=cost")
    code, output = run("solve", *roles, "--horizon", 12, "--threshold", 5.2, "--save", tmp_path / "answer")
    assert code == 0, output
    assert "met with confidence 0.95" in output
    code, output = run("report", tmp_path / "answer")
    assert code == 0
    assert "Other limits" in (tmp_path / "answer" / "report.html").read_text()
    code, output = run("solve", *roles, "--average", "--threshold", 0.42, "--json")
    assert code == 0
    assert json.loads(output)["feasible"] is True
    page, picture, data = (tmp_path / name for name in ("page.html", "band.png", "band.json"))
    band = ("frontier", *roles, "--discount", 0.9, "--threshold", BUDGET)
    code, output = run(*band, "--report", page, "--out", picture)
    assert code == 0
    assert "limits on cost would be met" in output
    assert "Other limits" in page.read_text()
    assert picture.stat().st_size > 1000
    code, output = run(*band, "--json", "--out", data, "--constraint", "cost", "--confidence", 0.9)
    assert code == 0
    assert json.loads(output)["confidence"] == 0.9
    assert json.loads(data.read_text())["name"] == "cost"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--log", "--discount", "0.9", "--tolerance", "0.1"), "--tolerance does not go with --log"),
        (("--confidence", "0.9"), "--confidence goes with --log"),
        (("--log", "-p", "reward=reward"), "a log does not say how its steps add up"),
    ],
)
def test_errors_of_the_frontier(tmp_path, arguments, message):
    path = tmp_path / "log.csv"
    pandas.DataFrame(drawn(GARNET, 50, seed=1)).to_csv(path, index=False)
    result = CliRunner().invoke(app, ["frontier", str(path), *arguments])
    assert result.exit_code != 0
    assert message in str(result.exception) + result.output
