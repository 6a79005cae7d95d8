"""What the iterations of a run saw: finished episodes, their lengths, and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array


class Record(NamedTuple):
    """What one iteration saw."""

    steps: int
    samples: Array  # (n, J) what limits are on, of the episodes that finished
    length: float  # mean length of these
    longest: float
    multiplier: Array  # (K,) in units of the utilities


def recent_samples(history: Sequence[Record], count: int, utilities: int) -> Array:
    """Return the latest episodes, about `count` of them if there are so many, (n, J)."""
    rows = [np.empty((0, utilities))]
    for one in reversed(history):
        rows.append(one.samples)
        count -= len(one.samples)
        if count <= 0:
            break
    return np.concatenate(rows)


def mean_length(history: Sequence[Record], otherwise: float) -> float:
    """Return the mean length of recent episodes, if there are any."""
    ended = [one.length for one in history if np.isfinite(one.length)]
    return float(np.mean(ended[-len(ended) // 4 - 1 :])) if ended else otherwise
