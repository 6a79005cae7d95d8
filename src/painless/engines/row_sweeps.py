"""Value iteration on rows without a discount, where something changes: a policy to start with.

Policy iteration moves the border between regions by a step in each round. Here a state is looked at again whenever a successor has changed (see
`active_states`), so that an improvement crosses the model in a few sweeps. Values only suggest a policy; they prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.engines.pair_rows import COMPILED, PairRows, Places
from painless.engines.sweeps._ordered_kernels import largest_stay
from painless.engines.sweeps.active_states import ActiveStates
from painless.engines.sweeps.sparse_rows import SparseRows
from painless.engines.sweeps.state_threads import StateThreads

STUCK = 1 - 1e-12  # a row that stays with a larger probability is left out


class KeptRows(NamedTuple):
    """Rows without those that stay where they are."""

    kept: Places  # (m,) the rows
    place: Places  # (n,) of each row among them; −1 for those that are left out
    sparse: SparseRows  # without utilities


def kept_rows(rows: PairRows) -> KeptRows:
    """Return rows as sweeps need them; those that stay where they are are never taken."""
    if len(rows.first) > COMPILED and not isinstance(rows.kernel, np.ndarray):
        arrays = (rows.begin, *rows.arrays)
        if largest_stay(*arrays) < STUCK:
            everything = np.arange(len(rows.state))
            sparse = SparseRows(*arrays, np.empty((0, len(rows.state))), None, rows.terms)
            return KeptRows(everything, everything, sparse)
    kernel = scipy.sparse.csr_array(rows.kernel)
    at = np.repeat(np.arange(kernel.shape[0]), np.diff(kernel.indptr))
    loop = kernel.indices == rows.state[at]
    stay = np.bincount(at[loop], kernel.data[loop], kernel.shape[0])
    stays = stay >= STUCK
    kept = np.flatnonzero(~stays)
    some = kernel if len(kept) == kernel.shape[0] else kernel[kept]
    before: Places = np.cumsum(~stays) - ~stays  # rows that are kept
    place, starts = np.where(stays, -1, before), np.append(before, len(kept))[rows.begin]
    first, pointer, successor = (part.astype(np.uint32) for part in (starts, some.indptr, some.indices))
    sparse = SparseRows(first, pointer, successor, some.data, np.empty((0, len(kept))), None, rows.terms)
    return KeptRows(kept, place, sparse)


class RowSweeps:
    """Improves choices among rows."""

    def __init__(self, rows: PairRows) -> None:
        self.rows = rows

    @cached_property
    def known(self) -> KeptRows:
        """The rows that are kept."""
        return kept_rows(self.rows)

    @cached_property
    def _active(self) -> ActiveStates:
        return ActiveStates(self.known.sparse, 1.0, StateThreads())

    def improved(
        self,
        utility: Array,
        value: Array,
        choice: Places,
        least: float,
        limit: float,
        tick: Callable[[], None],
    ) -> Places:
        """Return rows (S,) that are better than `choice` (S,) with values (S,), after the work of at most `limit` sweeps.

        A change of value by less than `least` is not followed.
        """
        kept, place, _ = self.known
        taken = place[choice].astype(np.uint32)
        self._active.improve(np.ascontiguousarray(utility[kept]), value.copy(), taken, least, limit, tick)
        return kept[taken.astype(np.intp)]
