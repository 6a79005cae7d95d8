"""Thresholds that bind: between what the reward alone attains and the best joint improvement on it."""

from __future__ import annotations

import numpy as np

from painless.bellman import policy_value
from painless.common.arrays import Array
from painless.engines.factorised import policy_iteration
from painless.planning.feasibility import slater_policy
from painless.planning.game import Aim, Game
from painless.planning.master import Column, Columns
from painless.problem import CMDP
from painless.problem.units import normalise

EXACT_STATES = 2000  # up to which values are found by policy iteration, and beyond by sweeps
PRECISION = 1e-4  # of swept values, in the engine's unit


def tighten(problem: CMDP, tightness: float) -> CMDP:
    """Return a problem whose thresholds are barely binding for a tightness of 0, and barely feasible for 1."""
    greedy, improvement = room(problem)
    threshold = greedy + tightness * np.maximum(improvement, 0.0)
    return problem.with_limits(threshold * problem.sign[1:])


def room(problem: CMDP, exact_states: int = EXACT_STATES) -> tuple[Array, Array]:
    """Return V_c of the policy that is best for the reward alone, and the largest joint improvement on it, (K,) each.

    Models with more than `exact_states` are swept.
    """
    if problem.shape[0] > exact_states:
        return _swept(problem)
    plan = policy_iteration(problem, problem.reward)
    greedy = policy_value(problem, plan.policy(problem.shape[1]))[1:]
    normal, units = normalise(problem.with_limits(greedy * problem.sign[1:]))
    improvement = np.zeros_like(greedy)
    improvement[units.kept] = slater_policy(normal).slack * units.span[1 + units.kept]
    return greedy, improvement


def _swept(problem: CMDP) -> tuple[Array, Array]:
    """Return the same to `PRECISION`, with memory for a few vectors over the states only."""
    from painless.engines.swept import Swept

    engine = Swept(problem)
    precision = PRECISION * engine.unit
    first = engine.best(np.eye(1 + problem.shape[2])[0], precision, precision)
    greedy = first.middle[1:]
    columns = Columns()
    columns.add(Column(first.actions, first.middle, first.value))
    aim = Aim(np.zeros(1 + len(greedy)), 1 + np.arange(len(greedy)), greedy, greedy)
    game = Game(engine, aim, columns, precision=precision, finest=PRECISION, coarse=PRECISION)
    game.respond(game.price)
    game.play(lambda: game.open <= 4 * precision)
    reached = game.mixture.weights @ game.columns.values[:, 1:]
    return greedy, reached - greedy - 2 * precision  # which is surely attained
