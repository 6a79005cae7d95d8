"""A problem as a `.drn` file, from the entries of a problem file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from painless.common.arrays import Array, Mask
from painless.problem.formats.drn.header import NOTE, ROUNDING
from painless.problem.formats.drn.rounding import lost
from painless.problem.formats.pair_sheet import (
    END,
    PairSheet,
    end_states,
    labels,
    note_of,
    one_step,
    reward_models,
    sheet_of,
    with_end,
)
from painless.storage import files

BLOCK = 10_000  # states that are written at a time


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write the entries of a problem file as a model for Storm, atomically."""
    entries = one_step(path, content)
    return files.write_atomically(path, lambda stream: _write(stream, entries))


def _property(content: Mapping[str, Any], chain: bool, first: bool) -> str:
    """Return the problem as a property for Storm, for rewards of the file; of a chain, its values."""
    roles, summed = reward_models(content), "[C]"
    if "average" in content:
        summed = "[LRA]"
    elif "horizon" in content:
        summed = f"[C<={int(content['horizon']) + first}]"
    if chain:
        return "; ".join(f'R{{"{name}"}}=? {summed}' for names in roles.values() for name in names)
    best = "min" if "cost" in roles else "max"
    bounds = {"constraint_reward": (">=", "threshold"), "constraint_cost": ("<=", "budget")}
    parts = [f'R{{"{roles["cost" if best == "min" else "reward"][0]}"}}{best}=? {summed}']
    for role, (sign, limit) in bounds.items():
        named = zip(roles.get(role, []), np.atleast_1d(content.get(limit, [])).tolist(), strict=True)
        parts += [f'R{{"{name}"}}{sign}{bound!r} {summed}' for name, bound in named if isfinite(bound)]
    return parts[0] if len(parts) == 1 else f"multi({', '.join(parts)})"


class _Layout(NamedTuple):
    """How a problem becomes a model: which states are added, and what actions end with."""

    sheet: PairSheet
    discount: float
    first: bool  # whether a first state draws from ρ; else there is only one
    ends: Mask | None  # (S,) of the sheet

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> _Layout:
        sheet, discount = sheet_of(content), float(content.get("discount", 1.0))
        sheet = sheet if discount < 1 else with_end(sheet)
        first = discount < 1 or int(np.count_nonzero(content["initial"])) > 1
        return cls(sheet, discount, first, end_states(content, sheet))

    @property
    def added(self) -> int:
        """How many states come after those of the sheet."""
        return (self.discount < 1) + self.first

    def labels(self, initial: Array) -> list[str]:
        """Return the labels of the sheet's states, each after a blank."""
        found = np.full(self.sheet.shape[0], "", dtype="U9")
        if self.ends is not None:
            found[self.ends] = f" {END}"
        if not self.first:
            start = int(np.argmax(initial))
            found[start] = f"{found[start]} init"
        return found.tolist()


def _write(stream: IO[bytes], content: Mapping[str, Any]) -> None:
    layout, initial = _Layout.of(content), np.asarray(content["initial"])
    sheet, discount = layout.sheet, layout.discount
    for line in _header(content, layout):
        stream.write(f"{line}\n".encode())
    actions = labels(content.get("action_names"), sheet.shape[1])
    end = f"\t\t{sheet.shape[0]} : {1 - discount!r}\n" if discount < 1 else ""
    known = layout.labels(initial)
    for start in range(0, sheet.shape[0], BLOCK):
        stream.write("".join(_states(sheet, discount, actions, end, start, known)).encode())
    stream.write("".join(_ends(layout, initial)).encode())


def _header(content: Mapping[str, Any], layout: _Layout) -> Iterator[str]:
    sheet, roles, states = layout.sheet, reward_models(content), layout.sheet.shape[0]
    if layout.discount < 1:
        yield f"// Total rewards of this model are rewards of the problem, discounted by {layout.discount!r}."
    chain = len(sheet.pairs) == states  # one action in each state
    yield f"// property: {_property(content, chain, layout.first)}"
    added = states + layout.added - len(content["initial"])
    yield NOTE + json.dumps(note_of(content, sheet) | {"added": added, "first": layout.first})
    rounding = lost(sheet.probability, layout.discount)
    if rounding is not None:
        yield ROUNDING + rounding
    names = " ".join(name for given in roles.values() for name in given)
    yield from (f"@type: {'DTMC' if chain else 'MDP'}", "@parameters", "", "@reward_models", names)
    yield from ("@nr_states", f"{states + layout.added}", "@nr_choices", f"{len(sheet.pairs) + layout.added}")
    yield "@model"


def _states(
    sheet: PairSheet, discount: float, actions: list[str], end: str, start: int, known: list[str]
) -> Iterator[str]:
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
            yield f"state {state} [{nothing}]{known[state]}\n"
            last = state
        yield f"\taction {actions[action]} [{reward}]\n"
        yield from lines[i:j]
        yield end


def _ends(layout: _Layout, initial: Array) -> Iterator[str]:
    """Return the lines of the end and of the first state, where there are."""
    end, nothing = layout.sheet.shape[0], _nothing(layout.sheet)
    if layout.discount < 1:
        yield f"state {end} [{nothing}] {END}\n\taction 0 [{nothing}]\n\t\t{end} : 1\n"
    if layout.first:
        yield f"state {end + layout.added - 1} [{nothing}] init\n\taction 0 [{nothing}]\n"
        for state in np.flatnonzero(initial).tolist():
            yield f"\t\t{state} : {float(initial[state])!r}\n"


def _nothing(sheet: PairSheet) -> str:
    return ", ".join(["0"] * len(sheet.utility))
