"""A problem as PRISM's explicit files, from the entries of a problem file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem.formats.pair_sheet import (
    END,
    PairSheet,
    end_states,
    labels,
    one_step,
    plain_note,
    reward_models,
    sheet_of,
    with_end,
)
from painless.problem.formats.prism.lines import NOTE, reward_files
from painless.storage import files

# Names of states that are values of variables
VALUES = re.compile(r"[A-Za-z_]\w*=[^,=]+(,[A-Za-z_]\w*=[^,=]+)*")


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a problem as a `.tra` file and those beside it; files of another export of the same name are replaced or removed."""
    content = one_step(path, content)
    path, sheet = files.as_path(path), with_end(sheet_of(content))
    initial = np.asarray(content["initial"])
    if not np.array_equal(initial, (initial > 0) / np.count_nonzero(initial)):
        raise InputError(
            f"cannot write {path}: PRISM's first states are equally likely, those of the problem are not; save it "
            "as .umb or .drn, or add a first state that draws from the distribution"
        )
    texts = _texts(path, content, sheet, initial)
    rewards = [old for each in reward_files(path).values() for old in each]
    for old in (*rewards, path.with_suffix(".sta")):
        if old not in texts:
            old.unlink(missing_ok=True)
    for place, text in texts.items():
        files.write_text(place, text)


def _texts(path: Path, content: Mapping[str, Any], sheet: PairSheet, initial: Array) -> dict[Path, str]:
    """Return the text of every file."""
    actions = sheet.shape[1]
    names = labels(content.get("action_names"), actions)
    state, action = np.divmod(sheet.pairs, actions)
    rank = np.arange(len(state)) - np.searchsorted(state, state)
    row = np.repeat(np.arange(len(state)), np.diff(sheet.pointer))
    begins = [f"{s} {c} " for s, c in zip(state.tolist(), rank.tolist(), strict=True)]
    steps = [f"{begins[n]}{t} " for n, t in zip(row.tolist(), sheet.successor.tolist(), strict=True)]
    ends = [f" {names[a]}" for a in action.tolist()]
    moves = zip(steps, sheet.probability.tolist(), row.tolist(), strict=True)
    texts = {
        path: _joined(
            [f"{sheet.shape[0]} {len(state)} {len(row)}", *(f"{m}{p!r}{ends[n]}" for m, p, n in moves)]
        )
    }
    rewards = [name for given in reward_models(content).values() for name in given]
    for number, (name, utility) in enumerate(zip(rewards, sheet.utility, strict=True), 1):
        place = path.with_name(f"{path.stem}{number if len(rewards) > 1 else ''}.trew")
        value = utility[sheet.pairs][row].tolist()
        paid = [f"{step}{one!r}" for step, one in zip(steps, value, strict=True) if one]
        lines = [
            f'# Reward structure "{name}"',
            "# Transition rewards",
            f"{sheet.shape[0]} {len(state)} {len(paid)}",
        ]
        if number == 1:
            lines.insert(2, NOTE + json.dumps(plain_note(content, sheet)))
        texts[place] = _joined([*lines, *paid])
    texts[path.with_suffix(".lab")] = _joined(_labels(initial, end_states(content, sheet)))
    variables = _variables(content.get("state_names")) if sheet.shape[0] == len(initial) else None
    if variables is not None:
        texts[path.with_suffix(".sta")] = _joined(variables)
    return texts


def _labels(initial: Array, ends: Mask | None) -> list[str]:
    """Return the lines of a file of labels."""
    known = ("init", "deadlock") if ends is None else ("init", "deadlock", END)
    has = np.zeros((len(known), len(initial) if ends is None else len(ends)), dtype=bool)
    has[0, : len(initial)] = initial > 0
    if ends is not None:
        has[2] = ends
    lines = [
        f"{state}: {' '.join(map(str, np.flatnonzero(has[:, state])))}"
        for state in np.flatnonzero(has.any(0))
    ]
    return [" ".join(f'{i}="{label}"' for i, label in enumerate(known)), *lines]


def _variables(names: Any) -> list[str] | None:
    """Return the lines of a file of states if their names are values of the same variables, such as x=1,y=2."""
    given = [str(name) for name in ([] if names is None else names)]
    if not given or not all(VALUES.fullmatch(name) for name in given):
        return None
    split = [[part.split("=") for part in name.split(",")] for name in given]
    heads = {",".join(variable for variable, _ in parts) for parts in split}
    if len(heads) > 1:
        return None
    lines = [f"{s}:({','.join(value for _, value in parts)})" for s, parts in enumerate(split)]
    return [f"({heads.pop()})", *lines]


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
