"""Policies over features as plain arrays and JSON text: saved and loaded without running anything."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from painless import files
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

FEATURES = {"Fourier": Fourier, "OneHot": OneHot, "TileCoding": TileCoding}
LEARNERS = {
    "CoinBetting": CoinBetting,
    "ExponentiatedGradient": ExponentiatedGradient,
    "RegretMatching": RegretMatching,
}


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
    return known[kind](**settings)


def save_policy(mixture: MixturePolicy, path: str | os.PathLike[str]) -> None:
    """Write a mixture of iterates to an `.npz` file."""
    files.write_npz(path, to_arrays(mixture))


def load_policy(path: str | os.PathLike[str]) -> MixturePolicy:
    """Read what `save_policy` wrote; nothing in it is executed."""
    content = files.read(path)
    try:
        return from_arrays(content)
    except (KeyError, TypeError, ValueError, IndexError, json.JSONDecodeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} does not hold a policy: {error!r}; save it anew") from error


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
    description = json.loads(str(content["description"]))
    features: FeatureMap = restore(description["features"], FEATURES)
    learner = restore(description["learner"], LEARNERS)
    updates = [int(count) for count in content["updates"]]
    policies: list[FeaturePolicy]
    if not isinstance(learner, ExponentiatedGradient):
        history = History.of(unpack(content, "history", features.dimension))
        if isinstance(learner, CoinBetting) and is_binary(features):
            policies = [ReplayedPolicy(learner, features, history, count) for count in updates]
        else:
            policies = [FoldedPolicy(learner, features, history, count) for count in updates]
    else:
        sums = unpack(content, "sums", features.dimension).T
        policies = [
            SummedPolicy(learner, features, one, count) for one, count in zip(sums, updates, strict=True)
        ]
    return MixturePolicy(tuple(policies), np.asarray(content["weights"], dtype=float))


def pack(stored: Array, name: str) -> dict[str, Any]:
    """Keep only the features (rows) whose weights are not all zero."""
    used = np.flatnonzero(stored.any(1))
    return {f"{name}_features": used, f"{name}_weights": stored[used]}


def unpack(content: Mapping[str, Any], name: str, dimension: int) -> Array:
    """Return what `pack` packed, (d, n)."""
    weights = np.asarray(content[f"{name}_weights"], dtype=float)
    stored = np.zeros((dimension, weights.shape[1]))
    stored[content[f"{name}_features"]] = weights
    return stored
