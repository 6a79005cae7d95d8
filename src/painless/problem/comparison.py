"""Whether two problems are one model with other limits, so that what is known of one holds for the other."""

from typing import Any

import numpy as np

from painless.common.arrays import same_array
from painless.problem.cmdp import CMDP


def same_model(one: CMDP, other: CMDP) -> bool:
    """Whether two problems differ at most in their limits."""
    if (
        one.discount != other.discount
        or one.criterion is not other.criterion
        or one.stages is not other.stages
    ):
        return False
    if one.is_sparse and other.is_sparse and one.stages is None and one.shape == other.shape:
        parts = zip(one.pair_utility.parts, other.pair_utility.parts, strict=True)
        if not all(np.array_equal(x, y) for x, y in parts):  # in the same units
            return False
        utilities: tuple[Any, Any] = (None, None)
    else:
        utilities = (one.utility, other.utility)
    if one.step_utility is not None and other.step_utility is not None:
        utilities = (one.step_utility, other.step_utility)
    pairs = ((one.initial, other.initial), (one.actions, other.actions), utilities)
    return all(x is y or np.array_equal(x, y) for x, y in pairs) and _same_rows(
        one.transition, other.transition
    )


def _same_rows(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and same_array(one, other):
            return True
        # Other probabilities mostly differ in the first row already.
        return type(one) is type(other) and all(np.array_equal(one[:n], other[:n]) for n in (1, len(one)))
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)
