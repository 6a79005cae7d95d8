"""Parametric planning: the optimal reward as a function of one threshold, vertex by vertex.

    F(b) = max V_r   subject to   V_c ≥ b  and the other constraints

F is concave and piecewise linear. The chord between two points of its graph has a slope −λ. One solve with
utility r + λ·c either finds a point above the chord, which splits it in two, or proves that the
chord is an edge (Aneja & Nair 1979). The search starts from a policy with the largest V_r and one with the largest
V_c. If either is tied, the search finds the better end, and the worse one is dropped.

Distances from a chord are measured in a plane where F ranges over [0, 1] on both axes.

A pool of deterministic policies answers each weight by the best of their mixtures:

    max_π Σ_j w_j V_j(ρ)   subject to   V_{c_i}(ρ) ≥ b_i for the held constraints i

Without held constraints a weight is one unconstrained MDP. With them it is a game (see `game`) over all policies found so far, so that
each new weight costs only a few solves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.engines.engine import EXACT_STATES, UNIT_ROUNDOFF, engine_of
from painless.planning.game import ROUNDING, Aim, Game, SlackGame
from painless.planning.master import Columns
from painless.problem import CMDP
from painless.problem.units import TOLERANCE

REWARD, CONSTRAINT = np.array([1.0, 0.0]), np.array([0.0, 1.0])  # weights
STEEPEST = 1 / TOLERANCE  # the steepest slope that matters at this tolerance


class Vertex(NamedTuple):
    """A point of the frontier: the best policy for some weights, as a mixture of policies in the pool."""

    reward: float
    constraint: float  # of the one whose limit varies; 0 if none does
    value: Array  # (J,)
    mixture: tuple[tuple[int, float], ...]  # the index of each policy, and its weight
    upper_bound: float  # no policy that meets the held constraints has a larger weighted value


class Pool:
    """The policies found so far for a problem in normalised units with some constraints held."""

    def __init__(self, problem: CMDP, held: Sequence[int], tick: Callable[[], None] = lambda: None) -> None:
        self.problem = problem
        self.held = np.array(held, dtype=np.intp)
        self._engine = engine_of(problem, EXACT_STATES)
        self._engine.call_between_steps(tick)
        unit = self._engine.unit
        self.rounding = max(ROUNDING, 32 * UNIT_ROUNDOFF * unit) * unit
        self.threshold = problem.threshold[self.held]
        self.columns = Columns()
        self.solves = 0
        self._safe: Array | None = None  # weights of the first policies: the largest joint slack

    def meet(self) -> float:
        """Find the largest joint slack of the held constraints, and return an upper bound on it."""
        game = SlackGame(self._engine, list(self.held), self.columns, precision=0.1 * self.rounding)
        game.finest = 0.1 * self.rounding
        game.respond(game.price)
        game.play(lambda: game.open <= self.rounding)
        self.solves += game.responses
        self._safe, slack = game.mixture.weights, game.mixture.value
        spare = 0.1 * TOLERANCE * self._engine.unit
        if slack < spare:  # no Slater point: lower the thresholds by what counts as met
            self.threshold = self.threshold + slack - spare
            # What the lower thresholds may bring is no gain.
            self.rounding = max(self.rounding, TOLERANCE * self._engine.unit)
        return game.upper

    def best(self, weight: Array, varied: int | None) -> Vertex:
        """Return the best response to weights (2,) of the reward and of constraint `varied`, which sum to 1."""
        objective = np.zeros(len(self.problem.utility))
        objective[0] = weight[0]
        if varied is not None:
            objective[1 + varied] = weight[1]
        aim = Aim(objective, 1 + self.held, self.threshold, self.threshold)
        game = Game(self._engine, aim, self.columns, safe=self._safe, precision=0.1 * self.rounding)
        game.coarse = game.finest = 0.1 * self.rounding
        if len(self.held):
            game.play(lambda: game.open <= self.rounding * (1 + float(game.mixture.multiplier.sum())))
            weights = game.mixture.weights
        else:
            game.respond(game.price)
            weights = np.eye(1 + game.place)[game.place]
        if not np.isfinite(game.upper):
            raise InputError(
                "the frontier has no end: where the limit is loose, a loop pays in every round, so that the best value has no bound; "
                "solve for single limits, or add a limit on what the loop uses"
            )
        self.solves += game.responses
        used = np.flatnonzero(weights)
        parts = tuple((int(k), float(weights[k])) for k in used)
        value = weights[used] @ self.columns.values[used]
        held_to = 0.0 if varied is None else float(value[1 + varied])
        return Vertex(float(value[0]), held_to, value, parts, game.upper)


class Edge(NamedTuple):
    """Two adjacent vertices, and how far F can lie above their chord."""

    start: Vertex
    end: Vertex
    gap: float  # along the reward
    error: float  # relative to the ranges


class Graph(NamedTuple):
    """The vertices from the loosest threshold to the tightest, and the edges between them."""

    vertices: list[Vertex]
    gap: Array  # (N − 1,) how far F can lie above each edge, along the reward
    error: float  # the largest distance above any edge, relative to the ranges


def trace(
    pool: Pool, varied: int, tolerance: float, progress: Callable[[int, int], None] | None = None
) -> Graph:
    """Return the graph of F over the threshold of constraint `varied`; `pool` holds the others.

    `tolerance` bounds how far F lies above the edges, relative to its range. `progress` is called with the numbers of
    proved and unproved edges. When the pool's time is up, or on Ctrl-C, the edges so far are returned.
    """
    first, last = (pool.best(weight, varied) for weight in (REWARD, CONSTRAINT))
    area = _Area(pool.rounding, tolerance, first.reward - last.reward, last.constraint - first.constraint)
    edges: list[Edge] = []
    waiting = [(first, last)]
    while waiting:
        start, end = waiting.pop()
        dx, dr = end.constraint - start.constraint, start.reward - end.reward
        if dx <= pool.rounding or dr <= pool.rounding:  # the chord is horizontal or vertical up to rounding
            edges.append(Edge(start, end, 0.0, 0.0))
            continue
        weight = np.array([dx, dr]) / (dx + dr)  # (1, λ)/(1 + λ)
        try:
            middle = pool.best(weight, varied)
        except (TimeoutError, KeyboardInterrupt):
            edges += [_unproved(*ends, area) for ends in [(start, end), *reversed(waiting)]]
            break
        if area.above(start, middle, end) > 0:
            waiting += [(middle, end), (start, middle)]
        else:
            excess = middle.upper_bound - float(weight @ (start.reward, start.constraint))
            gap = min(max(excess, 0.0) / weight[0], start.reward - end.reward)  # F never rises
            edges.append(Edge(start, end, gap, max(excess, 0.0) / float(weight @ (area.height, area.width))))
        if progress is not None:
            progress(len(edges), len(waiting))
    return _tidy(edges, area)


def _unproved(start: Vertex, end: Vertex, area: _Area) -> Edge:
    """Return an edge of which only its ends are known, and that F falls between them."""
    dx, dr = end.constraint - start.constraint, start.reward - end.reward
    scale = dx * area.height + dr * area.width
    return Edge(start, end, max(dr, 0.0), max(dx * dr, 0.0) / scale if scale > 0 else 0.0)


class _Area(NamedTuple):
    """The least distance that counts: more than rounding and the tolerance."""

    rounding: float
    tolerance: float
    height: float
    width: float

    def above(self, start: Vertex, middle: Vertex, end: Vertex, *, only_rounding: bool = False) -> float:
        """Return by how much more than that `middle` lies above the chord, as an area."""
        dx, dr = end.constraint - start.constraint, start.reward - end.reward
        area = (middle.reward - start.reward) * dx + (middle.constraint - start.constraint) * dr
        least = self.rounding * (dx + dr)
        if only_rounding:
            return area - least
        return area - max(least, self.tolerance * (dx * self.height + dr * self.width))


def _tidy(edges: Sequence[Edge], area: _Area) -> Graph:
    """Drop ends that another vertex dominates, and points on a straight line."""
    vertices = [edges[0].start, *(edge.end for edge in edges)]
    gaps = [edge.gap for edge in edges]
    low, high = 0, len(vertices) - 1
    while low < high and vertices[low + 1].reward >= vertices[0].reward - area.rounding:
        low += 1
    while low < high:
        start, end = vertices[high - 1], vertices[high]
        if start.reward - end.reward < STEEPEST * (end.constraint - start.constraint):
            break
        high -= 1
    kept, anchor = [low], low
    for k in range(low + 2, high + 1):
        between = range(anchor + 1, k)
        if any(
            area.above(vertices[anchor], vertices[i], vertices[k], only_rounding=True) > 0 for i in between
        ):
            anchor = k - 1
            kept.append(anchor)
    if high > low:
        kept.append(high)
    gap = [max(gaps[i:k]) for i, k in pairwise(kept)]
    return Graph([vertices[k] for k in kept], np.array(gap), max(edge.error for edge in edges))
