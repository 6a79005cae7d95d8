"""Policies as plain arrays and JSON text, or tables as CSV: saved and loaded without running anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.policies import MixturePolicy, fastest_kind, network, observed
from painless.policies.action_mixture import ActionMixture
from painless.policies.base import StoredPolicy
from painless.policies.description import LEARNERS, restore, restore_features
from painless.policies.table import TabularPolicy
from painless.policies.table_files import read_csv, table_arrays, table_of
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.storage import checked_entries as entries
from painless.storage import files, results
from painless.storage.files import as_path

AnyPolicy = MixturePolicy | TabularPolicy | TimedPolicy | ActionMixture
Reader = Callable[[Mapping[str, Any], Mapping[str, Any], Sequence[int]], Sequence[StoredPolicy]]


def _over_features(
    description: Mapping[str, Any], content: Mapping[str, Any], updates: Sequence[int]
) -> Sequence[StoredPolicy]:
    features = restore_features(description["features"])
    learner = restore(description["learner"], LEARNERS)
    return fastest_kind(learner, features).from_parts(learner, features, content, updates)


TABLE = "table"  # the kind of a description of probabilities by state
OVER_FEATURES = "over features"  # the kind of a description that names none
READERS: dict[str, Reader] = {
    OVER_FEATURES: _over_features,
    observed.KIND: observed.ObservedPolicy.read,
    network.KIND: network.NetworkPolicy.read,
}


def save_policy(policy: AnyPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy to an `.npz` file: a table, or the mixture that `train` returned. A table may be a `.csv` file, too."""
    path = as_path(path)
    if not isinstance(policy, TabularPolicy | TimedPolicy | TableMixture | ActionMixture):
        if path.suffix != ".npz":
            raise InputError(f"{path} must end in .npz; rename it")
        results.write(path, "policy", to_arrays(policy))
    elif path.suffix == ".csv" and isinstance(policy, TabularPolicy):
        policy.to_csv(path)
    elif path.suffix == ".npz":
        description = json.dumps({"kind": TABLE})
        results.write(path, "policy", {"description": description, **table_arrays(policy)})
    else:
        endings = ".npz or .csv" if isinstance(policy, TabularPolicy) else ".npz"
        raise InputError(f"{path} must end in {endings}; rename it")


def load_policy(path: str | os.PathLike[str]) -> AnyPolicy:
    """Read a policy that was saved; nothing in it is executed.

    `path` is a file that `save_policy` or `TabularPolicy.to_csv` wrote, or a folder that a solution or a training was saved to.
    """
    path = as_path(path)
    with suppress(OSError):  # a name that no folder can have
        if path.is_dir():
            return _from_folder(path)
    if path.suffix == ".csv":
        return read_csv(path)
    content = results.read(path, "policy")
    with results.understood(path, "policy"):
        return from_arrays(content)


def _from_folder(folder: Path) -> AnyPolicy:
    if (folder / "solution.json").exists():
        results.read(folder / "solution.json", "solution")  # raises if the files do not belong together
        arrays = files.read(folder / "arrays.npz")
        with results.understood(folder, "solution"):
            return table_of(arrays)
    if (folder / "policy.npz").exists():
        return load_policy(folder / "policy.npz")
    raise InputError(f"{folder} contains no saved solution or training; give a file or such a folder")


def to_arrays(mixture: MixturePolicy) -> dict[str, Any]:
    """Return everything that a mixture is made of; the iterates of a run share their history."""
    if not isinstance(mixture, MixturePolicy):
        raise InputError(
            f"policy is a {type(mixture).__name__}; what is saved is a TabularPolicy, or the mixture that train returned"
        )
    first = mixture.policies[0]
    return {
        "description": json.dumps(first.description()),
        "weights": mixture.weights,
        "updates": np.array([policy.updates for policy in mixture.policies]),
        **first.parts(mixture.policies),
    }


def from_arrays(content: Mapping[str, Any]) -> AnyPolicy:
    """Return the mixture that `to_arrays` took apart, or a table."""
    description = entries.parsed(content, "description")
    kind = description.get("kind", OVER_FEATURES)
    if kind == TABLE:
        return table_of(content)
    if kind not in READERS:
        raise InputError(f"the file describes a policy '{kind}'; this version knows {', '.join(READERS)}")
    updates = entries.wholes(content, "updates", (None,)).tolist()
    weights = entries.distributions(content, "weights", (len(updates),))
    return MixturePolicy(tuple(READERS[kind](description, content, updates)), weights)
