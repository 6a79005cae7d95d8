"""Policies of a finite horizon: a table for each step."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arguments import whole
from painless.common.arrays import Array, frozen
from painless.common.errors import InputError
from painless.common.frames import to_frame
from painless.policies.lazy_visits import Counted, LazyVisits
from painless.policies.table import DETERMINISTIC, TabularPolicy, policy_table
from painless.problem import CMDP, require_problem, validation
from painless.problem.names import Names
from painless.problem.transitions import normalised
from painless.storage import files


@dataclass(frozen=True, eq=False)
class TimedPolicy:
    """A policy that depends on the step: `probabilities[t, s, a]` is the probability of action a in state s at step t.

    >>> policy = TimedPolicy(np.array([[[0.25, 0.75]], [[0.0, 1.0]]]))
    >>> policy.at(0, step=1)
    array([0., 1.])
    >>> policy.randomised
    array([[0, 0]])
    """

    probabilities: Array  # (H, S, A)
    names: Mapping[str, Any] = field(default_factory=dict)  # lists of names of states and actions
    # (H, S), where they are known; 0 in states that it never comes to.
    visits: LazyVisits = LazyVisits()  # noqa: RUF009 (a descriptor)

    def __post_init__(self) -> None:
        given = np.asarray(self.probabilities)
        table = frozen(policy_table("probabilities", given, (3,)) if len(given) else given)
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "names", validation.names(self.names, (*table.shape[1:], 0)))

    @classmethod
    def of_rows(cls, table: Array, names: Mapping[str, Names], visits: Counted = None) -> TimedPolicy:
        """Return the policy of a table (H, S, A) whose rows are distributions up to rounding, without checking them; it takes over the table."""
        policy = object.__new__(cls)
        policy.__dict__.update(probabilities=frozen(normalised(table)), names=dict(names), visits=visits)
        return policy

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "visits": self.visits}

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def randomised(self) -> NDArray[np.intp]:
        """The steps and states, (n, 2), in which more than one action has a positive probability."""
        return np.argwhere(self.probabilities.max(-1) < 1 - DETERMINISTIC)

    def step(self, step: int) -> TabularPolicy:
        """Return the table of one step."""
        if whole("step", step, least=0) >= len(self):
            raise InputError(f"step is {step}; the policy has the steps 0 to {len(self) - 1}")
        visits = None if self.visits is None else self.visits[step]
        return TabularPolicy(self.probabilities[step], self.names, visits)

    def at(self, states: Any, step: int) -> Array:
        """Return the probabilities of all actions at a step, (A,) in one state or (n, A) in several, by names or numbers."""
        return self.step(step).at(states)

    def act(self, state: Any, step: int, rng: np.random.Generator | None = None) -> Any:
        """Draw an action, and return its name if it has one; without a generator, from one that is seeded by the system."""
        return self.step(step).act(state, rng)

    @property
    def flat(self) -> TabularPolicy:
        """One table over all steps and states, numbered t·S + s."""
        steps, states, actions = self.probabilities.shape
        known = self.names.get("states")
        given = known.texts if known else [f"state {s}" for s in range(states)]
        names = {**self.names, "states": [f"step {t}, {name}" for t in range(steps) for name in given]}
        visits = None if self.visits is None else self.visits.reshape(-1)
        return TabularPolicy(self.probabilities.reshape(-1, actions), names, visits)

    def chain(self, problem: CMDP) -> CMDP:
        """Return the Markov chain that the policy makes of a problem with its horizon: one action, and transitions for each step."""
        from painless.policies.chains import induced_chain

        return induced_chain(require_problem(problem), self)

    def simulate(
        self, problem: CMDP, *, episodes: int = 1, seed: int = 0, make: Callable[[Any], Any] | None = None
    ) -> Any:
        """Return all steps of some episodes as a DataFrame: episode, step, state, action, next state and utilities.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns. A last utility is part of the last step, on average.
        """
        from painless.policies.chains import timed_trajectories

        return timed_trajectories(require_problem(problem), self, episodes, seed, make)

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each step and state as a DataFrame; see `TabularPolicy.to_frame`."""
        columns = self.step(0).to_frame(dict)
        steps, states, actions = self.probabilities.shape
        parts = [column for column in columns if column not in ("state", "visits")]
        tables = dict(zip(parts, self.probabilities.reshape(-1, actions).T, strict=True))
        whole = {"step": np.repeat(np.arange(steps), states), "state": columns["state"] * steps, **tables}
        return to_frame(whole if self.visits is None else whole | {"visits": self.visits.reshape(-1)}, make)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the tables of all steps as CSV, a row for each step and state; write it to `path`."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        for t in range(len(self)):
            header, *rows = csv.reader(io.StringIO(self.step(t).to_csv()))
            writer.writerows([["step", *header]] if t == 0 else [])
            writer.writerows([t, *row] for row in rows)
        if path is not None:
            files.write_atomically(path, lambda stream: stream.write(buffer.getvalue().encode()))
        return buffer.getvalue()


def policy_of(
    problem: CMDP, table: Array, visits: Counted = None, *, copy: bool = True
) -> TabularPolicy | TimedPolicy:
    """Return a table over the states of a problem, whose rows are distributions, as its policy.

    For a horizon (H·S, A) becomes (H, S, A), and the policy takes over the table, which is large; so it does without a copy.
    """
    names = {kind: given for kind, given in problem.names.items() if kind != "constraints"}
    if problem.stages is None:
        return TabularPolicy.of_rows(normalised(table), names, visits, copy=copy)
    steps, shape = problem.horizon or 0, (-1, problem.stages.states, table.shape[1])

    def seen() -> Array | None:
        counted = visits() if callable(visits) else visits
        return None if counted is None else counted.reshape(shape[:2])[:steps]

    return TimedPolicy.of_rows(table.reshape(shape)[:steps], names, seen)
