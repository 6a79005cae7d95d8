"""What the search for the best plan gains by the errors of the estimate, in standard errors of the plan.

Plans made on one half of the data are evaluated on the other. Half of the excess is left where the data are twice as many, and the standard error is 1/√2 of
what it was, so that the excess in standard errors is divided by √2. In standard errors it is fair to plans that stay where much is known; they are those of
both halves, since the one that a plan was made on may not have seen what is rare.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from painless.common.arrays import Array
from painless.counting.learned_model import LearnedModel
from painless.counting.memory import HALVES, Memory
from painless.counting.safe_plan import TOLERANCE, Limits, safe_plan
from painless.policies.table import restricted


def with_selection(memory: Memory, discount: float, limits: Limits, threshold: Array) -> Limits:
    """Return limits whose margins count the selection; `threshold` (K,) is on discounted values."""
    if not len(threshold) or not (memory.starts.sum(1) > 0).all() or not (memory.counts.sum(1) > 0).all():
        return limits
    halves = [LearnedModel(memory.completed_half(k), discount, threshold) for k in range(HALVES)]
    excess, error = np.zeros(len(threshold)), np.zeros(len(threshold))
    for own, judge in (halves, halves[::-1]):
        made = safe_plan(own, limits, threshold, tolerance=TOLERANCE).judged
        other = judge.judge(restricted(made.policy, judge.tried_or_all))
        excess += made.value[1:] - other.value[1:]
        error += np.sqrt((made.error[1:] ** 2 + other.error[1:] ** 2) / 2)
    known = error > 0
    ratio = np.where(known, excess, 0.0) / np.where(known, error, 1.0) / np.sqrt(2)
    return replace(limits, selection=np.maximum(ratio, 0.0))
