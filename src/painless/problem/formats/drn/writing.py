"""A problem as a `.drn` file, from the entries of a problem file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import IO, Any

import numpy as np

from painless.common.arrays import Array
from painless.problem.formats.drn.header import NOTE, ROUNDING
from painless.problem.formats.drn.rounding import lost
from painless.problem.formats.pair_sheet import (
    PairSheet,
    labels,
    note_of,
    require_no_horizon,
    reward_models,
    sheet_of,
)
from painless.storage import files

BLOCK = 10_000  # states that are written at a time


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write the entries of a problem file as a model for Storm, atomically."""
    require_no_horizon(path, content)
    return files.write_atomically(path, lambda stream: _write(stream, content))


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
    sheet, discount = sheet_of(content), float(content["discount"])
    for line in _header(content, sheet, discount):
        stream.write(f"{line}\n".encode())
    actions = labels(content.get("action_names"), sheet.shape[1])
    end = f"\t\t{sheet.shape[0]} : {1 - discount!r}\n"
    for start in range(0, sheet.shape[0], BLOCK):
        stream.write("".join(_states(sheet, discount, actions, end, start)).encode())
    stream.write("".join(_ends(sheet, content["initial"])).encode())


def _header(content: Mapping[str, Any], sheet: PairSheet, discount: float) -> Iterator[str]:
    roles, states = reward_models(content), sheet.shape[0]
    yield f"// Total rewards of this model are rewards of the problem, discounted by {discount!r}."
    chain = len(sheet.pairs) == states  # one action in each state
    yield f"// property: {_property(content, chain)}"
    yield NOTE + json.dumps(note_of(content, sheet))
    rounding = lost(sheet.probability, discount)
    if rounding is not None:
        yield ROUNDING + rounding
    names = " ".join(name for given in roles.values() for name in given)
    yield from (f"@type: {'DTMC' if chain else 'MDP'}", "@parameters", "", "@reward_models", names)
    yield from ("@nr_states", f"{states + 2}", "@nr_choices", f"{len(sheet.pairs) + 2}", "@model")


def _states(sheet: PairSheet, discount: float, actions: list[str], end: str, start: int) -> Iterator[str]:
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


def _ends(sheet: PairSheet, initial: Array) -> Iterator[str]:
    """Return the lines of the end and of the first state."""
    end, nothing = sheet.shape[0], _nothing(sheet)
    yield f"state {end} [{nothing}] end\n\taction 0 [{nothing}]\n\t\t{end} : 1\n"
    yield f"state {end + 1} [{nothing}] init\n\taction 0 [{nothing}]\n"
    for state in np.flatnonzero(initial).tolist():
        yield f"\t\t{state} : {float(initial[state])!r}\n"


def _nothing(sheet: PairSheet) -> str:
    return ", ".join(["0"] * len(sheet.utility))
