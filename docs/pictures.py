"""The pictures of docs/problems: `python docs/pictures.py` draws them anew into docs/images/problems."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

import painless
from painless.bellman import occupancy, policy_value
from painless.policies.table import dirichlet_policy
from painless.report import grid_map
from painless.report.figures import STYLE

FOLDER = Path(__file__).parent / "images" / "problems"
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
cart, grid, sea, slippery = (
    import_module(f"painless.problems.{name}")
    for name in ("cartpole", "gridworld", "deep_sea_treasure", "slippery_grid")
)
FREE = 1e6  # a limit that constrains nothing


def solved(problem):
    return painless.solve(problem, painless.LinearProgram())


def visited(problem):
    """Return the best policy, nan in states that it never visits: there it may do anything."""
    policy = solved(problem).policy.probabilities
    often = occupancy(problem, policy).sum(-1, keepdims=True)
    return np.where(often > 1e-6, policy, np.nan)


def draw_gridworld():
    world = painless.gridworld()
    policy = solved(world).policy.probabilities
    labels = {grid.A: "A", grid.B: "B", grid.A_NEXT: "A'", grid.B_NEXT: "B'"}
    return grid_map(occupancy(world, policy), policy, list(grid.MOVES.values()), grid.SIDE, labels)


def plane(problem, title):
    """Draw what policies can do: the constraint's value across, the reward's up."""
    rng = np.random.default_rng(0)
    tables = [dirichlet_policy(problem.actions, rng) ** rng.choice([1, 4, 12]) for _ in range(1500)]
    values = np.array([policy_value(problem, table / table.sum(-1, keepdims=True)) for table in tables])
    best = solved(problem)
    limits = np.linspace(values[:, 1].min(), problem.limit[0] + 0.5 * np.ptp(values[:, 1]), 40)
    frontier = [one for limit in limits if (one := solved(problem.with_limits([limit]))).feasible]
    figure = Figure(figsize=(6, 3.8))
    axis = figure.subplots()
    axis.scatter(values[:, 1], values[:, 0], s=4, color="0.6", label="random policies")
    curve = np.array([(one.constraint_value[0], one.reward_value) for one in frontier])
    axis.plot(curve[:, 0], curve[:, 1], color=BLUE, label="the best that can be done")
    axis.axvline(problem.limit[0], color=ORANGE, linestyle="--", label="threshold")
    axis.plot(best.constraint_value, best.reward_value, "*", color=ORANGE, markersize=14, label="optimum")
    axis.set(xlabel="value of the constraint", ylabel="value of the reward", title=title)
    axis.legend(fontsize=8)
    return figure


def draw_garnet():
    return plane(painless.garnet(), "A Garnet with 50 states")


def draw_random_cmdp():
    return plane(painless.make("random-cmdp"), "The random CMDP of seed 10")


def bars(names, groups, title, ylabel, xlabel=""):
    """Draw one probability for each state, with and without the limit."""
    figure = Figure(figsize=(6.5, 3.2))
    axis = figure.subplots()
    place = np.arange(len(names))
    for k, (label, heights) in enumerate(groups.items()):
        axis.bar(place + 0.4 * (k - 0.5), heights, 0.38, color=(ORANGE, BLUE)[k], label=label)
    axis.set_xticks(place, names)
    axis.set(title=title, ylabel=ylabel, xlabel=xlabel)
    axis.margins(y=0.3)
    axis.legend(fontsize=8, loc="upper right", ncols=2)
    return figure


def draw_maintenance():
    problem = painless.make("maintenance")
    groups = {
        "no limit": solved(problem.with_limits([FREE])).policy.probabilities[:4, 1],
        "at most 8 % of the days in repair": solved(problem).policy.probabilities[:4, 1],
    }
    title = "When to repair a machine that still works"
    return bars(["1 (as new)", "2", "3", "4"], groups, title, "probability of repair", "condition")


def draw_streaming():
    problem = painless.make("streaming")
    groups = {
        "no limit": solved(problem.with_limits([FREE])).policy.probabilities[:, 0],
        "fast link at most half the time": solved(problem).policy.probabilities[:, 0],
    }
    return bars(
        range(10), groups, "When to use the fast link", "probability of fast", "packets in the buffer"
    )


def draw_inventory():
    problem = painless.make("inventory")
    units = np.arange(6)
    groups = {
        "no limit": solved(problem.with_limits([FREE])).policy.probabilities @ units,
        "cost within the budget": solved(problem).policy.probabilities @ units,
    }
    return bars(units, groups, "How much to order", "units, on average", "stock")


def draw_queueing():
    queue = painless.make("queueing")
    table = visited(queue).reshape(-1, 2, 4)
    figure = Figure(figsize=(6.5, 3.4))
    axis = figure.subplots()
    axis.bar(np.arange(21), table.sum(1) @ [0.0, 0.3, 0.6, 0.9], color=BLUE, label="rate of service")
    axis.plot(np.arange(21), table[:, 1].sum(1), "o-", color=ORANGE, label="probability to admit")
    axis.set(title="The best policy of the queue", xlabel="customers waiting", xticks=range(0, 21, 2))
    axis.legend(fontsize=8)
    return figure


def draw_wireless():
    problem = painless.make("wireless")
    sent = (visited(problem) @ np.arange(4)).reshape(21, 2)
    figure = Figure(figsize=(6.5, 3.4))
    axis = figure.subplots()
    for k, (label, colour, marker) in enumerate(
        (("good channel", BLUE, "o-"), ("bad channel", ORANGE, "s-"))
    ):
        axis.plot(np.arange(21), sent[:, k], marker, color=colour, label=label, markersize=4)
    axis.set(
        title="How much to send",
        xlabel="packets waiting",
        ylabel="packets sent, on average",
        xticks=range(0, 21, 2),
    )
    axis.legend(fontsize=8)
    return figure


def arrows(axis, cells, policy, moves, visits):
    """Draw the likeliest move of every state that is visited."""
    for (row, column), probabilities, often in zip(cells, policy, visits, strict=True):
        if often > 1e-3:
            down, right = moves[int(probabilities.argmax())]
            move = {"arrowstyle": "-|>", "color": "black", "linewidth": 0.8}
            axis.annotate(
                "",
                xy=(column + 0.35 * right, row + 0.35 * down),
                xytext=(column - 0.2 * right, row - 0.2 * down),
                arrowprops=move,
            )


def draw_deep_sea_treasure():
    problem = painless.make("deep-sea-treasure", threshold=-8.0)
    policy = solved(problem).policy.probabilities
    visits = occupancy(problem, policy).sum(-1)[:-1]
    cells = [(r, c) for r in range(sea.SIDE) for c in range(sea.SIDE) if r < [*sea.DEPTHS, sea.SIDE][c]]
    picture = np.full((sea.SIDE, sea.SIDE), np.nan)
    picture[tuple(np.transpose(cells))] = visits
    figure = Figure(figsize=(6.2, 5))
    axis = figure.subplots()
    axis.set_facecolor("0.35")
    image = axis.imshow(picture, cmap="Blues", vmin=0, vmax=1.0)
    figure.colorbar(image, ax=axis, label="discounted visits", shrink=0.8)
    for column, (row, value) in enumerate(zip(sea.DEPTHS, sea.TREASURES, strict=True)):
        axis.text(column, row, f"{value:g}", ha="center", va="center", color="#FFD54F", fontsize=8)
    arrows(axis, cells, policy[:-1], list(sea.MOVES.values()), visits)
    axis.set(xticks=[], yticks=[], title="The best dives for a threshold of −8")
    axis.grid(visible=False)
    return figure


def draw_slippery_grid():
    text = slippery.random_map(12, 12, 0)
    problem = painless.make("slippery-grid")
    policy = solved(problem).policy.probabilities
    visits = occupancy(problem, policy).sum(-1)
    lines = text.split("\n")
    cells = [(r, c) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark != "#"]
    picture = np.full((12, 12), np.nan)
    going = [lines[r][c] != "G" for r, c in cells]
    picture[tuple(np.transpose(cells))] = np.where(going, visits, 0.0)
    figure = Figure(figsize=(6, 5))
    axis = figure.subplots()
    axis.set_facecolor("0.35")
    image = axis.imshow(picture, cmap="Blues", vmin=0)
    figure.colorbar(image, ax=axis, label="discounted visits", shrink=0.8)
    for row, column in cells:
        mark = lines[row][column]
        if mark == "H":
            axis.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=2)
            )
        elif mark in "SG":
            axis.text(column - 0.42, row - 0.2, mark, fontweight="bold", fontsize=9, color=GREEN)
    arrows(axis, cells, policy, list(slippery.MOVES.values()), np.where(going, visits, 0.0))
    axis.set(xticks=[], yticks=[], title="From S to G; hazards framed, walls dark")
    axis.grid(visible=False)
    return figure


def draw_cartpole():
    figure = Figure(figsize=(7, 2.8))
    axis = figure.subplots()
    for low, high in cart.ZONES:
        for side in (-1, 1):
            axis.axvspan(*sorted((side * low, side * high)), color=ORANGE, alpha=0.3, linewidth=0)
    for lean, colour, label in (
        (cart.STEEPEST, "0.85", "falls beyond 12°"),
        (cart.UPRIGHT, BLUE, "c₂ asks for 4°"),
    ):
        corner = np.array([[0, 0.2], [np.sin(lean), 0.2 + np.cos(lean)], [-np.sin(lean), 0.2 + np.cos(lean)]])
        axis.add_patch(Polygon(corner, color=colour, alpha=0.5 if colour == BLUE else 1.0, label=label))
    axis.add_patch(Rectangle((-0.25, 0), 0.5, 0.2, color="black"))
    axis.plot([0, np.sin(0.03)], [0.2, 1.2], color="#8d5524", linewidth=4)
    axis.axhline(0, color="black", linewidth=1)
    axis.set(xlim=(-2.5, 2.5), ylim=(-0.1, 1.3), xlabel="x; c₁ is 0 in the shaded zones", yticks=[])
    axis.set_aspect("equal")
    axis.grid(visible=False)
    axis.legend(loc="upper left", fontsize=8, bbox_to_anchor=(0.08, 1.0))
    return figure


def total_reward():
    """The picture of docs/total-reward.md: dives that end, without a discount."""
    curve = painless.frontier(painless.make("deep-sea-treasure", discount=1.0))
    figure = Figure(figsize=(6, 3.2))
    axis = figure.subplots()
    steps = [row + column for column, row in enumerate(sea.DEPTHS)]
    axis.plot(-curve.threshold, curve.reward_value, color=BLUE, marker="o", label="the best trade-off")
    axis.scatter(steps, sea.TREASURES, color=ORANGE, zorder=3, label="one dive for each treasure")
    axis.set(xlabel="steps until the end", ylabel="treasure", title="Deep Sea Treasure without a discount")
    axis.legend(loc="lower right")
    return figure


def long_run():
    """The picture of docs/average.md: the average cost of maintenance for every limit, beside discounted ones."""
    figure = Figure(figsize=(6, 3.2))
    axis = figure.subplots()
    for discount, colour in ((0.99, "#c9d6e6"), (0.999, "#8fb0d3")):
        curve = painless.frontier(painless.make("maintenance", discount=discount))
        axis.plot(
            curve.threshold, curve.reward_value, color=colour, marker=".", label=f"(1 − γ)·V, γ = {discount}"
        )
    curve = painless.frontier(painless.make("maintenance", average=True))
    axis.plot(curve.threshold, curve.reward_value, color=BLUE, marker="o", label="the long-run average")
    axis.scatter(
        [0.08], [curve.at(0.08).reward_value], color=ORANGE, zorder=3, label="at most 8 % of the days"
    )
    axis.set(xlabel="limit on the share of days in repair", ylabel="cost per day", title="Maintenance")
    axis.legend(fontsize=8)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    name.removeprefix("draw_").replace("_", "-"): function
    for name, function in list(globals().items())
    if name.startswith("draw_")
}


def main(folder: Path = FOLDER) -> None:
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        with rc_context({**STYLE, "savefig.dpi": 100}):
            draw().savefig(folder / f"{name}.png", metadata={"Software": None})
    with rc_context({**STYLE, "savefig.dpi": 100}):
        total_reward().savefig(folder.parent / "total-reward.png", metadata={"Software": None})
        long_run().savefig(folder.parent / "average.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
