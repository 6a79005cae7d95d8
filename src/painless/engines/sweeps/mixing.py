"""A mixture of deterministic policies of a swept model as one stationary policy with exactly the mixed values.

    d(s, a) = Σ_k w_k d_k(s) 1[a = π_k(s)],        π(a|s) = d(s, a)/d(s)

In states that no policy of the mixture reaches, the one with the largest weight is used.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.memory import give_back
from painless.engines.engine import PRECISION
from painless.engines.sweeps.chain import Chain
from painless.engines.sweeps.chain_occupancy import Pushed, chain_occupancy
from painless.engines.sweeps.chain_values import ChainValues
from painless.engines.sweeps.exchange import Exchanged, exchange
from painless.engines.sweeps.paired_bounds import PairedBounds
from painless.engines.sweeps.pricing import HALF, Pricer
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
# Of a policy that is evaluated anew in a similar model: turns of a few sweeps of its values and visits, each of which must leave less than this share of the
# error; and the precision of its visits that is enough for a mixture whose policies hardly differ.
VALUE_SWEEPS, VISIT_SWEEPS, SHRINKING = 4, 3, 0.3
ROUGH = 1e-3
COARSE = 0.01  # of visits that tell which actions are exchanged next


def key_of(choice: Indices) -> bytes:
    """Return a key of a policy, as its pairs (S,), that is the same in every process."""
    return blake2b(choice.tobytes(), digest_size=16).digest()


class Remembered(NamedTuple):
    """What is known of a policy in a similar model."""

    visits: Array | None  # (S,)
    value: Array | None  # (S, J)


class Evaluated(NamedTuple):
    """A policy that was evaluated from what is remembered of it."""

    choice: Indices  # (S,) the pairs that it takes
    visits: Array | None  # (S,)
    value: Array  # (S, J)


class Mixer:
    """Turns mixtures into stationary policies; keeps the occupancies of the policies that were mixed last."""

    def __init__(self, problem: CMDP, pricer: Pricer) -> None:
        self.problem, self.pricer = problem, pricer
        self.occupancy: Array | None = None  # (S,) of the last mixture of several policies
        self._visits: dict[bytes, tuple[Array, float]] = {}  # of policies, by their keys, and how exact
        self._before: dict[bytes, Remembered] = {}  # policies of the model before, by their keys
        self._recalled: dict[bytes, Evaluated] = {}  # policies that were evaluated here from those

    def state(self) -> dict[str, Any]:
        """Return what another mixer of the same model may go on from."""
        return {name: getattr(self, name) for name in ("occupancy", "_visits", "_recalled")}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what another mixer of the same model knew."""
        self.__dict__.update(state)

    def continue_from(self, other: Mixer) -> None:
        """Start from what is known of the policies of another model with the same states."""
        if len(self.problem.initial) != len(other.problem.initial):
            return
        scale = (1 - other.problem.discount) / (1 - self.problem.discount)
        self.occupancy = None if other.occupancy is None else scale * other.occupancy
        self._before = {key: Remembered(scale * visits, None) for key, (visits, _) in other._visits.items()}
        for key, (_, visits, value) in other._recalled.items():
            self._before[key] = Remembered(None if visits is None else scale * visits, scale * value)

    def recall(self, choice: Indices, precision: float) -> tuple[Array, Array]:
        """Return the least values (J,) of a policy, as the pairs that it takes (S,), and by how much the middle may err, (J,).

        Values and visits are swept from those in the model before, until both together tell enough (see `paired_bounds`); by elimination, or
        where no visits are remembered, values alone are quicker.
        """
        pricer, chain, key = self.pricer, self.pricer.chain(choice), key_of(choice)
        visits, value = self._before.pop(key, Remembered(self.occupancy, None))
        values = pricer.beside(pricer.values.value.copy() if value is None else value)
        if self._is_eliminated or (visits is None and value is not None):
            low, error = pricer.value_of(chain, precision, None, values)
            self._recalled[key] = Evaluated(choice, None, values.value)
            return low, error
        low, error, visits, exact = self._together(chain, values, visits, precision)
        if error.max() > precision:
            # Where values are dear, visits that are as much more exact do without them.
            needed = HALF * precision / float(error.max()) * exact if pricer.takes_steps else COARSEST
            exact = min(max(needed, FINEST), COARSEST)
            visits = self._occupancy(choice, exact, visits)
            low, error = pricer.value_of(chain, precision, visits, values)
        self._recalled[key] = Evaluated(choice, visits, values.value)
        self._visits[key] = visits, exact
        return low, error

    def exchange(self, threshold: float, choice: Indices | None, price: float) -> Exchanged | None:
        """Return where the only constraint is likely to reach the threshold, from the last best response on, or from a policy that was recalled, as its pairs (S,), and is nearly one at a price; None if nothing is known.

        Rough visits will do: those of the last mixture, which is a similar policy. The policy that is found starts from the values of the one that it is like.
        """
        last = self.pricer.response
        if choice is not None:
            last = choice, self._recalled[key_of(choice)].value, price
        if last is None or self.pricer.takes_steps:
            return None
        if self.occupancy is None:
            self.occupancy = self._occupancy(last[0], COARSE, None)
        slack = float(self.problem.initial @ last[1][:, 1]) - threshold
        found = exchange(self.pricer.rows, self.problem.discount, self.occupancy, *last, slack)
        if found.choice is not None:
            self._before[key_of(found.choice)] = Remembered(None, last[1].copy())
        return found

    def best_recalled(self, weight: Array) -> tuple[Indices, Array] | None:
        """Return the policy that was evaluated here and is the best for `weight` (J,), as its pairs (S,), and its values (S, J); None if there is none."""
        initial, known = self.problem.initial, self._recalled.values()
        best = max(known, key=lambda one: float(initial @ one.value @ weight), default=None)
        return None if best is None else (best.choice, best.value)

    def _together(
        self, chain: Chain, values: ChainValues, visits: Array | None, precision: float
    ) -> tuple[Array, Array, Array, float]:
        """Sweep values and visits of a chain in turns while that goes on quickly; return the least values (J,), their errors (J,), the visits (S,) and how exact they are."""
        discount, initial, last = self.problem.discount, self.problem.initial, np.inf
        pushed = Pushed(chain, discount, initial, visits, self.pricer.threads)
        while True:
            paired = PairedBounds(chain, discount, initial, pushed.held)
            middle, error = paired.around(values.value)
            if error.max() <= precision or not error.max() < SHRINKING * last:
                return middle - error, error, np.maximum(pushed.held, 0.0), paired.left
            last = error.max()
            values.sweep(chain, VALUE_SWEEPS)
            for _ in range(VISIT_SWEEPS):
                pushed.along_flow() if values.along_flow else pushed.evenly()

    def mixed(self, choices: Indices, weights: Array, precision: float) -> tuple[Array, Array, Array]:
        """Return a mixture of policies, as the pairs of each (n, S), the largest weight first, as a table (S, A), with its values (J,) and their errors.

        Its values may differ from the mixture's by about `precision`, relative to 1/(1−γ), and are known to within as much; 0 asks for the
        usual one.
        """
        precision = max(precision, FINEST) if precision else PRECISION
        shares = self._shares(choices, weights, precision)
        chain, needed = self.pricer.chain(choices, shares), precision / (1 - self.problem.discount)
        occupancy = self.occupancy
        if len(choices) == 1:
            own = self._recalled.get(key_of(choices[0]))
            occupancy = None if own is None else own.visits
        values = self._start(choices, weights)
        low, error = np.full((2, len(self.pricer.rows.utility)), np.inf)
        if values is not None:
            low, error, _, _ = self._together(chain, values, occupancy, needed)
        if error.max() > needed:
            # Solved from the policies mixed, or from the one priced last, which is like the mixture at the end.
            low, error = self.pricer.value_of(chain, needed, occupancy, values)
        table = self._table(choices, shares)
        if self.pricer.threads.several(len(table)):
            del choices, shares
            give_back()
        return table, low, error

    @property
    def _is_eliminated(self) -> bool:
        """Whether chains are solved by elimination, in an order that is known."""
        order = self.pricer.values.elimination
        return order is not None and order.is_known

    def _shares(self, choices: Indices, weights: Array, precision: float) -> Array:
        """Return the probability of each policy's choice in every state, (n, S)."""
        if len(choices) == 1:
            return np.ones(choices.shape)
        keys = [key_of(choice) for choice in choices]
        newest = [*self._visits][-KEPT:]
        self._visits = {k: known for k, known in self._visits.items() if k in keys or k in newest}
        enough = precision
        if precision > PRECISION:  # the precision leaves room for an error
            differ = float((choices[1:] != choices[0]).any(0).mean())
            enough = CANCELLED * precision / max(differ, LEAST)
            precision = min(enough, COARSEST)
        for key, choice in zip(keys, choices, strict=True):
            warm, exact = self._visits.get(key, next(iter(self._visits.values()), (self.occupancy, 0.0)))
            most = min(enough, ROUGH) if key in self._recalled else precision  # values are known well then
            if key not in self._visits or exact > most:
                self._visits[key] = self._occupancy(choice, precision, warm), precision
        shares = np.empty(choices.shape)
        for share, weight, key in zip(shares, weights, keys, strict=True):
            np.multiply(weight, self._visits[key][0], out=share)
        if self._is_eliminated:
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

    def _occupancy(self, choice: Indices, precision: float, start: Array | None) -> Array:
        """Return the visits (S,) of a policy, as the pairs that it takes (S,)."""
        return chain_occupancy(
            self.pricer.chain(choice),
            self.problem.discount,
            self.problem.initial,
            precision,
            self.pricer.count,
            start,
            along_flow=self.pricer.along_flow,
            on_levels=self.pricer.takes_steps,
            threads=self.pricer.threads,
            elimination=self.pricer.values.elimination,
        )

    def _start(self, choices: Indices, weights: Array) -> ChainValues | None:
        """Return the averaged values of some policies if all of them were recalled: the mixture has about these."""
        known = [self._recalled.get(key_of(choice)) for choice in choices]
        values = [weight * one.value for weight, one in zip(weights, known, strict=True) if one is not None]
        return self.pricer.beside(np.sum(values, 0)) if len(values) == len(choices) else None

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
