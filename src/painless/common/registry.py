"""The objects behind the names in sweep files and on the command line.

A registry is a dictionary from names to factories: a dataclass, whose fields are the settings, or a function, whose arguments
are the settings. There is one for each kind of object, such as `loop.algorithms.ALGORITHMS`, `planning.PLANNERS` and
`evaluators.EVALUATORS`; the page on the architecture lists them. Algorithms, evaluators and problems of users have names, too
(`common.plugins`): `module:factory`, or that of an entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, TypeVar

from painless.common import plugins
from painless.common.errors import InputError, shown, unknown

Entry = TypeVar("Entry")


def find(kind: str, name: object, registry: Mapping[str, Entry]) -> Entry:
    """Return an entry, or the factory of a user with that name, or raise an error for an unknown one.

    >>> find("algorithm", "cbp", {"cbp": 1, "gda": 2})
    1
    """
    if isinstance(name, str) and name in registry:
        return registry[name]
    own: Any = plugins.find(kind, str(name))
    if own is None:
        raise unknown(kind, str(name), [*registry, *plugins.names(kind)])
    found: Entry = own
    return found


def settings_of(make: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the settings of an entry: the fields of a dataclass, or the arguments of a function."""
    return signature(make).parameters


def require_settings(
    name: str, given: Iterable[str], known: Iterable[str], word: str = "setting", written: str = ""
) -> None:
    """Reject settings that an entry does not have; `written` is how the user wrote them, if not by name.

    >>> require_settings("lp", ["alpha"], [], written="--set alpha=3")
    Traceback (most recent call last):
        ...
    painless.common.errors.InputError: lp has no settings; remove --set alpha=3
    """
    known = list(known)
    for one in given:
        if not known:
            raise InputError(f"{name} has no {word}s; remove {written or one}")
        if one not in known:
            raise unknown(f"{word} of {name}", one, known)


def build(name: str, make: Callable[..., Any], given: Mapping[str, Any], word: str = "setting") -> Any:
    """Return the object of an entry; unknown, missing or invalid settings raise an `InputError`."""
    known = settings_of(make)
    if given and all(one.kind is not Parameter.VAR_KEYWORD for one in known.values()):  # `**` takes any
        require_settings(name, given, known, word)
    needed = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    missing = [
        one
        for one, about in known.items()
        if about.kind in needed and about.default is Parameter.empty and one not in given
    ]
    if missing:
        raise InputError(f"{name} needs the {word} '{missing[0]}'; give it")
    try:
        return make(**given)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        values = ", ".join(f"{key}={shown(value)}" for key, value in given.items())
        raise InputError(f"{name} cannot be made with {values}: {error}; change a {word}") from error
