"""A UMB file as the entries of a problem file."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.problem.formats.choices import Choices
from painless.problem.formats.notes import entries
from painless.problem.formats.umb.archive import Archive
from painless.problem.formats.umb.valuations import state_names
from painless.problem.formats.umb.writing import INDEX, TOOL
from painless.storage import files
from painless.storage.results import MISFIT

VERSIONS = (0, 1)  # of the format; what is read here is the same in both
LONGEST = 2**28  # bytes of an index
NUMBERS = {  # types of numbers that are read, with their usual sizes
    "double": (64, {64: "<f8"}),
    "int": (64, {8: "i1", 16: "<i2", 32: "<i4", 64: "<i8"}),
    "uint": (64, {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}),
}
KINDS = ("states", "choices", "branches")


class _Counts(NamedTuple):
    """The numbers of things in a file."""

    states: int
    choices: int
    branches: int


def read(path: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a problem file; `given` are some of the parameters of `choices`."""
    path = Path(path)
    try:
        with files.open_file(path) as stream, tarfile.open(fileobj=stream, mode="r:*") as tar:
            return _read(Archive(tar), given)
    except InputError as error:
        raise InputError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    except (OSError, EOFError, tarfile.TarError, *MISFIT) as error:
        raise InputError(f"{path} is not a UMB file that can be read: {error!r}; export it again") from error


def _read(archive: Archive, given: Mapping[str, Any]) -> dict[str, Any]:
    index = json.loads(archive.bytes(INDEX, LONGEST))
    counts = _counts(index)
    rewards = index.get("annotations", {}).get("rewards", {})
    model = _choices(archive, index, counts, rewards)
    about = index.get("file-data", {})
    note = about["parameters"] if about.get("tool") == TOOL else None
    names = [about.get("alias", name) for name, about in rewards.items()]
    return entries(model, names, note, given, ".umb")


def _counts(index: Any) -> _Counts:
    """Return the size of a model that can be read; reject others."""
    system = index["transition-system"]
    if index["format-version"] not in VERSIONS:
        read = " and ".join(map(str, VERSIONS))
        raise InputError(
            f"its format has version {shown(index['format-version'])}; this painless reads {read}"
        )
    if system["time"] != "discrete":
        raise InputError(f"the model is in {system['time']} time; make it a discrete one and export that")
    if system["#players"] > 1:
        raise InputError("the model is a game; fix the other players and export the MDP that is left")
    if system["#observations"]:
        raise InputError("the model is partially observed; policies here see the state, so export its MDP")
    counts = _Counts(*(system[f"#{kind}"] for kind in KINDS))
    if not all(type(count) is int and count > 0 for count in counts):
        raise InputError(
            f"it has {counts.states} states, {counts.choices} choices and {counts.branches} branches"
        )
    return counts


def _choices(archive: Archive, index: Any, counts: _Counts, rewards: Mapping[str, Any]) -> Choices:
    system = index["transition-system"]
    first = archive.pointer("state-to-choices.bin", counts.states, counts.choices)
    pointer = archive.pointer("choice-to-branches.bin", counts.choices, counts.branches)
    for starts, kind in ((first, "state"), (pointer, "choice")):
        if (np.diff(starts) == 0).any():
            raise InputError(
                f"{kind} {int(np.argmin(np.diff(starts)))} has nothing to go on with; add a loop"
            )
    successor = archive.array("branch-to-target.bin", "<u8", counts.branches)
    if successor.max() >= counts.states:
        raise InputError(f"a branch leads to {successor.max()}; states are 0 to {counts.states - 1}")
    initial = np.zeros(counts.states, dtype=bool)
    if system["#initial-states"]:
        initial = archive.bits("state-is-initial.bin", counts.states)
    if not initial.any():
        raise InputError("no state is an initial one; mark the first state")
    probability = _probabilities(archive, system, counts)
    name, names = _actions(archive, system, counts)
    state = np.repeat(np.arange(counts.states), np.diff(first))
    owners = {"states": state, "branches": None, "choices": slice(None)}
    reward = np.zeros((len(rewards), counts.choices))
    for total, (label, about) in zip(reward, rewards.items(), strict=True):
        for kind in about["applies-to"]:
            path = f"annotations/rewards/{label}/{kind}/values.bin"
            values = archive.array(path, _number_type(about["type"], path), getattr(counts, kind)).astype(
                float
            )
            if kind == "branches":
                branch = np.repeat(np.arange(counts.choices), np.diff(pointer))
                total += np.bincount(branch, values * probability, minlength=counts.choices)
            else:
                total += values[owners[kind]]
    return Choices(
        *(pointer, successor.view("<i8"), probability, state, name, names, reward, initial),
        state_names=state_names(archive, index, counts.states),
        labels=_labels(archive, index, counts.states),
    )


def _labels(archive: Archive, index: Any, states: int) -> dict[str, NDArray[np.bool_]]:
    """Return which states have each atomic proposition."""
    known = index.get("annotations", {}).get("aps", {})
    return {
        about.get("alias", name): archive.bits(f"annotations/aps/{name}/states/values.bin", states)
        for name, about in known.items()
        if "states" in about["applies-to"]
    }


def _number_type(about: Mapping[str, Any], what: str) -> str:
    """Return the type of numbers; reject rational numbers, intervals and texts."""
    kind = about["type"]
    if kind not in NUMBERS or about.get("size", NUMBERS[kind][0]) not in NUMBERS[kind][1]:
        raise InputError(
            f"'{what}' has numbers of type {kind} ({about.get('size', 'no')} bits); export doubles, with every "
            "interval and parameter fixed"
        )
    usual, types = NUMBERS[kind]
    return types[about.get("size", usual)]


def _probabilities(archive: Archive, system: Mapping[str, Any], counts: _Counts) -> Array:
    name = "branch-to-probability.bin"
    if system.get("branch-probability-type") is None:
        if counts.branches != counts.choices:
            raise InputError("the model has no probabilities, but choices with several successors; add them")
        return np.ones(counts.branches)
    found = archive.array(name, _number_type(system["branch-probability-type"], name), counts.branches)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(f"'{name}' has an entry that is not a probability")
    return found.astype(np.float64, copy=False)


def _actions(
    archive: Archive, system: Mapping[str, Any], counts: _Counts
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the action of every choice, and the names of actions."""
    count, folder = system["#choice-actions"], "actions/choices"
    name = np.zeros(counts.choices, dtype=np.int64)
    if count and f"{folder}/values.bin" in archive.members:
        name = archive.array(f"{folder}/values.bin", "<u4", counts.choices).astype(np.int64)
        if name.max() >= count:
            raise InputError(f"a choice has action {name.max()}; actions are 0 to {count - 1}")
    if f"{folder}/string-mapping.bin" in archive.members:
        return name, archive.texts(folder, count)
    return name, [str(i) for i in range(max(count, 1))]
