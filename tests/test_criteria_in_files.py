"""Horizons, totals and averages in the files of model checkers: every number comes back, and the model says it to others."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import painless
from painless import CMDP, InputError, load
from tests import averages, ending_models
from tests.problems import garnets
from tests.test_drn import without_strays
from tests.test_files import assert_same, rich

ENDINGS = (".drn", ".umb", ".tra")
TRANSITION = np.array([[[0.25, 0.75], [0.1, 0.9]], [[0.5, 0.5], [0.0, 1.0]]])
REST = {"constraint_cost": [[1.0, 2.0], [0.0, 0.5]], "budget": 3.0, "initial": [0.5, 0.5]}


def model(**given):
    return CMDP(TRANSITION, [[1.0, 0.0], [2.0, 0.1]], **REST | given)


def there_and_back(problem, folder, ending):
    problem.save(folder / f"model{ending}")
    return load(folder / f"model{ending}")


def flat(kernel):
    return kernel.reshape(-1, kernel.shape[-1]) if isinstance(kernel, np.ndarray) else kernel.toarray()


def assert_comes_back(problem, folder, ending):
    again = there_and_back(problem, folder, ending)
    assert again.horizon == problem.horizon
    assert again.criterion is problem.criterion
    if problem.stages is not None:
        mine, again_rows = (flat(one.stages.kernels[0]) for one in (problem, again))
        taken = problem.actions.reshape(problem.horizon, -1)[0]
        assert_array_equal(mine[taken], again_rows[taken])
        for name in ("reward", "constraint_reward", "threshold", "initial", "actions", "limit"):
            assert_array_equal(getattr(problem, name), getattr(again, name))
        assert (again.names, again.sense, again.minimise) == (problem.names, problem.sense, problem.minimise)
        assert again.discount == problem.discount
        return
    assert_same(without_strays(problem), without_strays(again))
    assert_array_equal(problem.end, again.end)


def uniform(problem):
    """PRISM has no other distribution."""
    states = problem.transition.shape[-1]
    start = np.zeros(problem.shape[0])
    start[:states] = 1 / states
    return problem._replace(initial=start)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=20)
@given(garnets(), st.integers(1, 5), st.sampled_from([1.0, 0.9, 1 / 3]))
def test_horizons_come_back(tmp_path_factory, ending, problem, horizon, discount):
    assert_comes_back(
        uniform(problem.with_horizon(horizon, discount)), tmp_path_factory.getbasetemp(), ending
    )


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dense", [True, False])
def test_horizons_come_back_with_masks_and_names(tmp_path, ending, dense):
    assert_comes_back(uniform(without_strays(rich(dense)).with_horizon(3)), tmp_path, ending)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_averages_come_back(tmp_path_factory, ending, seed):
    problem = averages.random_problem(np.random.default_rng(seed))
    assert_comes_back(uniform(problem), tmp_path_factory.getbasetemp(), ending)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_totals_come_back(tmp_path_factory, ending, seed):
    """With states and rows that end the process."""
    problem = ending_models.random_problem(np.random.default_rng(seed))
    assert_comes_back(uniform(problem), tmp_path_factory.getbasetemp(), ending)


@pytest.mark.parametrize("ending", ENDINGS[:2])
def test_any_initial_distribution_comes_back(tmp_path, ending):
    for told in ({"horizon": 4}, {"average": True}, {"discount": 1.0, "end": [1]}):
        assert_comes_back(model(**told, initial=[1 / 3, 2 / 3]), tmp_path, ending)
        assert_comes_back(model(**told, initial=[1.0, 0.0]), tmp_path, ending)


@pytest.mark.parametrize("ending", ENDINGS)
def test_steps_that_differ_are_refused(tmp_path, ending):
    path, sentence = tmp_path / f"model{ending}", "the steps of the problem differ, or it has a last utility"
    twice = [sparse.csr_array(TRANSITION.reshape(4, 2)), sparse.csr_array(TRANSITION[::-1].reshape(4, 2))]
    mask = np.ones((2, 2, 2), dtype=bool)
    mask[1, 0, 0] = False
    for problem in (
        model(horizon=2, final=[1.0, 0.0]),
        CMDP(twice, [[1.0, 0.0], [2.0, 0.1]], horizon=2, **REST),
        CMDP(np.array([TRANSITION, TRANSITION[::-1]]), [[1.0, 0.0], [2.0, 0.1]], horizon=2, **REST),
        model(horizon=2, actions=mask),
    ):
        with pytest.raises(InputError, match=f"{sentence}.*a {ending} file has one model"):
            problem.save(path)
    with pytest.raises(InputError, match="the problem has no step; save it as"):
        model(horizon=0, final=[1.0, 0.0]).save(path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_steps_that_are_given_apart_but_alike_are_one(tmp_path, ending):
    problem = CMDP(np.array([TRANSITION, TRANSITION]), [[1.0, 0.0], [2.0, 0.1]], horizon=2, **REST)
    again = there_and_back(problem, tmp_path, ending)
    assert painless.solve(again).reward_value == painless.solve(problem).reward_value


@pytest.mark.parametrize("ending", ENDINGS)
def test_another_criterion_replaces_that_of_the_file(tmp_path, ending):
    path = tmp_path / f"model{ending}"
    model(average=True).save(path)
    assert load(path, discount=0.5).discount == 0.5
    assert load(path, horizon=7).horizon == 7
    assert_array_equal(load(path, end=[1]).end, [False, True])
    model(horizon=4).save(path)
    assert load(path, average=True).criterion is painless.problem.Criterion.AVERAGE
    assert (load(path, discount=0.5).horizon, load(path, discount=0.5).discount) == (4, 0.5)
    model(discount=1.0, end=[1]).save(path)
    assert load(path, horizon=4).end is None
    assert_array_equal(load(path, end=[0]).end, [True, False])


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_another_criterion_replaces_that_of_arrays(tmp_path, ending):
    path = tmp_path / f"model{ending}"
    model(average=True).save(path)
    seven = load(path, horizon=7)
    assert (seven.horizon, seven.discount) == (7, 1.0)
    assert load(path, horizon=7, discount=0.5).discount == 0.5
    with pytest.raises(InputError, match="horizon has no meaning beside average=True"):
        load(path, horizon=7, average=True)


def test_every_table_takes_a_horizon_or_an_average():
    assert painless.make("gridworld", horizon=3, discount=0.5).discount == 0.5
    assert painless.make("queueing", average=True).criterion is painless.problem.Criterion.AVERAGE
    costs = [
        painless.solve(painless.make("maintenance", horizon=h), tolerance=1e-9).reward_value
        for h in (100, 3000)
    ]
    assert costs[0] < costs[1] < 0.442286 < costs[1] + 0.002  # a long horizon tends to the average
    with pytest.raises(InputError, match="three ways to add up the days"):
        painless.make("maintenance", horizon=3, discount=0.5)


@pytest.mark.parametrize("ending", ENDINGS)
def test_ends_are_labelled_for_others(tmp_path, ending):
    """After another program has written the files anew, without our note."""
    rows = np.array([[[0.5, 0.25], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    problem = CMDP(rows, cost=[[1.0, 2.0], [0.0, 0.0]], initial=[1.0, 0.0], end=[1], discount=1.0)
    path = tmp_path / f"model{ending}"
    problem.save(path)
    if ending == ".umb":
        strip_index(path)
    else:
        for file in tmp_path.iterdir():
            lines = file.read_text().splitlines(True)
            file.write_text(
                "".join(line for line in lines if not line.startswith(("// painless", "# painless")))
            )
    again = load(path, end="end", cost="cost")
    # The last is where the first row goes with what it misses
    assert_array_equal(again.end, [False, True, True])
    assert painless.solve(again).reward_value == pytest.approx(painless.solve(problem).reward_value, rel=1e-9)


def strip_index(path):
    import io
    import tarfile

    with tarfile.open(path) as tar:
        content = {member.name: tar.extractfile(member).read() for member in tar}
    content["index.json"] = json.dumps(
        {key: value for key, value in json.loads(content["index.json"]).items() if key != "file-data"}
    ).encode()
    with tarfile.open(path, "w") as tar:
        for name, data in content.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"horizon": 4}, 'multi(R{"reward"}max=? [C<=5], R{"c0"}<=3.0 [C<=5])'),
        ({"horizon": 4, "initial": [0.0, 1.0]}, 'multi(R{"reward"}max=? [C<=4], R{"c0"}<=3.0 [C<=4])'),
        ({"horizon": 4, "discount": 0.5}, 'multi(R{"reward"}max=? [C<=5], R{"c0"}<=3.0 [C<=5])'),
        ({"average": True}, 'multi(R{"reward"}max=? [LRA], R{"c0"}<=3.0 [LRA])'),
        ({"discount": 1.0, "end": [1]}, 'multi(R{"reward"}max=? [C], R{"c0"}<=3.0 [C])'),
    ],
)
def test_the_question_stands_in_the_file(tmp_path, given, expected):
    model(**given).save(tmp_path / "model.drn")
    assert f"// property: {expected}" in (tmp_path / "model.drn").read_text().splitlines()


@pytest.mark.parametrize(
    "given",
    [
        {"horizon": 4},
        {"horizon": 4, "discount": 0.5, "initial": [0.0, 1.0]},
        {"average": True, "budget": 0.7},
        {"discount": 1.0, "end": [1], "initial": [1.0, 0.0]},
        {"discount": 0.5},
    ],
)
def test_storm_answers_the_question_in_the_file(tmp_path, given):
    stormpy = pytest.importorskip("stormpy")  # never a part of the development environment
    problem = model(**given)
    problem.save(tmp_path / "model.drn")
    lines = (tmp_path / "model.drn").read_text().splitlines()
    asked = next(line for line in lines if line.startswith("// property: ")).removeprefix("// property: ")
    built = stormpy.build_model_from_drn(str(tmp_path / "model.drn"))
    found = stormpy.model_checking(built, stormpy.parse_properties(asked)[0], only_initial_states=True)
    value = found.get_value(built.initial_states[0])
    assert value == pytest.approx(painless.solve(problem, tolerance=1e-8).reward_value, rel=1e-4)
