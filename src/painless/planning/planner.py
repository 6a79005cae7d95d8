"""The planner interface: a planner solves a case to a tolerance, with a proof.

A case is a problem in normalised units with what all planners need; expensive parts are computed on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from painless.common.arrays import Array
from painless.common.clock import Clock
from painless.engines.engine import Engine, engine_of
from painless.planning.certificate import Answer, Certifier
from painless.planning.columns import Column
from painless.planning.feasibility import Feasibility, SlaterPolicy, slater_policy
from painless.planning.judgement import Relaxation, gap_target, misses_constant
from painless.problem import CMDP
from painless.problem.presolve import presolve
from painless.problem.units import Units, normalise


@dataclass(frozen=True)
class Case:
    """A problem in normalised units."""

    problem: CMDP
    normal: CMDP  # without pairs that no feasible policy takes
    units: Units
    relaxation: Relaxation
    tick: Callable[[], None]  # raises when it is time to stop
    misses_constant: bool = False  # whether a constant constraint is violated

    @classmethod
    def of(cls, problem: CMDP, tick: Callable[[], None] = lambda: None) -> Self:
        """Presolve, normalise the units, and remove constant constraints."""
        smaller, met = presolve(problem)
        normal, units = normalise(smaller, met)
        missed = bool(misses_constant(problem, units).any())
        return cls(problem, normal, units, Relaxation(smaller, normal, units), tick, missed)

    @cached_property
    def engine(self) -> Engine:
        """The engine for the normalised problem: factorised systems or sweeps."""
        engine = engine_of(self.normal)
        engine.call_between_steps(self.tick)
        return engine

    @cached_property
    def slater(self) -> SlaterPolicy:
        """The policy with the largest joint slack."""
        return slater_policy(self.normal, self.engine, self.relaxation)

    def known(self, engine: Engine, slater: SlaterPolicy) -> Case:
        """Return the case with a Slater policy that a search found."""
        case = copy(self)
        case.__dict__.update(engine=engine, slater=slater)
        return case

    @property
    def feasibility(self) -> Feasibility:
        """Whether the constraints can be met together."""
        return Feasibility.NONE if self.misses_constant else self.slater.feasibility

    def target(self, tolerance: float) -> Callable[[float], float]:
        """Return the gap to prove, given the bound, in normalised units."""
        target = gap_target(self.problem, tolerance)
        span, offset = float(self.units.span[0]), float(self.units.offset[0])
        return lambda bound: target(bound * span + offset) / span

    def value(self, value: Array) -> Array:
        """Return normalised values (..., J') as (..., J) in the user's terms, with constant constraints."""
        index = np.append(0, 1 + self.units.kept)
        result = np.broadcast_to(self.units.offset, (*value.shape[:-1], len(self.units.offset))).copy()
        result[..., index] += value * self.units.span[index]
        return result * self.problem.sign + 0.0  # no −0


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

    @property
    def out_of_time(self) -> bool:
        """Whether the answer is wanted at once."""
        return self in (Ending.TIMEOUT, Ending.INTERRUPT)


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
    before: Engine | None = None  # that solved a similar model, from whose last policy to go on


@runtime_checkable
class Planner(Protocol):
    """Solves a case to a tolerance."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    def answer(self, case: Case, task: Task) -> Planned:
        """Return a policy with a proof."""
