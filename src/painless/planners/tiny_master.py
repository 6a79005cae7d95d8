"""The two master programs of `master`, solved by the tiny simplex method; HiGHS where rounding defeats it."""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.planners import master
from painless.planners.master import Mixture
from painless.planners.tiny_program import maximise

ABSENT = 1e-12  # a penalty with less weight than this is none


def best_mixture(value: Array, threshold: Array, bound: Array, unit: float) -> Mixture | None:
    """Return the mixture of largest reward that meets the constraints, or None where there is none.

    `value` (n, J) holds V_r and V_c of each policy, and numbers about as large as `unit`. `bound` (K,) is more
    than any multiplier needs to be.
    """
    count, rows = len(value), len(threshold)
    if not rows:
        return master.best_mixture(value, threshold)
    slack = np.concatenate([(value[:, 1:] - threshold) / unit, np.eye(rows)])
    reward = np.append(value[:, 0] / unit, -bound)
    first = int((slack[:count].min(1)).argmax())
    basis = np.append(np.where(slack[first] < 0, count, count + rows) + np.arange(rows), first)
    best = maximise(reward, slack, count, basis)
    if best is None:
        return master.best_mixture(value, threshold)
    if best.weights[count:].max() > ABSENT:
        return None
    return Mixture(best.weights[:count] / best.weights[:count].sum(), best.multiplier, best.value * unit)


def largest_slack(constraint_value: Array, threshold: Array, unit: float) -> Mixture:
    """Return the mixture with the largest smallest slack V_c − b, and the weights of the constraints in it."""
    count, rows = constraint_value.shape
    slack = (constraint_value - threshold) / unit
    reach = float(slack.max()) + 1.0
    columns = np.concatenate([slack - reach, np.ones((1, rows))])
    least = int(slack[0].argmin())
    surplus = [count + 1 + i for i in range(rows) if i != least]
    best = maximise(np.append(np.zeros(count), -1.0), columns, count, np.array([*surplus, count, 0]))
    if best is None or not best.multiplier.sum() > 0.5:
        return master.largest_slack(constraint_value, threshold)
    weights, multiplier = best.weights[:count], best.multiplier
    return Mixture(weights / weights.sum(), multiplier / multiplier.sum(), (best.value + reach) * unit)
