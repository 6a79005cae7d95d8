"""What the words of a command name: problems, simulators, algorithms, their settings and limits."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from painless.common.errors import InputError, either, shown
from painless.common.limits import split_limit
from painless.common.plugins import is_reference
from painless.common.registry import build, require_settings, settings_of
from painless.problem.formats import registry as formats

if TYPE_CHECKING:
    from painless.problem import CMDP


def find_problem(
    name: str,
    parameters: list[str] | None,
    discount: float | None,
    threshold: list[float] | None,
    horizon: int | None = None,
    average: bool = False,
    limits: list[str] | None = None,
) -> CMDP:
    """Return a registered table or one from a file, with the discount, horizon, average and limits overridden if given."""
    if limits and threshold:
        raise InputError("--threshold and --limit both set limits; give one of them")
    if average and (horizon is not None or discount is not None):
        raise InputError("--average counts every step alike for ever; remove --discount and --horizon")
    from painless.problem import load
    from painless.problems import find_table, is_file, make

    given: dict[str, Any] = {"horizon": horizon} if horizon is not None else {}
    given |= {"average": True} if average else {}
    if is_file(name):
        problem = load(name, **file_arguments(name, parameters, discount, threshold, limits), **given)
        return problem if takes_roles(name) or not limits else _with_named_limits(problem, name, limits)
    table = find_table(name)
    wanted = settings_of(table).get("threshold")
    chooses = wanted is not None and wanted.default is None  # its threshold depends on the other parameters
    given |= problem_arguments(table, name, parameters, discount, threshold if chooses else None)
    problem = make(name, **given)
    problem = problem if chooses or not threshold else problem.with_limits(threshold)
    return _with_named_limits(problem, name, limits) if limits else problem


def takes_roles(name: str) -> bool:
    """Whether the constraints of a file are named as it is read."""
    return "constraint_cost" in formats.format_of(name).parameters


def _with_named_limits(problem: CMDP, name: str, limits: list[str]) -> CMDP:
    """Return a problem with other limits of constraints that it has."""
    known = dict(zip(problem.constraint_names, problem.sense, strict=True))
    given: dict[str, float] = {}
    for one, sense, bound in map(_limit, limits):
        if known.get(one, sense) != sense:
            raise InputError(f"{name} limits {one} from the other side; write '{one}{known[one]}{bound:g}'")
        given[one] = bound
    return problem.with_limits(given)


def named_limits(limits: Sequence[str]) -> dict[str, Any]:
    """Return the roles and limits of columns or reward models, as `load` takes them: constraint rewards first.

    >>> named_limits(["waste<=3", "sold >= 10"])
    {'constraint_reward': ['sold'], 'constraint_cost': ['waste'], 'limit': [10.0, 3.0]}
    """
    parts = [*map(_limit, limits)]
    lower, upper = ([one for one in parts if one[1] == sense] for sense in (">=", "<="))
    roles = {"constraint_reward": [one[0] for one in lower], "constraint_cost": [one[0] for one in upper]}
    for sense, names in zip((">=", "<="), roles.values(), strict=True):
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise InputError(f"{twice} has two limits with {sense}; give one")
    given = {kind: names for kind, names in roles.items() if names}
    return given | {"limit": [bound for *_, bound in (*lower, *upper)]}


def _limit(text: str) -> tuple[str, str, float]:
    parts = split_limit(text)
    if parts is None or not parts[0]:
        raise InputError(f"{shown(text)} is not a limit; write it like 'waste<=3' or 'sold>=10'")
    return parts


def file_arguments(
    name: str,
    parameters: list[str] | None,
    discount: float | None,
    threshold: list[float] | None,
    limits: list[str] | None = None,
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
        key, text = name_and_value(pair)
        require_settings(f"a {Path(name).suffix} file", [key], known, "parameter")
        if key in given:
            raise InputError(f"-p {key}=… is given twice; give it once, with commas between several names")
        try:
            given[key] = known[key](text)
        except ValueError as error:
            raise InputError(f"{key} is '{text}', {error}") from error
    if discount is not None:
        given["discount"] = discount
    if limits and takes_roles(name):
        named = named_limits(limits)
        if twice := [key for key in named if key in given]:
            raise InputError(f"-p {twice[0]}=… and --limit both set limits; give all of them with --limit")
        given |= named
    return given | ({"limit": threshold} if threshold else {})


def problem_arguments(
    make: Callable[..., Any],
    name: str,
    parameters: list[str] | None,
    discount: float | None,
    threshold: list[float] | None,
) -> dict[str, Any]:
    """Return the arguments for a registered problem."""
    given = named(parameters, name, settings_of(make), "parameter", "-p") if parameters else {}
    if discount is not None:
        given["discount"] = discount
    if threshold:
        given["threshold"] = threshold
    return given


def make_simulator(about: Mapping[str, Any], **pilot: Any) -> Any:
    """Return a registered simulator, or one of a Gymnasium environment, from its description; `pilot` limits random episodes of the latter."""
    from painless import problems

    settings = dict(about)
    given = settings.pop("simulator", None)
    if given is None and "reason" in settings:
        raise InputError(
            f"the environment cannot be made again from a file: {settings['reason']}; use painless.evaluate in Python"
        )
    name = str(given)
    if name.startswith(("gym:", "python:")):
        from painless.environments import from_gymnasium

        import_modules(settings.pop("imports", []))
        if name.count(":") > 1:
            import_modules([name.split(":")[1]])
        options = settings.pop("options", {})
        environment = name.removeprefix("gym:") if name.startswith("gym:") else imported(name[7:])
        limits = [
            one if isinstance(one, str) else (imported(one[0]), one[1])
            for one in settings.pop("constraints", ())
        ]
        if isinstance(settings.get("reward"), str):
            settings["reward"] = imported(settings["reward"])
        taken = [one for one in options if one in {"environment", "constraints", *settings, *pilot}]
        if taken:
            raise InputError(
                f"'{taken[0]}' is not passed on to the environment by -p; leave it out, or use an option of its own (see --help)"
            )
        return from_gymnasium(environment, constraints=limits, **settings, **pilot, **options)
    return problems.make_simulator(name, **settings)


def import_modules(names: Sequence[str] | None) -> None:
    """Import modules that register environments, also from the current folder."""
    for name in names or []:
        with _importable(name):
            importlib.import_module(name)


def imported(place: str) -> Any:
    """Return the function or class of "module:name"."""
    module, function = place.split(":", 1)
    with _importable(module):
        return getattr(importlib.import_module(module), function)


@contextmanager
def _importable(name: str) -> Iterator[None]:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        yield
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"cannot import {name}: {error}; install it, or run in the folder where it is"
        ) from error


def make_algorithm(name: str, make: Callable[..., Any], settings: list[str] | None, **options: Any) -> Any:
    """Return an algorithm or a planner with its settings; `options` are those with their own option, None if not given."""
    known = settings_of(make)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            raise InputError(f"{name} has no {option}; remove --{option} or choose another --algorithm")
    return build(name, make, given | named(settings, name, known, "setting", "--set"))


def named(
    pairs: list[str] | None, owner: str, known: Mapping[str, Any], word: str, option: str
) -> dict[str, Any]:
    """Read "name=value" pairs of an option; a value is a whole number, a number, true or false, for a user's own code also text."""
    result: dict[str, Any] = {}
    for pair in pairs or []:
        name, text = name_and_value(pair)
        if is_reference(owner):
            result[name] = json_or_text(text)
            continue
        require_settings(owner, [name], known, word, f"{option} {pair}")
        try:
            result[name] = json.loads(text.lower())
        except json.JSONDecodeError:
            result[name] = None
        if not isinstance(result[name], int | float):
            raise InputError(f"{name} is '{text}', not a number")
        if isinstance(result[name], bool) and not isinstance(known[name].default, bool | None):
            raise InputError(f"{name} is '{text}'; give a number")
    return result


def json_or_text(text: str) -> Any:
    """Read a value: JSON, true, false or none in any case, or else text."""
    special = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in special:
        return special[text.lower()]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def name_and_value(pair: str) -> tuple[str, str]:
    """Return the two parts of "name=value"."""
    name, equals, value = pair.partition("=")
    if not equals:
        raise InputError(f"'{pair}' is not of the form name=value")
    return name, value
