"""LSTDQ: the fixed point of the projected Bellman equation, from samples (Lagoudakis & Parr 2003).

A sample is a pair z, its successor s' and the next action a', all drawn: z from a distribution over pairs, s' from the model, a' from the
policy. With the features φ(z) of N samples in the rows of Φ, and those of (s', a') in the rows of Φ',

    A = Φᵀ(Φ − γ Φ')/N,     b_j = Φᵀ u_j/N,     A θ_j = b_j,     Q_j(s, a) = ⟨φ(s, a), θ_j⟩

Only how often each pair, successor and action was drawn matters; the counts are drawn at once, by multinomials. A is factorised once
for all utilities. It is singular where features are never seen or depend on each other. The solution is then the one of minimum
norm, where singular values below `cutoff` of the largest count as 0; or `ridge` is added: (A + ridge·I) θ = b + ridge·θ_previous.

`AveragedLSTDQ` takes expectations where it can: over pairs and over the next action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

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
from painless.features import Design, FeatureMap, feature_matrix
from painless.problem import CMDP

CUTOFF = 1e-8  # singular values below this part of the largest are 0


class SuccessorModel(NamedTuple):
    """The successors of n pairs, as the rows of a CSR matrix, and the entries of all rows of equal length."""

    pointer: Pairs  # (n + 1,)
    successor: Pairs  # (nnz,)
    probability: Array  # (nnz,)
    # Of rows with several entries: the rows (r,), and their entries (r, length)
    blocks: list[tuple[Pairs, Pairs]]

    def draw(self, counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw successors for each row, so many as `counts` (n,) says; return how often each entry was drawn, (nnz,)."""
        drawn = np.repeat(counts, np.diff(self.pointer))
        for rows, block in self.blocks:
            drawn[block] = rng.multinomial(counts[rows], self.probability[block])
        return drawn


@dataclass(frozen=True, eq=False)
class LSTDQ:
    """Least-squares temporal differences for action values that are linear in features, as in the paper: everything is drawn.

    Arguments:
        problem: a table.
        features: a feature map over the indices of its states.
        samples: the transitions for each sampled pair, or entry of a coreset, on average.
        cutoff: singular values below this part of the largest count as 0.
        ridge: in place of the cut-off, what is added to the diagonal of A.
        pairs: what is sampled: the indices s·A + a of pairs, or a design. An entry of a coreset is a feature with all its pairs, and
            a sample takes any of them. All available pairs by default. What is paid at other pairs is never seen;
            `LeastSquares`, whose rollouts pass through them, sees it.

    >>> import painless
    >>> from painless.features import TileCoding
    >>> features = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
    >>> LSTDQ(painless.gridworld(), features, samples=300).transitions
    30000

    References:
        Lagoudakis & Parr, "Least-squares policy iteration", JMLR 4, 2003.
    """

    problem: CMDP
    features: FeatureMap
    samples: int
    cutoff: float = CUTOFF
    ridge: float | None = None
    pairs: ArrayLike | Design | None = None

    def __post_init__(self) -> None:
        require_count("samples", self.samples)
        self._require()

    def _require(self) -> None:
        require_regularisation(self.cutoff, self.ridge)
        require_features(self.problem, self.features)
        _ = self._sampled, self._feature

    @property
    def transitions(self) -> int:
        """How many transitions an evaluation samples."""
        return int(self.samples) * self.entry_count

    @property
    def entry_count(self) -> int:
        """How many pairs, or entries of a design, are sampled."""
        return len(self.pairs.entries) if isinstance(self.pairs, Design) else len(self._sampled)

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities of every run from the same samples."""
        return evaluate_runs(self.problem, policy, rngs, self._estimate)

    def _estimate(self, policy: Array, rng: np.random.Generator) -> TableEstimate:
        return TableEstimate(linear_table(self.problem, self._feature, self.weight(policy, rng)))

    def weight(self, policy: Array, rng: np.random.Generator) -> Array:
        """Return θ of every utility, (J, d), for one policy (S, A)."""
        pair_count, following = self._draw(policy, rng)
        seen = pair_count[:, None] * self._rows  # ΦᵀΦ = Σ_z n(z) φ(z) φ(z)ᵀ
        matrix = self._rows.T @ (seen - self.problem.discount * (following @ self._feature))
        right = (self._utility * pair_count) @ self._rows
        return solve_lstdq(matrix / self.transitions, right / self.transitions, self.cutoff, self.ridge)

    def _draw(
        self, policy: Array, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], scipy.sparse.csr_array[np.float64]]:
        """Return how often each sampled pair was drawn, (n,), and how often each next pair came after it, (n, S·A)."""
        model, (states, actions, _) = self._model, self.problem.shape
        pair_count = rng.multinomial(self.transitions, self._share)
        successors = model.draw(pair_count, rng)
        choices = policy / policy.sum(-1, keepdims=True)
        chosen = rng.multinomial(successors, choices[model.successor])  # (nnz, A)
        pairs = model.successor[:, None] * actions + np.arange(actions)
        following = scipy.sparse.csr_array(
            (chosen.reshape(-1).astype(np.float64), pairs.reshape(-1), model.pointer * actions),
            shape=(len(pair_count), states * actions),
        )
        return pair_count, following

    @cached_property
    def _sampled(self) -> Pairs:
        given = self.pairs
        return available_pairs(
            self.problem, np.concatenate(given.entries) if isinstance(given, Design) else given
        )

    @cached_property
    def _share(self) -> Array:
        """How often each sampled pair is drawn, (n,), with sum 1."""
        if not isinstance(self.pairs, Design):
            return np.full(len(self._sampled), 1 / len(self._sampled))
        length = np.array([len(entry) for entry in self.pairs.entries])
        return np.repeat(self.pairs.weights / length, length)

    @cached_property
    def _feature(self) -> Array:
        return feature_matrix(self.features, self.problem.shape[0])

    @cached_property
    def _rows(self) -> Array:
        return self._feature[self._sampled]

    @cached_property
    def _utility(self) -> Array:
        """The utilities of the sampled pairs, (J, n)."""
        return self.problem.utility.reshape(-1, len(self._feature))[:, self._sampled]

    @cached_property
    def _model(self) -> SuccessorModel:
        from painless.simulation.sampling import table_sampler

        sampler = table_sampler(self.problem)
        start, length = sampler.pointer[self._sampled], np.diff(sampler.pointer)[self._sampled]
        pointer = np.concatenate([[0], np.cumsum(length)])
        entry = np.arange(pointer[-1]) + np.repeat(start - pointer[:-1], length)
        blocks = [
            (np.flatnonzero(length == width), pointer[:-1][length == width, None] + np.arange(width))
            for width in np.unique(length)
            if width > 1
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
