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
from painless.common.arrays import Array
from painless.common.errors import InputError


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


def require_no_horizon(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Reject problems with a horizon, for which these formats have no place."""
    if "average" in content:
        raise InputError(
            f"{path}: a {Path(path).suffix} file has no long-run average; save the problem as .npz or .json"
        )
    if "horizon" in content:
        raise InputError(
            f"{path}: a {Path(path).suffix} file has no horizon; save the problem as .npz or .json"
        )


def require_whole_rows(sheet: PairSheet) -> None:
    """Reject rows that end the process with what is missing, for which these formats have no place."""
    sums = np.add.reduceat(sheet.probability, sheet.pointer[:-1])
    if (sums < 1 - SUM_TOLERANCE).any():
        state = int(sheet.pairs[np.argmin(sums)] // sheet.shape[1])
        raise InputError(
            f"an action of state {state} sums to {sums.min():.6g}, and ends the process with what is missing; a model "
            "checker's file has no such rows: save the problem as .npz or .json"
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
    sheet = PairSheet(shape, pairs, kernel.indptr, kernel.indices, kernel.data, np.concatenate(utility))
    require_whole_rows(sheet)
    return sheet


def note_of(content: Mapping[str, Any], sheet: PairSheet) -> dict[str, Any]:
    """Return what these formats have no place for: discount, roles of reward models, limits and names."""
    limits = [float(b) for name in ("threshold", "budget") for b in np.atleast_1d(content.get(name, []))]
    note: dict[str, Any] = {
        "discount": float(content["discount"]),
        "actions": sheet.shape[1],
        "dense": "transition" in content,
    }
    roles = reward_models(content)
    note |= {role: names if role.startswith("constraint") else names[0] for role, names in roles.items()}
    note |= {"limit": limits} if limits else {}
    if "end" in content:
        note["end"] = np.flatnonzero(content["end"]).tolist()
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
