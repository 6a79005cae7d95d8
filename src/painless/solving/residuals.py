"""The inequalities of all certificates: what is had in a state, less what a step collects and what comes after it.

    Σ own(s) − Σ_j w_j u_j(s, a) − γ Σ P(s'|s, a) value(s')

at every pair, or averaged over the actions of a policy. Probabilities are the exact quotients p/Σp, ρ/Σρ and π/Σπ of what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from painless.solving.paired_doubles import Outward
from painless.verify import Array, Indices, Model

BLOCK = 2**17  # successors that are looked at together


def _surplus(
    model: Model,
    arithmetic: Outward,
    pairs: Indices,
    states: Indices,
    weight: Array,
    own: Sequence[Array],
    value: Array,
) -> Any:
    """Return what some pairs, given their states, have in surplus."""
    probability, successor, pointer = model.rows(pairs, states)
    ahead = arithmetic.average(probability, value[successor], pointer)
    total = -(ahead if model.discount == 1 else arithmetic.of(model.discount) * ahead)
    for part in own:
        total = total + arithmetic.of(part[states] if part.ndim else part)
    for share, utility in zip(weight, model.utility, strict=True):
        if share:
            gained = arithmetic.of(utility[pairs])
            total = total + -(gained if share == 1 else arithmetic.of(share) * gained)
    return total


def _blocks(sizes: Indices) -> Iterator[slice]:
    """Cut a sequence of things of some sizes into blocks of about `BLOCK`."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + BLOCK, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def pair_surplus(
    model: Model,
    arithmetic: Outward,
    pairs: Indices,
    weight: Array,
    own: Sequence[Array],
    value: Array,
) -> Array:
    """Return what some pairs have in surplus, at least; `own` are numbers, or arrays by state, and `value` includes the end."""
    states = model.states()[pairs]
    parts = [
        arithmetic.least(_surplus(model, arithmetic, pairs[block], states[block], weight, own, value))
        for block in _blocks(model.lengths(pairs))
    ]
    return np.concatenate(parts)


def policy_deficit(
    model: Model,
    arithmetic: Outward,
    policy: Array,
    weight: Array,
    own: Sequence[Array],
    value: Array,
) -> Array:
    """Return how much the surplus under a policy is below 0 in every state, at least, (S,): Σ_a π(a|s) [w·u + γP value − own]."""
    share = policy[model.actions]
    chosen = np.flatnonzero(share > 0)
    states = model.states()[chosen]
    count = np.bincount(states, minlength=len(policy))
    first = np.concatenate([[0], np.cumsum(count)])
    parts = []
    for block in _blocks(np.add.reduceat(model.lengths(chosen), first[:-1])):
        begin, end = first[block.start], first[block.stop]
        pairs = chosen[begin:end]
        each = _surplus(model, arithmetic, pairs, states[begin:end], weight, own, value)
        total = arithmetic.of(np.zeros(block.stop - block.start))
        for rank in range(int(count[block].max())):
            has = rank < count[block]
            place = np.where(has, first[block] - begin + rank, 0)
            total = total + -(arithmetic.of(np.where(has, share[pairs[place]], 0.0)) * each[place])
        parts.append(arithmetic.least(total))
    return np.concatenate(parts)
