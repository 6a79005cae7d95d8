"""A table of transitions with names, `.csv`: its columns are named when it is read.

The file needs a row for each transition, below a row with the names of the columns. What is which column, the limits, the first
state and the discount are parameters.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.problem.formats import parsing
from painless.problem.reaching import sought
from painless.problem.sheet import LIMITS, OBJECTIVES, Sheet
from painless.storage import files

GROWTH = 16  # bytes that a byte of a CSV may become, about: most entries are short

# What `load` takes for these files, and how each is read from text on the command line.
PARAMETERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("state", "action", "next_state"), parsing.name_or_names),
    **dict.fromkeys(("probability", "count", "reward", "cost"), str),
    **dict.fromkeys(LIMITS, parsing.mapping_or(parsing.names)),
    "limit": parsing.numbers,
    "initial": parsing.mapping_or(str),
    "discount": parsing.number,
    "horizon": parsing.whole,
    "end": str,
    "average": parsing.yes_or_no,
}


def read(path: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a problem file; `given` are some of `PARAMETERS`."""
    try:
        return _read(path, dict(given))
    except InputError as error:
        raise error if str(error).startswith(str(path)) else InputError(f"{path}: {error}") from error


def _read(path: str | os.PathLike[str], given: dict[str, Any]) -> dict[str, Any]:
    files.open_file(path).close()  # what is missing beside a file that is not there does not matter yet
    criterion = {name: given.pop(name) for name in ("discount", "horizon", "average") if name in given}
    utilities = [name for role in (*OBJECTIVES, *LIMITS) for name in _listed(given.get(role))]
    if not criterion and "end" not in given and any(map(sought, utilities)):
        criterion = {"discount": 1.0}  # the probability of ever coming there
    if not criterion and "end" not in given:
        raise InputError(
            "a .csv file has no discount; give one: load(path, discount=0.95), --discount 0.95 on the command line; or a "
            "number of steps: horizon=50, --horizon 50; or the states where it ends: end='home', -p end=home; or average=True, --average"
        )
    if "initial" not in given:
        raise InputError(
            "a .csv file has no first state; give its name: load(path, initial=…), or -p initial=… on the command line"
        )
    start = given.pop("initial")
    columns, numbered = _columns(path)
    row = (lambda k: f"line {k + 2}") if numbered else (lambda k: f"row {k + 1}")
    sheet = Sheet(**with_limits(given), texts=True, row=row, horizon=criterion.get("horizon"))
    content = sheet.arguments(columns, start)
    kernel, names = content.pop("transition"), content.pop("names")
    content |= {f"transition_{part}": getattr(kernel, part) for part in ("data", "indices", "indptr")}
    content |= {f"{kind.removesuffix('s')}_names": known.as_array() for kind, known in names.items()}
    return content | criterion | {"average": criterion.get("average") or None}


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else [*(given or ())]


def _columns(path: str | os.PathLike[str]) -> tuple[dict[str, list[str]], bool]:
    """Return the columns of a file, and whether each row is one line."""
    try:
        text = files.read_bytes(path, GROWTH).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("it is not UTF-8 text; save it as CSV (UTF-8)") from error
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: it is not CSV ({error})") from error
    if not rows:
        raise InputError("it is empty; give a row with the names of the columns, and one for each transition")
    header = [title.strip() for title in rows[0]]
    if len(set(header)) < len(header):
        twice = next(title for title in header if header.count(title) > 1)
        raise InputError(f"two columns are called '{twice}'; rename one")
    wrong = next((k for k, row in enumerate(rows) if len(row) != len(header)), None)
    if wrong is not None:
        raise InputError(
            f"row {wrong} has {len(rows[wrong])} entries for {len(header)} columns; put names with commas in quotes"
        )
    entries = zip(*rows[1:], strict=True) if len(rows) > 1 else ([] for _ in header)
    return dict(zip(header, map(list, entries), strict=True)), reader.line_num == len(rows)


def with_limits(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with the limits beside the columns that they are for: constraint rewards first."""
    named = {kind: given.get(kind, {}) for kind in LIMITS}
    limits = np.atleast_1d(given.pop("limit")).tolist() if "limit" in given else []
    listed = {kind: one if isinstance(one, Mapping) else _listed(one) for kind, one in named.items()}
    count = sum(len(one) for one in listed.values() if not isinstance(one, Mapping))
    if len(limits) != count:
        raise InputError(
            f"{len(limits)} limit(s) given for {count} constraint(s); give one for each, constraint rewards first: "
            "load(path, limit=[…]), or --threshold (-p limit=…)"
        )
    waiting = iter(limits)
    return given | {
        kind: one if isinstance(one, Mapping) else {name: next(waiting) for name in one}
        for kind, one in listed.items()
    }
