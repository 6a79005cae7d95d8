"""Problems by name. Each is a function in its own file; its arguments are the problem's parameters.

To add one, write a file and add a line to `REGISTRY`, or to `SIMULATORS` if it has no table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from painless.common import plugins, registry
from painless.common.errors import InputError
from painless.problem import CMDP, load
from painless.problem.formats import registry as formats
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
from painless.simulation.simulator import Simulator

REGISTRY: dict[str, Callable[..., CMDP]] = {
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

SIMULATORS: dict[str, Callable[..., Simulator]] = {"cartpole": CartPole}


CRITERIA = ("horizon", "average")  # what every table takes, whether its function knows it or not


def make(name: str, **parameters: Any) -> CMDP:
    """Return a registered problem; `horizon` or `average` in place of its discount make it one of some steps, or a long-run average.

    >>> make("gridworld", discount=0.8).limit
    array([0.7])
    >>> make("gridworld", horizon=20)
    CMDP(25 states, 4 actions, 1 constraint, horizon 20, dense)
    """
    table = find_table(name)
    added = {
        key: parameters[key]
        for key in CRITERIA
        if key in parameters and key not in registry.settings_of(table)
    }
    own = {key: value for key, value in parameters.items() if key not in added}
    if added.get("horizon") is not None and "discount" in own:
        added["discount"] = own.pop("discount")
    problem: CMDP = registry.build(name, table, own, "parameter")
    return problem.with_criterion(**added) if added else problem


def find_table(name: str) -> Callable[..., CMDP]:
    """Return the function of a registered problem; reject a simulator, which has no table."""
    if isinstance(name, str) and name in SIMULATORS:
        raise InputError(f"{name} is a simulator, which has no table to solve; try: painless train {name}")
    known: dict[str, Callable[..., Any]] = {**REGISTRY, **SIMULATORS}
    return registry.find("problem", name, known)


def make_simulator(name: str, **parameters: object) -> Any:
    """Return a registered simulator."""
    return registry.build(name, registry.find("simulator", name, SIMULATORS), parameters, "parameter")


def find_problem(name: str, **parameters: Any) -> CMDP:
    """Return a problem from a file, with the parameters of `load`, or a registered one with its own."""
    return load(name, **parameters) if is_file(name) else make(name, **parameters)


def require_name(name: str) -> None:
    """Reject names that are neither registered, nor of a user's code, nor files with a known ending."""
    if is_file(name):
        formats.format_of(name)
    else:
        registry.find("problem", name, {**REGISTRY, **SIMULATORS})


def is_file(name: str) -> bool:
    """Whether a problem is a file, by its ending or because it is there, and not a registered name or `module:factory`."""
    if name in REGISTRY or name in SIMULATORS:
        return False
    if plugins.is_reference(name):
        return formats.is_file(name)
    return formats.is_file(name) or "/" in name or Path(name).exists()


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
