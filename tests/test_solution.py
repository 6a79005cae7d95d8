"""Solutions and policies: how they read, and that they survive their files."""

import csv
import io
import pickle

import numpy as np
import pytest

import painless
from painless import InputError, Solution, TabularPolicy


def named():
    return painless.CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        initial=[1.0],
        discount=0.5,
        constraint_cost=[[1.0, 0.0]],
        budget=0.5,
        names={"states": ["<home>"], "actions": ["go", "stay, put"], "constraints": ["<b>fuel</b>"]},
    )


def same(one, other):
    """Whether two solutions are equal, not-a-numbers included."""
    assert one.as_dict() == other.as_dict()
    np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)
    assert {k: list(v) for k, v in one.policy.names.items()} == {
        k: list(v) for k, v in other.policy.names.items()
    }
    if one.trace is None:
        assert other.trace is None
        return
    for name in ("reward_value", "constraint_value", "multiplier", "exact"):
        np.testing.assert_array_equal(getattr(one.trace, name), getattr(other.trace, name))


@pytest.mark.parametrize(
    "solve",
    [
        lambda: painless.solve(painless.gridworld(), iterations=20),
        lambda: painless.solve(painless.gridworld(constraints=3), painless.LinearProgram()),
        lambda: painless.solve(painless.gridworld(threshold=9.0)),
        lambda: painless.solve(named()),
        lambda: painless.solve(painless.garnet(5, 2, 2, 0)),
    ],
    ids=["run", "planner", "infeasible", "names", "no constraints"],
)
def test_round_trip(solve, tmp_path):
    solution = solve()
    solution.save(tmp_path / "deep" / "folder")
    same(solution, Solution.load(tmp_path / "deep" / "folder"))
    names = sorted(path.name for path in (tmp_path / "deep" / "folder").iterdir())
    assert names == ["arrays.npz", "policy.csv", "solution.json"]


def test_saving_into_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(InputError, match="is a file; give a folder"):
        painless.solve(named()).save(tmp_path / "taken")


def test_loading_what_is_not_a_solution(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        Solution.load(tmp_path)
    painless.solve(named()).save(tmp_path)
    (tmp_path / "solution.json").write_text("{}")
    with pytest.raises(InputError, match="is not a solution that this version of painless saved"):
        Solution.load(tmp_path)


def test_repr_is_for_people():
    text = repr(painless.solve(named()))
    assert "<b>fuel</b>" in text
    assert "≤ 0.5" in text
    assert "shadow price" in text
    assert "proved gap" in text


def test_html_escapes_names():
    html = painless.solve(named())._repr_html_()
    assert "&lt;b&gt;fuel&lt;/b&gt;" in html
    assert "<b>" not in html


def test_csv_has_names_and_survives_commas(tmp_path):
    policy = painless.solve(named()).policy
    text = policy.to_csv(tmp_path / "policy.csv")
    assert (tmp_path / "policy.csv").read_text() == text
    header, row = csv.reader(io.StringIO(text))
    assert header == ["state", "go", "stay, put", "visits"]
    assert row[0] == "<home>"
    assert [float(cell) for cell in row[1:-1]] == policy.probabilities[0].tolist()
    assert float(row[-1]) == pytest.approx(policy.visits[0])


def test_visits_of_a_large_model_are_counted_when_they_are_read(monkeypatch):
    """They cost as much as a policy; what is pickled has them."""
    from painless.engines.swept import Swept

    problem = painless.garnet(600, 3, 4, 1, seed=1, dense=False)
    counted, count = [], Swept.visits
    monkeypatch.setattr(Swept, "visits", lambda *given: counted.append(1) or count(*given))
    policy = painless.solve(problem).policy
    assert not counted
    kernel = problem.transition.toarray().reshape(600, 3, 600)
    chain = np.einsum("sa,sat->st", policy.probabilities, kernel)
    exact = np.linalg.solve((np.eye(600) - problem.discount * chain).T, problem.initial)
    np.testing.assert_allclose(policy.visits, exact, atol=1e-3 * exact.sum())
    again = pickle.loads(pickle.dumps(painless.solve(problem).policy))
    np.testing.assert_allclose(again.visits, policy.visits, atol=1e-3 * exact.sum())
    assert policy.visits is policy.visits
    assert len(counted) == 2


def test_policy_says_where_it_randomises_and_acts():
    policy = TabularPolicy(np.array([[0.25, 0.75], [1.0, 0.0], [1 - 1e-12, 1e-12]]))
    np.testing.assert_array_equal(policy.randomised, [0])
    rng = np.random.default_rng(0)
    assert np.mean([policy.act(0, rng) for _ in range(2000)]) == pytest.approx(0.75, abs=0.05)
    assert policy.act(1, rng) == 0


def test_average_of_a_planner_is_none():
    solution = painless.solve(named(), painless.LinearProgram())
    assert solution.average is None
    assert solution.average_optimality_gap(1.0) is None


def test_no_limit_is_stored_and_drawn(tmp_path):
    """JSON knows no infinity; a limit that is none comes back as it was."""
    problem = painless.gridworld(constraints=3).with_limits([1.5, -np.inf, 2.0])
    solution = painless.solve(problem)
    solution.save(tmp_path / "solution", problem)
    loaded = painless.Solution.load(tmp_path / "solution")
    np.testing.assert_array_equal(loaded.threshold, [1.5, -np.inf, 2.0])
    np.testing.assert_array_equal(loaded.price_range, solution.price_range)
    np.testing.assert_array_equal(loaded.policy.visits, solution.policy.visits)
    for index in (0, 1):
        curve = painless.frontier(problem, index)
        curve.save(tmp_path / f"frontier {index}")
        np.testing.assert_array_equal(
            painless.Frontier.load(tmp_path / f"frontier {index}").reward_value, curve.reward_value
        )
        assert curve.as_dict()["constraints"][1]["limit"] is None


def test_the_bound_that_is_shown_holds_in_every_digit():
    most = painless.solve(painless.gridworld())
    assert most.rows()[0][2] == "≤ 1.65273 proved"  # 1.6527218
    least = painless.solve(painless.make("maintenance", average=True))
    shown = float(least.rows()[0][2].split()[1])
    assert least.minimise
    assert shown <= least.upper_bound * (1 + 1e-9)
    frontier = painless.frontier(painless.gridworld())
    assert "below 0.245486, and no policy meets one above 2.55728" in frontier.status
    assert frontier.slack_from >= 0.245486
    assert frontier.feasible_to <= 2.55728
