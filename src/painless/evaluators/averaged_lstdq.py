"""LSTDQ with expectations in the place of draws, where they are known: over pairs, and over the next action.

For n pairs z with features φ(z) in the rows of Φ, and P̂ the frequencies of their sampled successors,

    A = Φᵀ D (Φ − γ P̂ Π Φ),     b_j = Φᵀ D u_j,     A θ_j = b_j

with D the shares of the pairs, 1/n unless a design weighs them, and Π Φ the features that the policy expects in each state. ΦᵀDΦ
and b do not change between policies; only ΦᵀDΦ − γ (ΦᵀD P̂)(ΠΦ) is formed for each. Only successors are random: where the model is
deterministic, nothing is, and one sample is as good as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.evaluators.lstdq import LSTDQ, solve_lstdq
from painless.evaluators.monte_carlo import require_count


@dataclass(frozen=True, eq=False)
class AveragedLSTDQ(LSTDQ):
    """LSTDQ in which every pair has its share, and the next feature is the one that the policy expects.

    Arguments:
        problem, features, cutoff, ridge, pairs: as in `LSTDQ`.
        samples: successors drawn for each pair. None takes the model's own probabilities; what is left then is the
            error of the features.

    >>> import painless
    >>> from painless.features import TileCoding
    >>> features = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
    >>> AveragedLSTDQ(painless.gridworld(), features, samples=None).features.dimension
    56
    """

    samples: int | None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.samples is not None:
            require_count("samples", self.samples)
        self._require()

    @property
    def transitions(self) -> int:
        """How many transitions an evaluation samples; none where the model's own probabilities are taken."""
        return (self.samples or 0) * len(self._sampled)

    def weight(self, policy: Array, rng: np.random.Generator) -> Array:
        """Return θ of every utility, (J, d), for one policy (S, A)."""
        states, actions = policy.shape
        table = self._feature.reshape(states, actions, -1)
        expected = np.matmul(policy[:, None, :], table)[:, 0]  # ΠΦ (S, d)
        flow = (self._model_matrix(rng).T @ (self._share[:, None] * self._rows)).T  # ΦᵀDP̂ (d, S)
        matrix = self._gram - self.problem.discount * (flow @ expected)
        return solve_lstdq(matrix, self._right, self.cutoff, self.ridge)

    def _model_matrix(self, rng: np.random.Generator) -> scipy.sparse.csr_array[np.float64]:
        """Return P̂, (n, S)."""
        model, frequency = self._model, self._model.probability
        if self.samples is not None:
            every = np.full(len(self._sampled), self.samples)
            frequency = model.draw(every, rng) / self.samples
        shape = (len(model.pointer) - 1, self.problem.shape[0])
        return scipy.sparse.csr_array((frequency, model.successor, model.pointer), shape=shape)

    @cached_property
    def _gram(self) -> Array:
        return (self._rows * self._share[:, None]).T @ self._rows

    @cached_property
    def _right(self) -> Array:
        return (self._utility * self._share) @ self._rows
