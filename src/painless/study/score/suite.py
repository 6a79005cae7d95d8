"""The public suite: which problems the score is made of, and how each is evaluated.

All randomness comes from one number: entry i of the suite with seed N draws from the seed sequence (N, i).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.evaluators import EVALUATORS
from painless.policies.table import dirichlet_policy, uniform_policy
from painless.problem import CMDP
from painless.study.score import families as f

BUDGET = 200  # evaluations of a policy, each of all utilities
CARTPOLE = "cartpole"

Making = Callable[[CMDP], Any]


@dataclass(frozen=True)
class Entry:
    """One problem of the suite: how it is drawn, and how its policies are evaluated."""

    name: str
    family: str
    draw: f.Draw | None  # None: the simulator
    evaluator: Making | None = None  # exact unless given
    random_start: bool = False
    quick: bool = False  # whether it is part of the quick score

    @property
    def costly(self) -> bool:
        """Whether its values are estimated, which takes fifty times as long: then it runs for one seed, and few are tuned."""
        return self.draw is None or self.evaluator is not None

    def make(self, index: int, seed: int) -> tuple[CMDP, Array]:
        """Return the problem and the first policy (S, A) that seed N gives entry `index`."""
        assert self.draw is not None
        rng = np.random.default_rng([seed, index])
        problem = f.drawn(self.draw, rng)
        start = (
            dirichlet_policy(problem.actions, rng) if self.random_start else uniform_policy(problem.actions)
        )
        return problem, start


def td(samples: int, rate: float = 0.01) -> Making:
    """TD(0) with default settings: so many updates for each pair on average, by default with the paper's step size.

    The default is levelled. From zero, as in the paper, 13 % of the values would be missing at γ = 0.9 and 2000 samples, which
    moves the thresholds that every algorithm sees: luck would decide.
    """
    return lambda normal: EVALUATORS["td"](normal, samples=samples, rate=rate)


def coreset_lstdq(samples: int, tiles: int | None = None) -> Making:
    """Averaged LSTDQ on tiles of the state's index, from successors of all pairs that share a feature of a coreset."""
    return lambda normal: EVALUATORS["averaged-lstdq"](
        normal, samples=samples, tiles=tiles or normal.shape[0], coreset=True
    )


def _garnets() -> list[Entry]:
    shapes = ((20, 3, 4), (50, 4, 5), (80, 2, 8), (30, 8, 3))
    discounts, tightness = (0.9, 0.7, 0.95, 0.99, 0.9), (0.2, 0.5, 0.8)
    entries = []
    for i in range(24):
        shape, discount, tight = shapes[i % 4], discounts[(i // 3) % 5], tightness[i % 3]
        constraints = 1 + i % 5
        name = f"garnet {shape[0]}×{shape[1]}, K={constraints}, γ={discount}, tightness {tight}"
        draw = f.random_garnet(*shape, constraints, discount, tight)
        entries.append(Entry(name, "garnet", draw, quick=i % 6 == 0))
    return entries


def _extremes() -> list[Entry]:
    slack = [
        Entry(f"slack garnet, K={k}", "slack", f.random_garnet(40, 4, 5, k, 0.9, -0.5), quick=k == 2)
        for k in (1, 2, 3, 5)
    ]
    tight = [
        Entry(
            f"tight garnet, K={k}, tightness {t}",
            "nearly infeasible",
            f.random_garnet(30, 4, 5, k, 0.9, t),
            quick=k == 1 and t == 0.99,
        )
        for k, t in ((1, 0.99), (1, 0.999), (2, 0.98), (3, 0.97))
    ]
    outlier = [
        Entry(f"garnet with a penalty of {p:g}", "nearly infeasible", f.outlier_garnet(p, 0.7), quick=p == 20)
        for p in (5.0, 20.0, 50.0)
    ]
    return slack + tight + outlier


def _units() -> list[Entry]:
    plain = f.random_garnet(40, 3, 5, 2, 0.9, 0.5)
    units = {
        "reward × 1e-3": ((1e-3, 0.0), (1.0, 0.0)),
        "reward × 1e3": ((1e3, 0.0), (1.0, 0.0)),
        "reward × 1e3 − 500": ((1e3, -500.0), (1.0, 0.0)),
        "constraints × 1e-3": ((1.0, 0.0), (1e-3, 0.0)),
        "constraints × 1e3 + 100": ((1.0, 0.0), (1e3, 100.0)),
        "reward × 1e-3 + 7, constraints × 30 − 4": ((1e-3, 7.0), (30.0, -4.0)),
    }
    return [
        Entry(
            f"garnet, {name}", "units", f.in_other_units(plain, *change), quick=name == "reward × 1e3 − 500"
        )
        for name, change in units.items()
    ]


def _classics() -> list[Entry]:
    grids = [
        Entry(
            f"slippery grid {n}×{n}, slip {s}, γ={g}", "slippery grid", f.slippery(n, s, g, t), quick=n == 5
        )
        for n, s, g, t in (
            (5, 0.2, 0.95, 0.5),
            (6, 0.1, 0.95, 0.5),
            (6, 0.3, 0.99, 0.3),
            (7, 0.2, 0.9, 0.7),
            (8, 0.2, 0.97, 0.5),
        )
    ]
    queues = [
        Entry(f"queue of {n}, γ={g}", "queue", f.random_queue(n, g), quick=n == 8)
        for n, g in ((8, 0.9), (10, 0.95), (10, 0.99), (20, 0.99))
    ]
    stocks = [
        Entry(
            f"inventory of {n}, γ={g}, tightness {t}", "inventory", f.random_inventory(n, g, t), quick=n == 5
        )
        for n, g, t in ((5, 0.9, 0.5), (8, 0.9, 0.3), (8, 0.95, 0.7), (12, 0.9, 0.5))
    ]
    streams = [
        Entry(f"streaming, buffer {n}, γ={g}", "streaming", f.random_streaming(n, g, t), quick=g == 0.9)
        for n, g, t in ((9, 0.9, 0.5), (15, 0.95, 0.3), (20, 0.99, 0.7))
    ]
    others = [
        Entry("maintenance, γ=0.99", "maintenance", f.random_maintenance(0.99)),
        Entry("dense random CMDP", "random", f.random_threshold(20, 10)),
    ]
    return grids + queues + stocks + streams + others


def _gridworlds() -> list[Entry]:
    return [
        Entry(
            f"the paper's gridworld, γ={g}, K={k}",
            "gridworld",
            f.paper_gridworld(g, k),
            random_start=True,
            quick=g == 0.9,
        )
        for g, k in ((0.9, 1), (0.8, 1), (0.7, 1), (0.9, 3))
    ]


def _estimated() -> list[Entry]:
    world, plain = f.paper_gridworld(0.9), f.random_garnet(20, 3, 4, 1, 0.9, 0.5)
    two = f.random_garnet(20, 3, 4, 2, 0.8, 0.5)
    return [
        Entry("the paper's gridworld, TD(0)", "TD(0)", world, td(2000), random_start=True),
        Entry("garnet, TD(0)", "TD(0)", plain, td(2000)),
        Entry("garnet, K=2, TD(0)", "TD(0)", two, td(2000)),
        Entry("the paper's gridworld, TD(0) at 0.03", "TD(0)", world, td(2000, 0.03), random_start=True),
        Entry("garnet, TD(0) at 0.03", "TD(0)", plain, td(500, 0.03), quick=True),
        Entry("the paper's gridworld, LSTDQ on a coreset", "LSTDQ", world, coreset_lstdq(300)),
        Entry("garnet, LSTDQ on a coreset", "LSTDQ", plain, coreset_lstdq(300), quick=True),
        Entry("garnet, K=2, LSTDQ on a coreset", "LSTDQ", two, coreset_lstdq(100)),
    ]


def suite() -> list[Entry]:
    """Return all problems in their order, CartPole last."""
    tables = [*_garnets(), *_extremes(), *_units(), *_classics(), *_gridworlds(), *_estimated()]
    return [*tables, Entry("CartPole", CARTPOLE, None)]
