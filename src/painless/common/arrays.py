"""Array types, and the one rule for settings that differ between the runs of a batch.

The axes have one alphabet: B runs in a batch, S states, A actions, K constraints, J = 1 + K utilities
(the reward first), T iterations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
FEW_COLUMNS = 16  # of a mask, up to which they are combined one after the other
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


def any_of_row(mask: Mask) -> Mask:
    """Return which rows of a mask (n, m) have an entry that holds, (n,): column by column, which takes a twentieth of the time if there are few.

    >>> any_of_row(np.array([[False, True], [False, False]]))
    array([ True, False])
    """
    if not 0 < mask.shape[1] <= FEW_COLUMNS:
        return np.asarray(mask.any(1))
    found = mask[:, 0].copy()
    for column in mask.T[1:]:
        found |= column
    return found


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of `array` that cannot be written to; the array itself keeps its flags."""
    view = array.view()
    view.flags.writeable = False
    return view


def same_array(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays are the same memory, read in the same way.

    >>> some = np.zeros((2, 2))
    >>> same_array(some, some.view()), same_array(some, some.T), same_array(some, some.copy())
    (True, False, False)
    """
    first, second = one.__array_interface__, other.__array_interface__
    alike = all(first[part] == second[part] for part in ("shape", "strides", "typestr"))
    return alike and first["data"][0] == second["data"][0]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an unshared array, whose base becomes read-only too."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner.flags.writeable = False
        owner = owner.base
    return array.view()


class _Blas:
    """What limits BLAS of this process to one thread while needed."""

    lock, depth = Lock(), 0  # callers that need one thread
    limits: ClassVar[list[Any]] = []  # each remembers what it found
    controller: Any = None
    modules: tuple[str, ...] = ()  # loaded when the libraries were looked up


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that a result does not depend on the number of cores.

    BLAS has one thread limit per process: the first of several callers at once limits it, and the last one restores it. That of
    OpenMP holds for the calling thread only.
    """
    from threadpoolctl import ThreadpoolController

    with _Blas.lock:
        # A library comes with a compiled module; to look all of them up takes milliseconds. Asking a module that is loaded lazily must not load it.
        before, _Blas.modules = _Blas.modules, tuple(sys.modules)
        new = (sys.modules.get(name) for name in _Blas.modules[len(before) :])
        own = (ModuleType.__getattribute__(one, "__dict__") for one in new if isinstance(one, ModuleType))
        compiled = (
            isinstance(getattr(one.get("__spec__"), "loader", None), ExtensionFileLoader) for one in own
        )
        is_new = not before or _Blas.modules[: len(before)] != before or any(compiled)
        if is_new:
            _Blas.controller = ThreadpoolController()
        if _Blas.depth == 0 or is_new:
            _Blas.limits.append(_Blas.controller.limit(limits=1, user_api="blas"))
        _Blas.depth += 1
        own = _Blas.controller.limit(limits=1, user_api="openmp")
    try:
        yield
    finally:
        own.restore_original_limits()
        with _Blas.lock:
            _Blas.depth -= 1
            while _Blas.depth == 0 and _Blas.limits:
                _Blas.limits.pop().restore_original_limits()


def summed_by(index: NDArray[np.integer], values: Array, size: int) -> Array:
    """Return the sum of the values (n,) of each index 0..size − 1, (size,).

    >>> summed_by(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    array([3., 0., 5.])
    """
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)
