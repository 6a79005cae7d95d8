"""What our environments share: spaces, infos, and the problem behind an environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from painless.common.arrays import Array
from painless.problem import CMDP
from painless.problems import CartPole, find_problem
from painless.simulation.simulator import Simulator, Specification, TableSimulator

CARTPOLE = np.array([4.8, 20.0, 0.42, 20.0])  # the episode ends well within these


def cartpole_spaces() -> tuple[spaces.Box, spaces.Discrete]:
    """The observations and actions of CartPole."""
    return spaces.Box(-CARTPOLE, CARTPOLE, dtype=np.float64), spaces.Discrete(2)


def table_spaces(problem: CMDP) -> tuple[spaces.Discrete, spaces.Discrete]:
    """The observations and actions of a table."""
    return spaces.Discrete(problem.shape[0]), spaces.Discrete(problem.shape[1])


def find_table(problem: CMDP | str) -> CMDP:
    """Return a table given as such, as a file, or by its registered name."""
    return problem if isinstance(problem, CMDP) else find_problem(problem)


def cartpole_simulator(threshold: Any, discount: float, time_limit: int) -> CartPole:
    """Return the simulator behind `painless/CartPole-v0`."""
    return CartPole(tuple(threshold), discount, time_limit)


def table_simulator(problem: CMDP | str, time_limit: int | None) -> TableSimulator:
    """Return the simulator behind `painless/Tabular-v0`."""
    return TableSimulator(find_table(problem), time_limit)


def costs(specification: Specification, utilities: Array) -> Array:
    """Return the cost of each constraint, (..., K), from utilities (..., J).

    A constraint cost is itself; a constraint reward costs what it falls short of its largest value.
    """
    upper = np.array([1.0 if sense == ">=" else 0.0 for sense in specification.sense])
    return upper * specification.high[1:] - utilities[..., 1:]


class Readable:
    """The discount and the limits of an environment, for agents that want to know them."""

    simulator: Simulator

    @property
    def discount(self) -> float:
        """γ."""
        return self.simulator.specification.discount

    @property
    def thresholds(self) -> Array:
        """Thresholds and budgets in the user's terms, (K,)."""
        return self.simulator.specification.limit

    @property
    def senses(self) -> tuple[str, ...]:
        """Whether each threshold is a lower (">=") or an upper ("<=") limit."""
        return self.simulator.specification.sense
