"""Mixtures of policies as plain arrays and JSON text: saved and loaded without running anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.policies import MixturePolicy, fastest_kind, observed
from painless.policies.base import StoredPolicy
from painless.policies.description import LEARNERS, restore, restore_features
from painless.storage import checked_entries as entries
from painless.storage import results

Reader = Callable[[Mapping[str, Any], Mapping[str, Any], Sequence[int]], Sequence[StoredPolicy]]


def _over_features(
    description: Mapping[str, Any], content: Mapping[str, Any], updates: Sequence[int]
) -> Sequence[StoredPolicy]:
    features = restore_features(description["features"])
    learner = restore(description["learner"], LEARNERS)
    return fastest_kind(learner, features).from_parts(learner, features, content, updates)


OVER_FEATURES = "over features"  # the kind of a description that names none
READERS: dict[str, Reader] = {OVER_FEATURES: _over_features, observed.KIND: observed.ObservedPolicy.read}


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
    return {
        "description": json.dumps(first.description()),
        "weights": mixture.weights,
        "updates": np.array([policy.updates for policy in mixture.policies]),
        **first.parts(mixture.policies),
    }


def from_arrays(content: Mapping[str, Any]) -> MixturePolicy:
    """Return the mixture that `to_arrays` took apart."""
    description = entries.parsed(content, "description")
    kind = description.get("kind", OVER_FEATURES)
    if kind not in READERS:
        raise InputError(f"the file describes a policy '{kind}'; this version knows {', '.join(READERS)}")
    updates = entries.wholes(content, "updates", (None,)).tolist()
    weights = entries.distributions(content, "weights", (len(updates),))
    return MixturePolicy(tuple(READERS[kind](description, content, updates)), weights)
