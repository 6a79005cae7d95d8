"""The counts of a log in a file, from which its model is made again without its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from painless.counting.memory import Memory
from painless.logs.adding import Adding
from painless.logs.episode_tally import Starts
from painless.logs.log_columns import LogColumns
from painless.logs.logged_model import LoggedModel
from painless.logs.previous import Previous
from painless.logs.tally import KeptRows
from painless.logs.whole_episodes import Returns
from painless.problem import load
from painless.problem.names import Names
from painless.storage import results

COUNTS = "counts.npz"
ARRAYS = ("keys", "counts", "sums", "squares", "starts", "low", "high")  # of a memory
SINGLE = ("reward", "cost", "episode", "done", "step")
LIMITS = ("constraint_reward", "constraint_cost")


def save_counts(folder: Path, log: LoggedModel) -> None:
    """Write the counts of a log."""
    arrays = {name: getattr(log.memory, name) for name in ARRAYS}
    arrays["first"] = log.starts.by_state
    arrays["other_starts"] = np.array([log.starts.closed, log.starts.broken])
    results.write(folder / COUNTS, "log", arrays)


def about(log: LoggedModel) -> dict[str, Any]:
    """Return what the counts do not say: columns, limits and criterion."""
    given = {name: getattr(log.columns, name) for name in SINGLE}
    return {
        "columns": {name: None if value is None else str(value) for name, value in given.items()}
        | {
            name: [[str(key), float(value)] for key, value in getattr(log.columns, name).items()]
            for name in LIMITS
        },
        "criterion": {
            "discount": log.adding.discount,
            "horizon": log.adding.horizon,
            "average": log.adding.average,
        },
        "initial_given": log.initial_given,
        "untried": log.untried,
    }


def load_counts(folder: Path, given: dict[str, Any]) -> LoggedModel:
    """Return the log whose counts were saved; its rows, and what came of its episodes, are not there any more."""
    arrays = results.read(folder / COUNTS, "log")
    with results.understood(folder, "log"):
        names = load(folder / "problem.npz").names
        utilities = arrays["low"].shape[0]
        memory = Memory(len(names["actions"]), utilities)
        for name in ARRAYS:
            setattr(memory, name, arrays[name])
        listed: dict[str, Any] = {name: given["columns"][name] for name in SINGLE}
        listed |= {name: {str(key): float(value) for key, value in given["columns"][name]} for name in LIMITS}
        columns = LogColumns(**listed)
        none = np.empty(0, dtype=np.int64)
        return LoggedModel(
            memory,
            columns,
            Names(names["states"][: memory.states]),
            names["actions"],
            Adding(**given["criterion"]),
            Starts(arrays["first"], *(int(count) for count in arrays["other_starts"])),
            Returns.of(np.zeros((0, utilities)), np.zeros(0)),
            Previous.empty(utilities),
            KeptRows(none, none, none, np.empty((0, utilities)), none, whole=False),
            bool(given["initial_given"]),
            bool(given["untried"]),
        )
