"""LSTDQ: the fixed point of the projected Bellman equation, from sampled successors (Lagoudakis & Parr 2003).

For n pairs z with features φ(z) in the rows of Φ, and P̂ the frequencies of their sampled successors,

    A = Φᵀ D (Φ − γ P̂ Π Φ),     b_j = Φᵀ D u_j,     A θ_j = b_j,     Q_j(s, a) = ⟨φ(s, a), θ_j⟩

with D = I/n and Π Φ the features that the policy expects in each state. ΦᵀDΦ and b do not change between policies; only

    A = ΦᵀDΦ − γ (ΦᵀD P̂)(ΠΦ)

is formed for each policy, and it is factorised once for all utilities. A is singular where features are never seen or depend on
each other. The solution is then the one of minimum norm, where singular values below `cutoff` of the largest count as 0; or
`ridge` is added: (A + ridge·I) θ = b + ridge·θ_previous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.evaluators.base import Evaluation
from painless.evaluators.exact import TablePolicy
from painless.evaluators.monte_carlo import (
    Pairs,
    TableEstimate,
    available_pairs,
    evaluate_runs,
    require_count,
)
from painless.features import FeatureMap, feature_matrix
from painless.problem import CMDP

CUTOFF = 1e-8  # singular values below this part of the largest are 0


class SuccessorModel(NamedTuple):
    """The successors of n pairs, as the rows of a CSR matrix, and the entries of all rows of equal length."""

    pointer: Pairs  # (n + 1,)
    successor: Pairs  # (nnz,)
    probability: Array  # (nnz,)
    blocks: list[Pairs]  # (rows, length) each


@dataclass(frozen=True, eq=False)
class LSTDQ:
    """Least-squares temporal differences for action values that are linear in features.

    Arguments:
        problem: a table.
        features: a feature map over the indices of its states.
        samples: successors drawn for each pair. None takes the model's own probabilities; what is left then is the
            error of the features.
        cutoff: singular values below this part of the largest count as 0.
        ridge: in place of the cut-off, what is added to the diagonal of A.
        pairs: the indices s·A + a that are sampled, such as those of a coreset; all available ones by default. What is
            paid at other pairs is never seen; `LeastSquares`, whose rollouts pass through them, sees it.

    >>> import painless
    >>> from painless.features import TileCoding
    >>> features = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
    >>> LSTDQ(painless.gridworld(), features, samples=300).features.dimension
    56

    References:
        Lagoudakis & Parr, "Least-squares policy iteration", JMLR 4, 2003.
    """

    problem: CMDP
    features: FeatureMap
    samples: int | None
    cutoff: float = CUTOFF
    ridge: float | None = None
    pairs: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.samples is not None:
            require_count("samples", self.samples)
        require_regularisation(self.cutoff, self.ridge)
        require_features(self.problem, self.features)
        _ = self._sampled, self._feature

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities of every run from the same samples."""
        return evaluate_runs(self.problem, policy, rngs, self._estimate)

    def _estimate(self, policy: Array, rng: np.random.Generator) -> TableEstimate:
        return TableEstimate(linear_table(self.problem, self._feature, self.weight(policy, rng)))

    def weight(self, policy: Array, rng: np.random.Generator) -> Array:
        """Return θ of every utility, (J, d), for one policy (S, A)."""
        states, actions = policy.shape
        expected = np.matmul(policy[:, None, :], self._feature.reshape(states, actions, -1))[
            :, 0
        ]  # ΠΦ (S, d)
        flow = (self._model_matrix(rng).T @ self._rows).T  # ΦᵀP̂ (d, S)
        matrix = self._gram - self.problem.discount / len(self._rows) * (flow @ expected)
        return solve_lstdq(matrix, self._right, self.cutoff, self.ridge)

    def _model_matrix(self, rng: np.random.Generator) -> scipy.sparse.csr_array[np.float64]:
        """Return P̂, (n, S)."""
        model, frequency = self._model, self._model.probability
        if self.samples is not None:
            frequency = np.ones_like(frequency)
            for block in model.blocks:
                frequency[block] = rng.multinomial(self.samples, model.probability[block]) / self.samples
        shape = (len(model.pointer) - 1, self.problem.shape[0])
        return scipy.sparse.csr_array((frequency, model.successor, model.pointer), shape=shape)

    @cached_property
    def _sampled(self) -> Pairs:
        return available_pairs(self.problem, self.pairs)

    @cached_property
    def _feature(self) -> Array:
        return feature_matrix(self.features, self.problem.shape[0])

    @cached_property
    def _rows(self) -> Array:
        return self._feature[self._sampled]

    @cached_property
    def _gram(self) -> Array:
        return self._rows.T @ self._rows / len(self._rows)

    @cached_property
    def _right(self) -> Array:
        utility = self.problem.utility.reshape(-1, len(self._feature))[:, self._sampled]
        return utility @ self._rows / len(self._rows)

    @cached_property
    def _model(self) -> SuccessorModel:
        from painless.simulation.sampling import table_sampler

        sampler = table_sampler(self.problem)
        start, length = sampler.pointer[self._sampled], np.diff(sampler.pointer)[self._sampled]
        pointer = np.concatenate([[0], np.cumsum(length)])
        entry = np.arange(pointer[-1]) + np.repeat(start - pointer[:-1], length)
        blocks = [
            pointer[:-1][length == width, None] + np.arange(width) for width in np.unique(length) if width > 1
        ]
        return SuccessorModel(pointer, sampler.successor[entry], sampler.probability[entry], blocks)


def solve_lstdq(
    matrix: Array,
    right: Array,
    cutoff: float = CUTOFF,
    ridge: float | None = None,
    previous: Array | None = None,
) -> Array:
    """Solve A θ_j = b_j for all utilities with one factorisation: `matrix` (d, d), `right` (J, d), result (J, d).

    Without `ridge`, the least-squares solution of minimum norm, singular values below `cutoff` of the largest taken
    as 0. With it, (A + ridge·I) θ = b + ridge·previous. A feature whose row and column of A are 0 stands
    alone, so that it is removed first, at no cost.

    >>> solve_lstdq(np.diag([2.0, 0.0]), np.array([[1.0, 0.0]]))
    array([[0.5, 0. ]])
    >>> solve_lstdq(np.diag([2.0, 0.0]), np.array([[1.0, 0.0]]), ridge=2.0, previous=np.array([[1.0, 3.0]]))
    array([[0.75, 3.  ]])
    """
    require_regularisation(cutoff, ridge)
    if ridge is None:
        if previous is not None:
            raise InputError("previous weights are drawn to by a ridge only; give ridge, or leave them out")
        target, alone = right, np.zeros_like(right)
    else:
        target = right if previous is None else right + ridge * previous
        alone = target / ridge
    kept = np.flatnonzero(matrix.any(0) | matrix.any(1))
    result = alone.astype(np.float64)
    if len(kept):
        part = matrix[np.ix_(kept, kept)]
        result[:, kept] = _solve(part, target[:, kept].T, cutoff, ridge).T
    return result


def _solve(matrix: Array, right: Array, cutoff: float, ridge: float | None) -> Array:
    if ridge is None:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=cutoff)[0], dtype=np.float64)
    try:
        solution = np.linalg.solve(matrix + ridge * np.eye(len(matrix)), right)
    except np.linalg.LinAlgError as error:
        raise InputError(f"A + {ridge:g}·I is singular; give another ridge") from error
    return np.asarray(solution, dtype=np.float64)


def require_regularisation(cutoff: float, ridge: float | None) -> None:
    """Reject a cut-off outside [0, 1) and a ridge that is not positive."""
    if not 0 <= cutoff < 1:
        raise InputError(f"cutoff is {cutoff}, outside [0, 1); it is a part of the largest singular value")
    if ridge is not None and not (ridge > 0 and np.isfinite(ridge)):
        raise InputError(f"ridge is {ridge}; it must be a positive number, or None for the cut-off")


def require_features(problem: CMDP, features: FeatureMap) -> None:
    """Reject features for another number of actions."""
    if features.actions != problem.shape[1]:
        raise InputError(f"the features have {features.actions} actions, the problem {problem.shape[1]}")


def linear_table(problem: CMDP, feature: Array, weight: Array) -> Array:
    """Q(s, a) = ⟨φ(s, a), θ⟩ of every utility, for features (S·A, d) and weights (J, d): (J, S, A).

    Pairs that are not available have 0.
    """
    states, actions, _ = problem.shape
    q = (weight @ feature.T).reshape(-1, states, actions)
    return np.where(problem.actions, q, 0.0)
