"""Sweeps over the components of a chain, compiled. The equations are in `component_sweeps`.

Indices are unsigned, so that no kernel tests them for a negative sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
def sweep_values(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    order: Indices,
    bounds: Indices,
    least: float,
    floor: float,
    most: int,
    value: Array,
) -> None:
    """Sweep V = u + PV, (S,) each, in each component in turn, until no value changes by more than `least` of the largest there, or `floor`.

    A component has the states order[bounds[c]..bounds[c + 1] − 1]. It takes at most `most` sweeps.
    """
    for c in range(len(bounds) - 1):
        low, high = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        sweeps, done = 0, False
        while sweeps < most and not done:
            sweeps += 1
            change, size = 0.0, 0.0
            for i in range(low, high):
                s = np.uint64(order[i])
                total = gain[s]
                for k in range(start[s], stop[s]):
                    total += weight[k] * value[target[k]]
                total /= 1.0 - stay[s]
                change = max(change, abs(total - value[s]))
                size = max(size, abs(total))
                value[s] = total
            done = high - low == np.uint64(1) or change <= max(least * size, floor)


@njit
def sweep_visits(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    order: Indices,
    bounds: Indices,
    least: float,
    floor: float,
    most: int,
    rest: Array,
    visits: Array,
) -> None:
    """Pass `rest` (S,) on until it is gone: d = ρ + dP, component after component, each before those that it leads to.

    A component is done if it keeps at most `least` of its visits, or `floor`, or after `most` sweeps.
    """
    for n in range(len(bounds) - 1):
        c = len(bounds) - 2 - n
        low, high = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        sweeps, done = 0, False
        while sweeps < most and not done:
            sweeps += 1
            kept, whole = 0.0, 0.0
            for i in range(low, high):
                s = np.uint64(order[high - np.uint64(1) - (i - low)])
                moved = rest[s] / (1.0 - stay[s])
                rest[s] = 0.0
                visits[s] += moved
                for k in range(start[s], stop[s]):
                    rest[target[k]] += weight[k] * moved
            done = high - low == np.uint64(1)
            if not done:
                for i in range(low, high):
                    s = np.uint64(order[i])
                    kept = max(kept, abs(rest[s]))
                    whole = max(whole, abs(visits[s]))
                done = kept <= max(least * whole, floor)
