"""Problem files on the command line: their parameters with -p."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from painless.common.errors import InputError, either
from painless.common.registry import require_settings
from painless.problem.formats import registry as formats


def file_arguments(
    name: str, parameters: list[str] | None, discount: float | None, threshold: list[float] | None
) -> dict[str, Any]:
    """Return the arguments of `load`; -p gives the parameters of the file's format, with commas in lists.

    >>> file_arguments("model.drn", ["cost=energy", "limit=1,2.5"], 0.9, None)
    {'cost': 'energy', 'limit': [1.0, 2.5], 'discount': 0.9}
    """
    known, ending = formats.format_of(name).parameters, either(formats.with_parameters())
    if parameters and not known:
        raise InputError(f"--parameter is for registered problems and {ending} files; remove it for {name}")
    given: dict[str, Any] = {}
    for pair in parameters or []:
        key, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"'{pair}' is not of the form name=value")
        require_settings(f"a {Path(name).suffix} file", [key], known, "parameter")
        try:
            given[key] = known[key](text)
        except ValueError as error:
            raise InputError(f"{key} is '{text}', {error}") from error
    if discount is not None:
        given["discount"] = discount
    return given | ({"limit": threshold} if threshold else {})
