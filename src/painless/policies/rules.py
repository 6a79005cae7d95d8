"""Policies as people write them: a rule of thumb by names, a function, a table, or an answer of `solve`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from painless.common.arguments import number
from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.policies.table import TabularPolicy, checked_policy
from painless.problem import CMDP


def as_policy(given: Any, problem: CMDP, name: str = "policy") -> TabularPolicy:
    """Return a policy of a problem, with the problem's names.

    `given` is one of

    - a table of probabilities (S, A), a `TabularPolicy`, or a solution, whose policy is taken;
    - an action for each state, by names or numbers: a list, a dictionary `{state: action}` or a function of the state. In place of
      an action, a dictionary `{action: probability}` may stand. A dictionary may leave out states that have one action.

    >>> import painless
    >>> policy = as_policy({"good": "work", "worn": {"work": 0.5, "repair": 0.5}}, CMDP(
    ...     np.ones((2, 2, 2)) / 2, np.zeros((2, 2)), initial=[1.0, 0.0], discount=0.9,
    ...     names={"states": ["good", "worn"], "actions": ["work", "repair"]},
    ... ))
    >>> policy.probabilities
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    given = given.policy if isinstance(getattr(given, "policy", None), TabularPolicy) else given
    names = {kind: known for kind, known in problem.names.items() if kind != "constraints"}
    if isinstance(given, TabularPolicy):
        return TabularPolicy(aligned(given, problem, name), names)
    if isinstance(given, Mapping):
        return TabularPolicy(_by_state(given, problem, name), names)
    if callable(given):
        return TabularPolicy(_by_rule(given, problem, name), names)
    if isinstance(given, list | tuple | np.ndarray) and np.shape(given)[1:] == ():
        if len(given) != problem.shape[0]:
            raise InputError(
                f"{name} has {len(given)} actions for {problem.shape[0]} states; give one for each"
            )
        listed = given.tolist() if isinstance(given, np.ndarray) else given
        return TabularPolicy(np.array([_row(one, s, problem, name) for s, one in enumerate(listed)]), names)
    if isinstance(given, np.ndarray | list | tuple):
        return TabularPolicy(checked_policy(given, problem.actions, name), names)
    raise InputError(
        f"{name} is {shown(given)}; give a table of probabilities (S, A), a solution, a dictionary {{state: action}} or a "
        "function of the state"
    )


def aligned(policy: TabularPolicy, problem: CMDP, name: str = "policy") -> Array:
    """Return the table of a policy, (S, A), in the order of the problem's names if both have names."""
    table = policy.probabilities
    for axis, kind in enumerate(("states", "actions")):
        own, known = policy.names.get(kind), problem.names.get(kind)
        if own is None or known is None or own.texts == known.texts:
            continue
        if strange := [text for text in own.texts if text not in known.places]:
            raise InputError(f"{name}: {known.missing(kind.removesuffix('s'), strange[0])}")
        found = [own.places.get(text, -1) for text in known.texts]
        if kind == "states" and -1 in found:
            raise InputError(f"{name} has no row for state {shown(known.texts[found.index(-1)])}; add it")
        padded = np.concatenate([table, np.zeros_like(table.take([0], axis))], axis)  # the last stands for −1
        table = padded.take(found, axis)
    return checked_policy(table, problem.actions, name)


def _by_state(given: Mapping[Any, Any], problem: CMDP, name: str) -> Array:
    table = np.zeros(problem.actions.shape)
    single = problem.actions.sum(1) == 1
    table[single] = problem.actions[single]
    todo = ~single
    for state, action in given.items():
        place = problem.index("states", state)
        table[place], todo[place] = _row(action, place, problem, name), False
    if todo.any():
        missing = problem.name("states", int(np.argmax(todo)))
        raise InputError(f"{name} has no action for state {shown(missing)}; add it")
    return table


def _by_rule(rule: Callable[[Any], Any], problem: CMDP, name: str) -> Array:
    states = problem.names.get("states", range(problem.shape[0]))
    return np.array([_row(rule(state), place, problem, name) for place, state in enumerate(states)])


def _row(given: Any, state: int, problem: CMDP, name: str) -> Array:
    """Return the probabilities of all actions in a state, (A,)."""
    shares = given if isinstance(given, Mapping) else {given: 1.0}
    row = np.zeros(problem.shape[1])
    for action, share in shares.items():
        place = problem.index("actions", action)
        probability = number(f"{name}: the probability of {action!r}", share, "give one")
        where = shown(problem.name("states", state))
        if not 0 <= probability <= 1:
            raise InputError(
                f"{name}: the probability of {action!r} in state {where} is {probability:g}; correct it"
            )
        if probability and not problem.actions[state, place]:
            has = ", ".join(problem.name("actions", int(a)) for a in np.flatnonzero(problem.actions[state]))
            raise InputError(f"{name}: state {where} does not have action {action!r}; it has {has}")
        row[place] += probability
    if abs(row.sum() - 1) > 1e-8:
        raise InputError(
            f"{name}: the probabilities in state {shown(problem.name('states', state))} sum to {row.sum():.6g}, not 1; "
            "correct them"
        )
    return row
