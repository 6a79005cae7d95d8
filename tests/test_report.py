"""Figures: they are drawn from what was stored, and written whole."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import painless
from painless import InputError
from painless.loop.batch import solve_batch
from painless.report import grid_map, learning_curves, save_figure
from painless.report.figures import running_average

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_running_average():
    np.testing.assert_allclose(running_average(np.array([2.0, 4.0, 0.0])), [2.0, 3.0, 2.0])


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_learning_curves(tmp_path, kind):
    world = painless.gridworld(constraints=3)
    runs = {a.name: solve_batch(world, [a, a], iterations=30) for a in (painless.CBP(), painless.GDA())}
    figures = [learning_curves(runs, 1.39769, world.limit, world.sense) for _ in range(2)]
    figure = figures[0]
    assert figure.axes[0].get_title() == "Average optimality gap (OG)"
    assert len(figure.axes) == 4
    mean = np.mean([trace.reward_value.mean() for trace in runs["cbp"]])
    assert figure.axes[0].get_lines()[0].get_ydata()[-1] == pytest.approx(1.39769 - mean)
    first, again = (save_figure(one, tmp_path / f"{i}.{kind}").read_bytes() for i, one in enumerate(figures))
    assert first == again
    assert len(first) > 1000


def test_grid_map(tmp_path):
    policy = np.full((6, 2), 0.5)
    figure = grid_map(np.ones((6, 2)), policy, [(0, 1), (1, 0)], 3, {0: "start"})
    assert figure.axes[0].texts[-1].get_text() == "" or any(
        t.get_text() == "start" for t in figure.axes[0].texts
    )
    assert save_figure(figure, tmp_path / "map.png").stat().st_size > 1000


def test_unknown_kind_of_figure(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.png"):
        save_figure(grid_map(np.ones((1, 1)), np.ones((1, 1)), [(0, 1)], 1), tmp_path / "map.bmp")


def test_the_first_example_runs(tmp_path):
    """What `make run` does."""
    result = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "gridworld.py", "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "policy.png"]
    assert "1.652722" in result.stdout
