"""The multipliers of a run: from the episodes that finished, and in units of the deviations of what is collected.

The policy maximises (V_r + Σλ·(V_c − b))/(1 + Σλ), so that what the multipliers gain is divided by the same:

    g = (b − mean)/deviation / (1 + Σλ)

Undivided gains that keep their sign, as a policy that lags behind a limit makes them, let a coin bettor grow exponentially, far beyond what
the policy can still tell apart, and the reward gets no weight for as long as it takes to return. Divided ones win at most |b − mean|/deviation
an update, and λ grows linearly.

No critic has a say, and limits on whole episodes cost nothing extra. While no episode finishes, the multipliers stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.learners.base import Learner

LARGEST = 1e3  # of a multiplier in units of deviations; 1/1000 of the weight is then left for the reward


class EpisodeDual:
    """Multipliers λ ≥ 0 by a learner that gains (b − mean)/deviation/(1 + Σλ)."""

    def __init__(self, learner: Learner[Any], constraints: int) -> None:
        self.learner = learner
        self.state: Any = learner.init(np.zeros(constraints))

    def update(self, samples: Array, deviation: Array, threshold: Array) -> None:
        """Learn from episodes (n, K) of the constraints; `deviation` (K,) is the unit, and the threshold that for now."""
        if len(samples):
            shortfall = (threshold - samples.mean(0)) / deviation
            self.state = self.learner.update(shortfall / (1.0 + self.multiplier.sum()), self.state)

    @property
    def multiplier(self) -> Array:
        """λ, (K,), in units of deviations."""
        return np.clip(self.state.decision, 0.0, LARGEST)

    @property
    def weights(self) -> Array:
        """(1, λ)/(1 + Σλ), (J,)."""
        return np.append(1.0, self.multiplier) / (1.0 + self.multiplier.sum())
