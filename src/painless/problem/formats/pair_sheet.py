"""A problem laid out by its pairs, for formats of model checkers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arguments import SUM_TOLERANCE
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem.formats.file_entries import SPARSE_KEYS

END = "end"  # label of states that end the process
AXES = {  # of entries, without that of the steps
    **{"actions": 2, "reward": 2, "cost": 2, "constraint_reward": 3, "constraint_cost": 3, "transition": 3}
}


class PairSheet(NamedTuple):
    """What is written, laid out by pairs (s, a)."""

    shape: tuple[int, int]
    pairs: NDArray[np.intp]  # (N,) s·A + a of those that there are
    pointer: NDArray[np.signedinteger]  # (N + 1,)
    successor: NDArray[np.signedinteger]  # (nnz,)
    probability: Array  # (nnz,) positive
    utility: Array  # (J, S·A)


def labels(names: Sequence[str] | None, count: int, taken: Sequence[str] = (), start: str = "") -> list[str]:
    """Return names without blanks or brackets, as the format needs them; numbers where these are not distinct."""
    plain = [re.sub(r"\W+", "_", str(name)).strip("_") for name in ([] if names is None else names)]
    distinct = len({*plain, *taken}) == count + len(taken)
    return plain if distinct and all(plain) else [f"{start}{i}" for i in range(count)]


def reward_models(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names of the reward models under the roles that they play."""
    objective = "cost" if "cost" in content else "reward"
    counts = [len(content.get(role, ())) for role in ("constraint_reward", "constraint_cost")]
    names = labels(content.get("constraint_names"), sum(counts), [objective], "c")
    roles = {
        objective: [objective],
        "constraint_reward": names[: counts[0]],
        "constraint_cost": names[counts[0] :],
    }
    return {role: given for role, given in roles.items() if given}


def one_step(path: str | os.PathLike[str], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a problem whose steps are all alike, (S, A) without the axis of the steps; reject others."""
    entries = dict(content)
    if "horizon" not in content:
        return entries
    if not content["horizon"]:
        raise InputError(f"{path}: the problem has no step; save it as .npz or .json")
    states, actions = (
        len(content["initial"]),
        np.shape(content["cost" if "cost" in content else "reward"])[-1],
    )
    for key, axes in AXES.items():
        if key in entries and np.ndim(entries[key]) > axes:
            entries[key] = _same(path, entries[key], 1 if key.startswith("constraint") else 0)
    if "transition" not in content:
        parts = tuple(content[key] for key in SPARSE_KEYS)
        kernel = scipy.sparse.csr_array(parts, shape=(len(parts[2]) - 1, states))
        steps = [kernel[i : i + states * actions] for i in range(0, kernel.shape[0], states * actions)]
        if any(abs(one - steps[0]).max() for one in steps[1:]):
            raise _different(path)
        entries |= {key: getattr(steps[0], key.removeprefix("transition_")) for key in SPARSE_KEYS}
    return entries


def _same(path: str | os.PathLike[str], array: Any, axis: int) -> Any:
    """Return what all steps have, which are along an axis."""
    steps = np.moveaxis(np.asarray(array), axis, 0)
    if not (steps == steps[0]).all():
        raise _different(path)
    return steps[0]


def _different(path: str | os.PathLike[str]) -> InputError:
    return InputError(
        f"{path}: the steps of the problem differ, or it has a last utility, and a {Path(path).suffix} file has one model "
        "for all steps; save it as .npz or .json"
    )


def sheet_of(content: Mapping[str, Any]) -> PairSheet:
    """Lay out the entries of a problem file."""
    states = len(content["initial"])
    if "transition" in content:
        kernel = scipy.sparse.csr_array(np.asarray(content["transition"]).reshape(-1, states))
    else:
        parts = tuple(content[f"transition_{name}"] for name in ("data", "indices", "indptr"))
        kernel = scipy.sparse.csr_array(parts, shape=(len(parts[2]) - 1, states))
    shape = (states, kernel.shape[0] // states)
    pairs = np.arange(kernel.shape[0])
    utility = [np.reshape(content[role], (-1, len(pairs))) for role in reward_models(content)]
    if content.get("actions") is not None:
        pairs = np.flatnonzero(content["actions"])
        kernel = kernel[pairs]
    if not (kernel.data > 0).all():
        kernel = kernel.copy()
        kernel.eliminate_zeros()
    return PairSheet(shape, pairs, kernel.indptr, kernel.indices, kernel.data, np.concatenate(utility))


def with_end(sheet: PairSheet) -> PairSheet:
    """Return the same with one more state, to which rows lead with what they miss of 1, if some do."""
    (states, actions), rows = sheet.shape, np.repeat(np.arange(len(sheet.pairs)), np.diff(sheet.pointer))
    left = 1 - np.bincount(rows, sheet.probability, minlength=len(sheet.pairs))
    ends = np.flatnonzero(left > SUM_TOLERANCE)
    if not len(ends):
        return sheet
    more = np.isin(np.arange(len(left)), ends)
    pointer, place = sheet.pointer + np.append(0, np.cumsum(more)), sheet.pointer[1:][ends]
    return PairSheet(
        (states + 1, actions),
        np.append(sheet.pairs, states * actions),
        np.append(pointer, pointer[-1] + 1),
        np.append(np.insert(sheet.successor, place, states), states),
        np.append(np.insert(sheet.probability, place, left[ends]), 1.0),
        np.pad(sheet.utility, ((0, 0), (0, actions))),
    )


def end_states(content: Mapping[str, Any], sheet: PairSheet) -> Mask | None:
    """Return which states of a sheet end the process, (S,), that of `with_end` among them; None if there are none."""
    own, states = content.get("end"), len(content["initial"])
    if own is None and sheet.shape[0] == states:
        return None
    found = np.ones(sheet.shape[0], dtype=bool)
    found[:states] = False if own is None else own
    return found


def note_of(content: Mapping[str, Any], sheet: PairSheet) -> dict[str, Any]:
    """Return what these formats have no place for: criterion, roles of reward models, limits, names, and states that were added."""
    limits = [float(b) for name in ("threshold", "budget") for b in np.atleast_1d(content.get(name, []))]
    note: dict[str, Any] = {"actions": sheet.shape[1], "dense": "transition" in content}
    kinds = {"discount": float, "horizon": int, "average": bool}
    note |= {key: kind(content[key]) for key, kind in kinds.items() if key in content}
    roles = reward_models(content)
    note |= {role: names if role.startswith("constraint") else names[0] for role, names in roles.items()}
    note |= {"limit": limits} if limits else {}
    if "end" in content:
        note["end"] = np.flatnonzero(content["end"]).tolist()
    if added := sheet.shape[0] - len(content["initial"]):
        note["added"] = added
    for key in ("state_names", "action_names", "constraint_names"):
        if key in content:
            note[key] = [str(name) for name in content[key]]
    return note


def plain_note(content: Mapping[str, Any], sheet: PairSheet) -> dict[str, Any]:
    """Return the note as JSON that every program reads, which has no infinite limits: these are texts.

    The initial distribution is in it unless all first states are equally likely.
    """
    note, initial = note_of(content, sheet), np.asarray(content["initial"])
    starts = initial[initial > 0]
    limits = [limit if np.isfinite(limit) else str(limit) for limit in note.get("limit", [])]
    uniform = np.array_equal(starts, np.ones(len(starts)) / len(starts))
    return note | ({"limit": limits} if limits else {}) | ({} if uniform else {"initial": starts.tolist()})
