"""UMB, the binary format that model checkers share: models read as problems, and problems written for them.

A `.umb` file is a tar archive of an `index.json` and of arrays of little-endian numbers (https://github.com/pmc-tools/umb):

    state-to-choices.bin       (S + 1) where the choices of each state begin, uint64
    choice-to-branches.bin     (N + 1) where the branches of each choice begin, uint64
    branch-to-target.bin       the successors, uint64
    branch-to-probability.bin  their probabilities, float64
    state-is-initial.bin       one bit for each state
    actions/choices/…          the action of each choice, and the names of actions
    annotations/rewards/NAME/… rewards of states, choices or branches

The format has neither a discount nor constraints; they are given when a model is read. A problem that `write` wrote carries them,
with its names, among the parameters of the tool that made the file, so that exactly the same problem is read.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.problem.formats.choices import ABSENT, Choices, dense, process_of, settings_of, terms
from painless.problem.formats.sheet import Sheet, labels, note_of, reward_models, sheet_of
from painless.storage import files
from painless.storage.memory import require_room
from painless.storage.results import MISFIT

VERSION, REVISION = 0, 1
TOOL = "painless"
INDEX = "index.json"
LONGEST = 2**28  # bytes of an index
NUMBERS = {  # types of numbers that are read, with their usual sizes
    "double": (64, {64: "<f8"}),
    "int": (64, {8: "i1", 16: "<i2", 32: "<i4", 64: "<i8"}),
    "uint": (64, {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}),
}
DOUBLE = {"type": "double", "size": 64}
KINDS = ("states", "choices", "branches")


class _Counts(NamedTuple):
    """The numbers of things in a file."""

    states: int
    choices: int
    branches: int


class _Archive:
    """The arrays of a tar archive, each checked for its length before it is read."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.tar = tar
        self.members = {member.name.removeprefix("./"): member for member in tar if member.isfile()}

    def bytes(self, name: str, most: float) -> bytes:
        """Return a file of the archive, if it is not longer than it may be."""
        if name not in self.members:
            raise InputError(f"'{name}' is missing; export the model again")
        size = self.members[name].size
        if size > most:
            raise InputError(f"'{name}' has {size} bytes, not at most {most:.0f}; export the model again")
        require_room(f"'{name}'", size)
        content = self.tar.extractfile(self.members[name])
        assert content is not None
        return content.read()

    def array(self, name: str, kind: str, count: int) -> NDArray[Any]:
        """Return an array of so many numbers."""
        dtype = np.dtype(kind)
        content = self.bytes(name, count * dtype.itemsize)
        if len(content) != count * dtype.itemsize:
            raise InputError(
                f"'{name}' has {len(content)} bytes for {count} numbers of {dtype.itemsize}; export it again"
            )
        return np.frombuffer(content, dtype)

    def bits(self, name: str, count: int) -> NDArray[np.bool_]:
        """Return a bit for each of so many things; the rest of the last bytes is padding."""
        content = np.frombuffer(self.bytes(name, count // 8 + 8), np.uint8)
        if 8 * len(content) < count:
            raise InputError(f"'{name}' has {len(content)} bytes for {count} bits; export it again")
        return np.unpackbits(content, count=count, bitorder="little").astype(bool)

    def texts(self, folder: str, count: int) -> list[str]:
        """Return so many texts."""
        ends = self.pointer(f"{folder}/string-mapping.bin", count, None)
        content = self.bytes(f"{folder}/strings.bin", files.TEXTS)
        if ends[-1] != len(content):
            raise InputError(
                f"'{folder}/strings.bin' has {len(content)} bytes, not {ends[-1]}; export it again"
            )
        return [content[i:j].decode() for i, j in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def pointer(self, name: str, count: int, total: int | None) -> NDArray[np.int64]:
        """Return where each of `count` rows begins; without the file, each has one entry."""
        if name not in self.members:
            return np.arange(count + 1)
        found = self.array(name, "<u8", count + 1).astype(np.int64)
        last = found[-1] if total is None else total
        if found[0] != 0 or found[-1] != last or (np.diff(found) < 0).any():
            raise InputError(f"'{name}' does not ascend from 0 to {last}; export the model again")
        return found


def read(path: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a problem file; `given` are some of the parameters of `choices`."""
    path = Path(path)
    try:
        with files.open_file(path) as stream, tarfile.open(fileobj=stream, mode="r:*") as tar:
            return _read(_Archive(tar), given)
    except InputError as error:
        raise InputError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    except (OSError, EOFError, tarfile.TarError, *MISFIT) as error:
        raise InputError(f"{path} is not a UMB file that can be read: {error!r}; export it again") from error


def _read(archive: _Archive, given: Mapping[str, Any]) -> dict[str, Any]:
    index = json.loads(archive.bytes(INDEX, LONGEST))
    counts = _counts(index)
    rewards = index.get("annotations", {}).get("rewards", {})
    model = _choices(archive, index, counts, rewards)
    about = index.get("file-data", {})
    note = dict(about["parameters"]) if about.get("tool") == TOOL else {}
    if "limit" in note:
        note["limit"] = [float(limit) for limit in note["limit"]]
    process = _own(model, note) if note else process_of(model)
    utility = process.pop("utility")
    return process | terms([*rewards], utility, settings_of(note, given), ".umb")


def _counts(index: Any) -> _Counts:
    """Return the size of a model that can be read; reject others."""
    system = index["transition-system"]
    if index["format-version"] != VERSION:
        raise InputError(
            f"its format has version {shown(index['format-version'])}; this painless reads {VERSION}"
        )
    if system["time"] != "discrete":
        raise InputError(f"the model is in {system['time']} time; make it a discrete one and export that")
    if system["#players"] > 1:
        raise InputError("the model is a game; fix the other players and export the MDP that is left")
    if system["#observations"]:
        raise InputError("the model is partially observed; policies here see the state, so export its MDP")
    counts = _Counts(*(system[f"#{kind}"] for kind in KINDS))
    if not all(type(count) is int and count > 0 for count in counts):
        raise InputError(
            f"it has {counts.states} states, {counts.choices} choices and {counts.branches} branches"
        )
    return counts


def _choices(archive: _Archive, index: Any, counts: _Counts, rewards: Mapping[str, Any]) -> Choices:
    system = index["transition-system"]
    first = archive.pointer("state-to-choices.bin", counts.states, counts.choices)
    pointer = archive.pointer("choice-to-branches.bin", counts.choices, counts.branches)
    for starts, kind in ((first, "state"), (pointer, "choice")):
        if (np.diff(starts) == 0).any():
            raise InputError(
                f"{kind} {int(np.argmin(np.diff(starts)))} has nothing to go on with; add a loop"
            )
    successor = archive.array("branch-to-target.bin", "<u8", counts.branches)
    if successor.max() >= counts.states:
        raise InputError(f"a branch leads to {successor.max()}; states are 0 to {counts.states - 1}")
    initial = np.zeros(counts.states, dtype=bool)
    if system["#initial-states"]:
        initial = archive.bits("state-is-initial.bin", counts.states)
    if not initial.any():
        raise InputError("no state is an initial one; mark the first state")
    probability = _probabilities(archive, system, counts)
    name, names = _actions(archive, system, counts)
    state = np.repeat(np.arange(counts.states), np.diff(first))
    branch = np.repeat(np.arange(counts.choices), np.diff(pointer))
    owners = {"states": state, "branches": None, "choices": slice(None)}
    reward = np.zeros((len(rewards), counts.choices))
    for total, (label, about) in zip(reward, rewards.items(), strict=True):
        for kind in about["applies-to"]:
            path = f"annotations/rewards/{label}/{kind}/values.bin"
            values = archive.array(path, _number_type(about["type"], path), getattr(counts, kind)).astype(
                float
            )
            if kind == "branches":
                total += np.bincount(branch, values * probability, minlength=counts.choices)
            else:
                total += values[owners[kind]]
    return Choices(pointer, successor.astype(np.int64), probability, state, name, names, reward, initial)


def _number_type(about: Mapping[str, Any], what: str) -> str:
    """Return the type of numbers; reject rational numbers, intervals and texts."""
    kind = about["type"]
    if kind not in NUMBERS or about.get("size", NUMBERS[kind][0]) not in NUMBERS[kind][1]:
        raise InputError(
            f"'{what}' has numbers of type {kind} ({about.get('size', 'no')} bits); export doubles, with every "
            "interval and parameter fixed"
        )
    usual, types = NUMBERS[kind]
    return types[about.get("size", usual)]


def _probabilities(archive: _Archive, system: Mapping[str, Any], counts: _Counts) -> Array:
    name = "branch-to-probability.bin"
    if system.get("branch-probability-type") is None:
        if counts.branches != counts.choices:
            raise InputError("the model has no probabilities, but choices with several successors; add them")
        return np.ones(counts.branches)
    found = archive.array(name, _number_type(system["branch-probability-type"], name), counts.branches)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(f"'{name}' has an entry that is not a probability")
    return found.astype(np.float64, copy=False)


def _actions(
    archive: _Archive, system: Mapping[str, Any], counts: _Counts
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the action of every choice, and the names of actions."""
    count, folder = system["#choice-actions"], "actions/choices"
    name = np.zeros(counts.choices, dtype=np.int64)
    if count and f"{folder}/values.bin" in archive.members:
        name = archive.array(f"{folder}/values.bin", "<u4", counts.choices).astype(np.int64)
        if name.max() >= count:
            raise InputError(f"a choice has action {name.max()}; actions are 0 to {count - 1}")
    if f"{folder}/string-mapping.bin" in archive.members:
        return name, archive.texts(folder, count)
    return name, [str(i) for i in range(max(count, 1))]


def _own(model: Choices, note: Mapping[str, Any]) -> dict[str, Any]:
    """Return the process of a problem as it was before it was written."""
    shape = (len(model.initial), note["actions"])
    if shape[0] * shape[1] > ABSENT * len(model.state) or int(model.name.max()) >= shape[1]:
        raise InputError("its parameters are not those of the model; export it again")
    process = process_of(model, actions=shape[1])
    if note.get("dense"):
        utility, mask, initial = (process[key] for key in ("utility", "actions", "initial"))
        process = {**dense(process, shape), "utility": utility, "actions": mask, "initial": initial}
    if "initial" in note:
        process["initial"] = np.zeros(shape[0])
        process["initial"][model.initial] = note["initial"]
    return process | {key: note.get(key) for key in ("state_names", "action_names")}


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write the entries of a problem file as a UMB model, atomically."""
    return files.write_atomically(path, lambda stream: _write(stream, content))


def _write(stream: IO[bytes], content: Mapping[str, Any]) -> None:
    sheet = sheet_of(content)
    (states, actions), initial = sheet.shape, np.asarray(content["initial"], dtype=np.float64)
    state, action = np.divmod(sheet.pairs, actions)
    first = np.concatenate([[0], np.cumsum(np.bincount(state, minlength=states))])
    names = [name.encode() for name in labels(content.get("action_names"), actions)]
    parts: dict[str, NDArray[Any]] = {
        "state-is-initial.bin": _packed(initial > 0),
        "state-to-choices.bin": first.astype("<u8"),
        "choice-to-branches.bin": sheet.pointer.astype("<u8"),
        "branch-to-target.bin": sheet.successor.astype("<u8"),
        "branch-to-probability.bin": sheet.probability.astype("<f8"),
        "actions/choices/values.bin": action.astype("<u4"),
        "actions/choices/strings.bin": np.frombuffer(b"".join(names), np.uint8),
        "actions/choices/string-mapping.bin": np.cumsum([0, *map(len, names)]).astype("<u8"),
    }
    rewards = [name for given in reward_models(content).values() for name in given]
    for name, utility in zip(rewards, sheet.utility, strict=True):
        parts[f"annotations/rewards/{name}/choices/values.bin"] = utility[sheet.pairs].astype("<f8")
    index = {
        **{"format-version": VERSION, "format-revision": REVISION},
        "file-data": {"tool": TOOL, "parameters": _note(content, sheet)},
        "transition-system": _system(sheet, int(np.count_nonzero(initial))),
        "annotations": {"rewards": {name: {"applies-to": ["choices"], "type": DOUBLE} for name in rewards}},
    }
    with tarfile.open(fileobj=stream, mode="w") as tar:
        _add(tar, INDEX, json.dumps(index, indent=1).encode())
        for name, array in parts.items():
            _add(tar, name, np.ascontiguousarray(array).view(np.uint8).data)


def _note(content: Mapping[str, Any], sheet: Sheet) -> dict[str, Any]:
    """Return discount, roles, limits and names; JSON has no infinite limits, so that these are texts.

    The initial distribution is among them unless all first states are equally likely.
    """
    note, initial = note_of(content, sheet), np.asarray(content["initial"])
    starts = initial[initial > 0]
    note |= {} if np.array_equal(starts, np.ones(len(starts)) / len(starts)) else {"initial": starts.tolist()}
    limits = [limit if np.isfinite(limit) else str(limit) for limit in note.get("limit", [])]
    return note | ({"limit": limits} if limits else {})


def _system(sheet: Sheet, starts: int) -> dict[str, Any]:
    return {
        **{"time": "discrete", "#players": 1, "#states": sheet.shape[0], "#initial-states": starts},
        **{"#choices": len(sheet.pairs), "#choice-actions": sheet.shape[1]},
        **{"#branches": len(sheet.successor), "#branch-actions": 0, "#observations": 0},
        "branch-probability-type": DOUBLE,
    }


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return bits as bytes, filled up to a multiple of eight."""
    packed = np.packbits(bits, bitorder="little")
    return np.pad(packed, (0, -len(packed) % 8))


def _add(tar: tarfile.TarFile, name: str, content: Any) -> None:
    about = tarfile.TarInfo(name)
    about.size = len(content)
    tar.addfile(about, io.BytesIO(content))
