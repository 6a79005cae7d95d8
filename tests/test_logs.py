"""Logs: reading them, planning on them, and what is claimed."""

import json
from dataclasses import replace
from datetime import date
from typing import NamedTuple

import numpy as np
import pandas
import polars
import pytest
from typer.testing import CliRunner

import painless
from painless import InputError
from painless.bellman import policy_value
from painless.cli.app import app
from painless.cli.logs import show
from painless.common.clock import Clock
from painless.common.render import number
from painless.counting.judgement import judge
from painless.logs import chunks as chunk_module
from painless.logs.answer import answer, intervals, verdicts
from painless.logs.assumptions import dependence, markov, mean_dependence, stationary
from painless.logs.file_chunks import file_chunks
from painless.report.log_figure import claim_figure
from painless.report.page_log import log_page
from tests.logs import drawn, shuffled, world

ROLES = {"reward": "reward", "episode": "episode", "discount": 0.9}


@pytest.fixture(scope="module")
def garnet():
    problem, budget = world()
    return problem, budget, drawn(problem, 3000, seed=1)


@pytest.fixture(scope="module")
def log(garnet):
    _, budget, columns = garnet
    return painless.from_log(columns, constraint_cost={"cost": budget}, **ROLES)


@pytest.fixture(scope="module")
def solution(log):
    return painless.solve(log, confidence=0.95)


def tiny(**columns):
    """Return a log of a few rows: in → out → in, and in the end out."""
    rows = {
        "state": ["in", "out", "in", "out"],
        "action": ["go", "back", "go", "back"],
        "next_state": ["out", "in", "out", "in"],
        "reward": [1.0, 0.0, 1.0, 0.0],
        "cost": [0.0, 1.0, 0.0, 1.0],
        "episode": [0, 0, 1, 1],
    }
    return {name: values for name, values in (rows | columns).items() if values is not None}


def read(columns, **options):
    return painless.from_log(columns, **({"reward": "reward", "discount": 0.9} | options))


# What a log says


def test_the_estimate_is_what_was_counted(garnet, log):
    problem, _, columns = garnet
    assert log.rows == 3000
    assert log.counts.sum() == 3000
    assert log.problem.shape == (6, 3, 1)
    assert log.problem.names["states"] == tuple(f"s{k}" for k in range(6))
    rows = [k for k in range(3000) if columns["state"][k] == "s2" and columns["action"][k] == "a1"]
    assert log.counts[2, 1] == len(rows)
    expected = np.bincount([int(columns["next_state"][k][1:]) for k in rows], minlength=6) / len(rows)
    np.testing.assert_allclose(log.problem.transition[[2 * 3 + 1]].toarray()[0], expected, atol=1e-12)
    np.testing.assert_allclose(log.problem.reward, problem.reward, atol=1e-9)
    starts = np.bincount([int(name[1:]) for name in columns["state"][::50]], minlength=6)
    # Which do not tell where they began
    closed = sum(columns["state"][k] == columns["next_state"][k + 49] for k in range(0, 3000, 50))
    assert log.starts.closed == closed
    assert log.starts.by_state.sum() == 60 - closed
    assert (log.starts.by_state <= starts).all()


def test_the_answer_knows_the_names_and_says_what_it_claims(garnet, log, solution):
    problem, budget, _ = garnet
    assert solution.feasible is True
    assert solution.verdict == ("met",)
    row = solution.policy.at("s3")
    assert row.shape == (3,)
    assert abs(row.sum() - 1) < 1e-12
    assert list(log.problem.names["actions"]) == ["a0", "a1", "a2"]
    truth = policy_value(problem, solution.policy.probabilities)
    assert 10 - truth[1] <= budget
    low, high = solution.constraint_interval[0]
    assert low <= solution.constraint_value[0] <= high <= budget + 1e-9
    assert solution.reward_interval[0] <= truth[0] <= solution.reward_interval[1]
    assert "met with confidence 0.95" in solution.status
    best = painless.solve(problem).reward_value
    assert truth[0] > 0.9 * best
    painless.value(solution.policy, log.problem)  # it fits the estimated problem


def test_a_tenth_of_the_data_claims_less(garnet):
    _problem, budget, columns = garnet
    widths, defended = [], []
    for rows in (100, 1000, 3000):
        part = {name: values[:rows] for name, values in columns.items()}
        few = painless.solve(read(part, constraint_cost={"cost": budget}, episode="episode"))
        widths.append(few.behaviour.model_high[1] - few.behaviour.model_low[1])
        defended.append(few.reward_interval[0])
    assert widths[0] > 2 * widths[1] > 3 * widths[2]
    assert defended[0] < defended[1] < defended[2]
    assert few.feasible


def test_little_data_is_unclear():
    columns = tiny()
    found = painless.solve(read(columns, constraint_cost={"cost": 4.0}, episode="episode"))
    assert found.feasible is None
    assert found.verdict == ("unclear",)
    assert "does not tell" in found.status


def test_an_impossible_limit_is_missed(garnet):
    _, _, columns = garnet
    log = painless.from_log(columns, constraint_cost={"cost": 0.1}, **ROLES)
    found = painless.solve(log)
    assert found.feasible is False
    assert found.verdict == ("missed",)
    assert "No policy was found" in found.status
    assert "breaks the limit on cost" in found.status


def test_several_utilities_and_both_senses(garnet):
    _problem, budget, columns = garnet
    limits = {"constraint_cost": {"cost": budget}, "constraint_reward": {"reward": 2.0}}
    found = painless.solve(painless.from_log(columns, **limits, **ROLES))
    assert found.sense == (">=", "<=")
    assert found.constraint_names == ("reward", "cost")
    assert found.feasible is True
    costly = painless.from_log(
        columns, cost="cost", episode="episode", constraint_reward={"reward": 4.0}, discount=0.9
    )
    found = painless.solve(costly)
    assert found.minimise
    assert found.feasible
    assert found.reward_value < 5
    assert costly.problem.minimise
    both = {"constraint_cost": {"cost": 9.0}, "constraint_reward": {"cost": 1.0}}
    assert painless.from_log(columns, **both, **ROLES).columns.constraint_names == ("cost >=", "cost <=")


def test_without_limits_there_is_nothing_to_miss(garnet):
    _, _, columns = garnet
    found = painless.solve(painless.from_log(columns, **ROLES))
    assert found.feasible is True
    assert found.verdict == ()
    assert "no limits" in found.status


# Properties


def test_the_order_of_rows_does_not_matter(garnet, log, solution):
    _, budget, columns = garnet
    other = painless.from_log(shuffled(columns), constraint_cost={"cost": budget}, **ROLES)
    found = painless.solve(other)
    np.testing.assert_allclose(found.policy.probabilities, solution.policy.probabilities, atol=1e-7)
    np.testing.assert_allclose(found.constraint_interval, solution.constraint_interval, rtol=1e-7)
    assert found.verdict == solution.verdict
    np.testing.assert_array_equal(other.counts, log.counts)


def test_names_do_not_matter(garnet, solution):
    _, budget, columns = garnet
    named = {f"s{k}": (-k, date(2026, 1, 9 - k)) for k in range(6)}
    moves = {"a0": 7, "a1": 3.5, "a2": 5}
    other = columns | {name: [named[value] for value in columns[name]] for name in ("state", "next_state")}
    other |= {"action": [moves[value] for value in columns["action"]]}
    found = painless.solve(painless.from_log(other, constraint_cost={"cost": budget}, **ROLES))
    np.testing.assert_allclose(found.constraint_interval, solution.constraint_interval, rtol=1e-7)
    order = [[*found.policy.names["actions"]].index(moves[f"a{k}"]) for k in range(3)]
    for name, new in named.items():
        np.testing.assert_allclose(found.policy.at(new)[order], solution.policy.at(name), atol=1e-7)


def test_halves_merged_equal_the_whole(garnet, log, solution):
    _, budget, columns = garnet
    halves = [
        painless.from_log(
            {name: values[part] for name, values in columns.items()},
            constraint_cost={"cost": budget},
            **ROLES,
        )
        for part in (slice(0, 1500), slice(1500, 3000))
    ]
    whole = halves[0] + halves[1]
    np.testing.assert_array_equal(whole.counts, log.counts)
    np.testing.assert_allclose(whole.problem.reward, log.problem.reward)
    found = painless.solve(whole)
    np.testing.assert_allclose(found.policy.probabilities, solution.policy.probabilities, atol=1e-7)
    np.testing.assert_allclose(found.behaviour.mean, solution.behaviour.mean)
    assert stationary(whole).p_value == pytest.approx(stationary(log).p_value)
    with pytest.raises(InputError, match="differ in their columns"):
        halves[0] + painless.from_log(columns, constraint_cost={"cost": 1.0}, **ROLES)
    with pytest.raises(TypeError):
        halves[0] + 1


def test_halves_may_have_states_of_their_own():
    first = read(tiny(), episode="episode")
    other = read(
        tiny(
            state=["in", "far"],
            next_state=["far", "in"],
            action=["jump", "back"],
            reward=[0, 2],
            cost=[0, 0],
            episode=[0, 0],
        ),
        episode="episode",
    )
    both = first + other
    assert both.problem.names["states"] == ("far", "in", "out")
    assert both.counts.tolist() == [[1, 0, 0], [0, 2, 1], [2, 0, 0]]


def test_chunks_do_not_matter(garnet, log, monkeypatch):
    _, budget, columns = garnet
    monkeypatch.setattr("painless.logs.from_log.CHUNK", 173)
    other = painless.from_log(pandas.DataFrame(columns), constraint_cost={"cost": budget}, **ROLES)
    np.testing.assert_array_equal(other.memory.counts, log.memory.counts)  # its halves too
    np.testing.assert_allclose(other.memory.sums, log.memory.sums)
    np.testing.assert_array_equal(other.starts.by_state, log.starts.by_state)
    np.testing.assert_array_equal(other.kept.state, log.kept.state)


def test_memory_does_not_grow_with_the_rows(garnet, monkeypatch):
    monkeypatch.setattr("painless.logs.tally.KEPT", 1000)
    _, budget, columns = garnet
    monkeypatch.setattr("painless.logs.from_log.CHUNK", 300)
    log = painless.from_log(columns, constraint_cost={"cost": budget}, **ROLES)
    assert log.rows == 3000
    assert len(log.kept.state) == 1000
    assert not log.kept.whole
    assert len(log.memory.keys) <= 6 * 3 * 3
    assert log.returns.episodes == 60  # of all rows, as sums
    assert log.returns.steps == 3000
    assert len(log.previous.rows) <= 6 * 3 * 3 * 6
    assert log.previous.rows.sum() == 3000 - 60


# Forms


class Row(NamedTuple):
    """A row with names."""

    state: str
    action: str
    next_state: str
    reward: float


FORMS = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "dictionary": dict,
    "arrays": lambda columns: {name: np.array(values) for name, values in columns.items()},
    "tuples": lambda columns: list(zip(*columns.values(), strict=True)),
    "lists": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "dictionaries": lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
    "generator": lambda columns: (row for row in zip(*columns.values(), strict=True)),
    "structured": lambda columns: np.array(
        list(zip(*columns.values(), strict=True)),
        dtype=[
            ("state", "U5"),
            ("action", "U5"),
            ("next_state", "U5"),
            ("reward", float),
            ("cost", float),
            ("episode", int),
        ],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    columns = tiny()
    roles = {"reward": "reward", "episode": "episode", "constraint_cost": {"cost": 4.0}}
    if form in ("tuples", "lists", "generator"):
        roles = {"episode": 5, "constraint_cost": {4: 4.0}}
    log = painless.from_log(FORMS[form](columns), discount=0.9, **roles)
    assert log.problem.names["states"] == ("in", "out")
    assert log.counts.tolist() == [[0, 2], [2, 0]]
    assert log.starts.closed == 2
    assert log.model.initial.tolist() == [1.0, 0.0]


def test_named_tuples_and_positions():
    rows = [Row(*row) for row in zip(*[tiny()[name] for name in Row._fields], strict=True)]
    assert painless.from_log(rows, reward="reward", discount=0.9).rows == 4
    plain = [(1.0, "in", "go", "out"), (0.0, "out", "back", "in")]
    log = painless.from_log(plain, state=1, action=2, next_state=3, reward=0, discount=0.5)
    assert log.problem.reward.tolist() == [[0, 1], [0, 0]]


def test_several_columns_make_tuples():
    columns = {"x": [0, 1], "y": ["a", "b"], "x2": [1, 0], "y2": ["b", "a"], "move": [1, 1], "r": [0.0, 1.0]}
    log = painless.from_log(
        columns, state=["x", "y"], next_state=["x2", "y2"], action="move", reward="r", discount=0.9
    )
    assert log.problem.names["states"] == ((0, "a"), (1, "b"))
    assert painless.solve(log).policy.at((1, "b")).tolist() == [1.0]


def test_episodes_of_gymnasium():
    class Episode:
        observations = np.array([[0, 0], [0, 1], [1, 1]])
        actions = np.array([1, 0])
        rewards = np.array([0.0, 1.0])
        terminations = np.array([False, True])
        truncations = np.array([False, False])
        infos = {"cost": np.array([0.0, 1.0, 0.0])}  # noqa: RUF012

    log = painless.from_log([Episode(), Episode()], constraint_cost={"cost": 2.0}, discount=0.9)
    assert log.problem.names["states"] == ((0, 0), (0, 1), "end")
    assert log.columns.step == "step"
    assert log.starts.by_state.tolist() == [2.0, 0.0]
    assert log.problem.constraint_reward[0].tolist() == [[0, -1], [0, 0], [0, 0]]
    plain = {
        "observations": [0, 1, 0],
        "actions": ["a", "b"],
        "rewards": [1, 2],
        "infos": [{"cost": 1}, {"cost": 3}],
    }
    log = painless.from_log([plain], constraint_cost={"cost": 2.0}, discount=0.9)
    assert log.problem.shape == (2, 2, 1)
    assert log.columns.done is None
    with pytest.raises(InputError, match="episode 1 has 1 rewards for 3 observations; give 2"):
        painless.from_log([plain, plain | {"rewards": [1]}], discount=0.9)
    with pytest.raises(InputError, match="episode 1 and those before differ in 'cost'"):
        painless.from_log([plain, plain | {"infos": {}}], discount=0.9)
    with pytest.raises(InputError, match=r"episode 1 is .*; give its observations"):
        painless.from_log([plain, {"actions": [1]}], discount=0.9)


def test_csv(tmp_path, garnet, log, monkeypatch):
    _, budget, columns = garnet
    path = tmp_path / "log.csv"
    pandas.DataFrame(columns).to_csv(path, index=False)
    monkeypatch.setattr("painless.logs.from_log.CHUNK", 500)
    other = painless.from_log(path, constraint_cost={"cost": budget}, **ROLES)
    np.testing.assert_array_equal(other.counts, log.counts)
    np.testing.assert_allclose(other.memory.sums.sum(0), log.memory.sums.sum(0))
    assert abs(other.memory.counts[0].sum() - 1500) < 50  # halves by the bytes of the file
    (tmp_path / "numbers.csv").write_text("state,action,next_state,reward\n10,0,9,1\n9,1,10,2\n")
    numbered = read(tmp_path / "numbers.csv")
    assert numbered.problem.names["states"] == (9, 10)


def test_parquet(tmp_path, garnet, log):
    _, budget, columns = garnet
    path = tmp_path / "log.parquet"
    polars.DataFrame(columns).write_parquet(path)
    other = painless.from_log(str(path), constraint_cost={"cost": budget}, **ROLES)
    np.testing.assert_array_equal(other.memory.counts, log.memory.counts)
    assert [chunk.rows for chunk in file_chunks(path, 1200)] == [1200, 1200, 600]


def test_parquet_without_a_reader(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    polars.DataFrame(tiny()).write_parquet(path)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match="needs pyarrow or Polars"):
        read(path)


# Rules and errors


def test_rows_that_end():
    columns = tiny(done=[False, True, False, True], next_state=["out", None, "out", "gone"])
    log = read(columns, done="done", episode="episode")
    assert log.problem.names["states"] == ("in", "out", "end")  # where it only ends is no state
    assert log.describe().ends == 2
    assert painless.solve(log).reward_value == pytest.approx(1.0)
    endless = read(tiny(), episode="episode")  # without `done` no row ends
    assert endless.problem.names["states"] == ("in", "out")
    for true in ("yes", "True", 1, 1.0, np.True_):
        false = {"yes": "no", "True": "False"}.get(str(true), 0)
        texts = tiny(done=[false, true, false, true])
        assert read(texts, done="done").describe().ends == 2


def test_a_state_may_have_the_name_of_the_end():
    log = read(tiny(state=["end", "out", "end", "out"], done=[0, 1, 0, 1]), done="done")
    assert log.problem.names["states"] == ("end", "out", "(end)")


def test_states_without_rows_lead_to_the_worst():
    columns = tiny(next_state=["out", "in", "out", "far"], reward=[1.0, -2.0, 1.0, 0.0])
    log = read(columns, episode="episode")
    assert log.problem.names["states"] == ("far", "in", "out", "unknown")
    assert log.describe().without_rows == ("far",)
    unknown = log.problem.index("states", "unknown")
    assert (log.problem.reward[unknown] == -2).all()


def test_actions_never_tried():
    log = read(tiny(), episode="episode")
    assert log.problem.actions.tolist() == [[False, True], [True, False]]
    assert log.describe().never_tried == (("in", "back"), ("out", "go"))
    asked = read(tiny(), episode="episode", untried=True)
    assert asked.problem.actions.all()
    assert asked.problem.names["states"][-1] == "unknown"
    assert painless.solve(asked).policy.at("in").tolist() == [0.0, 1.0]


def test_where_episodes_begin():
    columns = tiny(next_state=["out", None, "out", None], done=[0, 1, 0, 1])
    backwards = {name: values[::-1] for name, values in columns.items()}
    assert read(backwards, done="done", episode="episode").starts.by_state.tolist() == [2.0, 0.0]
    assert read(backwards, done="done").model.initial.tolist() == [1.0, 0.0]  # left more often than entered
    assert read(tiny()).model.initial.tolist() == [0.5, 0.5]  # every state as often as the log has it
    assert read(tiny(), initial="out").model.initial.tolist() == [0.0, 1.0]
    assert read(tiny(), initial={"out": 0.25, "in": 0.75}).model.initial.tolist() == [0.75, 0.25]
    steps = tiny(step=[1, 0, 8, 7])
    assert read(steps, episode="episode", step="step").starts.by_state.tolist() == [0.0, 2.0]
    with pytest.raises(InputError, match="there is no state 'off'"):
        read(tiny(), initial="off")
    with pytest.raises(InputError, match=r"sum to 0\.5; give probabilities that sum to 1"):
        read(tiny(), initial={"in": 0.5})


def test_duplicates_are_counted_unless_they_are_one_step():
    columns = tiny()
    twice = {name: values + values for name, values in columns.items()}
    assert read(twice, episode=None).counts.sum() == 8
    steps = tiny(step=[0, 1, 0, 0])
    with pytest.raises(
        InputError, match="row 3 and row 2 are both step 0 of the episode 1; remove the duplicate"
    ):
        read(steps, episode="episode", step="step")


ERRORS = {
    "row 2 has no state; fill it in": (tiny(state=["in", "out", None, "out"]), {}),
    "row 1 has no action": (tiny(action=["go", float("nan"), "go", "back"]), {}),
    "row 3 has no next_state; fill it in, or say which rows end an episode": (
        tiny(next_state=["out", "in", "out", None]),
        {},
    ),
    "row 1 has no next_state": (
        tiny(next_state=["out", None, "out", None], done=[0, 0, 0, 1]),
        {"done": "done"},
    ),
    "row 0 has no reward; fill in a number": (tiny(reward=[np.nan, 0.0, 1.0, 0.0]), {}),
    "row 2 has inf as its reward": (tiny(reward=[1.0, 0.0, np.inf, 0.0]), {}),
    "row 1 has 'free' in column 'reward'; give a number": (tiny(reward=[1.0, "free", 1.0, 0.0]), {}),
    "row 2 has no episode": (tiny(episode=[0, 0, None, 1]), {"episode": "episode"}),
    "row 2 has 'maybe' in column 'done'; give true or false": (
        tiny(done=[True, False, "maybe", False]),
        {"done": "done"},
    ),
    "row 2 has the state '1', row 0 the state 1: they read the same": (
        tiny(state=[1, "out", "1", "out"], next_state=["out", 1, "out", 1]),
        {},
    ),
    "row 1 has step 0.5": (tiny(step=[0, 0.5, 0, 1]), {"step": "step", "episode": "episode"}),
    "row 1 ends the episode 0, which row 0 ended before": (
        tiny(done=[1, 1, 0, 0]),
        {"done": "done", "episode": "episode"},
    ),
    "row 0 ends the episode 0, but the episode goes on from its next_state 'out'": (
        tiny(done=[1, 0, 0, 0], next_state=["out", "far", "out", "in"], episode=[0, 0, 1, 1]),
        {"done": "done", "episode": "episode"},
    ),
    "step counts the rows of an episode; name the column": (tiny(step=[0, 1, 0, 1]), {"step": "step"}),
    "neither is given": (tiny(), {"reward": None}),
    "both are given": (tiny(), {"cost": "cost"}),
    "constraint_cost is 3; give the largest value of each column": (tiny(), {"constraint_cost": 3}),
    "constraint_reward is \\['cost'\\]; give the least value": (tiny(), {"constraint_reward": ["cost"]}),
    "the limit of 'cost' is inf; give a finite one": (tiny(), {"constraint_cost": {"cost": np.inf}}),
    "limit of 'cost'": (tiny(), {"constraint_cost": {"cost": "much"}}),
    "a utility is no column of the table: unknown column 'costs'; did you mean 'cost'": (
        tiny(),
        {"constraint_cost": {"costs": 1.0}},
    ),
    "state is no column": (tiny(), {"state": "place"}),
    "column 'reward' has 3 entries, column 'state' 4; give as many": (tiny(reward=[1.0, 2.0, 3.0]), {}),
    "the log has no rows": ({name: [] for name in tiny()}, {}),
    "discount": (tiny(), {"discount": 1.5}),
    "a name cannot be looked up": (tiny(state=[["in"], ["out"], ["in"], ["out"]]), {}),
    "the log is 3; give a DataFrame": (3, {}),
    "row 0 is 5; give each step as a tuple": ([5, 6], {}),
    "row 1 is .*, but row 0 has 4 entries": (
        [("in", "go", "out", 1.0), ("out", "go", "in")],
        {"reward": None},
    ),
    "row 1 has other columns than row 0": ([{"state": 1}, {"action": 2}], {}),
    "the log has shape \\(3,\\); give a row for each step": (np.zeros(3), {}),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_say_the_row(message):
    columns, options = ERRORS[message]
    with pytest.raises(InputError, match=message):
        read(columns, **options)


def test_an_empty_list_has_no_rows():
    with pytest.raises(InputError, match="the log has no rows"):
        read([])


CSV_ERRORS = {
    "line 3 has no state": "state,action,next_state,reward\n1,0,2,1\n,0,1,1\n",
    "line 2 has 'x' in column 'reward'": "state,action,next_state,reward\n1,0,2,x\n",
    "row 2 has 3 entries for 4 columns": "state,action,next_state,reward\n1,0,2,1\n1,0,2\n",
    "two columns are called 'state'": "state,state,next_state,reward\n1,0,2,1\n",
    "the log has no rows; give a line with the names": "state,action,next_state,reward\n",
}


@pytest.mark.parametrize("message", CSV_ERRORS)
def test_errors_of_files_say_the_line(tmp_path, message):
    path = tmp_path / "log.csv"
    path.write_text(CSV_ERRORS[message])
    with pytest.raises(InputError, match=f"log.csv: {message}"):
        read(path)


def test_errors_of_paths(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"a log is a \.csv or a \.parquet file"):
        read("log.xlsx")
    (tmp_path / "bytes.csv").write_bytes(b"state,action\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read(tmp_path / "bytes.csv")
    (tmp_path / "wide.csv").write_text("state,action,next_state,reward\n" + '"' + "x" * 200_000 + "\n")
    with pytest.raises(InputError, match="not CSV"):
        read(tmp_path / "wide.csv")


def test_what_solve_refuses(log):
    for confidence in (0, 1, "high", True):
        with pytest.raises(InputError, match="confidence is"):
            painless.solve(log, confidence=confidence)
    with pytest.raises(InputError, match=r"remove iterations, or solve log\.problem"):
        painless.solve(log, iterations=10)
    with pytest.raises(InputError, match="confidence is for logs"):
        painless.solve(painless.gridworld(), confidence=0.9)


def test_what_nobody_saw_may_be_as_bad_as_the_log(log, solution):
    """A plan of which every state is cheap is not certain: beyond them it may cost what the log itself paid."""
    was = solution.behaviour.model_value * log.sign
    np.testing.assert_allclose(log.model.typical_ahead, 0.9 * was)
    rows = [("a", "pay", "a", 0.0, 1.0)] * 200 + [("a", "free", "a", 0.0, 0.0)] * 2
    cheap = painless.from_log(rows, constraint_cost={4: 2.0}, discount=0.9, initial="a")
    assert cheap.problem.names["actions"] == ("free", "pay")
    free = judge(cheap.model, np.array([[1.0, 0.0]]))
    assert free.value[1] == 0.0
    assert free.error[1] > 1.0


# What comes with an answer


def test_what_the_log_achieved(garnet, log, solution):
    problem, _, columns = garnet
    returns = np.reshape(columns["reward"], (-1, 50)) @ 0.9 ** np.arange(50)
    was = solution.behaviour
    assert was.episodes == 60
    assert was.steps == 50
    assert was.mean[0] == pytest.approx(returns.mean())
    assert was.low[0] < returns.mean() < was.high[0]
    truth = policy_value(problem, np.full((6, 3), 1 / 3))
    assert was.model_low[0] < truth[0] < was.model_high[0]
    assert was.model_low[1] < 10 - truth[1] < was.model_high[1]
    np.testing.assert_allclose(log.model.behaviour.sum(1), 1)


def test_shuffled_episodes_have_no_order_unless_steps_tell(garnet):
    _, budget, columns = garnet
    mixed = shuffled(columns)
    found = painless.solve(painless.from_log(mixed, constraint_cost={"cost": budget}, **ROLES))
    assert found.behaviour.episodes == 0
    assert np.isnan(found.behaviour.mean).all()
    told = painless.from_log(mixed, constraint_cost={"cost": budget}, step="step", **ROLES)
    first = painless.from_log(columns, constraint_cost={"cost": budget}, step="step", **ROLES)
    for one, other in zip(told.returns, first.returns, strict=True):
        np.testing.assert_allclose(one, other)
    assert markov(told).p_value == pytest.approx(markov(first).p_value)


def test_extrapolation_adds_up(log, solution):
    beyond = solution.extrapolation
    assert beyond.time == 0.0
    assert (beyond.extrapolated == 0).all()
    assert beyond.difference[0] == pytest.approx(solution.reward_value - solution.behaviour.model_value[0])
    worth = [one.worth for one in beyond.needed]
    assert worth == sorted(worth, reverse=True)
    assert worth[-1] > 0


def test_extrapolation_finds_the_pair_that_is_needed():
    """One action pays, and was tried twice in a thousand rows: that is luck, and what is asked for."""
    rng = np.random.default_rng(1)
    rows = [("home", "stay", "home", 0.1 * rng.random(), 0.0, k // 50) for k in range(1000)]
    rows[20] = ("home", "leap", "home", 1.0, 0.1, 0)
    rows[30] = ("home", "leap", "home", 1.0, 0.1, 0)
    log = painless.from_log(rows, constraint_cost={4: 0.8}, episode=5, discount=0.9)
    found = painless.solve(log)
    assert found.extrapolation.needed[0].action == "leap"
    assert found.extrapolation.needed[0].rows == 2
    nominal = judge(log.model, painless.solve(log.problem).policy.probabilities)
    assert nominal.error[1] > 0.01  # two rows without spread are not certain
    assert found.extrapolation.needed[0].worth > found.reward_value
    assert "The estimate promises a reward of 8" in found.status
    assert "luck until more rows show it" in found.status


def test_a_handful_of_rows_is_no_claim():
    """Nine rows say nothing, whatever they show; ten may."""
    for count, word in ((1, "unclear"), (9, "unclear"), (200, "met")):
        rows = {"state": ["a"] * count, "action": ["x"] * count, "next_state": ["a"] * count}
        rows |= {"pay": [1.0] * count, "lost": [1.0] * count}
        log = painless.from_log(rows, reward="pay", constraint_cost={"lost": 11}, discount=0.9)
        found = painless.solve(log)
        assert found.verdict == (word,)
        low, high = found.constraint_interval[0]
        assert low < 10 < high  # a column that never changed is not certain
        assert ("too few for any claim" in found.status) == (count < 10)
        assert "What was done" not in found.status
    assert (
        "1 row is too few"
        in painless.solve(
            painless.from_log([("a", "x", "a", 1.0, 9.0)], constraint_cost={4: 1}, discount=0.9)
        ).status
    )


def test_a_limit_that_another_policy_may_meet_is_not_missed(garnet):
    """With forty rows what was done surely breaks the limit, and nothing is sure of what else could be done."""
    problem, budget, _ = garnet
    columns = drawn(problem, 40, seed=1)
    found = painless.solve(painless.from_log(columns, constraint_cost={"cost": budget}, **ROLES))
    assert found.feasible is None
    assert found.constraint_interval[0, 0] < budget < found.constraint_interval[0, 1]
    strict = painless.solve(
        painless.from_log(drawn(problem, 1500, seed=1), constraint_cost={"cost": 0.1}, **ROLES)
    )
    assert strict.feasible is False
    assert strict.constraint_interval[0, 0] > 0.1


def test_check_on_other_data(garnet, log, solution):
    problem, budget, _ = garnet
    other = painless.from_log(drawn(problem, 3000, seed=5), constraint_cost={"cost": budget}, **ROLES)
    found = solution.check(other)
    truth = policy_value(problem, solution.policy.probabilities)
    assert found.low[0] < truth[0] < found.high[0]
    assert found.low[1] < 10 - truth[1] < found.high[1]
    assert found.unknown == 0
    assert found.names == ("reward", "cost")
    assert found.weighted is None
    assert found.overlap < 10
    assert "too little overlap" in repr(found)
    json.dumps(found.as_dict())


def test_check_by_weighting(garnet):
    problem, budget, _ = garnet
    short = painless.from_log(
        drawn(problem, 4000, seed=6, length=4), constraint_cost={"cost": budget}, **ROLES
    )
    found = painless.solve(short)
    other = painless.from_log(
        drawn(problem, 12000, seed=7, length=4), constraint_cost={"cost": budget}, **ROLES
    )
    result = found.check(other)
    assert result.overlap >= 10
    assert result.weighted is not None
    policy, start = found.policy.probabilities, problem.initial
    kernel = np.einsum("sa,sat->st", policy, problem.transition)
    gain = (policy * problem.reward).sum(1)
    truth = sum(0.9**t * start @ np.linalg.matrix_power(kernel, t) @ gain for t in range(4))
    assert result.weighted_low[0] < truth < result.weighted_high[0]
    own = painless.from_log(drawn(problem, 2000, seed=8, length=4), constraint_cost={"cost": budget}, **ROLES)
    same = replace(found, policy=painless.TabularPolicy(own.model.behaviour, found.policy.names)).check(own)
    # Weights of 1
    np.testing.assert_allclose(same.weighted * [1, 1], own.returns.mean(average=False) * own.sign)


def test_check_meets_states_that_it_does_not_know(solution):
    rows = [("s1", "a1", "s9", 0.5, 0.5, 0), ("s9", "a9", "s1", 0.5, 0.5, 0)] * 20
    columns = dict(
        zip(
            ("state", "action", "next_state", "reward", "cost", "episode"),
            zip(*rows, strict=True),
            strict=True,
        )
    )
    other = painless.from_log(
        {n: list(v) for n, v in columns.items()}, constraint_cost={"cost": 1.0}, **ROLES
    )
    assert 0 <= solution.check(other).unknown <= 1
    with pytest.raises(InputError, match="the other log is 3"):
        solution.check(3)
    with pytest.raises(InputError, match="has the utilities"):
        solution.check(painless.from_log({n: list(v) for n, v in columns.items()}, **ROLES))


def test_results_are_shown_and_saved(tmp_path, log, solution):
    text = repr(solution)
    assert "met" in text
    assert "≤" in text
    assert "3,000 rows" in text
    assert "<table>" in solution._repr_html_()
    frame = solution.to_frame()
    assert frame["verdict"].tolist() == ["", "met"]
    assert frame["value"][0] == solution.reward_value
    solution.save(tmp_path / "answer")
    saved = json.loads((tmp_path / "answer" / "log.json").read_text())
    assert saved["feasible"] is True
    assert saved["kind"] == "log"
    policy = painless.load_policy(tmp_path / "answer" / "policy.csv")
    np.testing.assert_array_equal(policy.at("s3"), solution.policy.at("s3"))
    description = log.describe()
    assert "pairs tried" in str(description)
    assert description.as_dict()["pairs"] == 18
    assert "3,000 rows" in repr(log)
    changed = log.with_limits({"cost": 1.0})
    assert changed.columns.limit.tolist() == [1.0]
    assert changed.rows == 3000


def test_a_time_limit_returns_what_was_found(log):
    assert painless.solve(log, time_limit=1e-9).policy.probabilities.shape == (6, 3)


# Assumptions


def test_assumptions_hold_for_a_markov_chain(log):
    assert stationary(log).holds
    assert markov(log).holds
    assert stationary(log).tested
    assert "is like the first" in stationary(log).sentence


def test_a_change_is_seen(garnet):
    _, budget, columns = garnet
    other, _ = world(seed=9)
    later = drawn(other, 3000)
    later["episode"] = [60 + number for number in later["episode"]]
    both = {name: columns[name] + later[name] for name in columns}
    log = painless.from_log(both, constraint_cost={"cost": budget}, **ROLES)
    found = stationary(log)
    assert not found.holds
    assert found.strength > 0.2
    assert len(found.suspects) == 3
    assert "differs from the first" in painless.solve(log).status
    wages = columns | {"reward": [r + 0.5 * (k > 1500) for k, r in enumerate(columns["reward"])]}
    assert not stationary(painless.from_log(wages, **ROLES)).holds


def test_a_hidden_memory_is_seen():
    rng = np.random.default_rng(0)
    state, before, rows = 0, 0, []
    for k in range(4000):
        after = before if rng.random() < 0.8 else int(rng.integers(3))  # it goes back to where it came from
        rows.append((state, 0, after, 0.0, k // 100))
        before, state = state, after
    log = painless.from_log(rows, episode=4, discount=0.9)
    assert not markov(log).holds
    assert "previous state helps" in markov(log).sentence


def test_too_few_rows_test_nothing():
    assert not markov(read(tiny())).tested
    assert "too few rows" in markov(read(tiny())).sentence


def test_p_values_are_uniform_where_nothing_depends():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(200):
        group, row = np.repeat(np.arange(30), 8), rng.integers(0, 3, 240)
        column, value = np.minimum(rng.geometric(0.4, 240), 4), rng.normal(size=240) ** 3
        one = np.ones(240)
        found.append(
            (
                dependence(group, row, column, one, 30).p_value,
                mean_dependence(group, row, one, value, value**2, 30).p_value,
            )
        )
    share = (np.array(found) < 0.1).mean(0)
    assert (share > 0.04).all()
    assert (share < 0.18).all()


def test_verdicts():
    assert verdicts(np.array([1.0]), np.array([2.0]), np.array([1.0])) == ("met",)
    assert chunk_module.CHUNK > 1000


# Frontier, page and command line


def test_the_frontier_is_a_band(log):
    band = painless.frontier(log, "cost", confidence=0.9)
    assert (band.low <= band.reward_value).all()
    assert (band.reward_value <= band.high).all()
    assert (band.reward_value[1:] <= band.estimate[1:] + 1e-3).all()  # the estimate promises more
    assert "met" in band.verdict
    assert "of 9 limits" in repr(band)
    assert band.as_dict()["sense"] == "<="
    with pytest.raises(InputError, match="confidence is for logs"):
        painless.frontier(painless.gridworld(), confidence=0.9)
    with pytest.raises(InputError, match="confidence is 2"):
        painless.frontier(log, confidence=2)


def test_the_picture_shows_the_plan_beside_the_log(solution):
    figure = claim_figure(solution)
    reward, cost = figure.axes
    assert reward.get_title() == "reward"
    assert cost.get_title() == f"cost ≤ {number(solution.threshold[0])}: met"
    planned, middle = cost.lines[:2]
    np.testing.assert_allclose(planned.get_xdata(), solution.constraint_interval[0])
    assert middle.get_xdata() == solution.constraint_value[0]
    assert cost.lines[-1].get_xdata()[0] == solution.threshold[0]


def test_the_page_shows_the_band(log, solution):
    page = log_page(solution, "a <log>")
    assert "a &lt;log&gt;" in page
    for text in (
        "Other limits",
        "What more rows would be worth",
        "What the claim rests on",
        "estimate as if true",
    ):
        assert text in page
    plain = log_page(painless.solve(painless.from_log(tiny(), reward="reward", discount=0.9)), "t")
    assert "Other limits" not in plain


def run(*arguments):
    result = CliRunner().invoke(app, ["solve", *map(str, arguments)])
    return result.exit_code, result.output


def test_command_line(tmp_path, garnet):
    _, budget, columns = garnet
    path = tmp_path / "log.csv"
    pandas.DataFrame(columns).to_csv(path, index=False)
    roles = ("--log", "-p", "reward=reward", "-p", "episode=episode", "--discount", 0.9)
    cost = ("-p", "constraint_cost=cost", "--threshold", budget)
    code, output = run(path, *roles, *cost, "--save", tmp_path / "answer", "--report", tmp_path / "page.html")
    assert code == 0
    assert "met with confidence 0.95" in output
    assert (tmp_path / "answer" / "log.json").exists()
    assert "Other limits" in (tmp_path / "page.html").read_text()
    code, output = run(path, *roles, "-p", 'constraint_cost={"cost": 0.1}', "--json", "--confidence", 0.9)
    assert code == 3
    assert json.loads(output)["feasible"] is False
    pandas.DataFrame(tiny()).to_csv(path, index=False)
    code, output = run(path, *roles, "-p", "constraint_cost=cost", "-p", "limit=4")
    assert code == 6
    assert "Rows that would help most" in output


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_terminal(width, monkeypatch, capsys):
    """Long numbers put the intervals below their values; nothing is cut off."""
    monkeypatch.setenv("COLUMNS", str(width))
    rows = {"state": ["a", "b"] * 300, "action": ["x", "y", "z"] * 200, "next_state": ["b", "a"] * 300}
    rng = np.random.default_rng(0)
    rows |= {"r": rng.random(600) / 1234.5, "c": rng.random(600) / 567.8}
    log = painless.from_log(rows, reward="r", constraint_cost={"c": 0.0123456}, discount=0.9)
    found = painless.solve(log)
    show("log.csv", found)
    shown = capsys.readouterr().out
    table = [line for line in shown.splitlines() if line[:1] in "│┃"]
    assert max(map(len, table)) <= width
    for value in found.constraint_interval[0]:
        assert f"{value:.4g}" in shown
    assert any(line.startswith("│ c ") for line in table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--log", "-p", "reward=r"), "a log does not say how its steps add up"),
        (("--log", "-p", "rewards=r"), "rewards"),
        (("--log", "-p", "discount=much"), "discount is 'much', not a number"),
        (("--log", "--discount", "0.9", "-p", "constraint_cost=c"), "0 limit(s) given for 1 constraint(s)"),
        (("--log", "--iterations", "5"), "--iterations does not go with --log"),
        (("--confidence", "0.9"), "--confidence goes with --log"),
    ],
)
def test_command_line_errors(tmp_path, arguments, message):
    path = tmp_path / "log.csv"
    pandas.DataFrame(tiny()).to_csv(path, index=False)
    result = CliRunner().invoke(app, ["solve", str(path), *arguments])
    assert result.exit_code != 0
    assert message in str(result.exception) + result.output


def test_claims_hold_on_the_truth_where_the_estimate_breaks_the_limit():
    problem, budget = world()
    met = wrong = naive = 0
    for seed in range(20, 32):
        log = painless.from_log(drawn(problem, 1000, seed), constraint_cost={"cost": budget}, **ROLES)
        found = answer(log, 0.95, Clock())
        low, high = intervals(found.judged, found.limits, found.curse)
        claimed = verdicts(low[1:], high[1:], log.threshold) == ("met",)
        met += claimed
        wrong += claimed and 10 - policy_value(problem, found.judged.policy)[1] > budget
        estimate = painless.solve(log.problem, tolerance=1e-6).policy.probabilities
        naive += 10 - policy_value(problem, estimate)[1] > budget
    assert met >= 6
    assert wrong <= 1
    assert naive >= 3
