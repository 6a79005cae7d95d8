"""What followed a pair by the state before it, as counts: what the test of the Markov property needs, and no rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.counting.memory import SUCCESSOR_BITS

MOST = 2**18  # different cases that are kept apart; what comes after is not counted

Codes = NDArray[np.int64]


class Previous(NamedTuple):
    """Counts, sums and squares of utilities by transition and previous state, in order."""

    pair: Codes  # (n,)
    successor: Codes  # (n,) −1 for the end
    before: Codes  # (n,) the state before
    rows: Array  # (n,) how many
    sums: Array  # (n, J)
    squares: Array  # (n, J)

    @classmethod
    def empty(cls, utilities: int) -> Previous:
        """Return no counts."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, none, np.empty(0), np.empty((0, utilities)), np.empty((0, utilities)))

    def added(self, pair: Codes, successor: Codes, before: Codes, utility: Array) -> Previous:
        """Return the counts with n more rows, of utilities (n, J)."""
        if not len(pair) or len(self.pair) >= MOST:
            return self
        return self.joined(Previous(pair, successor, before, np.ones(len(pair)), utility, utility**2))

    def joined(self, other: Previous) -> Previous:
        """Return the counts of both."""
        pair, successor, before, count, sums, squares = (
            np.concatenate(both) for both in zip(self, other, strict=True)
        )
        if not len(pair):
            return self
        entry = (pair << SUCCESSOR_BITS) | (successor + 1)
        order = np.lexsort((before, entry))
        new = np.append(True, (np.diff(entry[order]) != 0) | (np.diff(before[order]) != 0))
        first, kept = np.flatnonzero(new), order[new]
        count, sums, squares = (
            np.add.reduceat(part[order], first, axis=0) for part in (count, sums, squares)
        )
        return Previous(pair[kept], successor[kept], before[kept], count, sums, squares)

    def renumbered(self, pair: Codes, state: Codes) -> Previous:
        """Return the same with other numbers of pairs and states."""
        successor = np.where(self.successor < 0, -1, state[np.maximum(self.successor, 0)])
        return self._replace(pair=pair[self.pair], successor=successor, before=state[self.before])
