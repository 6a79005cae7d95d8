"""What the counts of steps say of every pair of a state and an action: how often it was tried, where it led, what it brought, and what it may still show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from painless.common.arrays import Array, Mask
from painless.counting.memory import Indices, Memory
from painless.counting.novelty import imaginary_rows, novelty

EXPLAINED = 1e-6  # share of the squares of a utility that transitions may leave open
LEVEL = 0.975  # at which what one pair may show is compared with a standard error


@dataclass(frozen=True)
class CountedPairs:
    """The statistics of a memory: of its transitions (M,), pairs (S·A,) and utilities (J,)."""

    memory: Memory

    @property
    def states(self) -> int:
        """S."""
        return self.memory.states

    @property
    def episodes(self) -> float:
        """The number of episodes."""
        return float(self.memory.starts.sum())

    @cached_property
    def pairs(self) -> Indices:
        """The pair of each transition seen, (M,)."""
        return self.memory.pairs

    @cached_property
    def successors(self) -> Indices:
        """Its successor, (M,); S for the end."""
        return self.memory.successors

    @cached_property
    def count(self) -> Array:
        """How often it was seen, (M,)."""
        return self.memory.counts.sum(0)

    @cached_property
    def visits(self) -> Array:
        """N(s, a), (S·A,)."""
        return self.memory.visits.reshape(-1)

    @cached_property
    def tried(self) -> Mask:
        """Which pairs were tried, (S, A)."""
        return (self.visits > 0).reshape(-1, self.memory.actions)

    @property
    def initial(self) -> Array:
        """The share of episodes that began in each state, (S,)."""
        first = self.memory.starts.sum(0)
        return first / first.sum()

    @cached_property
    def frequency(self) -> Array:
        """How often each transition was seen, over the visits of its pair, (M,)."""
        return self.count / self.visits[self.pairs]

    @property
    def probability(self) -> Array:
        """P(s'|s, a) of each transition seen, (M,)."""
        return self.frequency

    @cached_property
    def outcome(self) -> Array:
        """The mean utilities of each transition, (J, M)."""
        return self.memory.sums.sum(0).T / self.count

    @cached_property
    def utility(self) -> Array:
        """The mean utilities of each pair, (J, S·A)."""
        return self.per_pair(self.probability * self.outcome)

    @cached_property
    def variance(self) -> Array:
        """The variance of the utilities of each pair, (J, S·A)."""
        square = self.per_pair(self.memory.squares.sum(0).T / self.visits[self.pairs])
        return np.maximum(square - self.per_pair(self.frequency * self.outcome) ** 2, 0.0)

    @cached_property
    def unexplained(self) -> Array:
        """The variance of the utilities of each pair that its transitions do not explain, (J, S·A)."""
        square, mean = (self.per_pair(self.frequency * part) for part in (self.outcome**2, self.outcome))
        return np.maximum(self.variance - (square - mean**2), 0.0)

    @cached_property
    def explained(self) -> Mask:
        """Which utilities follow from the transition, (J,)."""
        noise = self.memory.squares.sum(0) - self.memory.sums.sum(0) ** 2 / self.count[:, None]  # (M, J)
        return np.asarray(noise.sum(0) <= EXPLAINED * self.memory.squares.sum((0, 1)))

    def per_pair(self, values: Array) -> Array:
        """Sum values of transitions (J, M) over each pair, (J, S·A)."""
        return np.array([np.bincount(self.pairs, row, len(self.visits)) for row in values])

    def influence_variance(self, weight: Array, influence: Array) -> Array:
        """Return the variance of the influence of each pair, (J, S·A), given its weight (S·A,) and influences (J, M)."""
        mean = self.per_pair(self.probability * influence)
        between = self.per_pair(self.probability * influence**2) - mean**2
        return np.maximum(between, 0.0) + weight**2 * self.unexplained

    @cached_property
    def deviation(self) -> Array:
        """The standard deviation of each utility over all steps, (J,)."""
        steps = self.count.sum()
        mean = self.memory.sums.sum((0, 1)) / steps
        return np.asarray(np.sqrt(np.maximum(self.memory.squares.sum((0, 1)) / steps - mean**2, 0.0)))

    @property
    def worst(self) -> Array:
        """The utilities of a step in hell, (J,): the worst seen, or 0."""
        return np.minimum(self.memory.low, 0.0)

    @cached_property
    def size(self) -> Array:
        """The largest absolute utility of a step, (J,)."""
        return np.maximum(np.maximum(np.abs(self.memory.low), np.abs(self.memory.high)), 1e-300)

    @cached_property
    def novelty(self) -> Array:
        """The probability that the next visit of each pair shows something new, (S·A,)."""
        return novelty(self.pairs, self.count, self.visits)

    @cached_property
    def imaginary(self) -> Array:
        """How many imaginary visits, (S·A,), at most 1, have the novelty of each pair as their share."""
        return self.novelty * self.visits / np.maximum(1 - self.novelty, 1e-12)

    @cached_property
    def new_rows(self) -> Array:
        """How many imaginary observations of a log lead each pair to a successor that is new there, (S·A,)."""
        return imaginary_rows(self.pairs, self.count, self.visits)

    @cached_property
    def doubtful_rows(self) -> Array:
        """How many imaginary observations each pair of a log counts, (J, S·A): 1, or `new_rows` of utilities that follow from the transition."""
        return np.asarray(np.where(self.explained[:, None], self.new_rows, 1.0))

    @cached_property
    def unseen(self) -> tuple[Array, Array]:
        """The largest share of its visits that each pair may show a new utility in, and a new successor, (S·A,) each, at the level `LEVEL`.

        These are quantiles of beta distributions, of N rows that did not show it and as many imaginary ones that did as count for a pair.
        """
        from scipy.special import betaincinv

        visits = np.maximum(self.visits, 1)
        return 1 - (1 - LEVEL) ** (1 / visits), np.asarray(betaincinv(self.new_rows, visits, LEVEL))

    @cached_property
    def rare(self) -> Array:
        """How far a rare utility of a log, of which nobody will see more, is from its mean, (J,): the geometric mean of its spread and half its range.

        Of a column that is constant, one more row of the log with a 0 in it counts.
        """
        count, constant = self.count.sum(), self.memory.high <= self.memory.low
        spread = np.where(constant, self.size * np.sqrt(count) / (count + 1), self.deviation)
        extent = np.where(constant, self.size, self.memory.high - self.memory.low)
        return np.asarray(np.sqrt(spread * extent / 2))

    @cached_property
    def bad_utility(self) -> Array:
        """What a bad step of a log brings, (J,): as far from the best step as the steps are, each counting as much as it is far."""
        best, count = self.memory.high, self.count.sum()
        total, squares = self.memory.sums.sum((0, 1)), self.memory.squares.sum((0, 1))
        distance, square = best * count - total, best**2 * count - 2 * best * total + squares
        far = distance > 1e-12 * self.size * count
        bad = best - np.where(far, square / np.where(far, distance, 1.0), 0.0)
        return np.asarray(np.where(far, np.maximum(bad, self.memory.low), self.worst))
