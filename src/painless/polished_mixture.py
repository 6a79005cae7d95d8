"""Which iterates of a training run to return, by estimates that are noisy."""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.checkpoint import TrainingState
from painless.feature_policies.mixture import MixturePolicy
from painless.planning.master import best_mixture, largest_slack

MARGIN = 3.0  # standard errors by which estimates are distrusted


def polished_mixture(run: TrainingState, threshold: Array) -> MixturePolicy:
    """Return the mixture of iterates with the largest reward that meets the constraints, by their estimates.

    Each estimate counts for what it is worth with a margin of three standard errors, and each iterate for the worst of itself
    and its neighbours, who are alike: the best estimate of all is that of a policy that was lucky, with no error that shows.
    Where no mixture meets the constraints so, neighbours do not count; where none does then, the one that comes closest is taken.
    """
    if not run.kept:
        return MixturePolicy.uniform((run.position.policy,))
    error = np.array(run.errors)
    cautious = np.array(run.values) - MARGIN * np.where(np.isfinite(error), error, 0.0)
    rows = [policy.updates for policy in run.kept]
    mixture = (
        best_mixture(worst_of_neighbours(cautious)[rows], threshold)
        or best_mixture(cautious[rows], threshold)
        or largest_slack(cautious[rows, 1:], threshold)
    )
    used = np.flatnonzero(mixture.weights > 1e-9)
    weights = mixture.weights[used] / mixture.weights[used].sum()
    return MixturePolicy(tuple(run.kept[k] for k in used), weights)


def worst_of_neighbours(value: Array) -> Array:
    """Return the least of three rows in succession for each row of (T, J): the one before, itself and the next.

    At both ends it is that of the first and the last three. Less than three stay as they are.

    >>> worst_of_neighbours(np.array([[3.0], [1.0], [5.0], [4.0], [6.0]])).ravel()
    array([1., 1., 1., 4., 4.])
    """
    if len(value) < 3:
        return value
    least = np.lib.stride_tricks.sliding_window_view(value, 3, axis=0).min(-1)
    return least[np.clip(np.arange(len(value)) - 1, 0, len(least) - 1)]
