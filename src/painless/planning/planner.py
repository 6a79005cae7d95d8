"""The planner interface: a planner solves a case to a tolerance, with a proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from painless.common.arrays import Array
from painless.common.clock import Clock
from painless.engines.engine import Actions, Engine
from painless.planning.case import Case
from painless.planning.certificate import Answer, Certifier
from painless.planning.master import Column


class Ending(Enum):
    """How a search or a run ended."""

    PROVED = "the tolerance is proved"
    COMPLETED = "the given number of iterations is done"
    INFEASIBLE = "no policy meets all constraints"
    TIGHT = "the constraints are feasible only at the boundary (no Slater point)"
    ROUNDING = "double precision cannot prove this tolerance; use a larger one"
    STALLED = "the iterates no longer improve; try another algorithm, or leave the choice to solve"
    TIMEOUT = "the time limit was reached; allow more time or a larger tolerance"
    INTERRUPT = "interrupted; run it again for longer to close the gap"

    @classmethod
    def of(cls, error: BaseException) -> Ending:
        """Return the ending after a TimeoutError or a KeyboardInterrupt."""
        return cls.INTERRUPT if isinstance(error, KeyboardInterrupt) else cls.TIMEOUT


OUT_OF_TIME = (Ending.TIMEOUT, Ending.INTERRUPT)  # the answer is wanted at once


class Planned(NamedTuple):
    """What a planner or an algorithm found; `answer` is None if no policy is feasible."""

    planner: str  # its name
    case: Case
    certifier: Certifier | None = None
    answer: Answer | None = None
    ending: Ending = Ending.PROVED
    reason: str = ""  # why it was chosen
    note: str = ""  # another sentence for the status


@dataclass(frozen=True)
class Progress:
    """The progress of a run, in the user's terms; NaN if nothing is known yet.

    `reward_value` and `upper_bound` are those of the best answer so far. Of an algorithm there are also the values of the latest
    iterate, the objective's first, and the multipliers that were played.
    """

    iteration: int
    iterations: int | None
    reward_value: float
    upper_bound: float
    value: Array | None = None  # (J,)
    multiplier: Array | None = None  # (K,)

    @classmethod
    def of(cls, case: Case, iteration: int, iterations: int | None, value: float, bound: float) -> Progress:
        """Return the progress from normalised values."""
        ends = np.array([value, bound]) * case.units.span[0] + case.units.offset[0]
        ends = np.where(np.isfinite(ends), case.problem.sign[0] * ends, np.nan)
        return cls(iteration, iterations, float(ends[0]), float(ends[1]))


class Recalled(NamedTuple):
    """The answer to a similar model, in normalised units."""

    policies: Sequence[Actions]  # (S,) each, that it mixes; none if they are no help
    bound: float  # about that of this model
    prices: Array  # (n, K) at which best responses are known there
    slack: Array  # (n, K) V_c − b of these


class Task(NamedTuple):
    """How to solve a case."""

    tolerance: float
    clock: Clock
    progress: Callable[[Progress], None] | None = None
    start: Array | None = None  # initial policy (S, A)
    rounds: int = 200  # of best responses that close the gap after the linear program
    columns: Sequence[Column] = ()  # policies that are known already, of the same model at other thresholds
    prices: Array | None = None  # multipliers (K,) near which the answer is expected, in normalised units
    bounds: Sequence[
        tuple[Array, float]
    ] = ()  # on best responses to prices, of the same model at other thresholds
    recalled: Recalled | None = None  # the answer to a similar model, which `before` solved
    before: Engine | None = None  # that solved a similar model, from whose last policy to go on


@runtime_checkable
class Planner(Protocol):
    """Solves a case to a tolerance."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    def answer(self, case: Case, task: Task) -> Planned:
        """Return a policy with a proof."""
