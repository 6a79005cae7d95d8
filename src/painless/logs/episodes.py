"""Episodes as Gymnasium's tools record them: n + 1 observations, and n of everything else.

An episode is a dictionary, or an object such as one of Minari's, with `observations`, `actions` and `rewards`, and where there are any `terminations` and
`infos`. Utilities of the limits are entries of the episode or of its infos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from painless.common.errors import InputError, shown

PARTS = {"action": "actions", "reward": "rewards", "done": "terminations"}
OTHER = {"terminations": ("terminated", "terminals", "dones")}  # what others call them
NEEDED = ("observations", "actions")


def are_episodes(source: Sequence[Any]) -> bool:
    """Whether these are episodes, and no rows."""
    return all(_has(source[0], name) for name in NEEDED)


def _has(episode: Any, name: str) -> bool:
    return name in episode if isinstance(episode, Mapping) else hasattr(episode, name)


def _get(episode: Any, name: str) -> Any:
    for known in (name, *OTHER.get(name, ())):
        if _has(episode, known):
            return episode[known] if isinstance(episode, Mapping) else getattr(episode, known)
    return None


def episode_columns(episodes: Sequence[Any]) -> dict[str, list[Any]]:
    """Return all steps as columns: state, action, next_state, reward, done, episode, step, and the entries of the infos.

    >>> walk = {"observations": [0, 1, 2], "actions": [1, 1], "rewards": [0.0, 1.0], "terminations": [False, True]}
    >>> episode_columns([walk])["next_state"]
    [1, 2]
    """
    found: dict[str, list[Any]] = {}
    for number, episode in enumerate(episodes):
        columns = _columns(episode, number)
        if found and {*columns} != {*found}:
            odd = sorted({*columns} ^ {*found})[0]
            raise InputError(
                f"episode {number} and those before differ in '{odd}'; give it in all or in none"
            )
        for name, values in columns.items():
            found.setdefault(name, []).extend(values)
    return found


def _columns(episode: Any, number: int) -> dict[str, list[Any]]:
    if not all(_has(episode, name) for name in NEEDED):
        raise InputError(f"episode {number} is {shown(episode)}; give its observations, actions and rewards")
    observed = _names(_get(episode, "observations"))
    count = len(observed) - 1
    columns: dict[str, list[Any]] = {"state": observed[:-1], "next_state": observed[1:]}
    given = {name: _get(episode, part) for name, part in PARTS.items()}
    if isinstance(episode, Mapping):
        used = {
            "observations",
            "infos",
            "truncations",
            *PARTS.values(),
            *(n for names in OTHER.values() for n in names),
        }
        given |= {name: values for name, values in episode.items() if name not in used}
    given |= {
        name: values for name, values in _infos(_get(episode, "infos"), count).items() if name not in given
    }
    for name, values in given.items():
        if values is None or not hasattr(values, "__len__") or isinstance(values, str):
            continue
        listed = _names(values) if name == "action" else list(values)
        if len(listed) != count:
            if name in PARTS:
                raise InputError(
                    f"episode {number} has {len(listed)} {PARTS[name]} for {count + 1} observations; give {count}"
                )
            continue
        columns[str(name)] = listed
    return columns | {"episode": [number] * count, "step": list(range(count))}


def _infos(infos: Any, count: int) -> dict[str, Any]:
    """Return the entries of infos: a dictionary of arrays, or a list of dictionaries; those of n + 1 begin at the reset."""
    if isinstance(infos, Mapping):
        listed = {name: values for name, values in infos.items() if hasattr(values, "__len__")}
        return {name: values[1:] if len(values) == count + 1 else values for name, values in listed.items()}
    if isinstance(infos, Sequence) and infos and all(isinstance(one, Mapping) for one in infos):
        rows = infos[-count:] if len(infos) == count + 1 else infos
        return {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}
    return {}


def _names(values: Any) -> list[Any]:
    """Return observations or actions as names: those with several entries are tuples."""
    array = values if isinstance(values, list | tuple) else np.asarray(values).tolist()
    return [tuple(np.ravel(one).tolist()) if isinstance(one, list | np.ndarray) else one for one in array]
