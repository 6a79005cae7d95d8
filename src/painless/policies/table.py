"""The policy that is deployed: a table of probabilities, and the checks of tables that users give."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.common.arguments import (
    as_floats,
    as_numbers,
    first,
    is_single,
    require_finite,
    require_not_negative,
    require_sums,
)
from painless.common.arrays import Array, Mask, frozen
from painless.common.errors import InputError, shown
from painless.common.frames import to_frame
from painless.common.render import visible
from painless.policies.lazy_visits import Counted, LazyVisits
from painless.problem import CMDP, require_problem, validation
from painless.problem.names import Names, locate, text_of
from painless.problem.transitions import normalised, owned
from painless.storage import files

MIXED = 0.01  # of the uniform policy, where a starting policy leaves out actions
TITLES = ("state", "visits")  # columns of a table that are no actions
DETERMINISTIC = 1e-9  # a largest probability of at least 1 − this counts as certain


@dataclass(frozen=True, eq=False)
class TabularPolicy:
    """A stationary policy as a table: `probabilities[s, a]` is the probability of action a in state s.

    >>> policy = TabularPolicy(np.array([[0.25, 0.75], [0.0, 1.0]]))
    >>> policy.randomised
    array([0])
    >>> policy.at([1])
    array([[0., 1.]])
    >>> named = TabularPolicy(policy.probabilities, {"states": ["old", "new"], "actions": ["sell", "keep"]})
    >>> named["old"], named.act("new")
    ({'sell': 0.25, 'keep': 0.75}, 'keep')
    """

    probabilities: Array  # (S, A)
    names: Mapping[str, Any] = field(default_factory=dict)  # lists of names of states and actions
    # (S,) discounted, where they are known; 0 in states that it never comes to.
    visits: LazyVisits = LazyVisits()  # noqa: RUF009 (a descriptor)

    def __post_init__(self) -> None:
        table = frozen(policy_table("probabilities", self.probabilities))
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "names", validation.names(self.names, (*table.shape, 0)))

    @classmethod
    def of_rows(
        cls, table: Array, names: Mapping[str, Names], visits: Counted = None, *, copy: bool = True
    ) -> TabularPolicy:
        """Return the policy of a table (S, A) whose rows were divided by their sums, without checking them; without a copy it takes the table over."""
        policy, rows = object.__new__(cls), table.copy() if copy else table
        rows.flags.writeable = False
        policy.__dict__.update(probabilities=rows, names=dict(names), visits=visits)
        return policy

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "visits": self.visits}

    @property
    def randomised(self) -> NDArray[np.intp]:
        """The states in which more than one action has a positive probability."""
        return np.flatnonzero(self.probabilities.max(-1) < 1 - DETERMINISTIC)

    def at(self, states: Any) -> Array:
        """Return the probabilities of all actions, (A,) in one state or (n, A) in several, given by names or by numbers.

        If names are numbers, a number is a name.
        """
        return self.probabilities[locate(self.names.get("states"), states, len(self.probabilities))]

    def act(self, state: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw an action in one state, and return its name if it has one, else its number.

        Without a generator, draw from one that is seeded by the system.
        """
        row = self._row(state)
        rng = np.random.default_rng() if rng is None else rng
        if not isinstance(rng, np.random.Generator):
            raise InputError(f"rng is {shown(rng)}; give a generator: np.random.default_rng(seed)")
        return self._action(int(rng.choice(len(row), p=row)))

    def __getitem__(self, state: Any) -> dict[Any, float]:
        """Return the actions that are taken in a state, by names or numbers, with their probabilities."""
        row = self._row(state)
        return {self._action(int(a)): float(row[a]) for a in np.flatnonzero(row)}

    __iter__ = None  # `policy[0]`, `policy[1]`, … are no sequence

    def _row(self, state: Any) -> Array:
        row = self.at(state)
        if row.ndim > 1:
            raise InputError(f"state is {shown(state)}; give one state, or take at(states) for several")
        return row

    def _action(self, action: int) -> Any:
        names = self.names.get("actions")
        return names[action] if names else action

    def without_names(self) -> TabularPolicy:
        """Return the same policy, whose states and actions are numbers."""
        return TabularPolicy(self.probabilities, visits=self.visits) if self.names else self

    def chain(self, problem: CMDP) -> CMDP:
        """Return the Markov chain that the policy makes of a problem: P_π and u_π as a problem with one action.

        Its `transition` and utilities are arrays, and `save` writes them, as a `.drn` file too.

        >>> import painless
        >>> world = painless.gridworld()
        >>> painless.solve(world).policy.chain(world)
        CMDP(25 states, 1 action, 1 constraint, discount 0.9, dense)
        """
        from painless.policies.chains import induced_chain

        return induced_chain(require_problem(problem), self)

    def simulate(
        self,
        problem: CMDP,
        *,
        episodes: int = 1,
        steps: int = 100,
        seed: int = 0,
        make: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return trajectories as a DataFrame with a row for each step: episode, step, state, action, next state and utilities.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns.

        >>> import painless
        >>> world = painless.gridworld()
        >>> walk = painless.solve(world).policy.simulate(world, steps=3, make=dict)
        >>> walk["state"][1:] == walk["next_state"][:-1]
        True
        """
        from painless.policies.chains import trajectories

        return trajectories(require_problem(problem), self, episodes, steps, seed, make)

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each state as a DataFrame: its name, the probability of each action, and the visits if known.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns; by default pandas does, or else Polars.

        >>> TabularPolicy([[0.25, 0.75]], {"states": ["old"]}).to_frame(dict)
        {'state': ['old'], 'action 0': array([0.25]), 'action 1': array([0.75])}
        """
        return to_frame(self._columns(), make)

    def _columns(self) -> dict[str, Any]:
        states, actions = self.probabilities.shape
        named = self.names.get("actions")
        titles = named.texts if named else [f"action {a}" for a in range(actions)]
        titles = [f"action {title}" if title in TITLES else title for title in titles]
        columns = {"state": list(self.names.get("states", range(states)))}
        columns |= dict(zip(titles, self.probabilities.T, strict=True))
        return columns if self.visits is None else columns | {"visits": self.visits}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to an `.npz` or `.csv` file, which `load_policy` reads."""
        from painless.policies.storage import save_policy

        save_policy(self, path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the table as CSV, a row for each state, with names where there are any; write it to `path`.

        The last column has the discounted visits, where they are known. A state with 0 visits is never come to.
        """
        columns = self._columns()
        states = map(visible, map(text_of, columns.pop("state")))
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["state", *map(visible, columns)])
        rows = zip(states, np.column_stack([*columns.values()]).tolist(), strict=True)
        writer.writerows([state, *map(repr, row)] for state, row in rows)
        if path is not None:
            files.write_atomically(path, lambda stream: stream.write(buffer.getvalue().encode()))
        return buffer.getvalue()


def policy_table(
    name: str, values: Any, axes: tuple[int, ...] = (2,), shape: tuple[int, int] | None = None
) -> Array:
    """Check that the rows of a table are distributions over the actions; return a copy with rows π/Σπ.

    `axes` are the numbers of axes that it may have, `shape` is (S, A) where that is known.
    """
    given = as_numbers(name, values)
    if given.ndim not in axes or not given.size or (shape and given.shape[-2:] != shape):
        one = ": np.eye(A)[actions] for one action in each" if given.ndim == 1 and given.size else ""
        raise InputError(
            f"{name} has shape {given.shape}, not (S, A){f' = {shape}' if shape else ''}; "
            f"give the probability of every action in every state{one}"
        )
    table = as_floats(name, given)
    require_finite(name, table)
    require_not_negative(name, table)
    require_sums(name, np.asarray(table.sum(-1)), True, is_single(given), "divide the row by its sum")
    return owned(normalised(table), given)


def checked_policy(
    given: ArrayLike | TabularPolicy, actions: Mask, name: str = "policy", axes: tuple[int, ...] = (2,)
) -> Array:
    """Check a policy of a problem whose states have these actions, (S, A); return its table.

    >>> checked_policy([[0.5, 0.5]], np.array([[True, False]]))
    Traceback (most recent call last):
        ...
    painless.common.errors.InputError: policy[0, 1] is 0.5, but state 0 does not have action 1; set it to 0
    """
    values = given.probabilities if isinstance(given, TabularPolicy) else given
    table = policy_table(name, values, axes, actions.shape)
    wrong = (table > 0) & ~actions
    if wrong.any():
        state, action = (int(i) for i in np.argwhere(wrong)[0][-2:])
        raise InputError(
            f"{name}{first(wrong)} is {table[wrong][0]:g}, but state {state} does not have action {action}; "
            "set it to 0"
        )
    return table


def uniform_policy(actions: Mask) -> Array:
    """Return the policy that takes every available action equally often, (S, A)."""
    return actions / actions.sum(-1, keepdims=True)


def restricted(policy: Array, actions: Mask) -> Array:
    """Return a policy (…, S, A) without the actions that are not available; uniform where nothing is left."""
    if not np.where(actions, 0.0, policy).any():
        return policy
    kept = np.where(actions, policy, 0.0)
    total = kept.sum(-1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), uniform_policy(actions))


def dirichlet_policy(actions: Mask, rng: np.random.Generator) -> Array:
    """Draw every row from Dirichlet(1, …, 1) over the available actions, (S, A)."""
    draws = np.where(actions, rng.standard_exponential(actions.shape), 0.0)
    return draws / draws.sum(-1, keepdims=True)


def initial_policy(given: ArrayLike | TabularPolicy | None, actions: Mask) -> Array:
    """Check a starting policy, (S, A) or (B, S, A); None is the uniform policy over available actions.

    An action that starts at 0 would stay there. In states where an available one does, `MIXED` = 1 % of the uniform policy is
    mixed in: π ← 0.99·π + 0.01·uniform.
    """
    uniform = uniform_policy(actions)
    if given is None:
        return uniform
    policy = checked_policy(given, actions, "initial_policy", (2, 3))
    stuck = ((policy == 0) & actions).any(-1, keepdims=True)
    return np.where(stuck, (1 - MIXED) * policy + MIXED * uniform, policy)
