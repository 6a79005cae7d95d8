"""Evaluators by name. To add one, write a file and add a line to `EVALUATORS`.

The first arguments of an entry say what it evaluates: policies on a `problem` with a table, or on a `simulator` over `features`.
The others are its settings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.common.registry import find, settings_of
from painless.evaluators.base import Evaluator
from painless.evaluators.exact import TablePolicy, exact_evaluator
from painless.evaluators.least_squares import LeastSquares
from painless.evaluators.lstdq import CUTOFF, LSTDQ
from painless.evaluators.monte_carlo import MonteCarlo
from painless.evaluators.td import TemporalDifference
from painless.evaluators.trajectories import AnchoredLSTDQ, PlainLSTDQ
from painless.features import (
    Design,
    FeatureMap,
    OneHot,
    TileCoding,
    design_norm,
    feature_matrix,
    greedy_coreset,
)
from painless.problem import CMDP


def _exact(problem: CMDP) -> Evaluator[TablePolicy]:
    return exact_evaluator(problem)


def _tiles(problem: CMDP, tiles: int | None) -> FeatureMap:
    """Tile coding of the state's index with one tiling, as in the paper; one-hot without `tiles`."""
    states, actions, _ = problem.shape
    if tiles is None:
        return OneHot(states, actions)
    return TileCoding(0, states, int(tiles), 1, actions)


def _design(problem: CMDP, features: FeatureMap, coreset: bool) -> Design:
    """Return the greedy coreset of the features, or all pairs with equal weight."""
    matrix = feature_matrix(features, problem.shape[0])
    if coreset:
        return greedy_coreset(matrix)
    count = len(matrix)
    indices, weights = np.arange(count), np.full(count, 1 / count)
    return Design(indices, weights, float(design_norm(matrix, indices, weights).max()))


def _lstdq(
    problem: CMDP,
    samples: int,
    tiles: int | None = None,
    coreset: bool = False,
    cutoff: float = CUTOFF,
    ridge: float | None = None,
) -> LSTDQ:
    features = _tiles(problem, tiles)
    pairs = _design(problem, features, coreset).indices if coreset else None
    return LSTDQ(problem, features, samples, cutoff, ridge, pairs)


def _least_squares(
    problem: CMDP, rollouts: int, tiles: int | None = None, coreset: bool = True, horizon: int | None = None
) -> LeastSquares:
    features = _tiles(problem, tiles)
    return LeastSquares(problem, features, _design(problem, features, coreset), rollouts, horizon)


EVALUATORS: dict[str, Callable[..., Any]] = {
    "exact": _exact,
    "td": TemporalDifference,
    "monte-carlo": MonteCarlo,
    "lstdq": _lstdq,
    "least-squares": _least_squares,
    "anchored-lstdq": AnchoredLSTDQ,
    "plain-lstdq": PlainLSTDQ,
}


def find_evaluator(name: str, problem: str, simulated: bool) -> Callable[..., Any]:
    """Return a registered evaluator's factory; reject one that does not fit the problem, a table or a simulator."""
    make = find("evaluator", name, EVALUATORS)
    if is_simulated(make) != simulated:
        fitting = [one for one, other in EVALUATORS.items() if is_simulated(other) == simulated]
        what = "a simulator" if simulated else "a table"
        raise InputError(f"{problem} is {what}; its evaluator can be {', '.join(fitting)}, not {name}")
    return make


@cache
def is_simulated(make: Callable[..., Any]) -> bool:
    """Whether an evaluator is one for simulators."""
    return "simulator" in settings_of(make)
