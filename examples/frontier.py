"""What a constraint costs: the frontiers of the gridworld and of a slippery grid, as tables and pictures.

Run it with `python examples/frontier.py --out FOLDER`; `--side 108` takes a grid of 10,000 states.
"""

import argparse
from pathlib import Path

import painless
from painless.problems.slippery_grid import slippery_grid
from painless.report import frontier_figure, save_figure


def main(out: Path, side: int) -> None:
    for name, problem in {
        "gridworld": painless.gridworld(),
        "slippery-grid": slippery_grid(height=side, width=side),
    }.items():
        frontier = painless.frontier(problem)
        print(f"{name}: {problem}\n{frontier}")
        limit = float(problem.limit[0])
        point = frontier.at(limit)
        mixed = ", ".join(f"{weight:.0%} of vertex {i}" for i, weight in point.weights.items())
        print(
            f"At the limit {limit:g}: value {point.reward_value:.6f}, shadow price {point.multiplier[0]:.6f}, "
            f"{mixed}; {len(point.policy.randomised)} states randomise."
        )
        print(f"wrote {save_figure(frontier_figure(frontier), out / f'{name}.png')}")
        frontier.save(out / name)
        print(f"wrote {out / name}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/frontier"), help="folder for what is written")
    parser.add_argument("--side", type=int, default=12, help="cells along a side of the slippery grid")
    arguments = parser.parse_args()
    main(arguments.out, arguments.side)
