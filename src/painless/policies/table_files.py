"""Tables of probabilities as arrays of a file and as CSV, and back."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.policies.action_mixture import ActionMixture
from painless.policies.table import TITLES, TabularPolicy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.storage import checked_entries as entries
from painless.storage import files

GROWTH = 16  # bytes that a byte of a CSV may become, about
NUMBERED = "action {}".format  # how an action without a name is called in a CSV


def table_arrays(policy: TabularPolicy | TimedPolicy | TableMixture | ActionMixture) -> dict[str, Any]:
    """Return everything that a table is made of, or the tables of all steps or of all draws, or their actions."""
    arrays = {f"names_{kind}": names.as_array() for kind, names in policy.names.items()}
    arrays |= {} if policy.visits is None else {"visits": policy.visits}
    arrays |= {"weights": policy.weights} if isinstance(policy, TableMixture | ActionMixture) else {}
    if isinstance(policy, ActionMixture):
        return arrays | {"actions": policy.actions}
    return arrays | {"probabilities": policy.probabilities}


def table_of(arrays: Mapping[str, Any]) -> TabularPolicy | TimedPolicy | TableMixture | ActionMixture:
    """Return the table, or the tables of all steps or of all draws, or their actions, that `table_arrays` took apart."""
    if "probabilities" not in arrays and "actions" in arrays:
        return _actions_of(arrays)
    timed = np.ndim(arrays["probabilities"]) == 3
    table = entries.distributions(arrays, "probabilities", (None,) * (3 if timed else 2))
    counts = dict(zip(("states", "actions"), table.shape[-2:], strict=True))
    kinds = [key.removeprefix("names_") for key in arrays if key.startswith("names_")]
    names = {kind: entries.names(arrays, f"names_{kind}", counts[kind]) for kind in kinds}
    visits = entries.floats(arrays, "visits", table.shape[:-1], least=0.0) if "visits" in arrays else None
    if "weights" in arrays and timed:
        weights = entries.distributions(arrays, "weights", (len(table),))
        each = [None] * len(table) if visits is None else visits
        return TableMixture(
            tuple(TabularPolicy(t, names, v) for t, v in zip(table, each, strict=True)), weights
        )
    return TimedPolicy(table, names, visits) if timed else TabularPolicy(table, names, visits)


def _actions_of(arrays: Mapping[str, Any]) -> ActionMixture:
    actions = np.asarray(arrays["actions"])
    named = {"actions": arrays["names_actions"]} if "names_actions" in arrays else {}
    names = {kind: entries.names(arrays, f"names_{kind}", len(given)) for kind, given in named.items()}
    weights = entries.distributions(arrays, "weights", (len(actions),))
    return ActionMixture(actions, weights, names)


def read_csv(path: str | os.PathLike[str]) -> TabularPolicy:
    """Read what `TabularPolicy.to_csv` wrote; a row of probabilities for each state, below the names of the actions."""
    try:
        text = files.read_bytes(path, GROWTH).decode("utf-8-sig")
        header, *rows = (row for row in csv.reader(io.StringIO(text, newline="")) if row)
        visited = header[-1] == TITLES[1]
        actions = [_action(title) for title in header[1 : -1 if visited else None]]
        values = np.array([[float(value) for value in row[1:]] for row in rows])
        if header[0] != TITLES[0] or values.shape != (len(rows), len(header) - 1) or not values.size:
            raise ValueError("its columns are not state, one for each action, and visits")
    except InputError:
        raise
    except (csv.Error, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a policy as to_csv writes it: {error}; write it again") from error
    names: dict[str, Any] = {"states": [row[0] for row in rows], "actions": actions}
    if names["states"] == [str(s) for s in range(len(rows))]:
        del names["states"]
    if actions == [NUMBERED(a) for a in range(len(actions))]:
        del names["actions"]
    table, visits = (values[:, :-1], values[:, -1]) if visited else (values, None)
    try:
        return TabularPolicy(table, names, visits)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _action(title: str) -> str:
    """Return the name of an action from its title, which differs if a column of another kind has that one."""
    return next((name for name in TITLES if title == NUMBERED(name)), title)
