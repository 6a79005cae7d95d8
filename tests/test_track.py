"""Benchmarks over versions: ratios to a reference, stored by commit, with slowdowns shown."""

import itertools
import json

import pytest
from benchmarks import track

DATES = ("2026-11-01T08:00:00+00:00", "2026-11-02T09:00:00+02:00", "2026-11-02T08:00:00+00:00")


def run_of(commit, date, **ratios):
    return {"commit": commit, "date": date, "ratios": ratios}


def test_a_ratio_does_not_depend_on_the_machine():
    """Twice as slow a clock gives the same ratios; the least of the repeats counts."""
    for speed in (1.0, 2.0):
        state = {"time": 0.0}

        def spend(amounts, state=state, speed=speed):
            pending = itertools.chain(amounts, itertools.repeat(amounts[-1]))
            return lambda: state.update(time=state["time"] + speed * next(pending))

        works = {"steady": spend([3.0]), "noisy": spend([9.0, 8.0, 6.0])}
        found = track.measure(works, spend([2.0]), repeats=3, clock=lambda state=state: state["time"])
        assert found == {"steady": 1.5, "noisy": 3.0}


def test_runs_are_stored_by_commit_and_read_in_order(tmp_path):
    for commit, date in zip("abc", DATES, strict=True):
        track.store(run_of(commit, date, solve=1.0), tmp_path)
    assert [one["commit"] for one in track.history(tmp_path)] == ["a", "b", "c"]
    assert json.loads((tmp_path / "b.json").read_text())["ratios"] == {"solve": 1.0}


@pytest.mark.parametrize(("factor", "shown"), [(1.0, False), (1.19, False), (1.2, True), (2.0, True)])
def test_a_slowdown_of_a_fifth_is_shown(factor, shown):
    before, after = run_of("a", DATES[0], solve=2.0), run_of("b", DATES[1], solve=2.0 * factor, new=1.0)
    assert (list(track.slower(before, after)) == ["solve"]) == shown
    lines = list(track.table(before, after))
    assert lines[1].endswith("SLOWER") == shown
    (axis,) = track.draw([before, after]).axes
    rings = [line for line in axis.lines if line.get_marker() == "o"]
    assert (len(rings) == 1) == shown


def test_what_is_stored_can_be_drawn():
    """Each file has the name of its commit, and every case a ratio."""
    runs = track.history()
    assert len(runs) >= 2
    assert {path.stem for path in track.HISTORY.glob("*.json")} == {run["commit"] for run in runs}
    assert all(ratio > 0 for run in runs for ratio in run["ratios"].values())
    assert track.draw(runs).axes
    assert runs[-1]["ratios"].keys() == track.cases().keys()


def test_the_reference_is_the_same_work_each_time():
    work = track.reference()
    assert work() == work() == sum(number * 0.5 for number in range(50_000))
