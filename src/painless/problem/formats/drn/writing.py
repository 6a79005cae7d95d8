"""A problem as a `.drn` file, from the entries of a problem file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem.formats.drn.header import NOTE, ROUNDING
from painless.problem.formats.drn.rounding import lost
from painless.storage import files

BLOCK = 10_000  # states that are written at a time


class _Sheet(NamedTuple):
    """What is written, laid out by pairs (s, a)."""

    shape: tuple[int, int]
    pairs: NDArray[np.intp]  # (N,) s·A + a of those that there are
    pointer: NDArray[np.signedinteger]  # (N + 1,)
    successor: NDArray[np.signedinteger]  # (nnz,)
    probability: Array  # (nnz,) positive
    utility: Array  # (J, S·A)


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write the entries of a problem file as a model for Storm, atomically."""
    if "horizon" in content:
        raise InputError(f"{path}: a .drn file has no horizon; save the problem as .npz or .json")
    return files.write_atomically(path, lambda stream: _write(stream, content))


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


def _property(content: Mapping[str, Any], chain: bool) -> str:
    """Return the problem as a property for Storm, for total rewards of the file; of a chain, its values."""
    roles = reward_models(content)
    if chain:
        return "; ".join(f'R{{"{name}"}}=? [C]' for names in roles.values() for name in names)
    best = "min" if "cost" in roles else "max"
    bounds = {"constraint_reward": (">=", "threshold"), "constraint_cost": ("<=", "budget")}
    parts = [f'R{{"{roles["cost" if best == "min" else "reward"][0]}"}}{best}=? [C]']
    for role, (sign, limit) in bounds.items():
        named = zip(roles.get(role, []), np.atleast_1d(content.get(limit, [])).tolist(), strict=True)
        parts += [f'R{{"{name}"}}{sign}{bound!r} [C]' for name, bound in named if isfinite(bound)]
    return parts[0] if len(parts) == 1 else f"multi({', '.join(parts)})"


def _write(stream: IO[bytes], content: Mapping[str, Any]) -> None:
    sheet, discount = _sheet(content), float(content["discount"])
    for line in _header(content, sheet, discount):
        stream.write(f"{line}\n".encode())
    actions = labels(content.get("action_names"), sheet.shape[1])
    end = f"\t\t{sheet.shape[0]} : {1 - discount!r}\n"
    for start in range(0, sheet.shape[0], BLOCK):
        stream.write("".join(_states(sheet, discount, actions, end, start)).encode())
    stream.write("".join(_ends(sheet, content["initial"])).encode())


def _sheet(content: Mapping[str, Any]) -> _Sheet:
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
    return _Sheet(shape, pairs, kernel.indptr, kernel.indices, kernel.data, np.concatenate(utility))


def _header(content: Mapping[str, Any], sheet: _Sheet, discount: float) -> Iterator[str]:
    roles = reward_models(content)
    states, actions = sheet.shape
    limits = [float(b) for name in ("threshold", "budget") for b in np.atleast_1d(content.get(name, []))]
    note: dict[str, Any] = {"discount": discount, "actions": actions, "dense": "transition" in content}
    note |= {role: names if role.startswith("constraint") else names[0] for role, names in roles.items()}
    note |= {"limit": limits} if limits else {}
    for key in ("state_names", "action_names", "constraint_names"):
        if key in content:
            note[key] = [str(name) for name in content[key]]
    yield f"// Total rewards of this model are rewards of the problem, discounted by {discount!r}."
    chain = len(sheet.pairs) == states  # one action in each state
    yield f"// property: {_property(content, chain)}"
    yield NOTE + json.dumps(note)
    rounding = lost(sheet.probability, discount)
    if rounding is not None:
        yield ROUNDING + rounding
    names = " ".join(name for given in roles.values() for name in given)
    yield from (f"@type: {'DTMC' if chain else 'MDP'}", "@parameters", "", "@reward_models", names)
    yield from ("@nr_states", f"{states + 2}", "@nr_choices", f"{len(sheet.pairs) + 2}", "@model")


def _states(sheet: _Sheet, discount: float, actions: list[str], end: str, start: int) -> Iterator[str]:
    """Return the lines of `BLOCK` states."""
    states, count = sheet.shape
    low, high = np.searchsorted(sheet.pairs, (start * count, min(start + BLOCK, states) * count))
    pairs, pointer = sheet.pairs[low:high], sheet.pointer[low : high + 1]
    part = slice(int(pointer[0]), int(pointer[-1]))
    product = (sheet.probability[part] * discount).tolist()
    lines = [f"\t\t{t} : {p!r}\n" for t, p in zip(sheet.successor[part].tolist(), product, strict=True)]
    rewards = [", ".join(map(repr, row)) for row in sheet.utility[:, pairs].T.tolist()]
    nothing, bounds = _nothing(sheet), (pointer - pointer[0]).tolist()
    last = -1
    for pair, reward, i, j in zip(pairs.tolist(), rewards, bounds[:-1], bounds[1:], strict=True):
        state, action = divmod(pair, count)
        if state != last:
            yield f"state {state} [{nothing}]\n"
            last = state
        yield f"\taction {actions[action]} [{reward}]\n"
        yield from lines[i:j]
        yield end


def _ends(sheet: _Sheet, initial: Array) -> Iterator[str]:
    """Return the lines of the end and of the first state."""
    end, nothing = sheet.shape[0], _nothing(sheet)
    yield f"state {end} [{nothing}] end\n\taction 0 [{nothing}]\n\t\t{end} : 1\n"
    yield f"state {end + 1} [{nothing}] init\n\taction 0 [{nothing}]\n"
    for state in np.flatnonzero(initial).tolist():
        yield f"\t\t{state} : {float(initial[state])!r}\n"


def _nothing(sheet: _Sheet) -> str:
    return ", ".join(["0"] * len(sheet.utility))
