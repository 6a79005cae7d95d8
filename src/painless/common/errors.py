"""The one error for bad input, and the hint that goes with an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

NAMED = 50  # names that an error lists
SHOWN = 60  # characters of a value in a message


class InputError(ValueError):
    """Input that cannot be accepted. The message says what is wrong, where, and what to do next."""

    place: tuple[int, ...] = ()  # the entry of an array by state, action, next state, if it is one

    def at(self, place: Iterable[int]) -> InputError:
        """Return the error with its place."""
        self.place = tuple(int(i) for i in place)
        return self


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a name that is not among `known`, with the nearest one suggested.

    >>> print(unknown("problem", "gridwrld", ["garnet", "gridworld"]))
    unknown problem 'gridwrld'; did you mean 'gridworld'? Known: garnet, gridworld
    """
    known = sorted(known)
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    return InputError(f"unknown {kind} '{name}'; {hint}Known: {', '.join(known[:NAMED])}{more}")


def shown(value: object, most: int = SHOWN) -> str:
    """Return any value as one short line for a message, of at most so many characters.

    >>> shown([1, 2]), len(shown("x" * 1000))
    ('[1, 2]', 60)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def either(names: Iterable[str]) -> str:
    """Return names as a list of alternatives.

    >>> either([".npz", ".json", ".drn"])
    '.npz, .json or .drn'
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
