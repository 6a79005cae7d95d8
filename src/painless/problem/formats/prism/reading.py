"""PRISM's explicit files as the entries of a problem file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem.formats.choices import Choices
from painless.problem.formats.notes import entries
from painless.problem.formats.prism.lines import Lines, read_lines, reward_files
from painless.storage.results import MISFIT

LABEL = re.compile(r'(\d+)="([^"]*)"')
STATE = re.compile(r"(\d+):\((.*)\)")


def read(path: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a problem file from a `.tra` file and those beside it."""
    path = Path(path)
    try:
        rewards, note, model = _model(path)
        return entries(model, rewards, note, given, ".tra")
    except MISFIT as error:
        if isinstance(error, InputError):
            raise InputError(str(error) if str(path.parent) in str(error) else f"{path}: {error}") from error
        raise InputError(f"{path} is not a model that can be read: {error!r}; export it again") from error


def _model(path: Path) -> tuple[list[str], Any, Choices]:
    """Return the names of the reward structures, our own note if there is one, and the model."""
    lines = read_lines(path)
    size = lines.header((2, 3))
    chain = len(size) == 2
    indices, probability = lines.columns(2 if chain else 3)
    if chain:
        indices = np.insert(indices, 1, 0, axis=1)
    if len(indices) != size[-1] or not size[-1]:
        raise InputError(f"{path}: {len(indices)} transitions follow, not {size[-1]}; is it whole?")
    _require_states(lines, indices[:, [0, 2]], size[0])
    for wrong, what in (
        (probability < 0, "a probability is negative"),
        (indices[:, 1] >= len(indices), "no choice"),
    ):
        if wrong.any():
            raise lines.fault(1 + int(np.argmax(wrong)), what)
    order = np.lexsort((indices[:, 1], indices[:, 0]))
    pair = indices[order, 0] * len(indices) + indices[order, 1]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    state = indices[order[first], 0]
    missing = np.bincount(state, minlength=size[0]) == 0
    if missing.any():
        raise InputError(
            f"{path}: state {int(np.argmax(missing))} has no choice; give it one that stays there"
        )
    if not chain and len(first) != size[1]:
        raise InputError(f"{path}: {len(first)} choices follow, not {size[1]}; is it whole?")
    row = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(pair))))
    name, names = _actions(lines, chain, order[first], indices)
    rewards, note = _rewards(path, chain, size[0], pair, row, state, indices[order, 2], probability[order])
    labels = _labels(path, size[0])
    model = Choices(
        pointer=np.append(first, len(pair)),
        successor=indices[order, 2],
        probability=probability[order],
        state=state,
        name=name,
        names=names,
        reward=np.array([*rewards.values()]).reshape(len(rewards), len(first)),
        initial=labels["init"],
        labels=labels,
        state_names=_state_names(path, size[0]),
    )
    return [*rewards], note, model


def _require_states(lines: Lines, indices: NDArray[np.int64], states: int) -> None:
    wrong = (indices >= states).any(1)
    if wrong.any():
        raise lines.fault(1 + int(np.argmax(wrong)), f"there is no such state; they are 0 to {states - 1}")


def _actions(
    lines: Lines, chain: bool, first: NDArray[np.intp], indices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the action of every choice and the names: those in the last column, or the numbers of choices."""
    named = [
        lines.words[1 + i][4] if not chain and len(lines.words[1 + i]) > 4 else "" for i in first.tolist()
    ]
    if not all(named):
        named = [str(choice) for choice in indices[first, 1].tolist()]
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in named]), [*known]


def _structures(path: Path) -> list[tuple[str, list[Path]]]:
    """Return the files of every reward structure, in order."""
    found = reward_files(path)
    if "" in found and len(found) > 1:
        raise InputError(f"{found[''][0]} and {found[max(found)][0]} are of two exports; remove one of them")
    return sorted(found.items(), key=lambda item: int(item[0] or 0))


def _rewards(
    path: Path,
    chain: bool,
    states: int,
    pair: NDArray[np.int64],
    row: NDArray[np.intp],
    state: NDArray[np.int64],
    successor: NDArray[np.int64],
    probability: Array,
) -> tuple[dict[str, Array], Any]:
    """Return the rewards of every choice under the names of their structures, and our own note if there is one."""
    result: dict[str, Array] = {}
    note = None
    place = {key: i for i, key in enumerate(zip(pair.tolist(), successor.tolist(), strict=True))}
    for number, parts in _structures(path):
        total, name = np.zeros(len(state)), number or "reward"
        for part in parts:
            lines = read_lines(part)
            lines.header((2, 3))
            name, note = lines.name or name, lines.note or note
            whole = 1 if part.suffix == ".srew" else 2 if chain else 3
            indices, values = lines.columns(whole)
            _require_states(lines, indices[:, [0, -1]], states)
            if part.suffix == ".srew":
                own = np.zeros(states)
                own[indices[:, 0]] = values
                total += own[state]
                continue
            choice = np.zeros(len(indices), dtype=np.int64) if chain else indices[:, 1]
            keys = zip((indices[:, 0] * len(pair) + choice).tolist(), indices[:, -1].tolist(), strict=True)
            each = np.zeros(len(pair))
            for index, (key, value) in enumerate(zip(keys, values.tolist(), strict=True), 1):
                if key not in place:
                    raise lines.fault(index, f"{path.name} has no such transition")
                each[place[key]] = value
            total += _averaged(each, row, probability)
        if name in result:
            raise InputError(f"{path}: two reward structures are called '{name}'; rename one")
        result[name] = total
    return result, note


def _averaged(each: Array, row: NDArray[np.intp], probability: Array) -> Array:
    """Return the mean reward of every choice; exactly the reward if all of its transitions have the same."""
    first = np.flatnonzero(np.diff(row, prepend=-1))
    same = np.maximum.reduceat(each, first) == np.minimum.reduceat(each, first)
    sums = np.add.reduceat(probability, first)
    return np.where(same, each[first], np.add.reduceat(each * probability, first) / sums)


def _labels(path: Path, states: int) -> dict[str, Mask]:
    """Return which states have each label; without a file of labels, the first one has the label init."""
    path = path.with_suffix(".lab")
    if not path.exists():
        return {"init": np.arange(states) == 0}
    lines = read_lines(path)
    known: dict[str, str] = dict(LABEL.findall(" ".join(lines.words[0] if lines.words else [])))
    found = {name: np.zeros(states, dtype=bool) for name in known.values()}
    if "init" not in found:
        raise InputError(f'{path} has no label "init" in its first line; export it again')
    for index, words in enumerate(lines.words[1:], 1):
        state = words[0].removesuffix(":")
        if not state.isdecimal() or int(state) >= states:
            raise lines.fault(index, f"there is no such state; they are 0 to {states - 1}")
        for number in words[1:]:
            if number not in known:
                raise lines.fault(index, f"there is no label {number} in the first line")
            found[known[number]][int(state)] = True
    if not found["init"].any():
        raise InputError(f"{path}: no state has the label init; add it to the first state")
    return found


def _state_names(path: Path, states: int) -> list[str] | None:
    """Return the values of variables as names, such as x=1,y=2; None if there is no file of states."""
    path = path.with_suffix(".sta")
    if not path.exists():
        return None
    lines = read_lines(path)
    variables = "".join(lines.words[0] if lines.words else "").strip("()").split(",")
    names = [""] * states
    for index, words in enumerate(lines.words[1:], 1):
        found = STATE.fullmatch("".join(words))
        values = found[2].split(",") if found else []
        if found is None or int(found[1]) >= states or len(values) != len(variables):
            raise lines.fault(index, f"it is not of the form state:({','.join(variables)})")
        names[int(found[1])] = ",".join(f"{x}={v}" for x, v in zip(variables, values, strict=True))
    if not all(names):
        raise InputError(f"{path} has no line for state {names.index('')}; export it again")
    return names
