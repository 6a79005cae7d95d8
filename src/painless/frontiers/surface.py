"""The optimal value over two limits at once: a sampled surface, made of exact slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from painless.common import render
from painless.common.arguments import whole
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.frontiers.frontier import Infeasible, find_constraint, frontier
from painless.problem import CMDP, require_problem
from painless.storage.mapped import unchanged


@dataclass(frozen=True, eq=False)
class Surface:
    """The optimal value on a grid of two limits, in the user's terms; exact on the grid only."""

    problem: CMDP
    constraints: tuple[int, int]
    threshold: tuple[Array, Array]  # (m,) and (n,) from the loosest to the tightest
    reward_value: Array  # (m, n), NaN where no policy is feasible
    solves: int  # of unconstrained problems

    def __repr__(self) -> str:
        first, second = (self.problem.name("constraints", i) for i in self.constraints)
        size = " × ".join(str(n) for n in self.reward_value.shape)
        share = float(np.isfinite(self.reward_value).mean())
        ranges = ", ".join(
            f"{name} from {render.number(limits[0])} to {render.number(limits[-1])}"
            for name, limits in zip((first, second), self.threshold, strict=True)
        )
        return f"Surface sampled at {size} limits ({ranges}), {share:.0%} of them feasible"


@unchanged
def frontier_surface(
    problem: CMDP, constraints: tuple[int | str, int | str] = (0, 1), *, points: int = 21
) -> Surface:
    """Sample the optimal value over the limits of two constraints, the others held.

    Each limit goes from where its constraint costs nothing, however tight the other is, to the tightest that any
    policy meets with the other freed, in `points` even steps. For each limit of the first, the frontier in the
    second is exact.

    >>> import painless
    >>> frontier_surface(painless.gridworld(constraints=3), points=3)
    Surface sampled at 3 × 3 limits (constraint 1 from 0.08 to 2.55727, constraint 2 from 0.0607608 to 3.00915), 67% of them feasible
    """
    require_problem(problem)
    whole("points", points, least=2)
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        raise InputError(f"constraints is {constraints!r}; give two of them, such as (0, 1)")
    if len(constraints) != 2:
        raise InputError(f"a surface has two constraints, not {len(constraints)}; frontier takes one")
    first, second = (find_constraint(problem, given) for given in constraints)
    if first == second:
        raise InputError("both limits are of the same constraint; give two different ones")
    steps = (_axis(problem, first, second, points), _axis(problem, second, first, points))
    values, solves = np.full((points, points), np.nan), 0
    for row, limit in enumerate(steps[0]):
        try:
            part = frontier(_with_limit(problem, first, limit), second)
        except Infeasible:
            continue
        values[row] = part.value(steps[1])
        solves += part.solves
    return Surface(problem, (first, second), steps, values, solves)


def _axis(problem: CMDP, one: int, other: int, points: int) -> Array:
    """Return limits from where a constraint costs nothing, however tight the other, to its tightest."""
    none = -np.inf * problem.sign[1:]  # a limit that is none
    own = frontier(_with_limit(problem, other, none[other]), one)
    rival = frontier(_with_limit(problem, one, none[one]), other)
    squeezed = frontier(_with_limit(problem, other, rival.feasible_to), one)
    sign = problem.sign[1 + one]
    loosest = sign * min(sign * own.slack_from, sign * squeezed.slack_from)
    return np.linspace(loosest, own.feasible_to, points)


def _with_limit(problem: CMDP, constraint: int, limit: float) -> CMDP:
    limits = problem.limit
    limits[constraint] = limit
    return problem.with_limits(limits)
