"""(I − γ P_π)⁻¹ of a larger sparse chain by BiCGSTAB (van der Vorst 1992), where factors would fill the matrix.

A discount keeps the system well conditioned: with γ = 0.95 some twenty products with the chain suffice. The residual is checked, and factors serve where it
stays too large.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy

from painless.bellman import Resolvent, resolvent
from painless.common.arrays import Array
from painless.counting._krylov_kernels import bicgstab
from painless.counting.elimination import EliminatedResolvent
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.problem import Transition

DENSE = 40  # successors of a state under a policy beyond which a small system is solved as a dense one
FACTORISED = 500  # states up to which factors always serve
NARROW = 4  # mean successors of a state up to which they serve larger chains
PRECISE = 1e-10  # residual, relative to the right-hand side
STARTS = 3  # each from where the last one ended
PRODUCTS = 400  # steps of two products each after which factors are made


def inverse_of(chain: Transition, discount: float, order: EliminationOrder | None = None) -> Resolvent:
    """Return (I − γ P_π)⁻¹ in the way that fits the chain; `order` is that of the model to which the chain belongs."""
    if isinstance(chain, np.ndarray):
        return resolvent(chain, discount)
    states = chain.shape[0]
    if states > FACTORISED and discount < 1 and chain.nnz > NARROW * states:
        return KrylovResolvent(chain, discount)
    if states > FACTORISED and discount < 1 and order is not None:
        return EliminatedResolvent(chain, discount, order)
    return resolvent(chain if chain.nnz <= DENSE * states else chain.toarray(), discount)


class KrylovResolvent:
    """(I − γ P_π)⁻¹, applied by iteration."""

    def __init__(self, chain: Any, discount: float) -> None:
        self.chain, self.discount = scipy.sparse.csr_array(chain), discount

    @cached_property
    def _turned(self) -> Any:
        return scipy.sparse.csr_array(self.chain.T)

    @cached_property
    def _factors(self) -> Resolvent:
        return resolvent(self.chain, self.discount)

    def state_value(self, utility: Array) -> Array:
        """Return (I − γ P_π)⁻¹ u for each row u of `utility`, (n, S)."""
        found = [self._solved(self.chain, row) for row in utility]
        solved = [one for one in found if one is not None]
        return np.array(solved) if len(solved) == len(found) else self._factors.state_value(utility)

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − γ P_π)⁻¹, (S,)."""
        found = self._solved(self._turned, initial)
        return self._factors.state_occupancy(initial) if found is None else found

    def _solved(self, matrix: Any, right: Array) -> Array | None:
        """Solve (I − γ·matrix) x = right; None if the residual stays too large."""
        size = float(np.linalg.norm(right))
        found = np.zeros(len(right))
        system = matrix.data, matrix.indices, matrix.indptr, self.discount
        for _ in range(STARTS):  # its own residual drifts from the true one, and a new start mends that
            found, residual = bicgstab(*system, right, found, PRECISE * size, PRODUCTS)
            if residual <= 10 * PRECISE * size:
                return found
        return None
