"""A draw between tables: one of them is drawn at the start, and played for ever.

Long-run averages may need it. Whoever settles in one of two places cannot come back to the other, so that no stationary policy spends
half of the time in each; a draw does, in expectation.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common import arguments
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.common.frames import to_frame
from painless.common.render import number
from painless.policies.mixture import MixturePolicy
from painless.policies.table import TabularPolicy
from painless.problem import CMDP, require_problem
from painless.storage import files


@dataclass(frozen=True, eq=False)
class TableMixture(MixturePolicy):
    """Tables and the probabilities with which one of them is drawn at the start.

    Values and limits hold in expectation over the draw. `draw(rng)` returns the table to play.

    >>> stay, go = (TabularPolicy(np.array([row, [1.0, 0.0]])) for row in ([1.0, 0.0], [0.0, 1.0]))
    >>> mixture = TableMixture((stay, go), np.array([0.5, 0.5]))
    >>> mixture.probabilities.shape, mixture.draw(np.random.default_rng(0)) in (stay, go)
    ((2, 2, 2), True)
    """

    policies: tuple[TabularPolicy, ...]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        shapes = {policy.probabilities.shape for policy in self.policies}
        if len(shapes) > 1:
            raise InputError(
                f"the tables of a mixture have shapes {sorted(shapes)}; give tables of one problem"
            )

    def draw(self, rng: np.random.Generator) -> TabularPolicy:  # type: ignore[override]
        """Draw the table to play for ever."""
        return self.policies[int(rng.choice(len(self.policies), p=self.weights))]

    @property
    def probabilities(self) -> Array:
        """The probabilities of all tables, (n, S, A)."""
        return np.array([policy.probabilities for policy in self.policies])

    @property
    def names(self) -> Mapping[str, Any]:
        """Lists of names of states and actions."""
        return self.policies[0].names

    @property
    def visits(self) -> Array | None:
        """The share of time in each state in the long run if each table is drawn, (n, S), where it is known."""
        each = [policy.visits for policy in self.policies if policy.visits is not None]
        return np.array(each) if len(each) == len(self.policies) else None

    @property
    def flat(self) -> TabularPolicy:
        """One table over all draws and states; visits count with the probability of the draw."""
        _, states, actions = self.probabilities.shape
        known = self.names.get("states")
        given = known.texts if known else [f"state {s}" for s in range(states)]
        titles = [f"draw {i + 1} ({number(100 * w)} %)" for i, w in enumerate(self.weights)]
        names = {**self.names, "states": [f"{title}, {name}" for title in titles for name in given]}
        visits = None if self.visits is None else (self.weights[:, None] * self.visits).reshape(-1)
        return TabularPolicy(self.probabilities.reshape(-1, actions), names, visits)

    def chain(self, problem: CMDP) -> CMDP:
        """Refuse: each table has a chain of its own."""
        raise InputError(
            "a draw between tables has no single chain; take that of one table: policy.policies[0].chain(problem)"
        )

    def simulate(
        self,
        problem: CMDP,
        *,
        episodes: int = 1,
        steps: int = 100,
        seed: int = 0,
        make: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return trajectories as `TabularPolicy.simulate` does; each episode draws its table first."""
        episodes = arguments.whole("episodes", episodes)
        rng = np.random.default_rng(arguments.seed(seed))
        whole: dict[str, list[Any]] = {}
        for episode in range(episodes):
            table, draw = self.draw(rng), int(rng.integers(2**31))
            columns = table.simulate(require_problem(problem), steps=steps, seed=draw, make=dict)
            columns["episode"] = np.full(len(columns["episode"]), episode)
            for title, values in columns.items():
                whole.setdefault(title, []).append(values)
        return to_frame({title: _joined(parts) for title, parts in whole.items()}, make)

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each draw and state as a DataFrame; see `TabularPolicy.to_frame`."""
        parts = [policy.to_frame(dict) for policy in self.policies]
        states = len(parts[0]["state"])
        whole: dict[str, Any] = {
            "draw": np.repeat(np.arange(len(parts)), states),
            "probability": np.repeat(self.weights, states),
        }
        return to_frame(whole | {title: _joined([part[title] for part in parts]) for title in parts[0]}, make)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to an `.npz` file, which `load_policy` reads."""
        from painless.policies.storage import save_policy

        save_policy(self, path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return all tables as CSV, a row for each draw and state; write it to `path`."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        for i, policy in enumerate(self.policies):
            header, *rows = csv.reader(io.StringIO(policy.to_csv()))
            writer.writerows([["draw", "probability", *header]] if i == 0 else [])
            writer.writerows([i, repr(float(self.weights[i])), *row] for row in rows)
        if path is not None:
            files.write_atomically(path, lambda stream: stream.write(buffer.getvalue().encode()))
        return buffer.getvalue()


def _joined(parts: Sequence[Any]) -> Any:
    """Return columns below each other: arrays as an array, lists as a list."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in part]
