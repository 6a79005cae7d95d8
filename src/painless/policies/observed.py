"""A policy over observations that were seen: a table whose rows are found by the observation itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.policies.table import policy_table
from painless.simulation.simulator import States
from painless.storage import checked_entries as entries

KIND = "observed"  # of its description


def key_of(state: Any) -> Hashable:
    """Return the key of an observation: a number as it is, others as the bytes of their numbers.

    >>> key_of(3), key_of(np.array([1, 0])) == key_of(np.array([1.0, -0.0]))
    (3, True)
    """
    row = np.asarray(state)
    return int(row) if not row.ndim else (row.reshape(-1).astype(np.float64) + 0.0).tobytes()


def rows_of(keys: Sequence[Any]) -> Array:
    """Return the observations behind keys, (n, D).

    >>> rows_of([key_of(np.array([2, 5]))])
    array([[2., 5.]])
    """
    if not keys or not isinstance(keys[0], bytes):
        return np.array(keys, dtype=float).reshape(len(keys), -1)
    return np.frombuffer(b"".join(keys)).reshape(len(keys), -1)


@dataclass(frozen=True, eq=False)
class ObservedPolicy:
    """The probabilities of all actions at each observation seen; all actions equally often at others.

    >>> policy = ObservedPolicy(np.array([[14.0, 10.0]]), np.array([[0.0, 1.0]]))
    >>> policy.at(np.array([[14, 10], [0, 0]]))
    array([[[0. , 1. ],
            [0.5, 0.5]]])
    """

    observations: Array  # (S, D)
    probabilities: Array  # (S, A)
    updates: int = 0

    def __post_init__(self) -> None:
        table = policy_table("probabilities", self.probabilities)
        if self.observations.ndim != 2 or len(self.observations) != len(table):
            raise InputError(
                f"{len(table)} rows of probabilities need as many observations, not {self.observations.shape}"
            )
        object.__setattr__(self, "probabilities", table)

    @cached_property
    def _rows(self) -> dict[Hashable, int]:
        return {key_of(row): index for index, row in enumerate(self.observations)}

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions at observations (n, D), or (n,) of single numbers: (1, n, A)."""
        batch = np.asarray(states, dtype=float).reshape(len(states), -1)
        actions = self.probabilities.shape[1]
        found = [self._rows.get(key_of(row), -1) for row in batch]
        table = np.vstack([self.probabilities, np.full(actions, 1 / actions)])
        return table[found][None]

    def description(self) -> dict[str, Any]:
        """Return the kind."""
        return {"kind": KIND}

    @classmethod
    def parts(cls, iterates: Sequence[ObservedPolicy]) -> dict[str, Any]:
        """Return the arrays of policies over the same observations."""
        return {
            "observations": iterates[0].observations,
            "probabilities": np.stack([one.probabilities for one in iterates]),
        }

    @classmethod
    def read(
        cls, description: Mapping[str, Any], content: Mapping[str, Any], updates: Sequence[int]
    ) -> list[ObservedPolicy]:
        """Return the policies that `parts` took apart."""
        del description
        observations = entries.floats(content, "observations", (None, None))
        shape = (len(updates), len(observations), None)
        tables = entries.floats(content, "probabilities", shape, least=0.0, most=1.0)
        return [cls(observations, table, count) for table, count in zip(tables, updates, strict=True)]
