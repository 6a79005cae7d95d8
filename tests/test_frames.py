"""Problems from tables with names: frames of pandas and Polars, dictionaries and CSV files."""

import csv
import re
from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import InputError, from_frame
from tests.extras import library

# A machine works and wears, or is repaired when it is worn.
ROWS = [
    ("good", "work", "good", 0.5, 2.0, 0.0),
    ("good", "work", "worn", 0.2, 2.0, 0.0),
    ("good", "work", "good", 0.3, 4.0, 0.0),  # the same transition once more, paid otherwise
    ("worn", "work", "worn", 1.0, 1.0, 0.0),
    ("worn", "repair", "good", 1.0, 0.0, 3.0),
]
TITLES = ("state", "action", "next_state", "probability", "earned", "spent")
TERMS = {"reward": "earned", "constraint_cost": {"spent": 3.0}, "initial": "good", "discount": 0.9}


def columns(rows=ROWS, titles=TITLES):
    return {title: list(values) for title, values in zip(titles, zip(*rows, strict=True), strict=True)}


def pandas_frame(given):
    return library("pandas").DataFrame(given)


def polars_frame(given):
    return library("polars").DataFrame(given)


def arrays(given):
    return {title: np.array(values) for title, values in given.items()}


each_frame = pytest.mark.parametrize("make", [dict, arrays, pandas_frame, polars_frame])


def refused(message, frame, **change):
    with pytest.raises(InputError, match=re.escape(message)):
        from_frame(frame, **(TERMS | change))


@each_frame
def test_a_frame_is_the_model(make):
    problem = from_frame(make(columns()), **TERMS)
    assert problem.names == {
        "states": ("good", "worn"),
        "actions": ("work", "repair"),
        "constraints": ("spent",),
    }
    assert_allclose(problem.transition.toarray(), [[0.8, 0.2], [0, 0], [0, 1], [1, 0]])
    assert_array_equal(problem.actions, [[True, False], [True, True]])
    assert_allclose(problem.reward, [[2.6, 0.0], [1.0, 0.0]])
    assert_array_equal(problem.limit, [3.0])
    assert_array_equal(problem.initial, [1.0, 0.0])
    solution = painless.solve(problem)
    assert solution.policy.act("good") == "work"
    assert set(solution.policy["worn"]) == {"work", "repair"}


@each_frame
@pytest.mark.parametrize(
    "names",
    [
        [5, 3],
        [2.5, 0.5],
        [date(2026, 3, 2), date(2026, 3, 1)],
        [datetime(2026, 3, 1, 12), datetime(2026, 3, 1, 8)],
        ["b", "a"],
    ],
    ids=["whole", "numbers", "dates", "times", "text"],
)
def test_states_have_names_of_every_kind(make, names):
    renamed = dict(zip(("good", "worn"), names, strict=True))
    rows = [(renamed[s], a, renamed[t], *rest) for s, a, t, *rest in ROWS]
    problem = from_frame(make(columns(rows)), **(TERMS | {"initial": {names[0]: 1}}))
    ascend = not isinstance(names[0], str)
    assert problem.index("states", names[0]) == ascend  # texts are as they first appear
    assert painless.solve(problem).policy.act(names[0]) == "work"
    assert painless.solve(problem).reward_value == pytest.approx(
        painless.solve(from_frame(columns(), **TERMS)).reward_value
    )


@each_frame
def test_several_columns_make_tuples(make):
    split = {"good": ("up", 1), "worn": ("down", 1)}
    rows = [(*split[s], a, *split[t], *rest) for s, a, t, *rest in ROWS]
    given = columns(
        rows, ("side", "level", "action", "next_side", "next_level", "probability", "earned", "spent")
    )
    problem = from_frame(
        make(given),
        state=["side", "level"],
        next_state=["next_side", "next_level"],
        **(TERMS | {"initial": ("up", 1)}),
    )
    assert problem.names["states"] == (("up", 1), ("down", 1))
    assert painless.solve(problem).policy.act(("up", 1)) == "work"


def test_tuples_in_one_column():
    rows = [((s, 1), a, (t, 1), *rest) for s, a, t, *rest in ROWS]
    problem = from_frame(columns(rows), **(TERMS | {"initial": ("good", 1)}))
    assert painless.solve(problem).policy.act(("good", 1)) == "work"


def test_counts_costs_and_limits_on_both_sides():
    rows = [(s, a, t, round(10 * p), *rest) for s, a, t, p, *rest in ROWS]
    given = columns(rows, ("state", "action", "next_state", "seen", "earned", "spent"))
    problem = from_frame(
        given,
        count="seen",
        cost="spent",
        constraint_reward={"earned": 10},
        constraint_cost={"earned": 20},
        initial={"good": 0.25, "worn": 0.75},
        discount=0.9,
    )
    assert problem.minimise
    assert problem.sense == (">=", "<=")
    assert problem.names["constraints"] == ("earned >=", "earned <=")
    assert_allclose(problem.transition.toarray()[0], [0.8, 0.2])
    assert_allclose(problem.initial, [0.25, 0.75])


@each_frame
def test_probabilities_in_single_precision(make):
    given = columns()
    third = np.array([1 / 3, 1 / 3, 1 / 3, 1.0, 1.0], dtype=np.float32)
    frame = make(given)
    frame = frame.with_columns(probability=third) if hasattr(frame, "with_columns") else frame
    if not hasattr(frame, "with_columns"):
        frame["probability"] = third
    assert_allclose(from_frame(frame, **TERMS).transition.toarray()[0], [2 / 3, 1 / 3])


def changed(row, **entries):
    rows = [list(one) for one in ROWS]
    for title, value in entries.items():
        rows[row][TITLES.index(title)] = value
    return columns(rows)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            changed(1, probability=0.1),
            "state 'good', action 'work': its probabilities sum to 0.9, not 1 (row 0, row 1, row 2)",
        ),
        (changed(3, probability=-1.0), "row 3 (state 'worn', action 'work') has probability -1; correct it"),
        (changed(2, earned=np.nan), "row 2 (state 'good', action 'work') has earned nan; correct it"),
        (changed(4, spent="much"), "row 4 has 'much' in column 'spent'; give a number"),
        (
            changed(4, next_state="scrapped"),
            "state 'scrapped' is the next_state of row 4 but has no rows of its own",
        ),
        (changed(2, state=None), "row 2 has no state; fill it in"),
        (changed(2, next_state=None), "row 2 has no next_state; fill it in"),
        (changed(2, action=float("nan")), "row 2 has no action; fill it in"),
        (changed(0, state=["good"]), "a name cannot be looked up"),
        (columns()["state"], "state is no column of the table"),
        (7, "frame is 7; give a DataFrame"),
        (columns() | {"earned": [1.0]}, "column 'earned' has 1 entries, that of the action 5"),
        ({title: [] for title in TITLES}, "the table has no rows"),
    ],
)
def test_errors_say_the_row_and_the_state(frame, message):
    refused(message, frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": "sate"}, "state is no column of the table: unknown column 'sate'; did you mean 'state'?"),
        (
            {"reward": "earnt"},
            "the objective is no column of the table: unknown column 'earnt'; did you mean 'earned'?",
        ),
        (
            {"reward": None},
            "name the column of the reward (to maximise) or of the cost (to minimise); neither is given",
        ),
        ({"cost": "spent"}, "both are given"),
        ({"count": "spent", "probability": "probability"}, "the probability or of the count, not both"),
        (
            {"constraint_cost": "spent"},
            "constraint_cost is 'spent'; give the budget of each column: {column: budget}",
        ),
        ({"constraint_cost": {"spent": "low"}}, "budget of 'spent' must be a number"),
        ({"initial": "goood"}, "there is no state 'goood'; did you mean 'good'?"),
        ({"initial": 0}, "there is no state '0'"),
        ({"initial": {"good": 0.5}}, "initial sums to 0.500000, not 1"),
        ({"initial": {"good": "all"}}, "initial probability of 'good' must be a number"),
        (
            {"state": ["state"], "next_state": ["next_state", "action"]},
            "state and next_state have [1, 2] columns",
        ),
        ({"discount": 1.5}, "discount is 1.5, outside [0, 1)"),
    ],
)
def test_wrong_terms_are_refused(change, message):
    refused(message, columns(), **change)


def test_missing_entries_of_pandas_are_found():
    pandas = library("pandas")
    frame = pandas.DataFrame(columns())
    frame["state"] = frame["state"].astype("string").where(frame.index != 3)
    refused("row 3 has no state; fill it in", frame)
    frame = pandas.DataFrame(columns())
    frame["spent"] = frame["spent"].astype("Float64").where(frame.index != 3)
    with pytest.raises(InputError, match="row 3"):
        from_frame(frame, **TERMS)
    categories = pandas.DataFrame(columns()).astype({"state": "category", "action": "category"})
    assert from_frame(categories, **TERMS).names["states"] == ("good", "worn")


def test_a_frame_with_two_columns_of_one_name_is_refused():
    frame = pandas_frame(columns())
    frame.columns = ["state", "action", "next_state", "probability", "earned", "earned"]
    refused("more than one column 'earned'", frame, constraint_cost=None)


def test_many_rows_are_grouped_as_few():
    """A long table is the one it repeats: the shares of counts do not change."""
    often = {title: values * 2000 for title, values in columns().items()}
    often["probability"] = [p / 2000 for p in often["probability"]]
    one, many = (from_frame(given, **TERMS) for given in (columns(), often))
    assert_allclose(many.transition.toarray(), one.transition.toarray())
    assert_allclose(many.utility, one.utility)


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 2), st.integers(0, 99))
def test_names_in_any_order_make_the_same_problem(states, actions, constraints, seed):
    """A shuffled table of a random problem under strange names has the optimum of the problem."""
    problem, rng = (
        painless.garnet(states, actions, 1 + states // 2, constraints, seed=seed),
        np.random.default_rng(seed),
    )
    rows = rng.permutation(np.argwhere(problem.transition > 0))
    s, a, t = rows.T
    names = [f"№ {i}" for i in rng.permutation(states)]
    table = {
        "s": [names[i] for i in s],
        "a": list(zip(a.tolist(), a.tolist(), strict=True)),
        "t": [names[i] for i in t],
    }
    table |= {"p": problem.transition[s, a, t], "r": problem.reward[s, a]}
    table |= {f"c{k}": problem.constraint_reward[k, s, a] for k in range(constraints)}
    again = from_frame(
        table,
        state="s",
        action="a",
        next_state="t",
        probability="p",
        reward="r",
        constraint_reward={f"c{k}": problem.threshold[k] for k in range(constraints)},
        initial=dict(zip(names, problem.initial, strict=True)),
        discount=problem.discount,
    )
    place = [again.index("states", name) for name in names]
    order = [again.index("actions", (i, i)) for i in range(actions)]
    assert_allclose(again.utility[:, place][:, :, order], problem.utility)
    assert_allclose(
        again.transition.toarray().reshape(states, actions, states)[np.ix_(place, order, place)],
        problem.transition,
    )
    assert_allclose(again.initial[place], problem.initial)


# ---------------------------------------------------------------------------------------------- CSV


def written(path, rows=ROWS, titles=TITLES):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([titles, *rows])
    return path


def test_a_csv_is_the_frame(tmp_path):
    path = written(tmp_path / "model.csv")
    one, other = painless.load(path, **TERMS), from_frame(columns(), **TERMS)
    assert one.names == other.names
    assert_array_equal(one.transition.toarray(), other.transition.toarray())
    assert_array_equal(one.utility, other.utility)
    listed = painless.load(path, **(TERMS | {"constraint_cost": ["spent"], "limit": [3.0]}))
    assert_array_equal(listed.limit, other.limit)


def test_whole_numbers_in_a_csv_are_numbers(tmp_path):
    renamed = {"good": 10, "worn": 9}
    path = written(tmp_path / "model.csv", [(renamed[s], a, renamed[t], *rest) for s, a, t, *rest in ROWS])
    problem = painless.load(path, **(TERMS | {"initial": 10}))
    assert problem.names["states"] == (9, 10)
    padded = written(
        tmp_path / "other.csv", [(f"0{renamed[s]}", a, f"0{renamed[t]}", *rest) for s, a, t, *rest in ROWS]
    )
    assert painless.load(padded, **(TERMS | {"initial": "010"})).names["states"] == ("010", "09")


def test_the_command_line_solves_a_csv(tmp_path, run):
    path = written(tmp_path / "model.csv")
    terms = ["-p", "reward=earned", "-p", "constraint_cost=spent", "-p", "initial=good"]
    code, out, _ = run(
        "solve", path, *terms, "--threshold", 3, "--discount", 0.9, "--save", tmp_path / "saved"
    )
    assert code == 0
    assert "spent" in out
    saved = (tmp_path / "saved" / "policy.csv").read_text()
    assert saved.startswith("state,work,repair,visits\ngood,1.0,0.0,")
    other = [
        "-p",
        'constraint_cost={"spent": 3}',
        "-p",
        'initial={"good": 0.5, "worn": 0.5}',
        "-p",
        "discount=0.9",
    ]
    assert run("check", path, "-p", "reward=earned", *other)[0] == 0
    code, _, err = run("solve", path, "-p", "reward=earned", "-p", "initial=good")
    assert (code, "a .csv file has no discount" in err) == (2, True)
    code, _, err = run("solve", path, *terms, "--discount", 0.9)
    assert (code, "0 limit(s) given for 1 constraint(s)" in err) == (2, True)
    code, _, err = run("solve", path, "-p", 'initial={"good"')
    assert (code, "not a JSON object" in err) == (2, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
        (b"state,action\ngood,work,3\n", "row 1 has 3 entries for 2 columns"),
        (b"state,state\ngood,work\n", "two columns are called 'state'"),
        (b"state\n" + b"x" * 200_000, "line 2: it is not CSV (field larger than field limit"),
        (b"state,action,next_state,probability,earned,spent\n", "the table has no rows"),
        (
            b"state,action,next_state,probability,earned,spent\na,go,a,1,1,0\na,stay,a,0.5,1,0\n",
            "state 'a', action 'stay': its probabilities sum to 0.5, not 1 (line 3)",
        ),
        (
            b'state,action,next_state,probability,earned,spent\n"a\nb",go,"a\nb",1,x,0\n',
            "row 1 has 'x' in column 'earned'",
        ),
    ],
)
def test_a_csv_that_is_none_is_refused(content, message, tmp_path):
    path = tmp_path / "model.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        painless.load(path, **TERMS)
    assert str(path) in str(error.value)


def test_a_problem_is_not_saved_as_csv(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.npz, \.json, \.drn, \.umb or \.tra"):
        painless.gridworld().save(tmp_path / "model.csv")
