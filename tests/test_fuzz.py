"""A few hundred problems that are hard on arithmetic: every claim of every answer, held against the judge of `tests.fuzz`."""

from fractions import Fraction

import numpy as np
import pytest

from tests.fuzz.checker import Judge, highs
from tests.fuzz.families import FAMILIES
from tests.fuzz.model import of_arguments
from tests.fuzz.running import ALGORITHMS, cases, problem, run

SEEDS = 10  # of each family


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_claim_is_true(family, seed):
    wrong = []
    for case in cases(1, seed, [family], [*ALGORITHMS, "frontier"], [1e-3, 1e-6], each=2):
        wrong += [f"{kind}: {sentence}\n    {case.command}" for kind, sentence in run(case, {}).wrong]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("algorithm", ["lp", "prm"])
def test_a_price_without_an_upper_end_is_what_loosening_gains(algorithm):
    """Four limits that one policy meets exactly, at γ = 0.9999: nothing bounds their multipliers, and one of them was 1.04 for 0."""
    [case] = cases(1, 31415930, ["plain"], [algorithm], [1e-3], each=1)
    assert not run(case, {}).wrong


def test_a_price_that_is_rounding_is_none():
    """One of many limits had the multiplier 8e-17 where nothing is gained."""
    [case] = cases(1, 901234588, ["many"], ["crpo"], [1e-3], each=1)
    assert not run(case, {}).wrong


@pytest.mark.parametrize("family", ["plain", "masks", "mixed_senses", "units"])
@pytest.mark.parametrize("seed", range(3))
def test_the_judge_agrees_with_itself(family, seed):
    """Whole numbers and HiGHS find the same optimum, the same prices where there is one, and values that attain it."""
    judge = Judge(problem(family, seed)[1])
    found, prices, trust = highs(judge.model, judge.model.limit)
    if not judge.decides or found is None or judge.optimum() is None:
        pytest.skip("too large, or infeasible, or so to rounding")
    assert float(judge.optimum()) == pytest.approx(found, abs=10 * trust)
    for i, price in enumerate(prices):
        if judge.model.span[1 + i]:
            ranges = np.array([*judge.price_ranges(i)])  # the last bit of a limit may decide
            scale = 1e-5 * judge.model.span[0] / judge.model.span[1 + i]
            assert ranges[:, 0].min() - scale <= price <= ranges[:, 1].max() + scale


def test_the_judge_knows_a_problem_by_hand():
    """Two actions in one state: reward 1 or 0, V_c of 3 or 7; a limit of 4 is met by a quarter of the second."""
    given = {
        "reward": np.array([[1.0, 0.0]]),
        "constraint_reward": np.array([[[1.5, 3.5]]]),
        "threshold": np.array([4.0]),
        "discount": 0.5,
    }
    judge = Judge(of_arguments(given, np.ones((1, 2, 1)), np.ones(1)))
    assert judge.optimum() == Fraction(3, 2)
    assert judge.price_range(0) == (0.5, 0.5)
    assert judge.values(np.array([[0.75, 0.25]]))[0] == [Fraction(3, 2), 4]
    assert judge.remedy(0) == 7
    assert judge.can_meet([Fraction(7)], 0.0)
    assert not judge.can_meet([Fraction(7) + Fraction(1, 10**7)], 1.0)
