"""A mixture of deterministic policies of a swept model as one stationary policy with exactly the mixed values.

    d(s, a) = Σ_k w_k d_k(s) 1[a = π_k(s)],        π(a|s) = d(s, a)/d(s)

In states that no policy of the mixture reaches, the one with the largest weight is used.
"""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.common.memory import give_back
from painless.engines.engine import PRECISION
from painless.engines.sweeps.chain_occupancy import chain_occupancy
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.sparse_rows import Indices
from painless.problem import CMDP

# Errors of occupancies matter only where the policies differ, and there they cancel but for a thirtieth or less. That is
# not proved; the mixture's values are.
CANCELLED = 30.0
FINEST = 1e-13  # a higher precision is rounding
# Occupancies of other policies that are kept, since the next mixture often has one of them; not where chains are eliminated, which is quick.
KEPT = 4
LEAST = 1e-3  # a smaller share of states on which policies differ counts as this
PIECE = 1 << 14  # rows of a table that are written together
COARSEST = 1e-5  # the better visits are known, the less exact the values of the mixture have to be


class Mixer:
    """Turns mixtures into stationary policies; keeps the occupancies of the policies that were mixed last."""

    def __init__(self, problem: CMDP, pricer: Pricer) -> None:
        self.problem, self.pricer = problem, pricer
        self.occupancy: Array | None = None  # (S,) of the last mixture of several policies
        self._visits: dict[int, tuple[Array, float]] = {}  # of policies, by their hash, and how exact

    def continue_from(self, other: Mixer) -> None:
        """Start from the occupancy of the last mixture of another model with the same states."""
        if len(self.problem.initial) == len(other.problem.initial):
            self.occupancy = other.occupancy

    def mixed(self, choices: Indices, weights: Array, precision: float) -> tuple[Array, Array, Array]:
        """Return a mixture of policies, as the pairs of each (n, S), the largest weight first, as a table (S, A), with its values (J,) and their errors.

        Its values may differ from the mixture's by about `precision`, relative to 1/(1−γ), and are known to within as much; 0 asks for the
        usual one.
        """
        precision = max(precision, FINEST) if precision else PRECISION
        shares = self._shares(choices, weights, precision)
        # Solved from the policy priced last, which is like the mixture at the end.
        low, error = self.pricer.value_of(
            self.pricer.chain(choices, shares),
            precision / (1 - self.problem.discount),
            None if len(choices) == 1 else self.occupancy,
        )
        table = self._table(choices, shares)
        if self.pricer.threads.several(len(table)):
            del choices, shares
            give_back()
        return table, low, error

    def _shares(self, choices: Indices, weights: Array, precision: float) -> Array:
        """Return the probability of each policy's choice in every state, (n, S)."""
        if len(choices) == 1:
            return np.ones(choices.shape)
        keys = [hash(choice.tobytes()) for choice in choices]
        newest = [*self._visits][-KEPT:]
        self._visits = {k: known for k, known in self._visits.items() if k in keys or k in newest}
        if precision > PRECISION:  # the precision leaves room for an error
            differ = float((choices[1:] != choices[0]).any(0).mean())
            precision = min(CANCELLED * precision / max(differ, LEAST), COARSEST)
        for key, choice in zip(keys, choices, strict=True):
            warm, exact = self._visits.get(key, next(iter(self._visits.values()), (self.occupancy, 0.0)))
            if key not in self._visits or exact > precision:
                visits = chain_occupancy(
                    self.pricer.chain(choice),
                    self.problem.discount,
                    self.problem.initial,
                    precision,
                    self.pricer.count,
                    warm,
                    along_flow=self.pricer.along_flow,
                    on_levels=self.pricer.takes_steps,
                    threads=self.pricer.threads,
                    elimination=self.pricer.values.elimination,
                )
                self._visits[key] = visits, precision
        shares = np.empty(choices.shape)
        for share, weight, key in zip(shares, weights, keys, strict=True):
            np.multiply(weight, self._visits[key][0], out=share)
        order = self.pricer.values.elimination
        if order is not None and order.is_known:
            self._visits.clear()
        total = self.occupancy = shares.sum(0)
        shares[0, total == 0] = 1.0
        shares /= np.where(total == 0, 1.0, total)
        for n in range(1, len(choices)):
            for m in range(n):  # what they agree on is one choice
                same = choices[n] == choices[m]
                shares[m, same] += shares[n, same]
                shares[n, same] = 0.0
        return shares

    def _table(self, choices: Indices, shares: Array) -> Array:
        """Return the policy as a table of probabilities, (S, A)."""
        rows, states = self.pricer.rows, choices.shape[1]
        table: Array = np.zeros(self.problem.actions.shape)
        for begin in range(0, states, PIECE):
            part = slice(begin, begin + PIECE)
            own = np.arange(begin, min(begin + PIECE, states))
            for choice, share in zip(choices[:, part], shares[:, part], strict=True):
                action = choice - rows.first[own] if rows.action is None else rows.action[choice]
                table[own, action] += share
        table /= (table @ np.ones(self.problem.shape[1]))[:, None]
        return table
