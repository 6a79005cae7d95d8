"""Array types, and the one rule for settings that differ between the runs of a batch.

The axes have one alphabet: B runs in a batch, S states, A actions, K constraints, J = 1 + K utilities
(the reward first), T iterations.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Setting = float | Array  # one value for all runs, or one for each: (B,)


def per_run(setting: Setting, ndim: int) -> Setting:
    """Return `setting` in a shape that broadcasts over the leading axis of an array with `ndim` axes.

    >>> per_run(np.array([1.0, 2.0]), 3).shape
    (2, 1, 1)
    >>> per_run(0.5, 3)
    0.5
    """
    if isinstance(setting, np.ndarray) and setting.ndim:
        return setting.reshape(setting.shape + (1,) * (ndim - setting.ndim))
    return setting


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of `array` that cannot be written to; the array itself keeps its flags."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array that nobody else holds; what it is a view of cannot be written to, either."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner.flags.writeable = False
        owner = owner.base
    return array.view()


def one_thread() -> AbstractContextManager[object]:
    """Hold BLAS to one thread, so that a result does not depend on the number of cores."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
