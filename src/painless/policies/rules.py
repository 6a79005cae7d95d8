"""Policies as people write them: a rule of thumb by names, a function, a table, or an answer of `solve`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from painless.common.arguments import number
from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.policies.mixture import MixturePolicy
from painless.policies.table import TabularPolicy, checked_policy
from painless.policies.timed import TimedPolicy
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
    own = getattr(given, "policy", None)
    given = own if isinstance(own, TabularPolicy | TimedPolicy | MixturePolicy) else given
    if isinstance(given, MixturePolicy):
        raise InputError(
            f"{name} is a draw between {len(given.policies)} policies, not one; give one of its policies"
        )
    names = {kind: known for kind, known in problem.names.items() if kind != "constraints"}
    if problem.stages is not None:
        names.pop("states", None)
    if isinstance(given, TabularPolicy | TimedPolicy):
        return TabularPolicy(aligned(given, problem, name), names)
    if isinstance(given, Mapping):
        return TabularPolicy(_by_state(given, problem, name), names)
    if callable(given):
        return TabularPolicy(_by_rule(given, problem, name), names)
    if not isinstance(given, np.ndarray | list | tuple):
        raise InputError(
            f"{name} is {shown(given)}; give a table of probabilities (S, A), a solution, a dictionary {{state: action}} or "
            "a function of the state"
        )
    if not isinstance(given, np.ndarray) and any(isinstance(one, str | Mapping) for one in given):
        return TabularPolicy(_by_list(given, problem, name), names)
    if np.ndim(given) == 1:
        return TabularPolicy(_by_list(np.asarray(given).tolist(), problem, name), names)
    return TabularPolicy(_checked(np.asarray(given), problem, name), names)


def aligned(policy: TabularPolicy | TimedPolicy, problem: CMDP, name: str = "policy") -> Array:
    """Return the table of a policy, (S, A), in the order of the problem's names if both have names; with a horizon, (H·S, A)."""
    if isinstance(policy, TimedPolicy):
        if problem.horizon != len(policy):
            raise InputError(f"{name} has {len(policy)} steps; give one for a problem with that horizon")
        if not len(policy):  # no step: there is one action, which does nothing
            return problem.actions.astype(np.float64)
        steps = [_in_order(policy.step(t), problem, name) for t in range(len(policy))]
        return _checked(np.array(steps), problem, name)
    return _checked(_in_order(policy, problem, name), problem, name)


def _checked(table: Array, problem: CMDP, name: str) -> Array:
    """Check a table (S, A), which holds for every step of a horizon, or one with all steps, (H, S, A)."""
    steps = problem.shape[0] // problem.transition.shape[-1]
    if problem.stages is not None and table.ndim == 2 and len(table) != problem.shape[0]:
        table = np.concatenate([table] * steps)
    elif problem.stages is not None and table.ndim == 3:
        table = table.reshape(-1, table.shape[-1])
    return checked_policy(table, problem.actions, name)


def _in_order(policy: TabularPolicy, problem: CMDP, name: str) -> Array:
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
    return table


def _by_state(given: Mapping[Any, Any], problem: CMDP, name: str) -> Array:
    states = problem.transition.shape[-1]
    table = np.zeros(problem.actions.shape)
    single = problem.actions.sum(1) == 1
    table[single] = problem.actions[single]
    todo = ~single
    for state, action in given.items():
        for place in range(problem.index("states", state), len(table), states):  # at every step
            table[place], todo[place] = _row(action, place, problem, name), False
    if todo.any():
        missing = problem.name("states", int(np.argmax(todo)))
        raise InputError(f"{name} has no action for state {shown(missing)}; add it")
    return table


def _by_rule(rule: Callable[[Any], Any], problem: CMDP, name: str) -> Array:
    states = problem.names.get("states", range(problem.transition.shape[-1]))
    return _by_list([rule(state) for state in states], problem, name)


def _by_list(given: Sequence[Any], problem: CMDP, name: str) -> Array:
    states = problem.transition.shape[-1]
    if len(given) != states:
        raise InputError(f"{name} has {len(given)} actions for {states} states; give one for each")
    return np.array([_row(given[place % states], place, problem, name) for place in range(problem.shape[0])])


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
