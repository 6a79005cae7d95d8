"""A `.drn` file as the entries of a problem file: its model, and what the user or our own note says about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.problem.formats.choices import (
    ABSENT,
    Choices,
    dense,
    process_of,
    require_table,
    settings_of,
    start_at,
    table,
    terms,
    utilities,
    without,
)
from painless.problem.formats.drn.lines import STATE
from painless.problem.formats.drn.rounding import restored
from painless.problem.formats.drn.text import ModelText, line_of, parse
from painless.problem.formats.pair_sheet import labels
from painless.storage.files import open_file
from painless.storage.results import MISFIT


def read(path: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a problem file; `given` are some of `PARAMETERS`."""
    path = Path(path)
    open_file(path).close()  # what is no file is rejected here, in its own words
    try:
        return _read(path, given)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; check the path") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except MISFIT as error:
        raise InputError(f"{path} is not a model that can be read: {error!r}; export it again") from error


def _read(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    model = parse(path)
    note = model.header.note
    process = _foreign(start_at(model.choices, given), path) if note is None else _own(model, note, given)
    utility = process.pop("utility")
    states = len(process["initial"])
    labels = {label: mask[:states] for label, mask in model.choices.labels.items()}
    return process | terms(model.header.rewards, utility, settings_of(note or {}, given), ".drn", labels)


def _foreign(model: Choices, path: Path) -> dict[str, Any]:
    """Return the process of a model that somebody else wrote."""
    if not model.initial.any():
        raise InputError("no state has the label init; add it to the line of the first state")
    return process_of(model, lambda state: f"line {line_of(path, STATE, state)}: ")


def _own(model: ModelText, note: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the process of a problem as it was before it was written."""
    try:
        return _undone(model, note, given)
    except MISFIT as error:
        raise InputError(
            f"the model is not the one that painless wrote ({error}); delete the comments that begin with "
            "'// painless', and it is read as any other model"
        ) from error


def _undone(text: ModelText, note: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    model = start_at(without(text.choices, int(note.get("added", 2))), given)
    shape = (len(model.initial), int(note["actions"]))
    if min(shape) < 1 or shape[0] * shape[1] > ABSENT * len(model.state):
        raise ValueError(f"{shape[0]} states and {shape[1]} actions")
    require_table(shape, len(model.reward) + (shape[0] if note.get("dense") else 0))
    known = {label: a for a, label in enumerate(labels(note.get("action_names"), shape[1]))}
    column = np.array([known.get(name, -1) for name in model.names])[model.name]
    if (column < 0).any() or model.state[-1] != shape[0] - 1:
        raise ValueError("other states or actions")
    probability = restored(model.probability, float(note.get("discount", 1.0)), text.header.rounding)
    parts = table(model.state * shape[1] + column, shape, model.pointer, model.successor, probability)
    if note.get("dense"):
        parts = dense(parts, shape)
    initial = model.initial / max(model.initial.sum(), 1)
    if note.get("first", True) and "initial" not in given:
        row = slice(text.choices.pointer[-2], None)
        initial = np.zeros(shape[0])
        initial[text.choices.successor[row]] = text.choices.probability[row]
    return {
        **parts,
        **utilities(model.state, column, shape, model.reward),
        "initial": initial,
        **{key: note[key] for key in ("state_names", "action_names") if key in note},
    }
