"""Tables with names that end, have a number of steps or ask for a probability; limits by name on the command line."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import InputError, from_frame
from tests.extras import library

# From the hut to the summit: over the ridge, or through the valley and up from the pass. Only the starting points have rows.
ROWS = [
    ("hut", "ridge", "summit", 0.9, 30.0),
    ("hut", "ridge", "fallen", 0.1, 30.0),
    ("hut", "valley", "pass", 1.0, 60.0),
    ("pass", "climb", "summit", 0.97, 40.0),
    ("pass", "climb", "fallen", 0.03, 40.0),
    ("pass", "detour", "summit", 1.0, 120.0),
]
TITLES = ("state", "action", "next_state", "probability", "minutes")
ENDS = ["summit", "fallen"]
# P(fall) ≤ 0.05: the ridge with probability x, and 0.1 x + 0.03 (1 − x) = 0.05.
RIDGE = 2 / 7
MINUTES = 30 * RIDGE + 100 * (1 - RIDGE)


def columns():
    return dict(zip(TITLES, map(list, zip(*ROWS, strict=True)), strict=True))


@pytest.fixture
def path(tmp_path):
    lines = [",".join(TITLES), *(",".join(map(str, row)) for row in ROWS)]
    file = tmp_path / "path.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "fall", ["reach(fallen)", painless.reach(["fallen"]), painless.reach("fallen"), painless.reach([3])]
)
@pytest.mark.parametrize("end", [ENDS, "summit, fallen", [2, 3], np.array([False, False, True, True])])
def test_a_table_ends_and_limits_a_probability(fall, end):
    names = [*dict.fromkeys([*columns()["state"], *columns()["next_state"]])]
    number = {name: names.index(name) for name in names}
    if isinstance(end, list) and end != ENDS:
        end = [number["summit"], number["fallen"]]
    if isinstance(end, np.ndarray):
        end = np.isin(names, ENDS)
    if isinstance(fall, painless.problem.reaching.Reach) and fall.states == [3]:
        fall = painless.reach([number["fallen"]])
    trip = from_frame(columns(), cost="minutes", constraint_cost={fall: 0.05}, initial="hut", end=end)
    assert trip.name("constraints", 0) == "reach(fallen)"
    solution = painless.solve(trip, tolerance=1e-9)
    assert_allclose(solution.reward_value, MINUTES)
    assert_allclose(solution.policy["hut"]["ridge"], RIDGE)


def test_the_largest_probability_of_a_table():
    far = from_frame(columns(), reward="reach(summit)", initial="hut", discount=1.0, end=ENDS)
    assert_allclose(painless.solve(far).reward_value, 1.0)


def test_a_state_that_may_end_can_have_rows():
    table = columns()
    for title, value in zip(TITLES, ("summit", "stay", "summit", 1.0, 5.0), strict=True):
        table[title].append(value)
    trip = from_frame(table, cost="minutes", initial="hut", end=ENDS)
    assert_allclose(painless.solve(trip, tolerance=1e-9).reward_value, 30.0)
    steps = from_frame(table, cost="minutes", initial="hut", end=ENDS, horizon=9)
    assert_allclose(painless.solve(steps, tolerance=1e-9).reward_value, 30.0)


def test_columns_come_before_sets(path):
    """A utility that is no set is a column, and one that is neither is named."""
    with pytest.raises(InputError, match="a constraint is no column of the table: unknown column 'falls'"):
        from_frame(columns(), cost="minutes", constraint_cost={"falls": 1}, initial="hut", end=ENDS)
    with pytest.raises(InputError, match="there is no state 'falen'"):
        painless.load(path, cost="minutes", constraint_cost={"reach(falen)": 0.1}, initial="hut", end=ENDS)


def test_states_without_rows_are_told_what_to_do():
    with pytest.raises(InputError, match=re.escape("or name it among the states of end=")):
        from_frame(columns(), cost="minutes", initial="hut", discount=0.9)


@pytest.mark.parametrize("command", [("solve",), ("frontier",), ("check",), ("solve", "--log")])
def test_a_file_that_is_not_there_is_all_that_matters(run, tmp_path, command):
    code, _, err = run(command[0], tmp_path / "absent.csv", *command[1:])
    assert code == 2
    assert err.strip() == f"Error: {tmp_path / 'absent.csv'} does not exist or is not a file; check the path"


def test_a_csv_has_every_criterion(path):
    terms = {"cost": "minutes", "initial": "hut"}
    assert_allclose(painless.solve(painless.load(path, end=ENDS, **terms)).reward_value, 30.0)
    short = painless.load(path, end=ENDS, horizon=1, **terms)
    assert short.horizon == 1
    assert_array_equal(painless.solve(short).reward_value, 30.0)
    likely = painless.load(path, reward="reach(summit)", initial="hut", end="summit, fallen")
    assert_allclose(painless.solve(likely).reward_value, 1.0)
    with pytest.raises(InputError, match=r"a \.csv file has no discount; give one.*-p end=home"):
        painless.load(path, **terms)
    with pytest.raises(InputError, match=r"a \.csv file has no first state"):
        painless.load(path, cost="minutes", discount=0.9)


def test_limits_by_name_on_a_table(path, run):
    terms = ("solve", path, "-p", "cost=minutes", "-p", "initial=hut", "-p", "end=summit, fallen")
    code, out, _ = run(*terms, "--limit", "reach(fallen)<=0.05")
    assert code == 0
    assert re.search(r"reach\(fallen\).*0\.05.*≤ 0\.05.*1000", out)
    code, out, _ = run(*terms, "--limit", "minutes >= 100", "--limit", "reach(fallen) ≤ 0.03")
    assert (code, "minutes" in out) == (0, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--limit", "falls<=0.05"), "'falls'"),
        (("--limit", "fallen=0.05"), "'fallen=0.05' is not a limit; write it like 'waste<=3' or 'sold>=10'"),
        (("--limit", "<=0.05"), "'<=0.05' is not a limit"),
        (("--limit", "minutes<=1", "--limit", "minutes<=2"), "minutes has two limits with <="),
        (("--limit", "minutes<=1", "--threshold", 2), "--threshold and --limit both set limits"),
        (
            ("--limit", "minutes<=1", "-p", "constraint_cost=minutes"),
            "-p constraint_cost=… and --limit both set limits",
        ),
        (("-p", "constraint_cost=a", "-p", "constraint_cost=b"), "-p constraint_cost=… is given twice"),
    ],
)
def test_limits_that_are_none_are_refused(options, message, path, run):
    code, _, err = run("solve", path, "-p", "cost=minutes", "-p", "initial=hut", "--discount", 0.9, *options)
    assert (code, message in err) == (2, True), err


def test_limits_by_name_of_a_problem_that_has_them(run, tmp_path):
    painless.gridworld().save(tmp_path / "model.npz")
    for problem in ("gridworld", tmp_path / "model.npz"):
        code, out, _ = run("check", problem, "--limit", "constraint 1>=1.2", "--horizon", 5)
        assert (code, ">= 1.2" in out, "horizon" in out) == (0, True, True)
        code, _, err = run("solve", problem, "--limit", "constraint 1<=1.2")
        assert (code, "write 'constraint 1>=1.2'" in err) == (2, True)
        assert run("solve", problem, "--limit", "waste<=1.2")[0] == 2


def test_limits_by_name_of_a_log(run, tmp_path):
    file = tmp_path / "log.csv"
    steps = [f"{s},{a},{s ^ a},{s + a},{a}" for s in (0, 1) for a in (0, 1) for _ in range(30)]
    file.write_text("state,action,next_state,earned,used\n" + "\n".join(steps), encoding="utf-8")
    given = ("solve", file, "--log", "-p", "reward=earned", "-p", "initial=0", "--discount", 0.5)
    code, out, err = run(*given, "--limit", "used<=1.5")
    assert (code in (0, 6), "used" in out) == (True, True), err
    code, _, err = run(*given, "--limit", "used<=1.5", "--threshold", 1)
    assert (code, "--threshold and --limit both set limits" in err) == (2, True)


@pytest.mark.parametrize(
    ("thing", "advice"),
    [
        (lambda: library("quantecon").markov.DiscreteDP([[1.0]], [[[1.0]]], 0.9), "from_quantecon"),
        (lambda: library("pandas").DataFrame({"a": [1]}), "from_frame"),
        (lambda: library("gymnasium").make("CartPole-v1"), r"painless\.train"),
        (lambda: 3, r"painless\.make"),
    ],
)
def test_what_makes_a_problem_of_it(thing, advice):
    with pytest.raises(InputError, match=f"give a CMDP, .*{advice}"):
        painless.solve(thing())


def test_a_toy_text_table_limits_the_probability_of_a_hole():
    """Within P(hole) ≤ 0.3 the goal is reached as often as a linear program over the same table says."""
    from painless.environments import table_from_gymnasium

    holes, goal = [5, 7, 11, 12], [15]
    lake = table_from_gymnasium(
        "FrozenLake-v1", discount=1.0, constraint_cost=painless.reach(holes), budget=0.3
    )
    solution = painless.solve(lake, tolerance=1e-6)
    assert solution.constraint_value[0] <= 0.3 + 1e-9
    again = painless.solve(
        painless.CMDP(
            lake.transition,
            painless.reach(goal),
            initial=lake.initial,
            discount=1.0,
            constraint_cost=painless.reach(holes),
            budget=0.3,
        ),
        painless.LinearProgram(),
    )
    assert_allclose(solution.reward_value, again.reward_value, rtol=1e-6)
    with pytest.raises(InputError, match="reach needs terminal states that stay"):
        painless.problem.sources.from_toy_text(
            {0: {0: [(1.0, 1, 0.0, True)]}, 1: {0: [(1.0, 0, 1.0, False)]}},
            initial=[1, 0],
            constraint_cost=painless.reach([1]),
            budget=1,
            discount=1.0,
        )
