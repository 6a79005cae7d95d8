"""Steps of a finite horizon over the rows of a sparse model, compiled: backwards for values and best actions, forwards for visits.

    V_t(s) = max_a u(s, a) + γ Σ_s' P_t(s'|s, a) V_{t+1}(s'),        W_t(s) = u(s, a_s) + γ Σ_s' P_t(s'|s, a_s) W_{t+1}(s')

with u = Σ_j w_j u_j in the first and W the values of all utilities, and of their sizes |u| if some utilities are negative, (S, C). Best actions come first, for all states, and W after them:
loops that do one thing keep the processor's memory unit busy. `FiniteHorizon` has the same equations in NumPy, for small and dense models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import inner, njit

Indices = NDArray[np.uint32]


@inner
def best_step(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    mask: Mask,
    discount: float,
    ahead: Array,
    actions: Any,
    value: Array,
    begin: int,
    end: int,
) -> float:
    """Write the best actions of a step for a utility (S, A), (S,), and their values (S,), on states begin..end − 1; without a mask it is empty.

    Return the largest absolute value.
    """
    choices = np.uint64(utility.shape[1])
    masked, largest = len(mask) > 0, 0.0
    for s in range(np.uint64(begin), np.uint64(end)):
        best, row = -np.inf, s * choices
        at: Any = choices  # none yet
        for a in range(choices):
            if masked and not mask[s, a]:
                continue
            total = 0.0
            for k in range(pointer[row + a], pointer[row + a + np.uint64(1)]):
                total += probability[k] * ahead[successor[k]]
            total = utility[s, a] + discount * total
            if total > best:
                best, at = total, a
        actions[s], value[s] = at, best
        largest = max(largest, abs(best))
    return largest


@njit
def follow_step(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    actions: Any,
    discount: float,
    values_ahead: Array,
    values: Array,
    begin: int,
    end: int,
) -> None:
    """Write W (S, C) of the actions (S,) of a step, with utilities (J, S, A), on states begin..end − 1."""
    utilities, columns = np.uint64(utility.shape[0]), np.uint64(values.shape[1])
    choices = np.uint64(utility.shape[2])
    for s in range(np.uint64(begin), np.uint64(end)):
        at = np.uint64(actions[s])
        row = s * choices + at
        for c in range(np.uint64(0), columns, np.uint64(2)):
            # The other of two; the last, if alone, is done twice
            d = min(c + np.uint64(1), columns - np.uint64(1))
            total, other = 0.0, 0.0
            for k in range(pointer[row], pointer[row + np.uint64(1)]):
                t, share = np.uint64(successor[k]), probability[k]
                total += share * values_ahead[t, c]
                other += share * values_ahead[t, d]
            gain = utility[c, s, at] if c < utilities else abs(utility[c - utilities, s, at])
            second = utility[d, s, at] if d < utilities else abs(utility[d - utilities, s, at])
            values[s, c], values[s, d] = gain + discount * total, second + discount * other


@njit
def steps_back(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    weighted: Array,
    masks: Mask,
    utility: Array,
    discount: float,
    near: NDArray[np.intp],
    actions: Any,
    value: Array,
    values: Array,
    newest: int,
    begin: int,
    end: int,
) -> float:
    """Take several steps, of which the first `near` states (n,) count, from the last one back: write the best actions (n, S) for the weighted utility (S, A), on states begin..end − 1.

    The newest values are value[newest], of (2, S), and values[newest], of all utilities, (2, S, C); without columns these are left out. Each step writes the other half. There is
    a mask of each step, (n, S, A), or one for all, (1, S, A), which may be empty. Return the largest absolute value.
    """
    largest = 0.0
    for n in range(len(near)):
        t, stop, other = len(near) - 1 - n, min(end, near[len(near) - 1 - n]), 1 - newest
        rows, mask = (pointer, successor, probability), masks[min(t, len(masks) - 1)]
        ahead, best = value[newest], value[other]
        most = best_step(*rows, weighted, mask, discount, ahead, actions[t], best, begin, stop)
        largest = max(largest, most)
        if values.shape[2] > 0:
            follow_step(*rows, utility, actions[t], discount, values[newest], values[other], begin, stop)
        newest = other
    return largest


@njit
def mix_step(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    table: Array,
    discount: float,
    values_ahead: Array,
    values: Array,
    begin: int,
    end: int,
) -> None:
    """Write W (S, C) of a policy, of which `table` (S, A) are the probabilities of this step, on states begin..end − 1."""
    utilities, columns = np.uint64(utility.shape[0]), np.uint64(values.shape[1])
    choices = np.uint64(utility.shape[2])
    for s in range(np.uint64(begin), np.uint64(end)):
        for c in range(columns):
            value = 0.0
            for a in range(choices):
                often = table[s, a]
                if often > 0:
                    total = 0.0
                    for k in range(pointer[s * choices + a], pointer[s * choices + a + np.uint64(1)]):
                        total += probability[k] * values_ahead[successor[k], c]
                    gain = utility[c, s, a] if c < utilities else abs(utility[c - utilities, s, a])
                    value += often * (gain + discount * total)
            values[s, c] = value


@njit
def visit_step(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    actions: Any,
    choices: int,
    discount: float,
    here: Array,
    after: Array,
) -> None:
    """Add to `after` (S,) what of the visits (S,) of a step arrives at the next one, by the actions (S,) that are taken."""
    for s in range(np.uint64(len(here))):
        moved = discount * here[s]
        if moved > 0:
            row = s * np.uint64(choices) + np.uint64(actions[s])
            for k in range(pointer[row], pointer[row + np.uint64(1)]):
                after[successor[k]] += moved * probability[k]


@njit
def reach_step(
    pointer: Indices, successor: Indices, probability: Array, table: Array, here: Mask, after: Mask
) -> None:
    """Set in `after` (S,) what may be reached from the states `here` (n,), the first ones, by the actions of a table (S, A)."""
    choices = np.uint64(table.shape[1])
    for s in range(np.uint64(len(here))):
        if here[s]:
            for a in range(choices):
                if table[s, a] > 0:
                    row = s * choices + a
                    for k in range(pointer[row], pointer[row + np.uint64(1)]):
                        if probability[k] > 0:
                            after[successor[k]] = True


def write_shares(often: Array, actions: Any, table: Array) -> None:
    """Write the table (S, A) of a step in which several policies, of actions (n, S), are taken as often as they come to the first states, (n, m).

    Where nobody comes, the first one is taken. This is the reference of `shares_step`.
    """
    near, everyone = often.shape[1], np.arange(len(table))
    share = often.copy()
    share[0, share.sum(0) == 0] = 1.0
    share /= share.sum(0)
    table[:] = 0.0
    for part, one in zip(share, actions, strict=True):
        table[everyone[:near], one[:near]] += part
    table[:near] /= table[:near].sum(1, keepdims=True)
    table[everyone[near:], actions[0, near:]] = 1.0


@njit
def shares_step(often: Array, actions: Any, table: Array) -> None:
    """Do what `write_shares` does, state by state."""
    parts, near, choices = len(often), often.shape[1], table.shape[1]
    for s in range(len(table)):
        for a in range(choices):
            table[s, a] = 0.0
        total = 0.0
        if s < near:
            for n in range(parts):
                total += often[n, s]
        if total == 0.0:
            table[s, actions[0, s]] = 1.0
            continue
        whole = 0.0
        for n in range(parts):
            table[s, actions[n, s]] += often[n, s] / total
        for a in range(choices):
            whole += table[s, a]
        for a in range(choices):
            table[s, a] /= whole


@njit
def take_elsewhere(table: Array, actions: Any, visited: Mask) -> None:
    """Let a table (n, A) take some actions (n,) in states that are not visited, (n,)."""
    choices = table.shape[1]
    for s in range(len(table)):
        if not visited[s]:
            for a in range(choices):
                table[s, a] = 0.0
            table[s, actions[s]] = 1.0
