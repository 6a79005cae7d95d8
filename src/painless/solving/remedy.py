"""Why a problem is infeasible, and what helps: which limits conflict, and how far each must be loosened.

A minimal set of conflicting constraints is found by leaving out one after another. Loosening one limit alone helps only if it is in
that set. How far it must be loosened is a constrained problem of its own: the best value of that constraint with all others held.
An evaluated policy attains every advised limit, which is rounded to the feasible side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.render import number, number_beyond
from painless.engines.engine import engine_of
from painless.planning.case import LEAST, PRECISION, Case, constant_shortfall, misses_constant
from painless.planning.certificate import Certifier
from painless.planning.feasibility import Feasibility, attainable_slack, conflict
from painless.problem import CMDP
from painless.problem.units import Units, normalise, rounded
from painless.solving.status import Infeasibility

GAP = 1e-9  # of the best value of a constraint, relative to 1/(1−γ)
ROUNDS = 100  # of master and pricing for it; usually a few suffice
NEAR = 0.2 * PRECISION  # relative; a limit tightened by less than this is still met
RESOLUTION = 1e-6  # relative to span/(1−γ): advised limits are looser than necessary by at most this


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a problem is infeasible, the limits that suffice alone, and the status."""

    infeasibility: Infeasibility
    remedy: Array  # (K,) the limit that suffices alone, in the user's terms; NaN if none does
    sentence: str


def explain(problem: CMDP, low: Array, tick: Callable[[], None]) -> Explanation:
    """Explain why a problem is infeasible; `low` (K,) bounds the returned policy's values from below, in the internal sense."""
    search = _Search(problem, tick)
    count = problem.shape[2]
    joint = low - problem.threshold
    own, members, remedy = np.full(count, np.nan), tuple(range(count)), np.full(count, np.nan)
    try:
        members = search.conflict()
        own = search.own_slack()
        for index in members:
            remedy[index] = search.remedy(index)
    except TimeoutError:
        pass  # advise only what was found in time
    together = [search.looser(i, float(low[i])) for i in range(count) if joint[i] < 0]
    sentence = _sentence(problem, members, remedy, [i for i in range(count) if joint[i] < 0], together)
    return Explanation(Infeasibility(joint, own, members), remedy, sentence)


class _Search:
    """Searches for conflicts and remedies."""

    def __init__(self, problem: CMDP, tick: Callable[[], None]) -> None:
        self.problem, self.tick = problem, tick
        self.units: Units
        self.normal, self.units = normalise(problem)

    def conflict(self) -> tuple[int, ...]:
        """Return a minimal set of constraints that cannot be met together."""
        missed = misses_constant(self.problem, self.units)
        if missed.any():
            return (int(np.flatnonzero(missed)[0]),)
        case = Case.of(self.problem, self.tick)
        missed = misses_constant(self.problem, case.units)
        if missed.any():
            members = np.flatnonzero(missed)[:1]
        else:
            members = case.units.kept[conflict(case.normal, case.relaxation, self.tick)]
        presolved = np.setdiff1d(case.units.removed, np.append(self.units.removed, members))
        members = np.append(members, presolved)
        for index in presolved:
            rest = members[members != index]
            if self._case(rest).feasibility is Feasibility.NONE:
                members = rest
        return tuple(sorted(members.tolist()))

    def own_slack(self) -> Array:
        """Return the best slack of each constraint on its own, (K,), in the user's units."""
        own = -constant_shortfall(self.problem, self.units)
        kept = self.units.kept
        engine = engine_of(self.normal)
        engine.call_between_steps(self.tick)
        own[kept] = attainable_slack(self.normal, engine) * self.units.span[1 + kept]
        return own

    def remedy(self, index: int) -> float:
        """Return the limit that suffices for one constraint if all others stay, in the user's terms; NaN if none does."""
        others = np.delete(np.arange(self.problem.shape[2]), index)
        case = self._case(others, 1 + index)
        if case.feasibility in (Feasibility.NONE, Feasibility.UNKNOWN):
            return np.nan
        certifier = Certifier(case.engine, case.slater)
        mixture = certifier.prove((), lambda _: GAP * case.engine.unit, ROUNDS)
        low = float(certifier.answer(mixture.weights).low[0])
        return self.looser(index, rounded(case.units.exact(0, low), up=False))

    def _case(self, members: NDArray[np.intp], utility: int = 0) -> Case:
        """Return the problem of some of the constraints, presolved as it is when it is solved, with another utility as its reward."""
        part = self.problem.with_utilities([utility, *(1 + members)], self.problem.threshold[members])
        case = Case.of(part, self.tick)
        if not case.misses_constant and case.slater.stopped is not None:
            raise TimeoutError
        return case

    def looser(self, index: int, value: float) -> float:
        """Return a limit with few digits, in the user's terms, that a policy with at least this value meets."""
        sign = float(self.problem.sign[1 + index])
        span = float(self.units.span[1 + index]) * self.problem.unit
        least = LEAST * span
        nearest = float(f"{sign * value:.9g}") if abs(value) > NEAR * least else 0.0
        if abs(nearest - sign * value) <= NEAR * max(abs(value), least):  # counts as met (see `judgement`)
            return nearest
        return float(number_beyond(sign * value, up=sign < 0, digits=9, resolution=RESOLUTION * span))


def _sentence(
    problem: CMDP, members: tuple[int, ...], remedy: Array, missed: list[int], together: list[float]
) -> str:
    """Return the status: which constraints conflict, and which limits suffice, alone or together."""

    def named(index: int, limit: float) -> str:
        return f"{problem.name('constraints', index)} {problem.sense[index]} {number_text(limit)}"

    def loosened(index: int, limit: float) -> str:
        return f"{problem.name('constraints', index)} to {number_text(limit)}"

    listed = _and([named(i, float(problem.limit[i])) for i in members])
    alone = [loosened(i, float(remedy[i])) for i in members if np.isfinite(remedy[i])]
    both = [loosened(i, x) for i, x in zip(missed, together, strict=True)]
    if len(members) == 1:
        start = f"Infeasible: no policy has {listed}."
        if alone:
            return f"{start} Set its limit to {number_text(remedy[members[0]])} or looser."
        start += " Loosening it alone is not enough."
    else:
        start = f"Infeasible: no policy meets {listed} together."
        if len(alone) < len(members):
            which = (
                "any of them"
                if not alone
                else _or([problem.name("constraints", i) for i in members if not np.isfinite(remedy[i])])
            )
            start += f" Loosening {which} alone is not enough."
    ways = [*alone, f"together {_and(both)}"] if len(both) > 1 or not alone else alone
    return f"{start} It is enough to loosen {_or(ways)}."


def number_text(value: float) -> str:
    """Return a number in full, so that the advice works as shown."""
    short = number(value)
    return short if float(short) == value else repr(float(value))


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _or(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"
