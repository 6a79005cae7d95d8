"""Simulators: a batch of states and actions in; next states, all J utilities and endings out.

A simulator can be stepped, but its probabilities are not known. Utilities are in the internal
sense (the reward is maximised, constraints are ≥), as in `CMDP`; the specification remembers the user's
terms. Termination ends an episode, and nothing is gained after it. A time limit ends the simulation, not
the problem: action values bootstrap there, and the values at ρ are those of the limited episode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from painless.common import arguments
from painless.common.arguments import SUM_TOLERANCE
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem import CMDP, Criterion, transitions, validation
from painless.problem.ending import missing

UNTIL_THE_END = 10_000  # steps of an episode whose total is asked for
AVERAGED = 1000  # steps of an episode of which a long-run average is estimated
States = NDArray[Any]  # (n, D) of numbers, or (n,) of the indices of a table


class Outcome(NamedTuple):
    """What a batch of n steps led to."""

    states: States
    utilities: Array  # (n, J)
    terminated: Mask  # (n,)
    truncated: Mask | None = None  # (n,) where a time limit of the simulator's own cut an episode off


@dataclass(frozen=True, eq=False)
class Specification:
    """What is known of a simulator without running it."""

    actions: int
    discount: float
    threshold: Array  # (K,) in the internal sense
    low: Array  # (J,) the least that each utility can be in one step
    high: Array  # (J,) the largest
    time_limit: int | None = None
    sense: tuple[str, ...] = ()  # as the user has it; all ">=" by default
    minimise: bool = False
    constraint_names: tuple[str, ...] = ()
    generative: bool = False  # whether `step` accepts any state, and not only those it has led to
    declared: bool = True  # whether the ranges are known; else they are what was seen
    average: bool = False  # whether a value is the average per step, with a discount of 1
    ends: bool = False  # whether a value is the total until the end, with a discount of 1
    horizon: bool = False  # whether a value is the sum over exactly `time_limit` steps

    def __post_init__(self) -> None:
        undiscounted = self.average or self.ends or self.horizon
        validation.discount(self.discount, largest=1.0 if undiscounted else None)
        arguments.whole("actions", self.actions)
        count = len(self.threshold)
        if len(self.low) != 1 + count or len(self.high) != 1 + count:
            raise InputError(f"{count} thresholds need ranges of {1 + count} utilities, the reward's first")
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()) or (self.low > self.high).any():
            raise InputError("the declared ranges must be finite, the low end at most the high end")
        if self.time_limit is not None:
            arguments.whole("time_limit", self.time_limit)
        object.__setattr__(self, "sense", self.sense or (">=",) * count)
        names = self.constraint_names or tuple(f"constraint {i + 1}" for i in range(count))
        object.__setattr__(self, "constraint_names", names)

    @cached_property
    def sign(self) -> Array:
        """+1 or −1 for each utility, (J,): the user's value is sign times the internal one."""
        return np.array([-1.0 if self.minimise else 1.0] + [1.0 if s == ">=" else -1.0 for s in self.sense])

    @property
    def limit(self) -> Array:
        """Thresholds and budgets in the user's terms, (K,)."""
        return self.threshold * self.sign[1:]

    @cached_property
    def span(self) -> Array:
        """The range of each utility with 0 in it, since nothing is gained after the end; 1 in place of 0."""
        span = np.maximum(self.high, 0.0) - np.minimum(self.low, 0.0)
        return np.where(span > 0, span, 1.0)

    @property
    def steps(self) -> float:
        """The largest discounted number of steps, (1 − γ^limit)/(1−γ)."""
        return discounted_steps(self.discount, self.time_limit)

    @property
    def return_range(self) -> tuple[Array, Array]:
        """The least and the largest discounted return of each utility, (J,) both."""
        return np.minimum(self.low, 0.0) * self.steps, np.maximum(self.high, 0.0) * self.steps


def discounted_steps(discount: float, limit: int | None) -> float:
    """1 + γ + … + γ^(limit−1)."""
    if discount == 1:
        return np.inf if limit is None else float(limit)
    return (1 - (0.0 if limit is None else discount**limit)) / (1 - discount)


class Simulator(Protocol):
    """A process that can be stepped, a batch at a time.

    A generative simulator keeps no state of its own. Another may: its steps continue the episodes of its last
    `reset`, all that have not ended, in their order.
    """

    @property
    def specification(self) -> Specification:
        """What is known of it without running it."""

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Draw the first states of `count` episodes."""

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Take one action in each state."""


def require_simulator(given: Any) -> Simulator:
    """Raise an error for objects that are not simulators."""
    parts = ("reset", "step")
    if isinstance(given, type) or not all(callable(getattr(given, part, None)) for part in parts):
        raise InputError(
            f"{_shown(given)} is neither a problem nor a simulator; give a CMDP, such as painless.make('gridworld'), "
            "or an object with specification, reset and step"
        )
    if not isinstance(getattr(given, "specification", None), Specification):
        raise InputError(
            f"{_shown(given)} has no specification; from_gymnasium makes simulators of environments"
        )
    found: Simulator = given
    return found


def _shown(given: Any) -> str:
    return repr(given) if isinstance(given, str) else f"a {type(given).__name__}"


@dataclass(frozen=True, eq=False)
class TableSimulator:
    """A table as a simulator: successors are drawn from its rows. It never terminates, unless totals until an end are asked for.

    Arguments:
        problem: the table.
        time_limit: the length of episodes; by default what leaves out at most 1e-3 of any value, and 10,000 steps for totals.

    >>> import painless
    >>> simulator = TableSimulator(painless.gridworld())
    >>> simulator.specification.time_limit
    66
    """

    problem: CMDP
    time_limit: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.problem, CMDP):
            raise InputError(f"{_shown(self.problem)} is not a table; give a CMDP")
        self.problem.require_stationary("a simulator")
        if self.time_limit is not None:
            arguments.whole("time_limit", self.time_limit)
        transitions.require_sound(self.problem.transition)

    @cached_property
    def specification(self) -> Specification:
        """What the table says of itself."""
        problem = self.problem
        discount = problem.discount
        if problem.criterion is Criterion.AVERAGE:
            enough = AVERAGED
        elif problem.criterion is Criterion.TOTAL:
            enough = UNTIL_THE_END
        else:
            enough = 1 if discount == 0 else int(np.ceil(np.log(1e-3) / np.log(discount)))
        return table_specification(problem, self.time_limit or max(enough, 1))

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Draw first states from ρ."""
        return rng.choice(len(self.problem.initial), size=count, p=self.problem.initial)

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Draw successors from the rows of the pairs."""
        problem = self.problem
        require_available(problem, states, actions)
        if problem.criterion is Criterion.TOTAL:
            return self._step_or_end(states, actions, rng)
        return self._step(states, actions, rng)

    def _step_or_end(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Step, or end the process: with what a row lacks, or in a state that can only stay and pays nothing."""
        chance = self._missing[states, actions]
        utilities = self.problem.utility[:, states, actions].T
        successors, goes = states.copy(), rng.random(len(states)) >= chance
        if goes.any():
            successors[goes] = self._step(states[goes], actions[goes], rng).states
        return Outcome(successors, utilities, ~goes | self._stays[successors])

    @cached_property
    def _missing(self) -> Array:
        """With what probability each pair ends the process at once, (S, A)."""
        return missing(self.problem.transition).reshape(self.problem.actions.shape)

    @cached_property
    def _stays(self) -> Mask:
        """The states that can only stay and pay nothing, (S,)."""
        problem = self.problem
        states, actions = problem.actions.shape
        here = np.arange(states)
        if isinstance(problem.transition, np.ndarray):
            own = problem.transition[here, :, here]
        else:
            rows = problem.transition.tocoo()
            pair, target = rows.coords
            loops = pair // actions == target
            own = np.zeros((states, actions))
            own.reshape(-1)[pair[loops]] = rows.data[loops]  # rows have no duplicates
        idle = (own >= 1 - SUM_TOLERANCE) & (problem.utility == 0).all(0)
        return np.asarray((idle | ~problem.actions).all(1))

    def _step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        problem = self.problem
        draws = rng.random(len(states))
        if isinstance(problem.transition, np.ndarray):
            total = problem.transition[states, actions].cumsum(-1)
            successors = (total <= draws[:, None] * total[:, -1:]).sum(-1)
            successors = np.minimum(successors, problem.shape[0] - 1)
        else:
            pairs = states * problem.shape[1] + actions
            transitions.require_rows(problem.transition, pairs)
            successors = draw_successors(problem.transition[pairs], draws)
            transitions.require_states(successors, problem.shape[0])
        utilities = problem.utility[:, states, actions].T
        return Outcome(successors, utilities, np.zeros(len(states), dtype=bool))


def table_specification(problem: CMDP, time_limit: int) -> Specification:
    """Return what a table says of itself, with episodes of a given length."""
    utility = problem.utility[:, problem.actions]
    return Specification(
        actions=problem.shape[1],
        discount=problem.discount,
        threshold=problem.threshold,
        low=utility.min(1),
        high=utility.max(1),
        time_limit=time_limit,
        sense=problem.sense,
        minimise=problem.minimise,
        constraint_names=tuple(problem.name("constraints", i) for i in range(problem.shape[2])),
        generative=True,
        average=problem.criterion is Criterion.AVERAGE,
        ends=problem.criterion is Criterion.TOTAL,
        horizon=problem.horizon is not None,
    )


def draw_successors(rows: Any, draws: Array) -> NDArray[np.intp]:
    """Return the column of each row of a sparse matrix of probabilities (n, S) that a uniform number in [0, 1) picks, (n,).

    >>> import scipy
    >>> draw_successors(scipy.sparse.csr_array(np.array([[0.25, 0.75], [1.0, 0.0]])), np.array([0.5, 0.99]))
    array([1, 0])
    """
    start, total = rows.indptr[:-1], np.append(0.0, rows.data.cumsum())
    target = total[start] + draws * (total[rows.indptr[1:]] - total[start])
    place = np.searchsorted(total, target, side="right") - 1
    return np.asarray(rows.indices[np.clip(place, start, rows.indptr[1:] - 1)], dtype=np.intp)


def require_available(problem: CMDP, states: States, actions: NDArray[np.intp]) -> None:
    """Reject actions that the states do not have."""
    count = problem.shape[1]
    missing = (actions < 0) | (actions >= count)
    missing |= ~problem.actions[states, np.where(missing, 0, actions)]
    if missing.any():
        k = int(np.argmax(missing))
        has = np.flatnonzero(problem.actions[states[k]]).tolist()
        raise InputError(f"state {states[k]} does not have action {actions[k]}; it has {has}")
