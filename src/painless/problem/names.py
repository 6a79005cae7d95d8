"""Names of states, actions and constraints: text, numbers, tuples or dates.

A name is kept as it was given, and found by its text: 3, 3.0 and "3" are one name, and so are a date and midnight of that day. Files
hold texts and numbers, so that a tuple or a date that was saved is found as before.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime, time
from difflib import get_close_matches
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arguments import as_numbers
from painless.common.errors import InputError, shown
from painless.common.render import visible

LISTED = 10  # names that an error lists
COMPARED = 2000  # names up to which an error suggests the nearest one


def text_of(name: object) -> str:
    """Return the text by which a name is shown, stored and found.

    >>> text_of("fresh 3"), text_of((2, "old")), text_of(2.0), text_of(datetime(2026, 3, 1))
    ('fresh 3', '(2, old)', '2', '2026-03-01')
    """
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(name, str):
        return str(name)
    if isinstance(name, bytes):
        return name.decode(errors="backslashreplace")
    if isinstance(name, tuple):
        return f"({', '.join(map(text_of, name))})"
    if isinstance(name, float) and name.is_integer():
        return str(int(name))
    if isinstance(name, datetime) and name.time() == time() and name.tzinfo is None:
        return str(name.date())
    return str(name)


def as_objects(values: Any) -> list[Any]:
    """Return the entries of a list, an array or a column as Python objects."""
    if not hasattr(values, "__array__"):
        return list(values)
    array = np.asarray(values)
    if array.dtype.kind == "M" and array.dtype != np.dtype("datetime64[D]"):
        array = array.astype("datetime64[us]")
    return array.tolist()


def is_whole(value: object) -> bool:
    """Whether something is a whole number, and not true or false."""
    return isinstance(value, Integral) and not isinstance(value, bool)


class Names(tuple[Hashable, ...]):
    """Distinct names, in order.

    >>> Names(["in", "out"]).place("out"), Names([(0, 1), (2, 3)]).place("(2, 3)")
    (1, 1)
    """

    @classmethod
    def of(cls, what: str, given: Iterable[object]) -> Names:
        """Return the names, or reject those that two share."""
        names = cls(given)
        if len(names.places) < len(names):
            seen: dict[str, int] = {}
            for place, text in enumerate(names.texts):
                if (first := seen.setdefault(text, place)) != place:
                    raise InputError(
                        f"{what} has {text!r} twice, at {first} and {place}; give each its own name"
                    )
        return names

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all names."""
        return tuple(name if type(name) is str else text_of(name) for name in self)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each text."""
        return {text: place for place, text in enumerate(self.texts)}

    @cached_property
    def numbered(self) -> bool:
        """Whether some name is a number, so that a number is a name and no place."""
        return any(isinstance(name, Real) for name in self) or any(
            text.removeprefix("-").isdecimal() for text in self.texts
        )

    def place(self, given: Any) -> int | None:
        """Return the place of a name, or None."""
        if isinstance(given, bool | list | np.ndarray):
            return None
        found = self.places.get(text_of(given))
        if found is None and is_whole(given) and not self.numbered and 0 <= given < len(self):
            return int(given)
        return found

    def as_array(self) -> NDArray[Any]:
        """Return the names as an array for a file: whole numbers, or texts."""
        if all(is_whole(name) for name in self):
            return np.array([int(name) for name in self])  # type: ignore[call-overload]
        return np.array(self.texts)

    def missing(self, noun: str, given: object) -> InputError:
        """Return the error for what is no name."""
        text = text_of(given)
        near = get_close_matches(text, self.texts, n=1, cutoff=0.5) if len(self) <= COMPARED else []
        hint = f"did you mean {near[0]!r}? " if near else ""
        more = f" and {len(self) - LISTED} more" if len(self) > LISTED else ""
        known = ", ".join(map(visible, self.texts[:LISTED]))
        return InputError(f"there is no {noun} {shown(text)}; {hint}Known: {known}{more}")


def limit_names(lower: Iterable[Hashable], upper: Iterable[Hashable]) -> list[Hashable]:
    """Return the names of what has thresholds, then of what has budgets; what has both is told apart by the sign.

    >>> limit_names(["sold", "energy"], ["energy"])
    ['sold', 'energy >=', 'energy <=']
    """
    given = ((tuple(lower), ">="), (tuple(upper), "<="))
    both = {*given[0][0]} & {*given[1][0]}
    return [f"{text_of(name)} {sign}" if name in both else name for names, sign in given for name in names]


def add_names(error: InputError, names: Any) -> None:
    """Add the names of state, action and next state, which need not be checked yet, to an error that says in which entry it is."""
    axes = (("state", "states"), ("action", "actions"), ("next state", "states"))
    parts = [
        f"{noun} {shown(text_of(known[place]))}"
        for place, (noun, kind) in zip(error.place, axes, strict=False)
        if place < len(known := _listed(names, kind))
    ]
    if parts:
        error.args, error.place = (f"{error} ({', '.join(parts)})",), ()


def _listed(names: Any, kind: str) -> list[Any]:
    """Return the names that are given for states or actions; none where they are no list."""
    given = names.get(kind) if isinstance(names, Mapping) else None
    return as_objects(given) if isinstance(given, Iterable) and not isinstance(given, str) else []


def locate(names: Names | None, given: Any, count: int, noun: str = "state") -> NDArray[np.integer]:
    """Return the place of one state (an array without axes) or of several, given by names or by numbers.

    >>> locate(Names(["in", "out"]), ["out", 0], 2), locate(None, 1, 2)
    (array([1, 0]), array(1))
    """
    if names is None:
        return _numbers(given, count, noun)
    one = names.place(given)
    if one is not None:
        return np.asarray(one)
    if is_whole(given) and not names.numbered:
        return _numbers(given, count, noun)
    if not _several(names, given):
        raise names.missing(noun, given)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu" and not names.numbered:
        return _numbers(given, count, noun)
    places = []
    for name in as_objects(given):
        place = names.place(name)
        if place is None:
            raise names.missing(noun, name)
        places.append(place)
    return np.array(places, dtype=np.intp)


def _several(names: Names, given: Any) -> bool:
    """Whether `given` holds several names, and is not one itself."""
    if isinstance(given, tuple):
        return not isinstance(names[0], tuple)
    listed = isinstance(given, list) or (hasattr(given, "__array__") and not isinstance(given, np.generic))
    return listed and not (isinstance(given, np.ndarray) and given.ndim == 0)


def _numbers(given: Any, count: int, noun: str) -> NDArray[np.integer]:
    """Check numbers of states or actions, 0..count − 1."""
    index = as_numbers(f"{noun}s", given)
    if index.size and index.dtype.kind not in "iu":
        raise InputError(f"{noun}s are given as {index.dtype}; give whole numbers from 0 to {count - 1}")
    wrong = (index < 0) | (index >= count)
    if wrong.any():
        raise InputError(
            f"there is no {noun} {index[wrong].reshape(-1)[0]}; give a number from 0 to {count - 1}"
        )
    return index if index.size else index.astype(np.intp)
