"""The values of a chain at its start, from rough values V and rough visits d together: the errors of both are multiplied.

With r = u + γPV − V, what is left of the values' equations, and q = ρ − d(I − γP), what is left of those of the visits,

    V_π(ρ) = ρ·V + d·r + q·(V_π − V),        min r/(1−γ) ≤ V_π − V ≤ max r/(1−γ)

so that V_π(ρ) is known to within |q|₁ (max r − min r)/(2(1−γ)). Visits that are exact to 1e-4 make values ten thousand times as exact.
"""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _chain_kernels as kernels
from painless.engines.sweeps.chain import Chain
from painless.engines.sweeps.chain_values import EPSILON, most_roundings


class PairedBounds:
    """Bounds on the values of a chain at its start ρ, (S,), for visits d (S,) that are known roughly.

    >>> chain = Chain(*np.array([[0, 1], [1, 2], [1, 0]], np.uint32), np.full(2, 0.5), np.zeros(2), np.eye(2)[:, :1])
    >>> bounds = PairedBounds(chain, 0.5, np.array([1.0, 0.0]), np.array([1.3, 0.7]))
    >>> middle, error = bounds.around(np.array([[1.3], [0.7]]))  # both are 4/3 and 2/3
    >>> middle.round(9), error.round(9)
    (array([1.33]), array([0.01]))
    """

    def __init__(self, chain: Chain, discount: float, initial: Array, visits: Array) -> None:
        self.chain, self.discount, self.initial, self.visits = chain, discount, initial, visits
        left = initial - visits
        kernels.pass_on(*chain[:5], visits, left, 0, len(left))
        self._sum = (len(left) + 4) * EPSILON / 2  # relative rounding error of a sum over all states
        self._visited = float(np.abs(visits).sum()) * (1 + self._sum)
        self._total = float(left.sum())
        # |q|₁, rounded up: any number of states may lead to one.
        self.left = float(np.abs(left).sum()) * (1 + self._sum) + self._sum * (1 + 2 * self._visited)

    def around(self, value: Array) -> tuple[Array, Array]:
        """Return V_π(ρ) from rough values (S, J), and how much it may err, (J,) each."""
        found = np.empty((3, value.shape[1]))
        kernels.weigh_residual(*self.chain, value, self.visits, found)
        low, high, weighed = found
        unit = 1 / (1 - self.discount)
        arrays = (value, self.chain.gain)
        size = max(float(max(array.max(initial=0.0), -array.min(initial=0.0))) for array in arrays)
        passed = self._visited + 2 * unit * self.left  # of an error of r, at most
        largest = np.maximum(np.abs(low), np.abs(high))
        rounding = self._sum * (size + passed * largest) + most_roundings(self.chain) * size * passed
        middle = self.initial @ value + weighed + 0.5 * unit * (low + high) * self._total
        return middle, 0.5 * unit * (high - low) * self.left + rounding
