"""Whole episodes of CartPole, compiled: `lockstep` of `rollouts` to the bit, for policies over tile coding.

The kernel plays until it comes to a state whose action it cannot tell for sure. There it hands over to the policy
itself, and goes on from the action that the policy takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array, Mask
from painless.compiling import njit
from painless.feature_policies import ReplayedPolicy, SummedPolicy
from painless.feature_policies._replay_kernels import find
from painless.feature_policies.cells import Compiled
from painless.features._tile_kernels import active, cells
from painless.features.base import Indices
from painless.features.tile_coding import TileGrid
from painless.problems._cartpole_kernel import step
from painless.rollouts import Trajectories, draw_actions
from painless.simulator import Specification

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
    policy: ReplayedPolicy | SummedPolicy,
    grid: TileGrid,
    states: Array,
    span: Array,
    rng: np.random.Generator,
) -> Trajectories:
    """Run an episode from each of the states (n, 4)."""
    policy, limit = policy.remembering(), specification.time_limit or 0
    log, returns = Log.room(len(states) * limit), np.zeros((len(states), 3))
    draws, alive, time, steps, factor = rng.random(len(states)), np.arange(len(states)), 0, 0, 1.0
    while len(alive) and time < limit:
        actions = draw_actions(policy.at(states)[0], draws)
        states, draws, alive, time, steps, factor = play(
            policy.compiled(grid),
            states,
            actions,
            alive,
            time,
            steps,
            factor,
            log,
            returns,
            span,
            specification.discount,
            limit,
            rng,
        )
    return Trajectories(
        log.states[:steps],
        log.actions[:steps],
        log.utilities[:steps],
        log.successors[:steps],
        log.terminated[:steps],
        returns,
    )


@njit
def play(
    policy: Compiled,
    states: Array,
    actions: NDArray[np.intp],
    alive: Indices,
    time: int,
    steps: int,
    factor: float,
    log: Log,
    returns: Array,
    span: Array,
    discount: float,
    limit: int,
    rng: np.random.Generator,
) -> tuple[Array, Array, Indices, int, int, float]:
    """Take these actions and go on, to the end or to a step that the policy must be asked about.

    Return the states of the episodes that have not ended, the random numbers of their next actions, their numbers (n,), and
    where the rollout stands: the time, the steps in the log, and γ^time.
    """
    while True:
        successors, utilities, terminated = step(states, actions)
        left = 0
        for n in range(len(states)):
            for i in range(4):
                log.states[steps, i], log.successors[steps, i] = states[n, i], successors[n, i]
            for j in range(3):
                log.utilities[steps, j] = utilities[n, j] / span[j]
                returns[alive[n], j] += factor * log.utilities[steps, j]
            log.actions[steps], log.terminated[steps] = actions[n], terminated[n]
            steps += 1
            left += not terminated[n]
        states = successors
        if left < len(states):
            states, alive = states[~terminated], alive[~terminated]
        time, factor = time + 1, factor * discount
        if left == 0 or time == limit:
            return states, np.empty(0), alive, time, steps, factor
        draws = rng.random(left)
        actions = choose(policy, states, draws)
        if actions.min() < 0:
            return states, draws, alive, time, steps, factor


@njit
def choose(policy: Compiled, states: Array, draws: Array) -> NDArray[np.intp]:
    """Return the action that a random number picks in each state (n,), −1 where the policy must be asked."""
    actions = np.full(len(states), -1, np.int64)
    if len(policy.weight) == 0:
        slots = find(policy.keys, policy.slots, cells(policy.grid, states))
        for n in range(len(states)):
            if slots[n] >= 0:
                left, right = policy.decision[slots[n], 0], policy.decision[slots[n], 1]
                actions[n] = left <= draws[n] * (left + right)
        return actions
    tiles = active(policy.grid, states)
    for n in range(len(states)):
        lead, size = 0.0, 1.0  # the logit of 1 less that of 0, and the size of what it is made of
        for k in range(tiles.shape[2]):
            zero, one = policy.weight[tiles[n, 0, k]], policy.weight[tiles[n, 1, k]]
            lead += one - zero
            size += abs(one) + abs(zero)
        apart = draws[n] - 1 / (1 + np.exp(lead))
        if abs(apart) > DOUBT * size:
            actions[n] = apart > 0
    return actions
