"""Value iteration on rows without a discount, where something changes: a policy to start with.

Policy iteration moves the border between regions by a step in each round. Here a state is looked at again whenever a successor has changed (see
`active_states`), so that an improvement crosses the model in a few sweeps. Values only suggest a policy; they prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.engines.pair_rows import PairRows, Places
from painless.engines.sweeps.active_states import ActiveStates
from painless.engines.sweeps.sparse_rows import SparseRows
from painless.engines.sweeps.two_threads import TwoThreads

STUCK = 1 - 1e-12  # a row that stays with a larger probability is left out


class RowSweeps:
    """Improves choices among rows; those that stay where they are are never taken."""

    def __init__(self, rows: PairRows) -> None:
        self.rows = rows

    @cached_property
    def _active(self) -> tuple[Places, Places, ActiveStates]:
        """The rows that are kept, the place of each among them, and the sweeps over them."""
        rows = self.rows
        kernel = scipy.sparse.csr_array(rows.kernel)
        at = np.repeat(np.arange(kernel.shape[0]), np.diff(kernel.indptr))
        loop = kernel.indices == rows.state[at]
        stay = np.bincount(at[loop], kernel.data[loop], kernel.shape[0])
        kept = np.flatnonzero(stay < STUCK)
        some = kernel if len(kept) == kernel.shape[0] else kernel[kept]
        starts = np.searchsorted(rows.state[kept], np.arange(len(rows.first) + 1))
        place = np.full(kernel.shape[0], -1)
        place[kept] = np.arange(len(kept))
        first, pointer, successor = (part.astype(np.uint32) for part in (starts, some.indptr, some.indices))
        none = np.empty((0, 0))
        sparse = SparseRows(first, pointer, successor, some.data, none, None, rows.terms)
        return kept, place, ActiveStates(sparse, 1.0, TwoThreads())

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
        kept, place, active = self._active
        taken = place[choice].astype(np.uint32)
        active.improve(np.ascontiguousarray(utility[kept]), value.copy(), taken, least, limit, tick)
        return kept[taken.astype(np.intp)]
