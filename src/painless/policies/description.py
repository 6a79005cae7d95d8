"""The settings of feature maps and learners as plain numbers and text, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.features import Fourier, OneHot, TileCoding
from painless.features.base import FeatureMap
from painless.learners import (
    CoinBetting,
    ExponentiatedGradient,
    OptimisticHedge,
    OptimisticProjection,
    RegretMatching,
)
from painless.storage.memory import require_room

FEATURES = {"Fourier": Fourier, "OneHot": OneHot, "TileCoding": TileCoding}
LEARNERS = {
    "CoinBetting": CoinBetting,
    "ExponentiatedGradient": ExponentiatedGradient,
    "OptimisticHedge": OptimisticHedge,
    "OptimisticProjection": OptimisticProjection,
    "RegretMatching": RegretMatching,
}
FLAGS = ("printed", "predictive")
COUNTS = ("states", "actions", "tiles", "tilings", "size", "order", "interaction", "horizon")
BOUNDS = ("lower", "upper")
LARGEST = 1e300


def describe(thing: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a feature map or a learner as plain numbers."""
    name = type(thing).__name__
    if name not in known:
        raise InputError(
            f"{name} cannot be saved, only {', '.join(known)}; keep it yourself and save its settings"
        )
    plain = {key: np.asarray(value).tolist() for key, value in asdict(thing).items() if value is not None}
    return {"kind": name, **plain}


def restore(description: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """Return the feature map or learner that `describe` described."""
    settings = dict(description)
    kind = settings.pop("kind", None)
    if kind not in known:
        raise InputError(f"the file describes a '{kind}'; this version knows {', '.join(known)}")
    for name, value in settings.items():
        _require_setting(name, value)
    return known[kind](**settings)


def _require_setting(name: str, value: Any) -> None:
    """Reject what no setting is: flags apart, all are finite numbers or lists of them, and few may be negative."""
    if name in FLAGS:
        if not isinstance(value, bool):
            raise InputError(f"{name} is {value!r}, neither true nor false")
        return
    numbers = value if isinstance(value, list) else [value]
    kind = int if name in COUNTS else int | float
    least = -np.inf if name in BOUNDS else 1 if name in COUNTS else 0
    right = [
        isinstance(one, kind) and not isinstance(one, bool) and np.isfinite(one) and least <= one <= LARGEST
        for one in numbers
    ]
    if not numbers or not all(right) or (name == "normaliser" and min(numbers) <= 0):
        raise InputError(f"{name} is {str(value)[:60]}, which it cannot be")


def restore_features(description: Mapping[str, Any]) -> FeatureMap:
    """Return the feature map that `describe` described, if its tables fit into memory."""
    tilings, size = description.get("tilings", 1), np.size(description.get("lower", 1))
    if isinstance(tilings, int):
        require_room("the tile coding", 8.0 * tilings * size)
    if description.get("kind") == "Fourier":
        dimensions, order = int(size), description["order"]
        parts = min(int(description.get("interaction", 2)), dimensions)
        count = sum(math.comb(dimensions, k) * order**k for k in range(parts + 1))
        require_room("the Fourier basis", 64.0 * count * dimensions)
    features: FeatureMap = restore(description, FEATURES)
    require_room("the features", 8.0 * features.dimension)
    return features
