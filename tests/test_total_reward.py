"""The total reward until the end: what a problem says, and what is solved."""

import numpy as np
import pytest
import scipy

import painless
from painless import CMDP, InputError
from painless.problem import Criterion


def walk(**changes):
    """Three states: 0 leads to 1 or, half of the time, ends; 1 leads to 2, which is the end but for its row."""
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[1, :, 2] = kernel[2, :, 0] = 1.0
    kernel[0, 1, 1] = 0.5
    return CMDP(
        kernel,
        np.arange(1.0, 7.0).reshape(3, 2),
        **{"initial": [1, 0, 0], "discount": 1.0, "end": [2]} | changes,
    )


# What a problem says


@pytest.mark.parametrize("end", [[2], 2, [False, False, True], np.array([2]), "there", ["there"]])
def test_the_end_is_a_mask_or_states(end):
    problem = walk(end=end, names={"states": ["here", "half", "there"]})
    assert problem.criterion is Criterion.TOTAL
    np.testing.assert_array_equal(problem.end, [False, False, True])
    np.testing.assert_array_equal(problem.transition[2], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(problem.reward, [[1, 2], [3, 4], [0, 0]])


def test_sparse_transitions_stay_at_the_end():
    dense = walk()
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[1, :, 2] = kernel[2, :, 0] = 1.0
    kernel[0, 1, 1] = 0.5
    sparse = CMDP(
        scipy.sparse.csr_array(kernel.reshape(6, 3)), np.zeros((3, 2)), initial=[1, 0, 0], discount=1, end=[2]
    )
    np.testing.assert_array_equal(sparse.transition.toarray(), dense.transition.reshape(6, 3))


def test_the_discount_is_one_by_default_with_an_end():
    assert walk(discount=None).discount == 1.0
    assert repr(walk()) == "CMDP(3 states, 2 actions, 0 constraints, total reward, 1 end state, dense)"


def test_rows_that_end_are_for_the_total_reward_alone():
    with pytest.raises(InputError, match=r"transition\[0, 1\] sums to 0.500000, not 1"):
        walk(discount=0.9)
    with pytest.raises(InputError, match="which only the discount 1 has"):
        walk().with_discount(0.9)
    assert (
        walk(actions=[[True, False]] + [[True, True]] * 2).with_discount(0.9).criterion
        is Criterion.DISCOUNTED
    )
    assert painless.gridworld().with_discount(1).criterion is Criterion.TOTAL
    with pytest.raises(InputError, match=r"sums to 1.500000, not 1"):
        CMDP(np.full((1, 1, 1), 1.5), [[1.0]], initial=[1.0], discount=1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 3}, "end is for a process without a horizon"),
        ({"final": [1.0, 0, 0]}, "end is for a process without a horizon"),
        ({"end": [3]}, "there is no state 3"),
        ({"end": [True, False]}, r"end has shape \(2,\)"),
        ({"end": "there"}, "end is not a numeric array"),
        ({"end": "their", "names": {"states": ["here", "half", "there"]}}, "did you mean 'there'"),
    ],
)
def test_what_is_no_end_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        walk(**changes)


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_files_keep_the_end(tmp_path, ending):
    problem = walk(end=[False, False, True])
    problem.save(tmp_path / f"walk.{ending}")
    again = painless.load(tmp_path / f"walk.{ending}")
    assert repr(again) == repr(problem)
    np.testing.assert_array_equal(again.end, problem.end)
    np.testing.assert_array_equal(again.transition, problem.transition)
