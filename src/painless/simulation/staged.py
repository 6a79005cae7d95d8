"""Tables with a finite horizon as simulators: every episode takes H steps.

States are the pairs (t, s), numbered t·S + s, as in the problem itself. A last utility is part of the last step, on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from painless.common.errors import InputError
from painless.problem import CMDP, transitions
from painless.problem.stages import Stages
from painless.simulation.simulator import (
    Outcome,
    Specification,
    States,
    draw_successors,
    require_available,
    table_specification,
)


@dataclass(frozen=True, eq=False)
class StagedSimulator:
    """A table with a horizon as a simulator; it terminates after the last step.

    >>> import painless
    >>> simulator = StagedSimulator(painless.gridworld().with_horizon(3))
    >>> simulator.specification.time_limit
    3
    """

    problem: CMDP

    def __post_init__(self) -> None:
        if self.problem.stages is None:
            raise InputError("this problem has no horizon; give it one, or take a TableSimulator")
        for kernel in self.problem.stages.kernels:
            transitions.require_sound(kernel)

    @property
    def _process(self) -> Stages:
        assert self.problem.stages is not None
        return self.problem.stages

    @cached_property
    def specification(self) -> Specification:
        """What the table says of itself."""
        return table_specification(self.problem, self._process.steps)

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Draw first states from ρ."""
        return rng.choice(len(self.problem.initial), size=count, p=self.problem.initial)

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Draw successors from the rows of the pairs."""
        process = self._process
        require_available(self.problem, states, actions)
        at, place = np.divmod(states, process.states)
        draws, successors = rng.random(len(states)), np.zeros_like(states)
        for t in np.unique(at).tolist():
            there = np.flatnonzero(at == t)
            rows = process.rows(t)[place[there] * process.actions + actions[there]]
            successors[there] = draw_successors(rows, draws[there])
        ended = at == process.steps - 1
        utilities = self.problem.utility[:, states, actions].T
        return Outcome(np.where(ended, states, (at + 1) * process.states + successors), utilities, ended)
