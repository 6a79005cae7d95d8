"""Problems by name. Each is a function in a file of its own; its arguments are the problem's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from painless.errors import unknown
from painless.problem import CMDP
from painless.problems.cartpole import CartPole
from painless.problems.deep_sea_treasure import deep_sea_treasure
from painless.problems.garnet import garnet
from painless.problems.gridworld import gridworld
from painless.problems.inventory import inventory
from painless.problems.maintenance import maintenance
from painless.problems.queueing import queueing
from painless.problems.random_cmdp import random_cmdp
from painless.problems.slippery_grid import slippery_grid
from painless.problems.streaming import streaming
from painless.problems.wireless import wireless
from painless.simulator import Simulator

REGISTRY: Mapping[str, Callable[..., CMDP]] = {
    "gridworld": gridworld,
    "gridworld-3": partial(gridworld, constraints=3),
    "garnet": garnet,
    "maintenance": maintenance,
    "deep-sea-treasure": deep_sea_treasure,
    "streaming": streaming,
    "inventory": inventory,
    "random-cmdp": random_cmdp,
    "queueing": queueing,
    "slippery-grid": slippery_grid,
    "wireless": wireless,
}

SIMULATORS: Mapping[str, Callable[..., Simulator]] = {"cartpole": CartPole}


def make(name: str, **parameters: object) -> CMDP:
    """Return a registered problem.

    >>> make("gridworld", discount=0.8).limit
    array([0.7])
    """
    if not isinstance(name, str) or name not in REGISTRY:
        raise unknown("problem", str(name), REGISTRY)
    return REGISTRY[name](**parameters)


__all__ = [
    "REGISTRY",
    "SIMULATORS",
    "CartPole",
    "deep_sea_treasure",
    "garnet",
    "gridworld",
    "inventory",
    "maintenance",
    "make",
    "queueing",
    "random_cmdp",
    "slippery_grid",
    "streaming",
    "wireless",
]
