"""Models of model checkers with a note of our own: a problem that was saved comes back as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.problem.formats.choices import (
    ABSENT,
    Choices,
    dense,
    process_of,
    settings_of,
    start_at,
    terms,
    without,
)
from painless.problem.formats.pair_sheet import labels


def entries(
    model: Choices, rewards: Sequence[str], note: Any, given: Mapping[str, Any], ending: str
) -> dict[str, Any]:
    """Return the entries of a problem file from a model, the names of its rewards, and its note or None."""
    model = start_at(model, given)
    process = process_of(model) if note is None else _own(model, note, given)
    utility, told = process.pop("utility"), dict(note or {})
    if "limit" in told:
        told["limit"] = [float(limit) for limit in told["limit"]]
    return process | terms(rewards, utility, settings_of(told, given), ending, model.labels)


def _own(model: Choices, note: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the process of a problem as it was before it was written."""
    model = without(model, note.get("added", 0))
    shape = (len(model.initial), note["actions"])
    misfit = InputError("what painless noted is not of this model; save the problem again")
    if type(shape[1]) is not int or not 0 < shape[0] * shape[1] <= ABSENT * len(model.state):
        raise misfit
    known = {label: a for a, label in enumerate(labels(note.get("action_names"), shape[1]))}
    column = np.array([known.get(name, -1) for name in model.names])[model.name]
    if (column < 0).any():
        raise misfit
    process = process_of(model._replace(name=column), actions=shape[1])
    if note.get("dense"):
        utility, mask, initial = (process[key] for key in ("utility", "actions", "initial"))
        process = {**dense(process, shape), "utility": utility, "actions": mask, "initial": initial}
    if "initial" in note and "initial" not in given:
        process["initial"] = np.zeros(shape[0])
        process["initial"][model.initial] = note["initial"]
    return process | {key: note.get(key) for key in ("state_names", "action_names")}
