"""A frontier in a folder: the problem, the vertices in full precision, and the JSON for pages and other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from painless import files
from painless.arrays import Array
from painless.errors import InputError
from painless.problem import load as load_problem
from painless.trade_off import summary

if TYPE_CHECKING:
    from painless.trade_off.curve import Frontier

NUMBERS = ("reward_value", "constraint_value", "multiplier", "gap", "actions")
SCALARS = {"constraint": int, "error": float, "solves": int, "seconds": float}


def save(frontier: Frontier, folder: str | os.PathLike[str]) -> None:
    """Write a frontier into a folder."""
    folder = files.as_path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder to save into")
    frontier.problem.save(folder / "problem.npz")
    arrays: dict[str, Any] = {name: getattr(frontier, name) for name in (*NUMBERS, *SCALARS)}
    parts = [(i, row, weight) for i, mixture in enumerate(frontier.mixtures) for row, weight in mixture]
    arrays["mixture"] = np.array(parts, dtype=np.float64)  # vertex, row, weight
    files.write_npz(folder / "arrays.npz", arrays)
    text = summary.to_json(frontier) + "\n"
    files.write_atomically(folder / "frontier.json", lambda stream: stream.write(text.encode()))


def load(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of a saved frontier."""
    problem = load_problem(files.as_path(folder) / "problem.npz")
    arrays = files.read(Path(folder) / "arrays.npz")
    try:
        fields = {name: arrays[name] for name in NUMBERS} | {
            k: cast(arrays[k]) for k, cast in SCALARS.items()
        }
        count = len(fields["reward_value"])
        shapes = {
            "constraint_value": (count, problem.shape[2]),
            "multiplier": (count, 2),
            "gap": (count - 1,),
            "actions": (len(fields["actions"]), problem.shape[0]),
        }
        for name, shape in shapes.items():
            if fields[name].shape != shape:
                raise ValueError(f"{name} has shape {fields[name].shape}, not {shape}")
        return fields | {"problem": problem, "mixtures": _mixtures(arrays["mixture"], count)}
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{folder} does not hold a frontier: {error!r}; save it anew") from error


def _mixtures(parts: Array, count: int) -> tuple[tuple[tuple[int, float], ...], ...]:
    found: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for vertex, row, weight in parts:
        found[int(vertex)].append((int(row), float(weight)))
    return tuple(tuple(mixture) for mixture in found)
