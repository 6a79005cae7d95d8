"""The mixture of iterates that a training run returns, chosen by noisy estimates."""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.planning.master import best_mixture, largest_slack
from painless.policies.mixture import MixturePolicy
from painless.training.checkpoint import TrainingState

MARGIN = 3.0  # standard errors subtracted from every estimate


def training_mixture(run: TrainingState, threshold: Array) -> MixturePolicy:
    """Return the mixture of iterates with the largest reward that meets the constraints, by their estimates.

    Three standard errors are subtracted from each estimate, and each iterate counts as the worst of itself and its neighbours,
    which are similar: otherwise the best estimate would be that of a lucky policy. If no mixture meets the constraints this way,
    neighbours are ignored; if still none does, the mixture that comes closest is returned.
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
    """Return the minimum over each row of (T, J) and its two neighbours.

    At the ends it is that of the first and the last three rows. Fewer than three rows are returned unchanged.

    >>> worst_of_neighbours(np.array([[3.0], [1.0], [5.0], [4.0], [6.0]])).ravel()
    array([1., 1., 1., 4., 4.])
    """
    if len(value) < 3:
        return value
    least = np.lib.stride_tricks.sliding_window_view(value, 3, axis=0).min(-1)
    return least[np.clip(np.arange(len(value)) - 1, 0, len(least) - 1)]
