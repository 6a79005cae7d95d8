"""The long-run averages of one large chain by sweeps, or on several levels where these are slow.

    u + Ph − h = g·1,      μP = μ,  Σμ = 1                       the gain g, a bias h, and the share of time μ in each state

A sweep h ← h + τ(u + Ph − h) shrinks the range of what is left as fast as the chain mixes; τ < 1 so that periods do not matter. A chain that mixes slowly is solved on several levels
(see `multilevel`), of the system I − P + εI: what ε leaves over, of the order of ε times the time to mix, is solved again. Where two parts are hardly ever left, several levels leave too much;
then factors of the same system go on if they are small, as on a line or a grid.

For any h, the gain of every recurrent class lies between the least and the largest entry of u + Ph − h. Whoever asks adds the rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.engines.sweeps import _chain_kernels as chain_kernels
from painless.engines.sweeps import _multilevel_kernels as kernels
from painless.engines.sweeps.chain import Chain, as_matrix, bandwidth
from painless.engines.sweeps.multilevel import Multilevel, ordered_level, width_of

DAMPED = 0.95  # τ, the part of a step that is taken
BURST = 5  # sweeps between two looks at what is left
MANY = 60  # sweeps that cost more than to solve on several levels
SHARE = 1e-3  # of what is left that one solve on several levels leaves, at least
REFINED = 12  # such solves in a row
HALVED = 0.5  # one that leaves more is the last
LEAST = 1e-10  # ε of the system that is solved by factors
# States up to which factors serve, and how far a state may lead in a good numbering, relative to the root of their number: two or three times that on a grid.
MOST_FACTORISED, WIDEST = 200_000, 4.0


class GainSweeps:
    """One chain, whose rows sum to 1.

    Arguments:
        leaving: ε of the system that is solved on several levels.
        tick: called after sweeps with their number; it may raise.
    """

    def __init__(self, chain: Chain, leaving: float, tick: Callable[[int], None]) -> None:
        self.chain, self.leaving, self.tick = chain, leaving, tick
        self._leaves = 1.0 - chain.stay
        self.is_slow = False  # whether sweeps are, so that it is solved on several levels

    @cached_property
    def _levels(self) -> Multilevel:
        return Multilevel.from_level(ordered_level(*self.chain[:4], self._leaves + self.leaving), self.tick)

    @cached_property
    def _inverse(self) -> Any:
        """The factors of I − P + εI with an ε that only keeps them from being singular."""
        self.tick(0)
        return scipy.sparse.linalg.splu(
            scipy.sparse.csc_array(
                (1.0 + LEAST) * scipy.sparse.eye_array(len(self._leaves)) - as_matrix(self.chain)
            )
        )

    @cached_property
    def _transposed(self) -> Multilevel:
        return self._levels.transposed()

    def rest(self, gain: Array, bias: Array) -> Array:
        """Return u + Ph − h, (S,)."""
        left = np.empty_like(bias)
        kernels.residual(*self.chain[:4], self._leaves, gain, bias, left)
        return left

    def improve(self, gain: Array, bias: Array, goal: float) -> tuple[float, float]:
        """Improve a bias (S,) of a utility (S,), in place, until the range of what is left is at most `goal` wide; return that range."""
        rest = self.rest(gain, bias)
        width, solves = width_of(rest), 0
        while width > goal and solves < REFINED:
            before = width
            if self.is_slow:
                step = np.zeros_like(bias)
                enough = max(SHARE * width, 0.5 * goal)
                self._levels.improve(rest - _middle(rest), step, width_of, enough)
                step -= _middle(step)
                after = self.rest(gain, bias + step)
                if width_of(after) < width:
                    bias += step
                    rest = after
                solves += 1
            else:
                rest = self.sweep(gain, bias, rest)
            width = width_of(rest)
            if not np.isfinite(width):
                break
            if self.is_slow and width > HALVED * before:
                break
            self.is_slow = self.is_slow or _sweeps_to(goal, width, before) > MANY
        return float(rest.min()), float(rest.max())

    def refine(self, gain: Array, bias: Array, goal: float) -> tuple[float, float]:
        """Do what `improve` does by factors, where several levels find no solution."""
        rest = self.rest(gain, bias)
        width = width_of(rest)
        for _ in range(REFINED):
            if width <= goal:
                break
            step = np.asarray(self._inverse.solve(rest - _middle(rest)))
            found = bias + (step - _middle(step))
            after = self.rest(gain, found)
            before, width = width, width_of(after)
            if not width < before:
                break
            bias[:], rest = found, after
            if width > HALVED * before:
                break
        return float(rest.min()), float(rest.max())

    def sweep(self, gain: Array, bias: Array, rest: Array) -> Array:
        """Sweep some times, in place; return what is left."""
        for _ in range(BURST):
            bias += DAMPED * (rest - _middle(rest))
            rest = self.rest(gain, bias)
        self.tick(BURST)
        bias -= _middle(bias)
        return rest

    def shares(self, start: Array | None, goal: float) -> tuple[Array, float]:
        """Return the share of time in each state, (S,), and Σ|μP − μ|, at most `goal` if that is found; from `start` on if given."""
        states = len(self._leaves)
        found = np.full(states, 1.0 / states) if start is None else start / start.sum()
        rest, solves = self._passed(found), 0
        off, slow = float(np.abs(rest).sum()), self.is_slow
        while off > goal and solves < REFINED:
            before = off
            if slow:
                step = np.zeros(states)
                self._transposed.improve(rest, step, _sum_of, max(SHARE * off, 0.5 * goal))
                moved = np.maximum(found + step, 0.0)
                solves += 1
            else:
                moved = found
                for _ in range(BURST):
                    moved = moved + DAMPED * self._passed(moved)
                self.tick(BURST)
            moved = moved / moved.sum()
            after = self._passed(moved)
            off = float(np.abs(after).sum())
            if not off < before:
                off = before
                if slow:
                    break
                slow = True
                continue
            found, rest = moved, after
            if slow and off > HALVED * before:
                break
            slow = slow or _sweeps_to(goal, off, before) > MANY
        return found, off

    def _passed(self, share: Array) -> Array:
        """Return μP − μ, (S,)."""
        received = np.zeros_like(share)
        chain_kernels.pass_on(*self.chain[:-1], share, received, 0, len(share))
        return received - share


def has_small_factors(chain: Chain) -> bool:
    """Whether the factors of a chain are small: in a good numbering it leads about as far as on a grid."""
    states = len(chain.stay)
    return states <= MOST_FACTORISED and bandwidth(as_matrix(chain)) <= WIDEST * states**0.5


def _middle(rest: Array) -> float:
    return 0.5 * float(rest.min() + rest.max())


def _sum_of(rest: Array) -> float:
    return float(np.abs(rest).sum())


def _sweeps_to(goal: float, left: float, before: float) -> float:
    """Return how many more sweeps it takes until so little is left, by what the last ones did."""
    if left <= goal:
        return 0.0
    rate = min(left / before, 1 - 1e-12)
    return float(BURST * np.log(goal / left) / np.log(rate)) if rate > 0 else 0.0
