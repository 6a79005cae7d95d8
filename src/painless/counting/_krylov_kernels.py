"""BiCGSTAB (van der Vorst 1992) for (I − γ P) x = b, compiled; `krylov` says when it serves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import inner, njit

BROKEN = 1e-30  # a product of directions, relative to the right-hand side, at which they say nothing


@inner
def _product(
    data: Array,
    indices: NDArray[np.int32],
    pointer: NDArray[np.int32],
    discount: float,
    value: Array,
    out: Array,
) -> None:
    """Write (I − γ P) v into `out`."""
    for row in range(len(value)):
        total = 0.0
        for k in range(pointer[row], pointer[row + 1]):
            total += data[k] * value[indices[k]]
        out[row] = value[row] - discount * total


@njit
def bicgstab(
    data: Array,
    indices: NDArray[np.int32],
    pointer: NDArray[np.int32],
    discount: float,
    right: Array,
    start: Array,
    tolerance: float,
    most: int,
) -> tuple[Array, float]:
    """Return x after at most `most` steps of two products each, and the norm of its true residual; `tolerance` is that of the residual."""
    states = len(right)
    found, residual, along = start.copy(), np.empty(states), np.zeros(states)
    turned, other = np.zeros(states), np.empty(states)
    _product(data, indices, pointer, discount, found, residual)
    residual = right - residual
    shadow = residual.copy()
    before = step = weight = 1.0
    size = float(right @ right)
    for _ in range(most):
        if residual @ residual <= tolerance * tolerance:
            break
        now = float(shadow @ residual)
        if abs(now) <= BROKEN * size or weight == 0.0:
            break
        ratio = now / before * step / weight
        for k in range(states):
            along[k] = residual[k] + ratio * (along[k] - weight * turned[k])
        _product(data, indices, pointer, discount, along, turned)
        step = now / float(shadow @ turned)
        for k in range(states):
            residual[k] -= step * turned[k]
        _product(data, indices, pointer, discount, residual, other)
        length = float(other @ other)
        weight = float(other @ residual) / length if length > 0.0 else 0.0
        for k in range(states):
            found[k] += step * along[k] + weight * residual[k]
            residual[k] -= weight * other[k]
        before = now
    _product(data, indices, pointer, discount, found, other)
    other = right - other
    return found, float(np.sqrt(other @ other))
