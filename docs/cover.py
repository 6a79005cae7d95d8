"""The picture of the README and the page to explore: `python docs/cover.py` makes images/cover.png and explorer.html anew."""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

import painless
from painless.bellman import occupancy
from painless.problems.slippery_grid import MOVES, random_map
from painless.report.figures import STYLE

BUDGETS = (0.02, 0.3, 1.5)  # visits to hazards, discounted
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
FILE = Path(__file__).parent / "images" / "cover.png"


def draw_map(axis, lines, problem, budget):
    """Draw where the best policy goes within a budget; return its solution."""
    solution = painless.solve(problem.with_limits([budget]), tolerance=1e-6)
    policy = solution.policy.probabilities
    visits = occupancy(problem, policy).sum(-1)
    cells = [(r, c) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark != "#"]
    picture = np.full((len(lines), len(lines[0])), np.nan)
    going = np.array([lines[r][c] != "G" for r, c in cells])
    picture[tuple(np.transpose(cells))] = np.where(going, np.minimum(visits, 1.5), 0.0)
    axis.set_facecolor("0.75")
    axis.imshow(picture, cmap="Blues", vmin=0, vmax=1.8)
    for (row, column), chances, often in zip(cells, policy, visits, strict=True):
        mark = lines[row][column]
        if mark == "H":
            axis.plot(column, row, "^", color=ORANGE, markersize=5)
        if mark == "G":
            axis.plot(column, row, "*", color=GREEN, markersize=11)
        elif often > 0.05:
            for (down, right), chance in zip(MOVES.values(), chances, strict=True):
                if chance > 0.05:
                    axis.arrow(
                        *(column - 0.2 * right, row - 0.2 * down, 0.3 * right, 0.3 * down),
                        **{"head_width": 0.22, "color": "black", "linewidth": 0.7, "alpha": max(chance, 0.3)},
                    )
    axis.set(xticks=[], yticks=[])
    axis.grid(visible=False)
    axis.set_title(f"hazards ≤ {budget:g}: reward {solution.reward_value:.2f}", fontsize=11)
    return solution


def draw():
    """Draw one problem at three limits, and below them the best reward for every limit."""
    problem, lines = painless.make("slippery-grid"), random_map(12, 12, 0).split("\n")
    with rc_context(STYLE):
        figure = Figure(figsize=(10, 6.4), layout="constrained")
        grid = figure.add_gridspec(2, 3, height_ratios=(1.55, 1))
        solved = [
            draw_map(figure.add_subplot(grid[0, k]), lines, problem, one) for k, one in enumerate(BUDGETS)
        ]
        curve = figure.add_subplot(grid[1, :])
        frontier = painless.frontier(problem)
        limits = np.geomspace(0.005, 6.0, 200)
        curve.semilogx(limits, frontier.value(limits), color=BLUE, linewidth=2)
        for budget, one in zip(BUDGETS, solved, strict=True):
            curve.plot(budget, one.reward_value, "o", color="black")
            price = f"shadow price {one.multiplier[0]:.2g}"
            curve.annotate(
                price, (budget, one.reward_value), (8, -16), textcoords="offset points", fontsize=10
            )
        curve.set(xlabel="limit on visits to hazards", ylabel="best reward", xlim=(0.005, 6.0))
        figure.suptitle("One problem, every limit: the best policy, and what the limit costs", fontsize=13)
    return figure


def explorer(path):
    """Write the page of the grid, as `painless frontier slippery-grid --report` does."""
    from painless.cli.report import report_frontier

    report_frontier(path, painless.frontier(painless.make("slippery-grid")), "slippery-grid")
    return path


if __name__ == "__main__":
    explorer(FILE.parent.parent / "explorer.html")
    draw().savefig(FILE, dpi=110, metadata={"Software": None})
