"""The families of problems that the score is made of, each drawn from a generator.

Thresholds are placed by `tighten`, between the values of the policy that maximises the reward alone and the largest
joint improvement on them: 0 is barely binding, 1 barely feasible, and below 0 the constraints are slack and λ* = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from painless.planning.feasibility import Feasibility, slater_policy
from painless.problem import CMDP
from painless.problem.units import normalise
from painless.problems import (
    garnet,
    gridworld,
    inventory,
    maintenance,
    queueing,
    random_cmdp,
    slippery_grid,
    streaming,
)
from painless.problems.binding import room, tighten

Generator = np.random.Generator
Draw = Callable[[Generator], CMDP]

DRAWS = 100  # draws until some policy exceeds every threshold
LEAST_SLACK = 1e-6  # of that policy, as a part of 1/(1−γ), in normalised units
LEAST_ROOM = 1e-3  # the joint improvement that a drawn problem must leave, likewise


def whole(rng: Generator) -> int:
    """Draw a seed."""
    return int(rng.integers(2**31))


def drawn(draw: Draw, rng: Generator) -> CMDP:
    """Draw until some policy exceeds every threshold."""
    for _ in range(DRAWS):
        problem = draw(rng)
        slater = slater_policy(normalise(problem)[0])
        least = LEAST_SLACK * problem.unit
        if slater.feasibility is Feasibility.SLACK and slater.slack.min(initial=np.inf) > least:
            return problem
    raise RuntimeError(f"{DRAWS} draws gave no problem whose constraints can be exceeded")


def random_garnet(
    states: int, actions: int, branching: int, constraints: int, discount: float, tightness: float
) -> Draw:
    """Return a function that draws Garnets of one shape."""

    def draw(rng: Generator) -> CMDP:
        loose = garnet(states, actions, branching, constraints, whole(rng), discount=discount, tightness=0.0)
        return tighten(loose, tightness)

    return draw


def outlier_garnet(penalty: float, tightness: float) -> Draw:
    """Return a function that draws Garnets with one pair that pays −penalty, so that λ* is large in normalised units."""

    def draw(rng: Generator) -> CMDP:
        plain = garnet(30, 4, 5, 1, whole(rng), tightness=0.0)
        paid = plain.constraint_reward.copy()
        paid[0, rng.integers(30), rng.integers(4)] = -penalty
        return tighten(plain.with_constraints(plain.reward, paid, plain.threshold), tightness)

    return draw


def in_other_units(draw: Draw, reward: tuple[float, float], constraint: tuple[float, float]) -> Draw:
    """Return a function that draws the same problems with utilities times a factor plus a shift."""

    def change(rng: Generator) -> CMDP:
        plain = draw(rng)
        (factor, shift), (other, offset) = reward, constraint
        return plain.with_constraints(
            factor * plain.reward + shift,
            other * plain.constraint_reward + offset,
            other * plain.threshold + offset / (1 - plain.discount),
        )

    return change


def binding(make: Callable[..., CMDP], tightness: float, **parameters: Any) -> Draw:
    """Return a function that draws seeds of a problem until there is room for its constraints to bind."""

    def draw(rng: Generator) -> CMDP:
        for _ in range(DRAWS):
            problem = make(seed=whole(rng), **parameters)
            if room(problem)[1].min() > LEAST_ROOM * problem.unit:
                return tighten(problem, tightness)
        raise RuntimeError(f"{DRAWS} seeds gave no problem with room for its constraints")

    return draw


def slippery(size: int, slip: float, discount: float, tightness: float) -> Draw:
    """Return a function that draws slippery gridworlds."""
    return binding(
        slippery_grid, tightness, height=size, width=size, slip=slip, hazards=0.2, discount=discount
    )


def random_queue(buffer: int, discount: float) -> Draw:
    """Return a function that draws queues: arrivals, throughput and waiting."""

    def draw(rng: Generator) -> CMDP:
        arrival = rng.uniform(0.4, 0.6)
        return queueing(
            buffer,
            arrival=arrival,
            discount=discount,
            threshold=arrival * rng.uniform(0.6, 0.85),
            budget=buffer * rng.uniform(0.15, 0.4),
        )

    return draw


def random_inventory(capacity: int, discount: float, tightness: float) -> Draw:
    """Return a function that draws inventories: the demand."""

    def draw(rng: Generator) -> CMDP:
        demand = rng.dirichlet(np.ones(capacity + 1))
        return tighten(inventory(capacity, demand=demand.tolist(), discount=discount), tightness)

    return draw


def random_streaming(buffer: int, discount: float, tightness: float) -> Draw:
    """Return a function that draws streams: the speeds of both links and of the playback."""

    def draw(rng: Generator) -> CMDP:
        stream = streaming(
            buffer,
            fast=rng.uniform(0.8, 0.95),
            slow=rng.uniform(0.05, 0.3),
            playback=rng.uniform(0.6, 0.8),
            discount=discount,
        )
        return tighten(stream, tightness)

    return draw


def random_maintenance(discount: float) -> Draw:
    """Return a function that draws the largest share of days in repair."""
    return lambda rng: maintenance(discount, rng.uniform(0.07, 0.12))


def random_threshold(states: int, actions: int) -> Draw:
    """Return a function that draws the dense random CMDPs of the natural policy gradient primal–dual method."""
    return lambda rng: tighten(random_cmdp(states, actions, whole(rng)), 0.5)


def paper_gridworld(discount: float, constraints: int = 1) -> Draw:
    """Return the paper's gridworld; seeds differ only in the initial policy."""
    return lambda _: gridworld(discount=discount, constraints=constraints)
