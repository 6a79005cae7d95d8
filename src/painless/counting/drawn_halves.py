"""Two halves of data of which only the counts are known: a fair draw that depends on the counts alone.

Each of the n steps of a transition falls into the first half with probability ½. The draw is made from a number of the transition that
depends on what was seen and not on names or on the order of the data: the colours of states and actions, refined along the transitions (Weisfeiler & Leman 1968).
So the same data give the same halves, however they are sorted and whatever things are called.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.counting.memory import HALVES, Memory

REFINEMENTS = 4  # rounds in which a colour learns of its neighbours'
DIGITS = 9  # of a sum that count, since the order of the data rounds it differently
ROUNDING = 1e-12  # a variance below it, relative to the mean square, is rounding
EXACT = 64  # steps of a transition up to which the draw is exact: one bit for each
STREAM = 0x9E3779B97F4A7C15  # from one draw to the next

Colours = NDArray[np.uint64]


class _Edges(NamedTuple):
    """The transitions that were seen."""

    state: NDArray[np.int64]  # (M,)
    action: NDArray[np.int64]  # (M,)
    successor: NDArray[np.int64]  # (M,) S for the end
    own: Colours  # (M,) of the counts and sums


def drawn_halves(memory: Memory, draw: int = 0) -> Memory:
    """Return the same data in two halves that are drawn; another `draw` gives others."""
    colours = [_mix(colour + np.uint64((draw + 1) * STREAM % 2**64)) for colour in colours_of(memory)]
    transition, start = colours
    found = memory.copy()
    count = memory.counts.sum(0)
    first = _half(count, transition)
    found.counts = np.stack([first, count - first])
    found.starts = _both(memory.starts.sum(0), _half(memory.starts.sum(0), start))
    found.sums, found.squares = _utilities(memory, count, first, transition)
    return found


def colours_of(memory: Memory) -> tuple[Colours, Colours]:
    """Return a number for each transition that was seen, (M,), and for each state, (S,)."""
    states = memory.states
    pair = memory.pairs
    own = _mix(memory.counts.sum(0).astype(np.uint64))
    for column in memory.sums.sum(0).T:
        own = _mix(own + _bits(column))
    edges = _Edges(pair // memory.actions, pair % memory.actions, memory.successors, own)
    state = np.append(_mix(memory.starts.sum(0).astype(np.uint64)), np.uint64(STREAM))
    action = np.zeros(memory.actions, dtype=np.uint64)
    edge = own
    for _ in range(REFINEMENTS):
        parts = (state[edges.state], action[edges.action], state[edges.successor])
        edge = edges.own
        for part in parts:
            edge = _mix(edge + part)
        state = _mix(state + _summed(edges.state, edge, states + 1))
        state = _mix(state + _summed(edges.successor, edge, states + 1))
        action = _mix(action + _summed(edges.action, edge, memory.actions))
    return edge, state[:states]


def _summed(index: NDArray[np.int64], values: Colours, size: int) -> Colours:
    """Sum modulo 2⁶⁴, in which the order does not matter."""
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, index, values)
    return total


def _mix(values: Colours) -> Colours:
    """Scramble 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    mixed = values + np.uint64(STREAM)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _bits(values: Array) -> Colours:
    """Return the bits of numbers that are rounded to `DIGITS` digits."""
    with np.errstate(divide="ignore"):
        place = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
    scale = 10.0 ** (DIGITS - 1 - place)
    rounded = np.where(np.isfinite(scale), np.round(values * scale), values) + 0.0  # no negative zeros
    return (rounded + place * 0.5).view(np.uint64)


def _normal(colour: Colours) -> Array:
    """Return numbers of a standard normal distribution, one for each colour."""
    from scipy.special import ndtri

    return np.asarray(ndtri(((colour >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53))


def _half(count: Array, colour: Colours) -> Array:
    """Draw from Binomial(n, ½): bits that are set for small n, else rounded from the normal distribution."""
    few = np.minimum(count, EXACT).astype(np.uint64)
    bits = np.where(few > 0, colour >> (np.uint64(EXACT) - np.maximum(few, 1)), np.uint64(0))
    many = np.clip(np.round(count / 2 + np.sqrt(count) / 2 * _normal(_mix(colour))), 0, count)
    return np.where(count <= EXACT, np.bitwise_count(bits).astype(float), many)


def _both(total: Array, first: Array) -> Array:
    return np.stack([first, total - first])


def _utilities(memory: Memory, count: Array, first: Array, colour: Colours) -> tuple[Array, Array]:
    """Draw the sums of the first half given how many steps it has, from the normal distribution; squares go with their number."""
    share = (first / count)[:, None]
    total, squares = memory.sums.sum(0), memory.squares.sum(0)  # (M, J)
    variance = squares / count[:, None] - (total / count[:, None]) ** 2
    variance = np.where(variance > ROUNDING * squares / count[:, None], variance, 0.0)
    spread = np.sqrt(variance * (first * (count - first) / np.maximum(count - 1, 1))[:, None])
    noise = np.stack([_normal(_mix(colour + np.uint64(1 + j))) for j in range(memory.utilities)], 1)
    part = share * total + np.where((share > 0) & (share < 1), spread * noise, 0.0)
    assert HALVES == 2
    return _both(total, part), _both(squares, share * squares)
