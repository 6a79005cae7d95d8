"""Policies over features as plain arrays and JSON text: saved and loaded without running anything."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from painless import entries, results
from painless.arrays import Array
from painless.errors import InputError
from painless.feature_policies import FeaturePolicy, MixturePolicy
from painless.feature_policies.folded import FoldedPolicy
from painless.feature_policies.history import History
from painless.feature_policies.replayed import ReplayedPolicy
from painless.feature_policies.summed import SummedPolicy
from painless.features import Fourier, OneHot, TileCoding
from painless.features.base import FeatureMap, is_binary
from painless.learners import CoinBetting, ExponentiatedGradient, RegretMatching
from painless.memory import require_room

FEATURES = {"Fourier": Fourier, "OneHot": OneHot, "TileCoding": TileCoding}
LEARNERS = {
    "CoinBetting": CoinBetting,
    "ExponentiatedGradient": ExponentiatedGradient,
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
    """Refuse what no setting is: flags apart, all are finite numbers or lists of them, and few may be negative."""
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


def save_policy(mixture: MixturePolicy, path: str | os.PathLike[str]) -> None:
    """Write a mixture of iterates to an `.npz` file."""
    if Path(path).suffix != ".npz":
        raise InputError(f"{path} must end in .npz; rename it")
    results.write(path, "policy", to_arrays(mixture))


def load_policy(path: str | os.PathLike[str]) -> MixturePolicy:
    """Read what `save_policy` wrote; nothing in it is executed."""
    content = results.read(path, "policy")
    with results.understood(path, "policy"):
        return from_arrays(content)


def to_arrays(mixture: MixturePolicy) -> dict[str, Any]:
    """Return everything that a mixture is made of; the iterates of a run share their history."""
    if not isinstance(mixture, MixturePolicy):
        raise InputError(
            f"policy is a {type(mixture).__name__}; what is saved is the mixture that train returned: a table has to_csv"
        )
    first = mixture.policies[0]
    description = {
        "features": describe(first.features, FEATURES),
        "learner": describe(first.learner, LEARNERS),
    }
    shared = {"description": json.dumps(description), "weights": mixture.weights}
    updates = np.array([policy.updates for policy in mixture.policies])
    if not isinstance(first, SummedPolicy):
        stored = first.history.weights[:, : int(updates.max())]
        return {**shared, "updates": updates, **pack(stored, "history")}
    sums = np.array([policy.weight_sum for policy in mixture.policies if isinstance(policy, SummedPolicy)])
    return {**shared, "updates": updates, **pack(sums.T, "sums")}


def from_arrays(content: Mapping[str, Any]) -> MixturePolicy:
    """Return the mixture that `to_arrays` took apart."""
    description = entries.parsed(content, "description")
    features: FeatureMap = restore_features(description["features"])
    learner = restore(description["learner"], LEARNERS)
    updates = entries.wholes(content, "updates", (None,)).tolist()
    policies: list[FeaturePolicy]
    if not isinstance(learner, ExponentiatedGradient):
        history = History.of(unpack(content, "history", features.dimension))
        if history.count < max(updates):
            raise InputError(f"'updates' go to {max(updates)}, but the history has {history.count}")
        if isinstance(learner, CoinBetting) and is_binary(features):
            policies = [ReplayedPolicy(learner, features, history, count) for count in updates]
        else:
            policies = [FoldedPolicy(learner, features, history, count) for count in updates]
    else:
        sums = unpack(content, "sums", features.dimension).T
        policies = [
            SummedPolicy(learner, features, one, count) for one, count in zip(sums, updates, strict=True)
        ]
    return MixturePolicy(tuple(policies), entries.distributions(content, "weights", (len(policies),)))


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


def pack(stored: Array, name: str) -> dict[str, Any]:
    """Keep only the features (rows) whose weights are not all zero."""
    used = np.flatnonzero(stored.any(1))
    return {f"{name}_features": used, f"{name}_weights": stored[used]}


def unpack(content: Mapping[str, Any], name: str, dimension: int) -> Array:
    """Return what `pack` packed, (d, n)."""
    weights = entries.floats(content, f"{name}_weights", (None, None))
    used = entries.wholes(content, f"{name}_features", (len(weights),), below=dimension)
    if (np.diff(used) <= 0).any():
        raise InputError(f"'{name}_features' is not in order")
    require_room(f"'{name}'", 8.0 * dimension * weights.shape[1])
    stored = np.zeros((dimension, weights.shape[1]))
    stored[used] = weights
    return stored
