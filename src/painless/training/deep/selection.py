"""Which mixture of checkpoints to answer with: fresh episodes where they may matter, and the program of all mixtures.

Each checkpoint is there twice: as it was trained, and sharpened to what it is likeliest to do, since exploration is of no use to an answer.
What the episodes of training say of each checkpoint is a start: a line through those around it, with its error doubled since the policy moved. Then, an
episode at a time, values are drawn within the errors, the best mixture of these draws is found, and one of its policies is drawn and played:
checkpoints that cannot win get no episodes. The later half goes to the policies of the answer so far, so that it need not keep far from the limits.
No error counts as smaller than that of the median deviation of a checkpoint's neighbours: a few episodes without a disaster do not show that there
are none. What the first states of fresh episodes explain of what they collected is taken out (see `first_states`). What comes out are mixtures from safe to bold, of which those that verify them choose (see `fresh_episodes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.planning.master import best_mixture, largest_slack
from painless.training.deep.first_states import adjusted

DOUBT = 2.0  # by which the errors of training episodes are multiplied
REWARD_MARGIN = 0.5  # errors subtracted from rewards: of two equal ones, the one better known
BEND = 0.25  # of the change over half a window, which a line may be wrong by
LEAST_WEIGHT = 0.02  # of a policy in a mixture: those that verify it would see a smaller part hardly ever
FINEST = 0.01  # steps in which margins are searched for
STAGES = 17  # mixtures from the safe one to the bold one: a step is about a third of an error of the episodes that judge them
ENOUGH = 1000  # episodes of a checkpoint after which no more are needed, as many as judge an answer


class Known(NamedTuple):
    """What is known of n checkpoints."""

    value: Array  # (n, J)
    error: Array  # (n, J)
    deviation: Array  # (n, J) of an episode


@dataclass
class Evidence:
    """Episodes of n checkpoints: what they collected, and what training said before.

    Arguments:
        mean: by the episodes of training around each checkpoint, (n, J).
        error: the standard errors of these, (n, J).
        deviation: of an episode, (n, J) or (J,), which no error is below; the median of the neighbours.
    """

    mean: Array
    error: Array
    deviation: Array

    def __post_init__(self) -> None:
        self.which = self.seeds = np.empty(0, np.int64)
        self.samples, self.expected = np.empty((0, self.mean.shape[1])), np.empty((0, self.mean.shape[1]))

    @property
    def count(self) -> Array:
        """The fresh episodes of each checkpoint, (n,)."""
        return np.bincount(self.which, minlength=len(self.mean)).astype(float)

    def add(self, which: NDArray[np.int64], samples: Array, expected: Array, seeds: Any) -> None:
        """Add fresh episodes, with what the critic expected from their first states, and their seeds."""
        self.which = np.concatenate([self.which, which])
        self.samples = np.concatenate([self.samples, samples])
        self.expected = np.concatenate([self.expected, expected])
        self.seeds = np.concatenate([self.seeds, seeds])

    def known(self) -> Known:
        """Weigh fresh episodes and training by their errors."""
        clean, left, shared = adjusted(self.which, self.samples, self.expected, self.seeds)
        fresh, spread = self._moments(clean)
        variance = np.maximum(np.maximum(spread, left * self.deviation**2), 1e-24)
        precision = self.count[:, None] / variance
        prior = 1 / np.maximum((DOUBT * self.error) ** 2, 1e-24)
        total = precision + prior
        error = 1 / np.sqrt(total)
        # The reward only has to tell checkpoints apart, of which all are wrong by the same; limits have to be kept.
        error[:, 1:] = np.hypot(error, precision / total * np.sqrt(shared))[:, 1:]
        raw = np.maximum(np.maximum(self._moments(self.samples)[1], self.deviation**2), 1e-24)
        return Known((fresh * precision + self.mean * prior) / total, error, np.sqrt(raw))

    def _moments(self, samples: Array) -> tuple[Array, Array]:
        """Return the mean and the variance of each checkpoint's fresh episodes, (n, J); 0 without any."""
        sums, squares = np.zeros_like(self.mean), np.zeros_like(self.mean)
        np.add.at(sums, self.which, samples)
        np.add.at(squares, self.which, samples**2)
        count = np.maximum(self.count, 1)[:, None]
        fresh = sums / count
        return fresh, np.maximum(squares / count - fresh**2, 0.0) * count / np.maximum(count - 1, 1)


def training_evidence(places: Array, times: Array, samples: Array) -> Evidence:
    """Return what training episodes (n, J) that ended at `times` (n,) say of checkpoints at `places`: a line through those in a window around each."""
    pooled = samples.std(0) if len(samples) > 1 else np.ones(samples.shape[1])
    width = float(np.median(np.diff(places))) if len(places) > 1 else np.inf
    rows = []
    for place in places:
        near = np.abs(times - place) <= width
        near = near if near.sum() > 2 else np.ones(len(times), dtype=bool)
        rows.append(_line((times[near] - place) / width, samples[near], pooled))
    mean, error, spread = (np.array(column) for column in zip(*rows, strict=True))
    return Evidence(mean, error, _median_of_neighbours(spread))


def with_sharpened(noisy: Evidence) -> Evidence:
    """Return the evidence of checkpoints, and after it that of the same ones sharpened, of which training tells little."""
    mean, deviation = np.tile(noisy.mean, (2, 1)), np.tile(noisy.deviation, (2, 1))
    return Evidence(mean, np.concatenate([noisy.error, np.hypot(noisy.error, noisy.deviation)]), deviation)


def _line(times: Array, samples: Array, pooled: Array) -> tuple[Array, Array, Array]:
    """Return where a line through samples (n, J) passes time 0, its error, and the deviation from it, (J,) each."""
    count = len(samples)
    if count < 3:
        mean = samples.mean(0) if count else np.zeros_like(pooled)
        return mean, pooled / np.sqrt(max(count, 1)), pooled
    design = np.stack([np.ones(count), times], 1)
    inverse = np.linalg.pinv(design.T @ design)
    start, slope = inverse @ (design.T @ samples)
    rest = samples - start - times[:, None] * slope
    spread = np.sqrt((rest**2).sum(0) / (count - 2))
    error = np.maximum(spread, 0.1 * pooled) * np.sqrt(inverse[0, 0])
    return start, np.hypot(error, BEND * slope), spread


def _median_of_neighbours(spread: Array) -> Array:
    """Return the median of the half of all checkpoints that is nearest to each, (n, J)."""
    count = len(spread)
    half = (count + 1) // 2
    starts = np.clip(np.arange(count) - half // 2, 0, count - half)
    return np.array([np.median(spread[start : start + half], axis=0) for start in starts])


def mixtures(known: Known, width: Array, threshold: Array) -> Array:
    """Return mixtures (p, n) of the largest reward from safe to bold: the first keep `width` (n, K) from the limits, the last nothing.

    If none keeps so much, the first keeps the largest share of it that one keeps; if none meets the limits, the nearest is all there is.
    They mix the policies of the safest and of one half as safe, which the verdict is likely to be near: fewer policies are known better.
    """

    def best(share: float, among: Any = slice(None)) -> Any:
        reward = known.value[:, :1] - REWARD_MARGIN * known.error[:, :1]
        return best_mixture(np.hstack([reward, known.value[:, 1:] - share * width])[among], threshold)

    if best(0.0) is None:
        size = np.maximum(np.median(width, axis=0), 1e-12)
        nearest = largest_slack((known.value[:, 1:] - width) / size, threshold / size)
        return rounded(nearest.weights)[None]
    low, high = (1.0, 1.0) if best(1.0) is not None else (0.0, 1.0)
    while high - low > FINEST:
        middle = (low + high) / 2
        low, high = (low, middle) if best(middle) is None else (middle, high)
    used = np.flatnonzero(rounded(best(low).weights) + rounded(best(low / 2).weights))
    rows: list[Array] = []
    for share in np.linspace(low, 0.0, STAGES):
        found, row = best(share, used), np.zeros(len(known.value))
        if found is not None:
            row[used] = rounded(found.weights)
            rows.append(row)
    return np.array(rows or [rounded(best(low).weights)])


def rounded(weights: Array) -> Array:
    """Return weights without those that are next to nothing."""
    kept = np.where(weights > LEAST_WEIGHT, weights, 0.0)
    return kept / kept.sum()


def promising(known: Known, threshold: Array, count: int, rng: np.random.Generator) -> list[int]:
    """Draw `count` checkpoints to play: each from the best mixture of values drawn within the errors, by its weights."""
    chosen = []
    for _ in range(count):
        drawn = known.value + known.error * rng.normal(size=known.value.shape)
        found = best_mixture(drawn, threshold) or largest_slack(drawn[:, 1:], threshold)
        chosen.append(int(rng.choice(len(drawn), p=rounded(found.weights))))
    return chosen


def spread_evenly(weights: Array, count: int, rng: np.random.Generator) -> list[int]:
    """Draw `count` policies of a mixture (n,), each as often as its weight says, up to one, in random order.

    Means of such episodes have smaller errors than means of independent draws, and the same expectation.
    """
    places = (rng.random() + np.arange(count)) / count
    which = np.searchsorted(np.cumsum(weights)[:-1], places, side="right")
    return rng.permutation(which).tolist()


def refining(weights: Array, played: Array, count: int, rng: np.random.Generator) -> list[int]:
    """Draw `count` policies of a mixture (n,) to play: more often those that weigh more, and those that were played (n,) less."""
    share = weights / np.sqrt(played + 1)
    return rng.choice(len(weights), size=count, p=share / share.sum()).tolist()
