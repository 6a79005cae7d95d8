"""A problem as a UMB file, from the entries of a problem file."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

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
from painless.storage import files

VERSION, REVISION = 0, 1
TOOL = "painless"
INDEX = "index.json"
DOUBLE = {"type": "double", "size": 64}


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write the entries of a problem file as a UMB model, atomically."""
    entries = one_step(path, content)
    return files.write_atomically(path, lambda stream: _write(stream, entries))


def _write(stream: IO[bytes], content: Mapping[str, Any]) -> None:
    sheet = with_end(sheet_of(content))
    (states, actions), initial = sheet.shape, np.zeros(sheet.shape[0])
    initial[: len(content["initial"])] = content["initial"]
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
    annotations: dict[str, Any] = {
        "rewards": {name: {"applies-to": ["choices"], "type": DOUBLE} for name in rewards}
    }
    ends = end_states(content, sheet)
    if ends is not None:
        annotations["aps"] = {END: {"applies-to": ["states"], "type": {"type": "bool", "size": 1}}}
        parts[f"annotations/aps/{END}/states/values.bin"] = _packed(ends)
    index = {
        **{"format-version": VERSION, "format-revision": REVISION},
        "file-data": {"tool": TOOL, "parameters": plain_note(content, sheet)},
        "transition-system": _system(sheet, int(np.count_nonzero(initial))),
        "annotations": annotations,
    }
    with tarfile.open(fileobj=stream, mode="w") as tar:
        _add(tar, INDEX, json.dumps(index, indent=1).encode())
        for name, array in parts.items():
            _add(tar, name, np.ascontiguousarray(array).view(np.uint8).data)


def _system(sheet: PairSheet, starts: int) -> dict[str, Any]:
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
