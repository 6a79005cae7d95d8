"""Names as they come, chunk by chunk, each with a number; in the end they are sorted, so that the order of the rows does not matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from datetime import date, datetime
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.errors import InputError, shown
from painless.problem.columns import Labels, is_missing
from painless.problem.names import Names, text_of

MISSING = -1

Codes = NDArray[np.int64]


class NameIndex:
    """Numbers for names, in the order in which they are first met.

    >>> index = NameIndex("state")
    >>> index.codes(Labels(np.array([0, 1, 0]), ["in", "out"]), str).tolist(), index.names
    ([0, 1, 0], ['in', 'out'])
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self.places: dict[Hashable, int] = {}
        self.rows: list[str] = []  # where each was first met

    @property
    def names(self) -> list[Any]:
        """All names so far."""
        return list(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def codes(self, labels: Labels, row: Callable[[int], str], *, texts: bool = False) -> Codes:
        """Return the numbers of a column of names, (n,); −1 where one is missing. New names get new numbers."""
        known = len(self)
        table = np.array(
            [
                MISSING if absent(name, texts) else self.places.setdefault(name, len(self.places))
                for name in labels.names
            ],
            dtype=np.int64,
        )
        if len(self) > known:
            used, first = np.unique(labels.codes, return_index=True)
            at = {int(table[code]): int(place) for code, place in zip(used, first, strict=True)}
            self.rows.extend(row(at[code]) for code in range(known, len(self)))
        return table[labels.codes]

    def sorted(self, used: Codes, *, texts: bool = False) -> tuple[Names, Codes]:
        """Return the names with the numbers `used`, in order, and the place of each number among them; −1 for the others."""
        known = self.names
        names = [known[code] for code in used.tolist()]
        names = _as_numbers(names) if texts else names
        self._require_distinct(names, used)
        order = sorted(range(len(names)), key=lambda k: sort_key(names[k]))
        place = np.full(len(self), MISSING, dtype=np.int64)
        place[used[order]] = np.arange(len(order))
        return Names(names[k] for k in order), place

    def _require_distinct(self, names: list[Any], used: Codes) -> None:
        seen: dict[str, int] = {}
        for k, name in enumerate(names):
            other = seen.setdefault(text_of(name), k)
            if other != k:
                rows = (self.rows[int(used[k])], self.rows[int(used[other])])
                raise InputError(
                    f"{rows[0]} has the {self.noun} {shown(name)}, {rows[1]} the {self.noun} {shown(names[other])}: "
                    "they read the same; write them in one way"
                )


def absent(name: Any, texts: bool = False) -> bool:
    """Whether a name is missing; of texts, an empty one; of several columns, in any of them."""
    if isinstance(name, tuple):
        return any(absent(part, texts) for part in name)
    return is_missing(name) or (texts and name == "")


def sort_key(name: Any) -> tuple[Any, ...]:
    """Return what names are sorted by: numbers, dates, texts with the numbers in them by value, then tuples.

    >>> sorted(["s10", "s9", (2, "a"), (1, "b"), 3], key=sort_key)
    [3, 's9', 's10', (1, 'b'), (2, 'a')]
    """
    if isinstance(name, tuple):
        return (3, *(sort_key(part) for part in name))
    if isinstance(name, Real):
        return (0, float(name))
    if isinstance(name, date) and not isinstance(name, datetime):
        return (1, name.isoformat())
    text = text_of(name)
    if isinstance(name, datetime):
        return (1, name.isoformat())
    parts = re.split(r"(\d+)", text)
    return (2, tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts), text)


def _as_numbers(names: list[Any]) -> list[Any]:
    """Return whole numbers for names that are their texts, if all are."""
    plain = all(
        isinstance(name, str) and name.removeprefix("-").isdecimal() and str(int(name)) == name
        for name in names
    )
    return [int(name) for name in names] if plain else names
