"""Evaluators by name. To add one, write a file and add a line to `EVALUATORS`.

The first arguments of an entry say what it evaluates: policies on a `problem` with a table, or on a `simulator` over `features`.
The others are its settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.common.registry import find, settings_of
from painless.evaluators.averaged_lstdq import AveragedLSTDQ
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
    Single,
    TileCoding,
    design_norm,
    feature_matrix,
    greedy_coreset,
)
from painless.problem import CMDP

# Of the pairs that share a feature: all, or one of them
CHOICES = {"shared": None, **{one.value: one for one in Single}}


def _exact(problem: CMDP) -> Evaluator[TablePolicy]:
    return exact_evaluator(problem)


def state_tiles(problem: CMDP, tiles: int | None) -> FeatureMap:
    """Tile coding of the state's index with one tiling, as in the paper; one-hot without `tiles`."""
    states, actions, _ = problem.shape
    if tiles is None:
        return OneHot(states, actions)
    return TileCoding(0, states, int(tiles), 1, actions)


def _design(problem: CMDP, features: FeatureMap, coreset: bool | str, choice_seed: int) -> Design:
    """Return the greedy coreset of the available pairs, or these with equal weight.

    An entry of the coreset is a feature with all its pairs; "first", "last" or "random" takes one of them, as the printed algorithm does.
    """
    available = np.flatnonzero(problem.actions)
    matrix = feature_matrix(features, problem.shape[0])[available]
    if not coreset:
        indices, weights = np.arange(len(available)), np.full(len(available), 1 / len(available))
        return Design(available, weights, float(design_norm(matrix, indices, weights).max()))
    found = greedy_coreset(matrix)
    found = replace(
        found, indices=available[found.indices], shared=tuple(available[rows] for rows in found.shared)
    )
    choice = None if coreset is True else find("choice of pairs", coreset, CHOICES)
    return found if choice is None else found.single(choice, np.random.default_rng(choice_seed))


def _lstdq(
    problem: CMDP,
    samples: int,
    tiles: int | None = None,
    coreset: bool | str = False,
    choice_seed: int = 0,
    cutoff: float = CUTOFF,
    ridge: float | None = None,
) -> LSTDQ:
    features = state_tiles(problem, tiles)
    pairs = _design(problem, features, coreset, choice_seed) if coreset else None
    return LSTDQ(problem, features, samples, cutoff, ridge, pairs)


def _averaged_lstdq(
    problem: CMDP,
    samples: int | None = None,
    tiles: int | None = None,
    coreset: bool | str = False,
    choice_seed: int = 0,
    cutoff: float = CUTOFF,
    ridge: float | None = None,
) -> AveragedLSTDQ:
    features = state_tiles(problem, tiles)
    pairs = _design(problem, features, coreset, choice_seed) if coreset else None
    return AveragedLSTDQ(problem, features, samples, cutoff, ridge, pairs)


def _least_squares(
    problem: CMDP,
    rollouts: int,
    tiles: int | None = None,
    coreset: bool | str = True,
    choice_seed: int = 0,
    horizon: int | None = None,
) -> LeastSquares:
    features = state_tiles(problem, tiles)
    return LeastSquares(
        problem, features, _design(problem, features, coreset, choice_seed), rollouts, horizon
    )


EVALUATORS: dict[str, Callable[..., Any]] = {
    "exact": _exact,
    "td": TemporalDifference,
    "monte-carlo": MonteCarlo,
    "lstdq": _lstdq,
    "averaged-lstdq": _averaged_lstdq,
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
