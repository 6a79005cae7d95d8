"""What the errors of a log count beyond sampling: rare utilities, single pairs with few rows, and totals that are not linear in the frequencies.

Nobody will see more of a log than it holds, so that what a pair did not show is doubted.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from painless.common.arrays import Array
from painless.counting.alike import unlike_rows
from painless.counting.counted_pairs import LEVEL
from painless.counting.evaluation import Evaluated, evaluated
from painless.counting.learned_model import LearnedModel

MANY = 30  # rows of a pair from which its error counts as normal


def single_doubt(model: LearnedModel, found: Evaluated) -> Array:
    """Return how far one pair alone may put each value off, (J,), in standard errors: steps that a pair with few rows did not show may be bad ones.

    Many small errors have a normal sum, however rare the events are that they come from; one large error has not.
    """
    weight = found.occupancy.reshape(-1)
    utility, successor = model.unseen
    worse = weight * np.maximum(model.utility - model.bad_utility[:, None], 0.0)  # (J, S·A)
    far = worse * np.where(model.explained[:, None], successor, utility) * (model.visits < MANY)
    return np.asarray(far.max(1) / NormalDist().inv_cdf(LEVEL))


def bent_error(model: LearnedModel, found: Evaluated, influence: Array, error: float, j: int) -> float:
    """Return the standard error of a total with what it loses since values are not linear in the frequencies of a log.

    A total is what a step brings over the chance that it is the last. So the frequencies move by as many standard errors as `LEVEL` has, in the direction in
    which the value falls most, and what it falls by beyond a straight line counts.
    """
    if not 0 < error < np.inf:
        return error
    z = NormalDist().inv_cdf(LEVEL)
    mean = model.per_pair(model.probability * influence)[j]
    step = (influence[j] - mean[model.pairs]) / model.visits[model.pairs] * z / error
    moved = model.probability * np.maximum(1 - step, 0.0)
    moved /= np.maximum(np.bincount(model.pairs, moved, len(model.visits)), 1e-300)[model.pairs]
    shifted = replace(model)
    vars(shifted).update(alike=unlike_rows(moved, model.visits), typical_ahead=None)
    fallen = found.value[j] - evaluated(shifted, found.policy).value[j]
    straight = ((model.probability - moved) * influence[j]).sum()
    return float(error + max(fallen - straight, 0.0) / z)


def log_pair_variance(model: LearnedModel, found: Evaluated, influence: Array) -> Array:
    """Return what each pair of a log adds to the variance of V(ρ), (J, S·A), given influences (J, M).

    It counts `doubtful_rows` imaginary observations with a rare utility, of which `new_rows` lead to a state as far from the mean as `reach` says, too.
    """
    weight, visits = found.occupancy.reshape(-1), np.maximum(model.visits, 1)
    variance, rows, new = model.influence_variance(weight, influence), model.doubtful_rows, model.new_rows
    rare = model.rare[:, None] * weight
    doubt = new * (rare + found.reach) ** 2 + (rows - new) * rare**2
    return np.asarray((variance * visits + doubt) / (visits + rows) / visits)
