"""The Bellman equations of a table: one function for each, over dense and sparse models alike.

    P_π(s, s') = Σ_a π(a|s) P(s'|s, a)
    V = (I − γ P_π)⁻¹ u_π,                 u_π(s) = ⟨π(·|s), u(s, ·)⟩
    Q(s, a) = u(s, a) + γ Σ_s' P(s'|s, a) V(s')
    d(s) = ρ (I − γ P_π)⁻¹,                d(s, a) = d(s) π(a|s),       V(ρ) = Σ d(s, a) u(s, a)

The occupancy d sums to 1/(1−γ). I − γ P_π is factorised once for a policy; its inverse, applied from
either side, gives the values of all utilities and the occupancy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.problem import CMDP, Transition

LARGEST_SUM = 1e150  # of an undiscounted chain; larger sums are cut off


class Resolvent(Protocol):
    """(I − γ P_π)⁻¹, factorised."""

    def state_value(self, utility: Array) -> Array:
        """Return (I − γ P_π)⁻¹ u for each row u of `utility`, (n, S)."""

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − γ P_π)⁻¹, (S,)."""


@dataclass(frozen=True)
class DenseResolvent:
    """LU factors of the transposed matrix, which LAPACK reads without a copy."""

    factors: Array
    pivots: NDArray[np.int32]

    def state_value(self, utility: Array) -> Array:
        """Return (I − γ P_π)⁻¹ u for each row u of `utility`, (n, S)."""
        from scipy.linalg import lapack

        solution: Array = lapack.dgetrs(self.factors, self.pivots, utility.T, trans=1)[0]
        return solution.T

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − γ P_π)⁻¹, (S,)."""
        from scipy.linalg import lapack

        solution: Array = lapack.dgetrs(self.factors, self.pivots, initial)[0]
        return solution.reshape(-1)


@dataclass(frozen=True)
class SparseResolvent:
    """SuperLU factors of the transposed matrix, which is CSC without a copy."""

    factors: scipy.sparse.linalg.SuperLU

    def state_value(self, utility: Array) -> Array:
        """Return (I − γ P_π)⁻¹ u for each row u of `utility`, (n, S)."""
        solve: Any = self.factors.solve  # its stub lacks `trans`
        return np.ascontiguousarray(solve(utility.T, trans="T").T)

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − γ P_π)⁻¹, (S,)."""
        return np.asarray(self.factors.solve(initial))


@dataclass(frozen=True)
class FiniteResolvent:
    """(I − P_π)⁻¹ without a discount, of which every answer is finite, for callers that check what they are told.

    Sums may overflow where the chain leaves some states with probabilities of 1e-300, and a chain that never leaves them, up to
    rounding, has no inverse: `inner` is then None, and all sums are 0.
    """

    inner: Resolvent | None

    def state_value(self, utility: Array) -> Array:
        """Return (I − P_π)⁻¹ u for each row u of `utility`, (n, S)."""
        return np.zeros_like(utility) if self.inner is None else _finite(self.inner.state_value(utility))

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − P_π)⁻¹, (S,)."""
        return np.zeros_like(initial) if self.inner is None else _finite(self.inner.state_occupancy(initial))


def _finite(value: Array) -> Array:
    return np.clip(np.nan_to_num(value, nan=0.0), -LARGEST_SUM, LARGEST_SUM)


def resolvent(policy_transition: Transition, discount: float) -> Resolvent:
    """Factorise I − γ P_π."""
    found: Resolvent | None
    if isinstance(policy_transition, np.ndarray):
        from scipy.linalg import lapack

        matrix = np.ascontiguousarray(policy_transition) * -discount
        matrix.reshape(-1)[:: len(matrix) + 1] += 1.0
        factors, pivots, _ = lapack.dgetrf(matrix.T, overwrite_a=1)
        found = DenseResolvent(factors, pivots)
    else:
        from scipy.sparse.linalg import splu

        identity = scipy.sparse.eye_array(policy_transition.shape[0], format="csr")
        system = scipy.sparse.csr_array(identity - discount * policy_transition)
        try:
            found = SparseResolvent(splu(scipy.sparse.csc_array(system.T)))
        except RuntimeError:  # SuperLU: singular
            if discount < 1:
                raise
            found = None
    return FiniteResolvent(found) if found is None or discount >= 1 else found


def policy_transition(problem: CMDP, policy: Array | NDArray[np.integer[Any]]) -> Transition:
    """P_π(s, s') = Σ_a π(a|s) P(s'|s, a), for one policy, a table (S, A) or actions (S,), or, of a dense model, for a batch of tables."""
    if problem.horizon is not None:
        problem.require_stationary("the chain of a policy")
    if policy.ndim == 1:
        states, taken = np.arange(len(policy)), policy.astype(np.intp)
        if isinstance(problem.transition, np.ndarray):
            return problem.transition[states, taken]
        return scipy.sparse.csr_array(problem.transition[states * problem.shape[1] + taken])
    if isinstance(problem.transition, np.ndarray):
        return np.matmul(policy[..., None, :], problem.transition)[..., 0, :]
    states, actions = policy.shape
    # With indices of another type the product would copy the model.
    pairs = np.arange(states * actions + 1, dtype=problem.transition.indices.dtype)
    weights = scipy.sparse.csr_array(
        (policy.reshape(-1), pairs[:-1], pairs[::actions]), shape=(states, states * actions)
    )
    return scipy.sparse.csr_array(weights @ problem.transition)


def reachable(policy_transition: Transition, initial: Array) -> Mask:
    """Return which states a chain may come to, (S,), from where it may start."""
    if isinstance(policy_transition, np.ndarray):
        new = found = initial > 0
        while new.any():
            new = (policy_transition[new] > 0).any(0) & ~found
            found = found | new
        return found
    from scipy.sparse import csgraph

    chain = scipy.sparse.csr_array(policy_transition)
    starts, states = np.flatnonzero(initial), len(initial)
    graph = scipy.sparse.csr_array(
        (
            np.append(chain.data, np.ones(len(starts))),
            np.append(chain.indices, starts),
            np.append(chain.indptr, chain.nnz + len(starts)),
        ),
        shape=(states + 1, states + 1),
    )
    graph.eliminate_zeros()
    found = np.zeros(states + 1, dtype=bool)
    found[csgraph.breadth_first_order(graph, states, return_predecessors=False)] = True
    return found[:-1]


def batch_state_value(problem: CMDP, policies: Array, utility: Array) -> Array:
    """V = (I − γ P_π)⁻¹ u for a batch of policies (B, S, A) of a dense model and their utilities (B, J, S).

    LAPACK solves each system by itself, so that a row does not depend on its neighbours.
    """
    system: Array = -problem.discount * np.asarray(policy_transition(problem, policies))
    system.reshape(len(system), -1)[:, :: system.shape[-1] + 1] += 1.0
    return np.asarray(np.linalg.solve(system, utility.swapaxes(1, 2)).swapaxes(1, 2), dtype=np.float64)


def policy_utility(utility: Array, policy: Array) -> Array:
    """u_π(s) = ⟨π(·|s), u(s, ·)⟩ for utilities (J, S, A) and a policy (..., S, A): (..., J, S)."""
    return (utility * policy[..., None, :, :]).sum(-1)


def action_value(problem: CMDP, utility: Array, state_value: Array) -> Array:
    """Q = u + γ P V for utilities (J, S, A) and values (..., J, S): (..., J, S, A)."""
    if isinstance(problem.transition, np.ndarray):
        flat = problem.transition.reshape(-1, state_value.shape[-1])
        successor = np.matmul(state_value, flat.T)
    else:
        successor = (problem.transition @ state_value.T).T
    shape = (*state_value.shape[:-1], *utility.shape[-2:])
    return utility + problem.discount * successor.reshape(shape)


def advantage(q: Array, policy: Array) -> Array:
    """A = Q − ⟨Q, π⟩ (paper, eq. cb-primal)."""
    return q - (q * policy).sum(-1, keepdims=True)


def occupancy(problem: CMDP, policy: Array) -> Array:
    """d(s, a) = ρ (I − γ P_π)⁻¹ π, which sums to 1/(1−γ), for one policy (S, A)."""
    inverse = resolvent(policy_transition(problem, policy), problem.discount)
    return inverse.state_occupancy(problem.initial)[:, None] * policy


def occupancy_value(problem: CMDP, occupancy: Array) -> Array:
    """V(ρ) = Σ d(s, a) u(s, a) of all utilities, (J,)."""
    return (problem.utility * occupancy).sum((-2, -1))


def policy_value(problem: CMDP, policy: Array) -> Array:
    """V(ρ) of all utilities, (J,), for one policy (S, A)."""
    inverse = resolvent(policy_transition(problem, policy), problem.discount)
    return inverse.state_value(policy_utility(problem.utility, policy)) @ problem.initial


def occupancy_policy(occupancy: Array, prior: Array) -> Array:
    """Return the stationary policy with this occupancy: π(a|s) ∝ d(s, a), the prior where d(s) = 0."""
    kept = np.maximum(occupancy, 0.0)
    total = kept.sum(-1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), prior)
