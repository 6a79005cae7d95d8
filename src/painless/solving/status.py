"""How a solve ended, and why no policy meets all constraints."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from painless.common.arrays import Array


class Kind(StrEnum):
    """How a solve ended."""

    SOLVED = "solved"  # the tolerance is proved, or a planner found the optimum
    COMPLETED = "completed"  # the given number of iterations was done
    STOPPED = "stopped"  # by the time limit, by an interrupt, or by the limits of double precision
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class Status:
    """How a solve ended, as a sentence with a remedy."""

    kind: Kind
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Why no policy meets all constraints; slacks are in the user's units, and negative where missed."""

    joint_slack: Array  # (K,) of the returned policy, which violates the constraints least
    own_slack: Array  # (K,) the best slack of each constraint if it were the only one
    conflict: tuple[int, ...]  # a minimal set of constraints that cannot be met together
