"""A frontier in a folder: the problem, the vertices in full precision, and the JSON for pages and other programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from painless.common.errors import InputError
from painless.frontiers import json_data
from painless.problem import CMDP
from painless.problem import load as load_problem
from painless.storage import checked_entries as entries
from painless.storage import files, results

if TYPE_CHECKING:
    from painless.frontiers.curve import Frontier

NUMBERS = ("reward_value", "constraint_value", "multiplier", "gap", "actions")
SCALARS = ("constraint", "error", "solves", "seconds")
BESIDE = ("problem.npz", "frontier.json")


def save(frontier: Frontier, folder: str | os.PathLike[str]) -> None:
    """Write a frontier into a folder."""
    folder = files.require_folder(folder)
    frontier.problem.save(folder / "problem.npz")
    arrays: dict[str, Any] = {name: getattr(frontier, name) for name in (*NUMBERS, *SCALARS)}
    parts = [(i, row, weight) for i, mixture in enumerate(frontier.mixtures) for row, weight in mixture]
    arrays["mixture_place"] = np.array([part[:2] for part in parts], dtype=np.int64)  # vertex, row
    arrays["mixture_weight"] = np.array([weight for *_, weight in parts])
    files.write_text(folder / "frontier.json", json_data.to_json(frontier) + "\n")
    results.write(folder / "arrays.npz", "frontier", arrays, BESIDE)


def load(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of a saved frontier."""
    folder = files.as_path(folder)
    arrays = results.read(folder / "arrays.npz", "frontier")
    problem = load_problem(folder / "problem.npz")
    with results.understood(folder, "frontier"):
        return _fields(arrays, problem)


def _fields(arrays: dict[str, Any], problem: CMDP) -> dict[str, Any]:
    reward = entries.floats(arrays, "reward_value", (None,))
    count = len(reward)
    if not count:
        raise InputError("it has no vertices")
    actions = entries.wholes(arrays, "actions", (None, problem.shape[0]), below=problem.shape[1])
    if not problem.actions[np.arange(problem.shape[0]), actions].all():
        raise InputError("a policy takes an action that its state does not have")
    return {
        "problem": problem,
        "constraint": entries.whole(arrays, "constraint", below=problem.shape[2]),
        "reward_value": reward,
        "constraint_value": entries.floats(arrays, "constraint_value", (count, problem.shape[2])),
        "multiplier": entries.floats(arrays, "multiplier", (count, 2), infinite=True),
        "gap": entries.floats(arrays, "gap", (count - 1,)),
        "error": entries.number(arrays, "error"),
        "actions": np.asarray(arrays["actions"]),
        "mixtures": _mixtures(arrays, count, actions),
        "solves": entries.whole(arrays, "solves"),
        "seconds": entries.number(arrays, "seconds"),
    }


def _mixtures(
    arrays: dict[str, Any], count: int, actions: NDArray[np.int64]
) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Return for each vertex the rows of `actions` and their weights."""
    place = entries.wholes(arrays, "mixture_place", (None, 2), below=max(count, len(actions)))
    weight = entries.floats(arrays, "mixture_weight", (len(place),), least=0.0)
    if (place >= (count, len(actions))).any():
        raise InputError("a mixture is of policies that are not there")
    total = np.bincount(place[:, 0], weight, count)
    if (np.abs(total - 1) > entries.SUM_TOLERANCE).any():
        raise InputError("the weights of a vertex do not sum to 1")
    found: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (vertex, row), share in zip(place.tolist(), weight.tolist(), strict=True):
        found[vertex].append((row, share))
    return tuple(tuple(mixture) for mixture in found)
