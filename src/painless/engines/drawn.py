"""A draw between policies: one is drawn at the start, and played for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.policies.table import TabularPolicy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy, policy_of
from painless.problem import CMDP


@dataclass(frozen=True, eq=False)
class Drawn:
    """Policies, (S, A) or actions (S,) each, and the probabilities with which one of them is drawn at the start.

    Its values are the averages of theirs, in expectation over the draw.
    """

    parts: tuple[Any, ...]
    weights: Array  # (n,)

    ndim = 3  # beside tables with 2 axes and actions with 1

    @classmethod
    def of(cls, policies: Sequence[Any], weights: Array) -> Drawn:
        """Draw policies in proportion to weights (n,); of a draw among them its parts. Equal ones are one.

        >>> drawn = Drawn.of([np.array([0, 1]), np.array([1, 1]), np.array([0, 1])], np.array([0.5, 0.25, 0.25]))
        >>> len(drawn.parts), drawn.weights
        (2, array([0.75, 0.25]))
        """
        shares: dict[tuple[int, bytes], float] = {}
        parts: dict[tuple[int, bytes], Any] = {}
        for k in np.flatnonzero(weights).tolist():
            policy = policies[k]
            inner = policy if isinstance(policy, Drawn) else cls((policy,), np.ones(1))
            for part, share in zip(inner.parts, inner.weights.tolist(), strict=True):
                key = (part.ndim, part.tobytes())
                parts[key] = part
                shares[key] = shares.get(key, 0.0) + float(weights[k]) * share
        found = np.array([*shares.values()])
        return cls(tuple(parts.values()), found / found.sum())

    @property
    def nbytes(self) -> int:
        """The memory of all parts."""
        return sum(part.nbytes for part in self.parts)


def as_answer(problem: CMDP, policy: Any) -> TabularPolicy | TimedPolicy | TableMixture:
    """Return a table (S, A), or a draw between policies, as users see it."""
    if not isinstance(policy, Drawn):
        return policy_of(problem, policy)
    names = {kind: given for kind, given in problem.names.items() if kind != "constraints"}
    tables = (part if part.ndim == 2 else np.eye(problem.shape[1])[part] for part in policy.parts)
    return TableMixture(tuple(TabularPolicy(table, names) for table in tables), policy.weights)
