"""Whole episodes of CartPole, compiled: `lockstep` of `rollouts` to the bit, for policies over tile coding.

The kernel plays until it comes to a state whose action it cannot tell for sure. There it hands over to the policy
itself, and goes on from the action that the policy takes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import inner, njit
from painless.features.base import Indices
from painless.features.tile_coding import TileGrid
from painless.features.tile_kernels import cell, locate, scratch, tile
from painless.policies import FoldedPolicy, ReplayedPolicy, SummedPolicy
from painless.policies.cell_bettors import Compiled
from painless.policies.replay_kernels import place_of
from painless.problems._cartpole_kernel import move, step
from painless.simulation.rollouts import Trajectories, draw_actions
from painless.simulation.simulator import Specification

AHEAD = 3  # steps for which the policy is asked at once
DOUBT = 1e-12  # rounding of an action's probability, for logits of size 1; the policy itself decides so close a draw


class Log(NamedTuple):
    """Room for all steps of all episodes, in the order in which they are taken."""

    states: Array  # (N, 4)
    actions: NDArray[np.intp]  # (N,)
    utilities: Array  # (N, 3)
    successors: Array  # (N, 4)
    terminated: Mask  # (N,)

    @classmethod
    def room(cls, steps: int) -> Log:
        """Return room for a number of steps."""
        states, successors, utilities = np.empty((steps, 4)), np.empty((steps, 4)), np.empty((steps, 3))
        return cls(states, np.empty(steps, np.intp), utilities, successors, np.empty(steps, np.bool_))


def roll_out(
    specification: Specification,
    policy: ReplayedPolicy | SummedPolicy | FoldedPolicy,
    grid: TileGrid,
    states: Array,
    span: Array,
    rng: np.random.Generator,
) -> Trajectories:
    """Run an episode from each of the states (n, 4)."""
    policy, limit, count = policy.remembering(), specification.time_limit or 0, len(states)
    log, returns = Log.room(count * limit), np.zeros((count, 3))
    draws, before = rng.random(count), rng.bit_generator.state
    ahead, used = rng.random(count * max(limit - 1, 0)), 0  # as many as there could be
    states, alive, room = states.copy(), np.arange(count), scratch(grid)
    left, time, steps, factor = count, 0, 0, 1.0
    while left and time < limit:
        if isinstance(policy, FoldedPolicy):
            # A fold of many cells takes as long as one of few
            policy.at(with_successors(states[:left], AHEAD))
        actions = draw_actions(policy.at(states[:left])[0], draws)
        left, time, steps, used, factor = play(
            policy.compiled(grid),
            states,
            actions,
            alive,
            left,
            time,
            steps,
            used,
            factor,
            ahead,
            log,
            returns,
            span,
            specification.discount,
            limit,
            *room,
        )
        draws = ahead[used - left : used]
    rng.bit_generator.state = before
    rng.random(used)  # and no more: what is drawn next does not depend on what might have been
    return Trajectories(
        log.states[:steps],
        log.actions[:steps],
        log.utilities[:steps],
        log.successors[:steps],
        log.terminated[:steps],
        returns,
    )


def with_successors(states: Array, steps: int) -> Array:
    """Return states (n, 4), and those that any actions lead to within some steps."""
    found = [states]
    for _ in range(steps):
        repeated = np.repeat(found[-1], 2, axis=0)
        actions = np.tile(np.arange(2), len(found[-1]))
        found.append(np.asarray(step(repeated, actions)[0]))
    return np.concatenate(found)


@njit
def play(
    policy: Compiled,
    states: Array,
    actions: NDArray[np.intp],
    alive: Indices,
    left: int,
    time: int,
    steps: int,
    used: int,
    factor: float,
    draws: Array,
    log: Log,
    returns: Array,
    span: Array,
    discount: float,
    limit: int,
    whole: Indices,
    part: Indices,
) -> tuple[int, int, int, int, float]:
    """Take these actions and go on, to the end or to a step that the policy must be asked about.

    The first `left` of `states` are those of the episodes that have not ended, numbered by `alive`. Return how many there
    are, the time, the steps in the log, how many of the random numbers are used, and γ^time.
    """
    lower, upper, units, offset, radix, common, _, hashed = policy.grid
    keys, slots, decision, weight = policy.keys, policy.slots, policy.decision, policy.weight
    seen, taken, utilities, successors, terminated = log
    tilings, sure = len(offset), True
    while sure:
        kept = 0
        for n in range(left):
            for i in range(4):
                seen[steps, i] = states[n, i]
            fell = move(states, n, actions[n], successors, utilities, steps)
            for j in range(3):
                utilities[steps, j] /= span[j]
                returns[alive[n], j] += factor * utilities[steps, j]
            taken[steps], terminated[steps] = actions[n], fell
            if not fell:
                for i in range(4):
                    states[kept, i] = successors[steps, i]
                alive[kept] = alive[n]
                kept += 1
            steps += 1
        left, time, factor = kept, time + 1, factor * discount
        if left == 0 or time == limit:
            break
        for n in range(left):
            locate(lower, upper, units, tilings, states, n, whole, part)
            if len(weight) == 0:
                place = place_of(keys, cell(units, common, tilings, whole, part))
                zero, one = decision[slots[place], 0], decision[slots[place], 1]
                actions[n] = -1 if keys[place] == -1 else zero <= draws[used + n] * (zero + one)
            else:
                actions[n] = by_logit(offset, radix, hashed, whole, part, weight, draws[used + n])
            sure = sure and actions[n] >= 0
        used += left
    return left, time, steps, used, factor


@inner
def by_logit(
    offset: Indices, radix: Indices, hashed: int, whole: Indices, part: Indices, weight: Array, draw: float
) -> int:
    """Return the action that a random number picks by the logits, −1 where that is too close to tell."""
    lead, size = 0.0, 1.0  # the logit of 1 less that of 0, and the size of what it is made of
    for k in range(len(offset)):
        first = 2 * tile(offset, radix, hashed, whole, part, k)
        zero, one = weight[first], weight[first + 1]
        lead += one - zero
        size += abs(one) + abs(zero)
    apart = draw - 1 / (1 + math.exp(lead))
    if abs(apart) <= DOUBT * size:
        return -1
    return 1 if apart > 0 else 0
