"""Column generation: large sparse models, with a proof at every step (Dantzig & Wolfe 1960).

With few constraints, K multipliers are all that ties a constrained problem to unconstrained ones. In turn

- the master finds the best mixture of the policies found so far, known by their values alone, and the
  multipliers λ of the constraints in it: its value is a lower bound;
- pricing solves the unconstrained problem with utility r + λ·c: its value d(λ) = max_π V_r + λ·(V_c − b) is an
  upper bound, and its policy joins the master.

The multipliers are smoothed towards those of the best bound (Wentges 1997), which saves solves for K > 1. A first
game of the same kind, over weights of the constraints alone, finds the joint slack (the Slater gap) or proves that
there is none. At the end the mixture of at most K + 1 deterministic policies becomes one stationary policy
through its occupancy, and is evaluated anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.clock import Clock
from painless.errors import InputError
from painless.problem import CMDP
from painless.units import TOLERANCE
from painless.validation import number, whole

if TYPE_CHECKING:
    from painless.planners.swept import Swept


class Ending(Enum):
    """How a search ended."""

    PROVED = "the tolerance is proved"
    ROUNDING = "the tolerance is below what double precision can prove; ask for a larger one"
    TIMEOUT = "the time limit was reached; allow more time or a larger tolerance"
    INTERRUPT = "interrupted; run it again to go further"
    INFEASIBLE = "no policy meets all constraints"
    TIGHT = "the constraints are feasible only at the boundary (no Slater point)"


@dataclass(frozen=True)
class Point:
    """A stationary policy with the values that are proved of it: it has at least these."""

    policy: Array  # (S, A)
    value: Array  # (J,)
    guess: Array  # (J,) the values as computed
    error: float  # the exact values exceed `value` by at most this


@dataclass(frozen=True)
class Search:
    """Where a search stands: solves so far, the reward of the best feasible mixture, and the bound on all."""

    solves: int
    reward_value: float
    upper_bound: float


@dataclass(frozen=True)
class Planned:
    """A policy and the proof that comes with it, in the units of the problem."""

    answer: Point
    slater_value: (
        Array | None
    )  # (J,) of the mixture with the largest joint slack found; None where not needed
    slater_weight: Array  # (K,) of the constraints: proves `slack_bound`
    slack_bound: float  # no policy has a larger joint slack
    upper_bound: float  # no feasible policy has a larger reward
    multiplier: Array  # (K,) that proves it
    response: NDArray[np.unsignedinteger]  # (S,) actions: the best policy for them
    columns: list[
        tuple[Array, NDArray[np.unsignedinteger]]
    ]  # values (J,) of policies, at least these, and their actions (S,)
    feasible: bool  # whether the answer provably meets every constraint
    ending: Ending
    solves: int  # of unconstrained MDPs
    sweeps: int  # of one policy
    bellman_sweeps: float  # over all actions; parts of a sweep count as such

    @property
    def gap(self) -> float:
        """How much better than this policy any feasible policy could be."""
        return max(self.upper_bound - float(self.answer.value[0]), 0.0)


@dataclass(frozen=True)
class ColumnGeneration:
    """The planner for large sparse models: `solve(problem, ColumnGeneration(), tolerance=1e-6)`.

    Arguments:
        smoothing: the share of the best multipliers so far in those that are priced next, in [0, 1); by default
            0.2 for one constraint and 0.5 for more, which take the fewest solves on Garnets and grids.
        rounds: the largest number of unconstrained MDPs to solve.
    """

    smoothing: float | None = None
    rounds: int = 1000

    def __post_init__(self) -> None:
        advice = "give one in [0, 1), such as 0.3"
        if self.smoothing is not None and not 0 <= number("smoothing", self.smoothing, advice) < 1:
            raise InputError(f"smoothing is {self.smoothing}; it must be in [0, 1), such as 0.3")
        whole("rounds", self.rounds)

    def share(self, constraints: int) -> float:
        """The share of the best multipliers for K constraints."""
        return (0.2 if constraints == 1 else 0.5) if self.smoothing is None else self.smoothing

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "column-generation"

    def plan(
        self,
        problem: CMDP,
        target: Callable[[float], float] | float = 1e-6,
        *,
        clock: Clock | None = None,
        progress: Callable[[Search], None] | None = None,
        engine: Swept | None = None,
        spare: Array | None = None,
        start: Array | None = None,
    ) -> Planned:
        """Solve a problem whose utilities lie in [0, 1], as `units.normalise` returns it.

        Arguments:
            target: the gap to prove, given the bound; a number is relative to the bound, as in `solve`.
            clock: when its time is up the best answer so far is returned, as on Ctrl-C.
            progress: called after every solve; it may raise KeyboardInterrupt.
            engine: the rows of the model, if they are laid out already.
            spare: (K,) by how much each constraint may be missed and yet count as met (see `judgement`); 1e-9/(1−γ) by default.
            start: a policy (S, A) to begin with.

        >>> import painless
        >>> planned = ColumnGeneration().plan(painless.gridworld(), 1e-9)
        >>> round(float(planned.answer.value[0]), 8), planned.feasible
        (1.65272184, True)
        """
        from painless.planners.search import Searcher
        from painless.planners.swept import Swept

        unit = 1 / (1 - problem.discount)
        least = 1e-6 * unit
        gap = target if callable(target) else lambda bound: target * max(abs(bound), least)
        spare = np.full(problem.shape[2], TOLERANCE * unit) if spare is None else spare
        search = Searcher(self, engine or Swept(problem), gap, clock or Clock(), progress, spare)
        return search.run(start)
