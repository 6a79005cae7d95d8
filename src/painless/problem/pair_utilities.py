"""The utilities of all pairs in other units, without a copy of them: (u − origin)/span is computed where it is needed.

A model of millions of pairs keeps its utilities as they were given. What its solution needs is one sum of them for each weight, and the utilities of the
pairs that one policy takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array

PIECE = 1 << 14  # pairs that are converted together


class PairUtilities:
    """Utilities (J, N) that can be weighted, and looked up by their number or by pairs, like an array.

    Arguments:
        reward: (N,) as it is stored.
        constraint_reward: (K, N) as they are stored.
        place: (J,) which of them each utility is: 0 for the reward, 1 for the first constraint.
        origin, span: (J,) each, the units.

    >>> some = PairUtilities(np.array([1.0, 3.0]), np.array([[2.0, 4.0]]), np.array([1, 0]), np.zeros(2), np.array([2.0, 1.0]))
    >>> np.array([1.0, 10.0]) @ some, some[0], some[:, 1]
    (array([11., 32.]), array([1., 2.]), array([2., 3.]))
    """

    __array_ufunc__ = None  # so that `weight @ utilities` asks here

    def __init__(
        self, reward: Array, constraint_reward: Array, place: NDArray[np.intp], origin: Array, span: Array
    ) -> None:
        self.parts = reward, constraint_reward, place, origin, span  # as kernels take them

    @classmethod
    def of(
        cls, reward: Array, constraint_reward: Array, place: NDArray[np.intp], origin: Array, span: Array
    ) -> PairUtilities:
        """Return the utilities of tables (S, A) and (K, S, A)."""
        held = constraint_reward.reshape(len(constraint_reward), reward.size)
        return cls(np.ascontiguousarray(reward).reshape(-1), np.ascontiguousarray(held), place, origin, span)

    def __len__(self) -> int:
        return len(self.parts[2])

    def __getitem__(self, at: Any) -> Array:
        """Return one utility (N,), or with [:, pairs] all utilities of some pairs, (J, …)."""
        if isinstance(at, tuple):
            every, pairs = at
            return np.array([self._converted(j, pairs) for j in np.arange(len(self))[every]])
        return self._converted(at, slice(None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        del dtype, copy
        return self[:, :]

    def __rmatmul__(self, weight: Array) -> Array:
        """Return Σ_j w_j u_j, (N,)."""
        pairs = len(self.parts[0])
        total, part = np.empty(pairs), np.empty((len(self), min(PIECE, pairs)))
        for begin in range(0, pairs, PIECE):
            end = min(begin + PIECE, pairs)
            for j, converted in enumerate(part[:, : end - begin]):
                self._converted(j, slice(begin, end), converted)
            np.matmul(weight, part[:, : end - begin], out=total[begin:end])
        return total

    def _converted(self, j: int, pairs: Any, out: Array | None = None) -> Array:
        """Return a utility of some pairs, in `out` if it is given; else the stored array itself where nothing has to be converted."""
        reward, constraint_reward, place, origin, span = self.parts
        stored = (constraint_reward[place[j] - 1] if place[j] else reward)[pairs]
        if origin[j] != 0.0:
            stored = np.subtract(stored, origin[j], out=out)
            out = stored if isinstance(stored, np.ndarray) else None  # of one pair it is a number
        if span[j] != 1.0 or (out is not None and stored is not out):
            stored = np.divide(stored, span[j], out=out)
        return np.asarray(stored)


def as_parts(utility: Array | PairUtilities) -> tuple[Array, Array, NDArray[np.intp], Array, Array]:
    """Return utilities (J, N) as kernels take them."""
    if isinstance(utility, PairUtilities):
        return utility.parts
    count = len(utility)
    reward = utility[0] if count else np.empty(0)
    return reward, utility[1:], np.arange(count), np.zeros(count), np.ones(count)
