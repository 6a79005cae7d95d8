"""The evaluators of units, made from plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from painless.errors import InputError
from painless.evaluators import LSTDQ, AnchoredLSTDQ, LeastSquares, MonteCarlo, PlainLSTDQ, TemporalDifference
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

SIMULATED: Mapping[str, Any] = {"anchored-lstdq": AnchoredLSTDQ, "plain-lstdq": PlainLSTDQ}


def call(make_it: Any, settings: Mapping[str, Any], what: str) -> Any:
    """Call something by its settings, with an error that names what is wrong with them."""
    arguments = {key: value for key, value in settings.items() if key != "name"}
    try:
        return make_it(**arguments)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} {settings.get('name')}: {error}") from error


def make_evaluator(settings: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return what makes the evaluator of a unit, from a table or a simulator; None for exact evaluation."""
    kind = str(settings["name"])
    if kind == "exact":
        return None
    if kind in SIMULATED:
        return lambda simulator, features: call(
            partial(SIMULATED[kind], simulator, features), settings, "evaluator"
        )
    return lambda table: call(partial(TABLED[kind], table), settings, "evaluator")


def _tiles(table: CMDP, tiles: int | None) -> FeatureMap:
    """Tile coding of the state's index with one tiling, as in the paper; one-hot without `tiles`."""
    states, actions, _ = table.shape
    if tiles is None:
        return OneHot(states, actions)
    return TileCoding(0, states, int(tiles), 1, actions)


def _design(table: CMDP, features: FeatureMap, coreset: bool) -> Design:
    """Return the greedy coreset of the features, or all pairs with equal weight."""
    matrix = feature_matrix(features, table.shape[0])
    if coreset:
        return greedy_coreset(matrix)
    count = len(matrix)
    indices, weights = np.arange(count), np.full(count, 1 / count)
    return Design(indices, weights, float(design_norm(matrix, indices, weights).max()))


def _lstdq(table: CMDP, *, tiles: int | None = None, coreset: bool = False, **options: Any) -> LSTDQ:
    features = _tiles(table, tiles)
    pairs = _design(table, features, coreset).indices if coreset else None
    return LSTDQ(table, features, pairs=pairs, **options)


def _least_squares(
    table: CMDP, *, tiles: int | None = None, coreset: bool = True, **options: Any
) -> LeastSquares:
    features = _tiles(table, tiles)
    return LeastSquares(table, features, _design(table, features, coreset), **options)


TABLED: Mapping[str, Any] = {
    "td": partial(TemporalDifference, levelled=False),  # the paper's, unless told otherwise
    "monte-carlo": MonteCarlo,
    "lstdq": _lstdq,
    "least-squares": _least_squares,
}
EVALUATORS = ("exact", *TABLED, *SIMULATED)
