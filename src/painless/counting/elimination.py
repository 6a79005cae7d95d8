"""(I − γ P_π)⁻¹ of the chains of one model by elimination, in an order that is found once, since all of them have transitions of the same graph."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy

from painless.bellman import Resolvent, resolvent
from painless.common.arrays import Array
from painless.engines.sweeps.chain import Chain
from painless.engines.sweeps.elimination_order import EliminationOrder


def chain_without_loops(transition: Any, discount: float) -> Chain:
    """Return a sparse matrix of transitions (S, S) as elimination needs it; it has no utilities."""
    rows = scipy.sparse.csr_array(transition)
    states = rows.shape[0]
    origin = np.repeat(np.arange(states), np.diff(rows.indptr))
    loop = rows.indices == origin
    stay = np.bincount(origin[loop], discount * rows.data[loop], states).astype(float)
    begin = np.append(0, np.bincount(origin[~loop], minlength=states).cumsum()).astype(np.uint32)
    target, weight = rows.indices[~loop].astype(np.uint32), discount * rows.data[~loop]
    return Chain(begin[:-1], begin[1:], target, weight, stay, np.zeros((states, 0)))


def uniform_order(transition: Any, shape: tuple[int, ...], discount: float) -> EliminationOrder:
    """Return the order for all chains of a sparse model (S·A, S), which have transitions of the uniform policy's; it is found on first use."""
    states, actions = shape

    def graph() -> Chain:
        pairs, share = np.arange(states * actions), np.full(states * actions, 1 / actions)
        uniform = scipy.sparse.csr_array((share, pairs, np.arange(0, states * actions + 1, actions)))
        return chain_without_loops(uniform @ transition, discount)

    return EliminationOrder(graph)


class EliminatedResolvent:
    """(I − γ P_π)⁻¹, factorised anew for each question; by factors in an order of its own where the model's order fills in much."""

    def __init__(self, transition: Any, discount: float, order: EliminationOrder) -> None:
        self.transition, self.discount, self.order = transition, discount, order
        self.chain = chain_without_loops(transition, discount)

    @cached_property
    def _factors(self) -> Resolvent:
        return resolvent(self.transition, self.discount)

    def state_value(self, utility: Array) -> Array:
        """Return (I − γ P_π)⁻¹ u for each row u of `utility`, (n, S)."""
        found = self.order.solve(self.chain, np.ascontiguousarray(utility.T))
        return self._factors.state_value(utility) if found is None else np.ascontiguousarray(found.T)

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − γ P_π)⁻¹, (S,)."""
        found = self.order.solve(self.chain, initial, transposed=True)
        return self._factors.state_occupancy(initial) if found is None else found
