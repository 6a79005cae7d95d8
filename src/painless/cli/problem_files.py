"""Problem files on the command line: their endings, and what may be said about one with -p."""

from __future__ import annotations

from typing import Any

from painless.errors import InputError, unknown

ENDINGS = (".npz", ".json", ".drn")
ROLES = ("reward", "cost", "constraint_reward", "constraint_cost")
NUMBERS = ("discount", "limit")


def file_arguments(
    name: str, parameters: list[str] | None, discount: float | None, threshold: list[float] | None
) -> dict[str, Any]:
    """Return the arguments of `load`; a `.drn` file takes all of them with -p, lists with commas.

    >>> file_arguments("model.drn", ["cost=energy", "limit=1,2.5"], 0.9, None)
    {'cost': 'energy', 'limit': [1.0, 2.5], 'discount': 0.9}
    """
    if parameters and not name.endswith(".drn"):
        raise InputError("--parameter is for registered problems and .drn files; a file has its own numbers")
    given: dict[str, Any] = {}
    for pair in parameters or []:
        key, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"'{pair}' is not of the form name=value")
        if key not in (*ROLES, *NUMBERS):
            raise unknown("parameter of a .drn file", key, (*ROLES, *NUMBERS))
        given[key] = _numbers(key, text) if key in NUMBERS else _names(key, text)
    if discount is not None:
        given["discount"] = discount
    return given | ({"limit": threshold} if threshold else {})


def _names(key: str, text: str) -> str | list[str]:
    return [name.strip() for name in text.split(",")] if key.startswith("constraint") else text


def _numbers(key: str, text: str) -> float | list[float]:
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError as error:
        what = "a number" if key == "discount" else "a list of numbers with commas"
        raise InputError(f"{key} is '{text}', not {what}") from error
    return numbers[0] if key == "discount" and len(numbers) == 1 else numbers
