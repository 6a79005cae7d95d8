"""Models to explore with: a draw from what the counts allow, with imaginary visits to heaven.

A draw from the posterior has rows from a Dirichlet distribution with the counts and an imaginary visit to heaven, which counts at most 1 and as much as `novelty` says, and
mean utilities from a normal distribution with their standard errors.
"""

from __future__ import annotations

import numpy as np

from painless.bellman import policy_transition
from painless.common.arrays import Array
from painless.counting.krylov import inverse_of
from painless.counting.learned_model import EXTRA, LearnedModel
from painless.problem import CMDP

SWEEPS = 2000  # of value iteration for the largest value, which needs no precision
PRECISION = 1e-3  # of that value, relative to the range of values


def sampled_model(
    model: LearnedModel, rng: np.random.Generator, heaven: float, *, limited: bool = True
) -> CMDP:
    """Draw a model from the posterior, with an imaginary visit of every pair to a heaven of this value; with its limits or without."""
    weight = rng.standard_gamma(model.count)
    hope = np.where(model.visits > 0, rng.standard_gamma(model.imaginary), 1.0)
    total = np.bincount(model.pairs, weight, len(hope)) + hope
    error = np.sqrt(model.variance / np.maximum(model.visits, 1))
    utility = model.utility + error * rng.standard_normal(model.utility.shape)
    threshold = model.threshold if limited else np.empty(0)
    return _hopeful(model, weight / total[model.pairs], hope / total, utility, heaven, threshold)


def hopeful_model(model: LearnedModel, heaven: float) -> CMDP:
    """Return the model with an imaginary visit of every pair to a heaven of this value: what an optimist hopes for."""
    hope = model.novelty
    probability = (1 - hope)[model.pairs] * model.probability
    return _hopeful(model, probability, hope, model.utility, heaven, model.threshold)


def _hopeful(
    model: LearnedModel, probability: Array, hope: Array, utility: Array, heaven: float, threshold: Array
) -> CMDP:
    """Return a model with a heaven; what nobody tried may bring the range of rewards on the way there."""
    best = np.maximum(model.memory.high, 0.0)
    best[0] = heaven * (1 - model.discount)
    everything = np.ones_like(model.tried)
    utility = (1 - hope) * utility
    utility[0] += np.where(model.visits > 0, 0.0, model.memory.high[0] - model.memory.low[0])
    parts = model.assemble(probability, hope, utility, best, everything)
    return model.problem(parts, threshold)


def largest_value(model: LearnedModel, before: Array | None = None) -> tuple[float, Array]:
    """Return the value of heaven: the largest unconstrained value of a state, and one standard deviation of rewards.

    Also the values of all states, (S + 2,). Those of an earlier model, of which the states were seen first, serve as `before`.
    """
    memory, spread = model.memory, float(model.deviation[0])
    extent = max(abs(memory.low[0]), abs(memory.high[0]))
    transition, utility, actions = model.nominal_parts
    reward = np.where(actions, utility[0], -np.inf)
    value = np.zeros(len(reward))
    value[-1] = utility[0, -1, 0] / (1 - model.discount)
    if before is not None:
        value[: len(before) - EXTRA] = before[:-EXTRA]
    for _ in range(SWEEPS):
        new = (reward + model.discount * (transition @ value).reshape(reward.shape)).max(1)
        change = np.abs(new - value)[:-1].max()
        value = new
        if change * model.discount <= PRECISION * extent:
            break
    top = float(value[:-1].max())
    return top + (spread if spread > 1e-9 * extent else extent or 1.0), value


def extreme_share(problem: CMDP, policy: Array) -> float:
    """Return the share of the discounted time that a policy (S + 2, A) expects to be in the extreme state."""
    inverse = inverse_of(policy_transition(problem, policy), problem.discount)
    share = inverse.state_occupancy(problem.initial)[-1] * (1 - problem.discount)
    return float(np.clip(share, 0.0, 1.0))
