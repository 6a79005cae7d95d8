"""The score: the suite, the merit, the accounts, and what is read from them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from painless import CMDP, PRM, InputError, garnet, solve
from painless.bellman import policy_value
from painless.loop.algorithms import ALGORITHMS
from painless.policies.table import dirichlet_policy
from painless.problem.units import normalise
from painless.problems.binding import room
from painless.study.score import Score, run_score, runs, suite
from painless.study.score import running as scoring
from painless.study.score.contenders import GRIDS, contenders
from painless.study.score.families import drawn
from painless.study.score.merit import EQUAL, FLOOR, Judge, ratio
from painless.study.score.runs import JUDGED, MEASURES
from painless.study.score.simulated import RESOLUTION, _rows, cartpole_judge, mean_row
from painless.study.score.suite import Entry

RUNS = sum(len(grid) for grid in GRIDS.values())
FEW = 20 + 12 + len(GRIDS) - 2  # where the baselines of the paper alone are tuned


def tiny_suite():
    """Two small problems, the second with estimates."""
    entries = {entry.name: entry for entry in suite()}
    return [entries["streaming, buffer 9, γ=0.9"], entries["garnet, K=2, TD(0)"]]


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(scoring, "suite", tiny_suite)
    monkeypatch.setattr(scoring, "BUDGET", 6)


def row(problem, algorithm, measure, merit, **more):
    return {"problem": problem, "algorithm": algorithm, "measure": measure, "merit": merit, **more}


def synthetic(default, gda, crpo, paper=1e-2):
    """One problem; merits are (average, deployed) of the default, and lists of them for the grids."""
    rows = []
    for k, measure in enumerate(JUDGED):
        rows += [row("p", "prm", measure, default[k]), row("p", "cbp", measure, paper)]
        rows += [row("p", "gda", measure, merit[k]) for merit in gda]
        rows += [row("p", "crpo", measure, merit[k]) for merit in crpo]
    return rows


def test_suite_has_what_it_promises():
    entries = suite()
    assert len(entries) >= 60
    assert len({entry.name for entry in entries}) == len(entries)
    families = {entry.family for entry in entries}
    assert families >= {
        "garnet",
        "slack",
        "nearly infeasible",
        "units",
        "slippery grid",
        "queue",
        "inventory",
    }
    assert families >= {"streaming", "gridworld", "TD(0)", "LSTDQ", "cartpole"}
    assert 10 <= sum(entry.quick for entry in entries) <= 20
    constraints = {entry.make(i, 0)[0].shape[2] for i, entry in enumerate(entries[:5])}
    assert constraints == {1, 2, 3, 4, 5}


def test_another_seed_changes_every_problem():
    for index, entry in enumerate(suite()):
        if not entry.quick:
            continue
        (first, start), (again, same), (other, moved) = (entry.make(index, seed) for seed in (0, 0, 1))
        assert np.array_equal(first.utility, again.utility)
        assert np.array_equal(start, same)
        changed = start.shape != moved.shape or not np.array_equal(start, moved)
        assert changed or any(
            np.shape(a) != np.shape(b) or not np.array_equal(a, b)
            for a, b in (
                (first.threshold, other.threshold),
                (first.reward, other.reward),
                (first.transition, other.transition),
            )
        ), entry.name


def test_multipliers_range_from_nothing_to_a_lot():
    found = {}
    for index, entry in enumerate(suite()):
        if entry.family in ("slack", "nearly infeasible"):
            found[entry.name] = Judge.of(normalise(entry.make(index, 0)[0])[0]).multiplier.max()
    assert found["slack garnet, K=3"] == 0
    assert max(found.values()) > 10
    assert min(value for name, value in found.items() if "slack" not in name) > 0


def test_draws_without_a_feasible_policy_are_drawn_again():
    impossible = garnet(5, 2, 2).with_limits([1e6])
    possible = garnet(5, 2, 2)
    answers = iter([impossible, possible])
    assert drawn(lambda _: next(answers), np.random.default_rng(0)) is possible
    with pytest.raises(RuntimeError, match="draws gave no problem"):
        drawn(lambda _: impossible, np.random.default_rng(0))


def test_room_is_that_of_the_reward_optimal_policy():
    world = garnet(10, 3, 3, constraints=2, seed=1, tightness=0.0)
    greedy, improvement = room(world)
    np.testing.assert_allclose(greedy, world.threshold)
    assert (improvement > 0).all()


def bandit(threshold):
    """One state: action 0 pays reward 1, action 1 pays the constraint 1; γ = 0.5."""
    return CMDP(
        np.ones((1, 2, 1)),
        np.array([[1.0, 0.0]]),
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[0.0, 1.0]],
        threshold=threshold,
    )


def test_merit_by_hand():
    judge = Judge.of(bandit(0.5))  # V_r + V_c = 2: V_r* = 1.5, λ* = 1, both ranges 2, δ = 0.01
    assert judge.value == pytest.approx(1.5)
    np.testing.assert_allclose(judge.multiplier, [1.0])
    assert judge.merit(np.array([1.5, 0.5])) == FLOOR
    assert judge.merit(np.array([1.0, 1.0])) == pytest.approx(0.25)
    assert judge.merit(np.array([2.0, 0.0])) == pytest.approx((-0.5 + 2.01 * 0.5) / 2)
    np.testing.assert_allclose(judge.violation(np.array([2.0, 0.0])), [0.25])


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000))
def test_merit_is_never_negative_and_knows_no_units(seed):
    rng = np.random.default_rng(seed)
    problem = garnet(6, 3, 3, constraints=2, seed=seed % 7)
    policy = dirichlet_policy(problem.actions, rng) ** 8
    policy /= policy.sum(-1, keepdims=True)
    plain, value = Judge.of(problem), policy_value(problem, policy)
    scaled = CMDP(
        problem.transition,
        1e3 * problem.reward,
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=1e-2 * problem.constraint_reward,
        threshold=1e-2 * problem.threshold,
    )
    merit = plain.merit(value)
    assert plain.gap(value) + (plain.multiplier * np.maximum(plain.threshold - value[1:], 0)).sum() > -1e-9
    assert Judge.of(scaled).merit(value * np.array([1e3, 1e-2, 1e-2])) == pytest.approx(merit, rel=1e-5)


def test_deployed_is_the_best_feasible_mixture_or_the_one_that_comes_closest():
    judge = Judge.of(bandit(0.5))
    np.testing.assert_allclose(judge.deployed(np.array([[2.0, 0.0], [0.0, 2.0]])), [1.5, 0.5])
    np.testing.assert_allclose(judge.deployed(np.array([[2.0, 0.0], [1.8, 0.2]])), [1.8, 0.2])


def test_ratio_is_one_where_both_are_as_good_as_exact():
    assert ratio(FLOOR, EQUAL / 2) == 1
    assert ratio(4e-3, 2e-3) == 2
    assert ratio(FLOOR, 1e-3) == pytest.approx(1e-3)


def test_standing_by_hand():
    winner = synthetic((1e-3, 1e-9), [(2e-3, 1e-4), (4e-3, 2e-6)], [(8e-3, 1e-3)])
    loser = [
        {**one, "problem": "q"}
        for one in synthetic((1e-3, 4e-6), [(2e-3, 1e-4), (4e-3, 2e-6)], [(8e-3, 1e-3)])
    ]
    score = Score(0, winner + loser)
    np.testing.assert_allclose(score.ratios("average"), [0.5, 0.5])
    np.testing.assert_allclose(score.ratios("deployed"), [0.5, 2.0])
    both = score.standing()
    assert (both.wins, both.worst) == (0.5, 2.0)
    assert both.geometric_mean == pytest.approx(0.5**0.5)
    assert score.standing(["average"]).wins == 1
    assert score.standing(["deployed"], baselines=["crpo"]).wins == 1
    assert score.improvement == pytest.approx(np.sqrt(1e-2 / 1e-6 * 1e-2 / 4e-6))
    assert score.loss_over_grid("gda", "average") == pytest.approx((1.5, 2.0))
    assert "50 %" in score.headline()


def test_grids_are_those_of_the_paper():
    assert {name: len(GRIDS[name]) for name in ("gda", "crpo")} == {"gda": 20, "crpo": 12}
    assert sum(len(one.algorithms) for one in contenders()) == RUNS
    assert sum(len(one.algorithms) for one in contenders(tuned=False)) == FEW


def test_everyone_takes_part_with_its_default_settings():
    for one in contenders():
        assert one.algorithms[one.untuned] == ALGORITHMS[one.name]()
    assert {one.name for one in contenders()} == {*ALGORITHMS} - {"cbp-theory", "gda-theory", "gda-printed"}


def test_every_evaluation_counts(monkeypatch):
    entry, spent = tiny_suite()[0], []
    plain = runs.run_values

    def counted(prepared, algorithms, start, iterations, seed, entry):
        spent.append((iterations, prepared.slater.evaluations))
        return plain(prepared, algorithms, start, iterations, seed, entry)

    monkeypatch.setattr(runs, "run_values", counted)
    rows = runs.run_table(entry, 0, 3, 30)
    assert len(rows) == RUNS * len(MEASURES)
    assert {one["evaluations"] for one in rows} == {30}
    feasibility = spent[0][1]
    assert feasibility >= 1
    assert [iterations for iterations, _ in spent] == [30, 30 - feasibility, *[30] * (len(GRIDS) - 2)]
    again = runs.run_table(entry, 0, 3, 30, contenders()[:3])
    assert [{**one, "seconds": 0} for one in rows[: len(again)]] == [{**one, "seconds": 0} for one in again]


def recomputed(content):
    """Return wins, geometric mean and worst ratio of a score as plain data, from its rows alone."""
    least = {}
    for one in content["rows"]:
        if one["measure"] not in JUDGED or (one["algorithm"] == "prm" and not one["untuned"]):
            continue
        key = (one["problem"], one["measure"], one["algorithm"])
        least[key] = min(one["merit"], least.get(key, np.inf))
        assert one["merit"] >= one["gap"] - 1e-12
        assert one["seed"] == content["seed"]
    ratios = {}
    for problem, measure, _ in least:
        mine, *theirs = (max(least[problem, measure, name], 1e-6) for name in ("prm", "gda", "crpo"))
        ratios.setdefault(problem, {})[measure] = mine / min(theirs)
    worst = [max(one.values()) for one in ratios.values()]
    logs = [np.log(value) for one in ratios.values() for value in one.values()]
    return np.mean(np.array(worst) <= 1), np.exp(np.mean(logs)), max(worst)


def assert_adds_up(content, runs):
    assert len(content["rows"]) == sum(runs) * len(MEASURES)
    assert content["problems"] == len(runs)
    found = (content["wins"], content["geometric_mean"], content["worst"])
    np.testing.assert_allclose(found, recomputed(content), rtol=1e-12)


def test_score_can_be_computed_again_from_its_rows(tiny):
    told = []
    score = run_score(5, progress=lambda name, done, total: told.append((name, done, total)))
    assert told[-1][1:] == (2, 2)
    assert_adds_up(json.loads(json.dumps(score.as_dict())), [RUNS, FEW])


def test_the_default_wins_the_quick_score(run, tmp_path):
    """The promise itself, in a minute: at least as good as baselines tuned in hindsight, and never twice as bad."""
    code, out, _ = run("score", "--quick", "--json", "--workers", "2", "--out", str(tmp_path))
    content = json.loads(out)
    assert code == 0
    assert_adds_up(content, [FEW] * sum(entry.quick for entry in suite()))
    assert content["wins"] >= 0.9
    assert content["worst"] <= 2
    assert content["improvement"] >= 10


def test_command_line(tiny, tmp_path, run):
    files = [tmp_path / name for name in ("profile.svg", "table.md", "table.tex", "table.csv")]
    options = ("--seeds", "1", "--workers", "1", "--out", str(tmp_path / "out"))
    code, shown, _ = run("score", *options, "--figure", str(files[0]), "--table", str(files[1]))
    assert code == 0
    for words in ("wins", "tuned in hindsight", "strong violation", "augmented-lagrangian"):
        assert words in shown
    assert files[0].stat().st_size > 1000
    assert files[1].read_text().startswith("| algorithm | settings | average |")
    for path in files[2:]:
        assert run("score", *options, "--table", str(path))[0] == 0
    assert files[2].read_text().startswith("\\begin{tabular}")
    assert len(files[3].read_text().splitlines()) == 1 + 2 * len(GRIDS)
    _, out, _ = run("score", *options, "--json")
    assert set(json.loads(out)) >= {"wins", "geometric_mean", "worst", "rows", "algorithms", "seeds"}
    code, _, error = run("score", "--set", "rate=1")
    assert (code, "--set is for your own algorithm" in error) == (2, True)
    code, _, error = run("score", "--family", "steaming")
    assert (code, "unknown family 'steaming'; did you mean 'streaming'?" in error) == (2, True)
    code, _, error = run("score", "--family", "TD(0)", "--quick")
    assert (code, "no problem of these families is part of the quick score" in error) == (2, True)


def test_what_is_finished_is_not_run_again(tiny, tmp_path, monkeypatch):
    first = run_score(5, folder=tmp_path)
    ran = []

    def counted(piece):
        ran.append([one.name for one in piece.chosen])
        return plain(piece)

    plain = scoring.run_piece
    monkeypatch.setattr(scoring, "run_piece", counted)
    assert run_score(5, folder=tmp_path).rows == first.rows
    assert ran == []
    own = [{"name": "tests.own_algorithm:fast", "rate": [0.5, 1.0]}]
    added = run_score(5, folder=tmp_path, own=own)
    assert ran == [["tests.own_algorithm:fast"]] * 2
    assert added.rows[: len(MEASURES)] == first.rows[: len(MEASURES)]
    assert "tests.own_algorithm:fast" in added.algorithms
    stored = sorted((tmp_path / "problems").iterdir())
    stored[0].write_text("{")
    again = run_score(5, folder=tmp_path)
    assert len(ran) == 3  # what cannot be read is run again
    assert len(again.rows) == len(first.rows)


def test_seeds_give_an_interval(tiny):
    score = run_score(5, seeds=3)
    assert score.seeds == [5, 6, 7]
    # Estimates run once
    assert [name for name, seed in score.problems if seed == 6] == [tiny_suite()[0].name]
    mean = score.mean("prm", "average")
    logs = [np.log(score.merit("prm", "average", (tiny_suite()[0].name, seed))) for seed in (5, 6, 7)]
    half = 4.302653 * np.std(logs, ddof=1) / np.sqrt(3)
    assert mean.factor == pytest.approx(np.exp(half), rel=1e-5)
    assert np.isnan(run_score(5).mean("prm", "average").factor)


def test_tuning_helps_and_the_best_is_best():
    rows = [
        row("p", name, "average", merit, untuned=k == 0)
        for name, merits in {"prm": (2e-3, 1e-3), "gda": (4e-3, 5e-4)}.items()
        for k, merit in enumerate(merits)
    ]
    score = Score(0, rows)
    assert score.mean("gda", "average").value == pytest.approx(4e-3)
    assert score.mean("gda", "average", tuned=True).value == pytest.approx(5e-4)
    assert (score.best_share("prm", "average"), score.best_share("prm", "average", tuned=True)) == (1, 0)


def test_a_problem_that_fails_is_named(monkeypatch):
    def fail(_):
        raise InputError("no such thing")

    monkeypatch.setattr(scoring, "suite", lambda: [Entry("broken", "garnet", fail)])
    with pytest.raises(RuntimeError, match="broken: no such thing"):
        run_score()


def test_cartpole_is_judged_by_the_largest_value():
    judge = cartpole_judge()
    assert judge.value == pytest.approx(86.6, abs=0.01)
    assert judge.merit(np.array([judge.value, 80.0, 81.0])) == FLOOR
    assert judge.merit(np.array([judge.value, 70.0, 81.0])) > 0.1


def test_cartpole_is_judged_no_finer_than_its_episodes_tell():
    judge = cartpole_judge()
    best = np.array([judge.value, 85.0, 85.0])
    training = SimpleNamespace(
        trace=SimpleNamespace(
            reward_value=np.array([80.0, 84.0]), constraint_value=np.array([[80.0, 81.0], [80.0, 83.0]])
        ),
        estimate=SimpleNamespace(mean=best),
    )
    average, _, last, deployed = _rows(judge, training, contenders()[0], {}, 3)
    assert last["gap"] == pytest.approx((judge.value - 84) / judge.value)
    assert deployed["merit"] == RESOLUTION
    assert average["merit"] == average["gap"] == pytest.approx((judge.value - 82) / judge.value)


def test_cartpole_is_judged_by_the_mean_of_its_runs():
    rows = [row("p", "prm", "average", merit, gap=merit / 2, violations=[merit, 0.0]) for merit in (1.0, 3.0)]
    mean = mean_row(rows)
    assert (mean["merit"], mean["gap"], mean["violations"]) == (2.0, 1.0, [2.0, 0.0])
    assert (mean["problem"], mean["algorithm"]) == ("p", "prm")


@pytest.mark.parametrize("seed", [0, 1])
def test_the_answer_does_not_depend_on_units_order_or_copies(seed):
    problem = garnet(12, 3, 4, constraints=2, seed=seed)
    rng = np.random.default_rng(seed)

    def change(order=None, reward=(1.0, 0.0), constraint=(1.0, 0.0), copies=(0, 1)):
        order = np.arange(12) if order is None else order
        return CMDP(
            problem.transition[order][:, :, order],
            reward[0] * problem.reward[order] + reward[1],
            initial=problem.initial[order],
            discount=problem.discount,
            constraint_reward=(constraint[0] * problem.constraint_reward + constraint[1])[list(copies)][
                :, order
            ],
            threshold=(constraint[0] * problem.threshold + constraint[1] / (1 - problem.discount))[
                list(copies)
            ],
        )

    def answer(changed):
        return solve(changed, PRM(), tolerance=1e-8)

    plain = answer(problem)
    scaled = answer(change(reward=(1e3, -200.0), constraint=(1e-3, 5.0)))
    offset = -200.0 / (1 - problem.discount)
    assert (scaled.reward_value - offset) / 1e3 == pytest.approx(plain.reward_value, rel=1e-6)
    np.testing.assert_allclose(scaled.policy.probabilities, plain.policy.probabilities, atol=1e-4)
    order = rng.permutation(12)
    moved = answer(change(order))
    assert moved.reward_value == pytest.approx(plain.reward_value, rel=1e-6)
    np.testing.assert_allclose(moved.policy.probabilities, plain.policy.probabilities[order], atol=1e-4)
    doubled = answer(change(copies=(0, 1, 1)))
    assert doubled.reward_value == pytest.approx(plain.reward_value, rel=1e-6)
    np.testing.assert_allclose(doubled.policy.probabilities, plain.policy.probabilities, atol=1e-4)
