"""How lucky the first states of episodes were, by what the critic expected there: a control variate.

Episodes differ by what happens in them, and by where they begin: from some first states every policy collects more. With x the critic's values of the
first state of an episode of policy k that collected y, both about the means of that policy's episodes,

    B = argmin Σ |y − x·B|²        y' = y − (x − mean x)·B

with mean x over the seeds that were played, each once, since policies share them. y' has the same expectation, up to the error of that mean, which all policies share, and the variance that first states do not explain. On a pendulum or a
thermostat that is a small part, so that a few episodes tell policies apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array

FREE = 20  # degrees of freedom from which the slopes are trusted


class Adjusted(NamedTuple):
    """Episodes without the luck of their first states."""

    samples: Array  # (n, J)
    left: Array  # (J,) share of the variance that first states do not explain
    shared: Array  # (J,) variance of what all policies are wrong by, since the mean of the first states is estimated


def adjusted(which: NDArray[np.int64], samples: Array, expected: Array, seeds: NDArray[np.int64]) -> Adjusted:
    """Return episodes (n, J) of the policies `which` (n,) without what the critic's values of their first states (n, J) explain; `seeds` (n,) are theirs.

    >>> place = np.arange(60.0)[:, None]  # where each episode began
    >>> adjusted(np.zeros(60, int), 3 * place, place, np.arange(60)).samples.std().round(9)
    np.float64(0.0)
    """
    count, utilities = samples.shape
    policies, place, often = np.unique(which, return_inverse=True, return_counts=True)
    free = count - len(policies) - utilities
    nothing = Adjusted(samples, np.ones(utilities), np.zeros(utilities))
    if free < FREE:
        return nothing

    def centred(rows: Array) -> Array:
        sums = np.zeros((len(policies), utilities))
        np.add.at(sums, place, rows)
        return rows - (sums / often[:, None])[place]

    about, apart = centred(expected), centred(samples)
    slope = np.linalg.lstsq(about, apart, rcond=None)[0]
    before = (apart**2).sum(0) / (free + utilities)
    after = ((apart - about @ slope) ** 2).sum(0) / free
    left = np.divide(after, before, out=np.ones(utilities), where=before > 0)
    once = np.unique(seeds, return_index=True)[1]
    luck = np.where(left < 1, (expected - expected[once].mean(0)) @ slope, 0.0)
    return Adjusted(samples - luck, np.minimum(left, 1.0), luck[once].var(0) / len(once))
