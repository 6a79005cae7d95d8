"""`python -m benchmarks.growth`: how column generation's time grows with S, K and 1/(1 − γ); draws docs/images/growth.png.

Measurements go to growth.jsonl in the current folder and are not done twice: delete it to measure anew.
"""

import json
from pathlib import Path

import numpy as np

from benchmarks.scale import run
from benchmarks.scale_case import DISCOUNT, TOLERANCE
from painless.report.figures import new_figure, save_figure, styled

STORE, PICTURE = Path("growth.jsonl"), Path("docs/images/growth.png")
STATES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CONSTRAINTS = (1, 2, 3, 5, 10, 20)
HORIZONS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
MIDDLE = 10_000  # states, where K or γ varies
SEEDS = (0, 1, 2)
KINDS = {"garnet": "#0072B2", "grid": "#D55E00"}


def case(kind, seed, states=MIDDLE, constraints=1, discount=DISCOUNT):
    return {
        "kind": kind,
        "states": states,
        "constraints": constraints,
        "discount": discount,
        "seed": seed,
        "solver": "ours",
        "tolerance": TOLERANCE,
    }


def axes_of_growth():
    """Yield title, label, and the cases along the axis for each kind and seed."""
    yield "States", "S", STATES, lambda kind, seed, x: case(kind, seed, states=x)
    yield (
        f"Constraints, S = {MIDDLE:,}",
        "K",
        CONSTRAINTS,
        lambda kind, seed, x: case(kind, seed, constraints=x),
    )
    yield (
        f"Horizon, S = {MIDDLE:,}",
        "1/(1 − γ)",
        HORIZONS,
        lambda kind, seed, x: case(kind, seed, discount=1 - 1 / x),
    )


def seconds(wanted, known):
    """Return the CPU seconds of a case, measured now if they are not known yet."""
    key = json.dumps(wanted)
    if key not in known:
        known[key] = run(wanted, 600.0)
        with STORE.open("a") as lines:
            lines.write(json.dumps([key, known[key]]) + "\n")
        print(key, known[key])
    return known[key]["cpu"]


def slope(x, y):
    """Return the exponent of the power law that fits best."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def main():
    known = dict(json.loads(line) for line in STORE.read_text().splitlines()) if STORE.exists() else {}
    with styled():
        figure, panels = new_figure(11.0, 3.6, columns=3)
        for panel, (title, label, values, make) in zip(panels, axes_of_growth(), strict=True):
            for kind, colour in KINDS.items():
                table = np.array(
                    [
                        [seconds(make(kind, seed, x), known) for x in values]
                        for seed in (SEEDS if label != "S" else SEEDS[:1])
                    ]
                )
                middle = np.median(table, 0)
                text = f"{kind}: exponent {slope(values, middle):.2f}"
                panel.plot(values, middle, "o-", color=colour, label=text, markersize=4)
                if len(table) > 1:
                    panel.fill_between(values, table.min(0), table.max(0), color=colour, alpha=0.2)
            panel.set(xscale="log", yscale="log", xlabel=label, ylabel="CPU seconds", title=title)
            panel.legend(frameon=False)
        save_figure(figure, PICTURE)


if __name__ == "__main__":
    main()
