"""`from_log`: a log of what was done and what came of it, read in chunks."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from painless.common.errors import InputError
from painless.logs.adding import Adding, checked_adding
from painless.logs.chunks import CHUNK, Chunk, chunks
from painless.logs.episode_tally import Scattered
from painless.logs.log_columns import LogColumns
from painless.logs.logged_model import LoggedModel, logged_model
from painless.logs.tally import Tally
from painless.problem.columns import ColumnNames, titles

RECORDED = {"reward": "reward", "episode": "episode", "done": "done", "step": "step"}  # of recorded episodes
ORDER = {"state": 0, "action": 1, "next_state": 2, "reward": 3}  # of rows that are tuples


def from_log(
    frame: Any,
    *,
    state: ColumnNames = "state",
    action: ColumnNames = "action",
    next_state: ColumnNames = "next_state",
    reward: Hashable = None,
    cost: Hashable = None,
    constraint_reward: Mapping[Any, float] | None = None,
    constraint_cost: Mapping[Any, float] | None = None,
    episode: Hashable = None,
    done: Hashable = None,
    step: Hashable = None,
    initial: Any = None,
    discount: float | None = None,
    horizon: int | None = None,
    average: bool = False,
    untried: bool = False,
) -> LoggedModel:
    """Make a model of a log with a row for each step that was taken.

    Arguments:
        frame: a pandas or Polars DataFrame, a dictionary of columns, rows as tuples or dictionaries, episodes as Gymnasium's tools record them, or the path of a
            `.csv` or `.parquet` file, which is read in chunks.
        state, action, next_state: the columns with the names: texts, numbers, tuples or dates. A list of columns gives tuples. Tuples have numbers as columns.
        reward: the column to maximise; `cost` in its place, the column to minimise.
        constraint_reward: the lower limits by column, such as `{"sold": 10}`.
        constraint_cost: the upper limits by column, such as `{"lost": 2}`.
        episode: the column that says which rows belong together. An episode begins in the state that it leaves once more often than it enters it.
        done: the column that says after which rows nothing more happens; their next state may be empty, and is no state. Without it no row ends.
        step: the column that counts the rows of an episode, if they are not in order.
        initial: the name of the first state, or probabilities by name. By default, where the episodes of the log begin; without episodes,
            every state as often as the log has it.
        discount: γ in [0, 1). 1 is the total until the end, which needs `done`.
        horizon: H, if values are sums over the first H steps; γ is 1 by default then.
        average: True for long-run averages per step, which have no discount and no end.
        untried: whether actions that were never tried in a state are available there; they then lead to the worst.

    States and actions are sorted, so that the order of the rows does not matter.

    >>> rows = {"state": ["low", "high", "low"], "action": ["buy", "sell", "buy"], "next_state": ["high", "low", "low"]}
    >>> log = from_log(rows | {"profit": [0.0, 3.0, -1.0]}, reward="profit", discount=0.9)
    >>> log, log.counts.tolist()
    (LoggedModel(3 rows, 2 states, 2 actions, 0 constraints, discount 0.9), [[0, 1], [2, 0]])
    """
    roles: dict[str, Any] = {"state": state, "action": action, "next_state": next_state, "reward": reward}
    roles |= {"cost": cost, "episode": episode, "done": done, "step": step}
    roles |= {"constraint_reward": constraint_reward or {}, "constraint_cost": constraint_cost or {}}
    adding = checked_adding(discount, horizon, average, done)
    source = list(frame) if isinstance(frame, Iterator) else frame  # it may be read twice
    try:
        try:
            tally = _read(source, roles, adding, scattered=False)
        except Scattered:
            tally = _read(source, roles, adding, scattered=True)
        return logged_model(tally, tally.columns, adding, initial, untried=untried)
    except InputError as error:
        if not isinstance(frame, str | os.PathLike) or str(error).startswith(os.fspath(frame)):
            raise
        raise InputError(f"{os.fspath(frame)}: {error}") from error


def _read(source: Any, roles: dict[str, Any], adding: Adding, *, scattered: bool) -> Tally:
    """Add up a log, chunk by chunk."""
    tally = None
    for chunk in chunks(source, CHUNK):
        if tally is None:
            columns = LogColumns(**_completed(roles, chunk))
            columns.limit  # noqa: B018  rejects limits that are no numbers before anything is read
            if adding.average and columns.done is not None:  # that of recorded episodes
                columns = replace(columns, done=None)
            tally = Tally(columns, adding, scattered=scattered)
        tally.add(chunk)
    if tally is None:
        raise InputError("the log has no rows; give one for each step")
    tally.complete()
    return tally


def _completed(roles: dict[str, Any], chunk: Chunk) -> dict[str, Any]:
    """Return the columns, where those of recorded episodes and of tuples are known without being named."""
    known = titles(chunk.columns)
    if all(isinstance(name, int) for name in known):
        default = {"state": "state", "action": "action", "next_state": "next_state"}
        places = {role: ORDER[role] for role, name in default.items() if roles[role] == name}
        if roles["reward"] is None and roles["cost"] is None:
            places["reward"] = ORDER["reward"]
        return roles | places
    if not chunk.recorded:
        return roles
    taken = {name for name in RECORDED if roles[name] is not None} | (
        {"reward"} if roles["cost"] is not None else set()
    )
    return roles | {role: name for role, name in RECORDED.items() if role not in taken and name in known}
