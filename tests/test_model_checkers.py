"""Models that come with Storm: both agree, where Storm is installed."""

import pytest
from benchmarks.model_checkers import CASES, compared

SMALL = [case for case in CASES if not case.constants]


@pytest.mark.parametrize("case", SMALL, ids=[f"{case.name} {case.sums}" for case in SMALL])
def test_storm_and_the_certificate_agree(case, tmp_path):
    pytest.importorskip("stormpy")  # never a part of the development environment
    _, verdict, value = compared(case, tmp_path)
    assert verdict.verified, verdict.sentence
    size = 1e-4 * (1 + abs(value))  # Storm's own precision
    assert verdict.lower_bound - size <= value <= verdict.upper_bound + size
    assert verdict.upper_bound - verdict.lower_bound <= 1e-5 * (1 + abs(value))
