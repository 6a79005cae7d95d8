"""Parameters of problem files, read from text on the command line."""

from __future__ import annotations

import json
from typing import Any


def number(text: str) -> float:
    """Return a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number") from None


def whole(text: str) -> int:
    """Return a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ValueError("not a whole number") from None


def numbers(text: str) -> list[float]:
    """Return numbers with commas between them."""
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError("not a list of numbers with commas") from None


def names(text: str) -> list[str]:
    """Return names with commas between them.

    >>> names("waste, energy")
    ['waste', 'energy']
    """
    return [name.strip() for name in text.split(",")]


def name_or_names(text: str) -> Any:
    """Return one name, or a list of several with commas between them."""
    found = names(text)
    return found[0] if len(found) == 1 else found


def states(text: str) -> Any:
    """Return numbers of states, or one or several labels.

    >>> states("0, 3"), states("start")
    ([0, 3], 'start')
    """
    found = names(text)
    return [int(word) for word in found] if all(word.isdecimal() for word in found) else name_or_names(text)


def mapping_or(otherwise: Any) -> Any:
    """Return a parser of a JSON object, or of whatever `otherwise` parses.

    >>> mapping_or(names)('{"waste": 4}'), mapping_or(names)("waste")
    ({'waste': 4}, ['waste'])
    """

    def parse(text: str) -> Any:
        if not text.lstrip().startswith("{"):
            return otherwise(text)
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise ValueError("not a JSON object") from None

    return parse


def yes_or_no(text: str) -> bool:
    """Read true or false.

    >>> yes_or_no("true"), yes_or_no("false")
    (True, False)
    """
    if text not in ("true", "false"):
        raise ValueError("neither true nor false; correct it")
    return text == "true"
