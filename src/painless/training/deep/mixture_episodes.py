"""Fresh episodes of the policies of a mixture, and what they say of it.

Each policy is a stratum: with weights w_k, and n_k episodes of policy k that have the mean m_k and the deviation s_k,

    mean = Σ w_k·m_k        standard error² = Σ w_k²·s_k²/n_k

The differences between the policies, which draws from a mixture would add, are no part of the error, and one set of episodes serves all mixtures of
the same policies. So they choose among mixtures from safe to bold, too: the boldest is taken that is met with all before it. Tests in an
order that was fixed before the episodes need no correction for their number (fixed-sequence testing; Angelopoulos et al. 2021 learn so what they test):
to call a mixture met that is not, the first such mixture of the order must have been called met, by a single test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.simulation.confidence import FEW, about_moments
from painless.training.deep.collection import Finished

LEAST = 2  # episodes of a policy that have a deviation


@dataclass(frozen=True, eq=False)
class MixtureEpisodes:
    """Episodes of the policies of a mixture; a policy may be played more or less often than it weighs."""

    episodes: Finished
    which: NDArray[np.int64]  # (n,) the policy of each
    weights: Array  # (m,) of the policies

    @property
    def used(self) -> NDArray[np.int64]:
        """The policies of the mixture."""
        return np.flatnonzero(self.weights)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The episodes of each policy, (m,)."""
        return np.bincount(self.which, minlength=len(self.weights))

    @property
    def count(self) -> int:
        """The episodes of the policies that are used."""
        return int(self.counts[self.used].sum())

    @property
    def seen(self) -> bool:
        """Whether all policies of the mixture were played often enough to have a deviation."""
        return bool((self.counts[self.used] >= LEAST).all())

    @property
    def enough(self) -> bool:
        """Whether there are as many episodes as intervals of an unknown range need, of every policy that was mixed."""
        return self.seen and self.count >= FEW

    def strata(self, values: Array) -> list[tuple[float, Array]]:
        """Return the weight and the values of each policy's episodes; where one was hardly played, all episodes as those of one policy."""
        if not self.seen:
            return [(1.0, values)]
        return [(float(self.weights[k]), values[self.which == k]) for k in self.used]

    def mean(self, values: Array) -> Array:
        """Return the mean of what the mixture collects, (J,), of values (n, J) of all episodes."""
        return _mean(self.strata(values))

    def intervals(self, values: Array, confidence: float, sizes: Array) -> tuple[Array, Array]:
        """Return simultaneous intervals (J,), about right; see `confidence.intervals`."""
        return _intervals(self.strata(values), confidence, sizes)

    def doubted(self, values: Array, confidence: float, sizes: Array) -> Array:
        """Return the lower ends (J,) of the intervals if there were one more episode like the worst of its policy."""
        strata = self.strata(values)
        lows = []
        for k, (weight, rows) in enumerate(strata):
            more = [*strata[:k], (weight, np.vstack([rows, rows.min(0)])), *strata[k + 1 :]]
            lows.append(_intervals(more, confidence, sizes)[0])
        return np.min(lows, axis=0)

    def as_drawn(self, values: Array) -> Array:
        """Return the largest part of values (n, J) that has each policy as often as it weighs, up to one, and evenly all along."""
        if not self.seen:
            return values
        wanted = np.floor((self.counts[self.used] / self.weights[self.used]).min() * self.weights + 0.5)
        places = [np.flatnonzero(self.which == k)[: int(wanted[k])] for k in self.used]
        turn = np.concatenate([(np.arange(len(part)) + 0.5) / len(part) for part in places])
        return values[np.concatenate(places)[np.argsort(turn, kind="stable")]]


def boldest(played: MixtureEpisodes, path: Array, met: Callable[[MixtureEpisodes], bool]) -> MixtureEpisodes:
    """Return the boldest of mixtures (p, m) that is met with all before it, or the first."""
    answer = replace(played, weights=path[0])
    for weights in path[np.append(True, np.diff(path, axis=0).any(1))]:
        trial = replace(played, weights=weights)
        if not met(trial):
            break
        answer = trial
    return answer


def _mean(strata: list[tuple[float, Array]]) -> Array:
    return np.sum([weight * rows.mean(0) for weight, rows in strata], axis=0)


def _intervals(strata: list[tuple[float, Array]], confidence: float, sizes: Array) -> tuple[Array, Array]:
    mean, count = _mean(strata), sum(len(rows) for _, rows in strata)
    single = 1 - (1 - confidence) / max(len(mean), 1)  # a union bound
    errors = [weight**2 * rows.var(0, ddof=1) / len(rows) for weight, rows in strata if len(rows) > 1]
    spread = np.sqrt(np.sum(errors, axis=0)) if errors else np.full(len(mean), np.inf)
    values = np.concatenate([rows for _, rows in strata])
    ends = np.empty((2, len(mean)))
    for j, size in enumerate(sizes.tolist()):
        signs = float((values[:, j] > 0).sum()), float((values[:, j] < 0).sum())
        ends[:, j] = about_moments(count, float(mean[j]), float(spread[j]), signs, single, size)
    return ends[0], ends[1]
