"""Long-run averages of large sparse models by sweeps, where all policies end up in one end component.

There every policy with one recurrent class has one gain, whatever the start, and no pair leaves the component: bounds on the gains are those of `gain_pricing`, and
nothing is factorised. In other models, and for policies with several classes, the exact engine `Average` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import action_value
from painless.common.arrays import Array
from painless.engines.average import Average
from painless.engines.chain_gains import recurrent_classes
from painless.engines.drawn import Drawn
from painless.engines.engine import (
    PRECISION,
    UNIT_ROUNDOFF,
    Actions,
    AnyPolicy,
    Bracket,
    Response,
    averaged,
)
from painless.engines.sweeps.chain import Chain, as_matrix, chain_of
from painless.engines.sweeps.gain_pricing import GainPricer
from painless.engines.sweeps.policy_steps import uniform_chain
from painless.engines.sweeps.sparse_rows import Indices, SparseRows
from painless.problem import CMDP

FINEST = 1e-13  # the highest precision of gains and shares of time
SHARE = 1e-3  # the error of shares of time, relative to the precision of a mixture
SHARES = 1e-9  # the error of those that connect a component
KNOWN = 64  # policies whose bounds are kept


class Known(NamedTuple):
    """The bounds of a policy."""

    value: Bracket
    is_fine: bool  # whether they are as precise as they can be


class SweptAverage(Average):
    """Finds best responses by inexact policy iteration; nothing of size S × S is formed."""

    _same = PRECISION

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        self._known: dict[bytes, Known] = {}  # of policies
        self._shares: dict[
            bytes, tuple[Array, float]
        ] = {}  # of time in the states of the component, and how exact

    @cached_property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the exact engine does the work."""
        return self.components.number > 1

    @cached_property
    def pricer(self) -> GainPricer:
        """The pricer, made on first use."""
        _, pairs, rows = self._inside
        kernel: Any = rows.kernel
        utility = self.problem.utility.reshape(len(self.problem.utility), -1)
        whole = len(pairs) == utility.shape[1]
        sparse = SparseRows(
            first=np.append(rows.first, len(pairs)).astype(np.uint32),
            pointer=kernel.indptr.astype(np.uint32),
            successor=kernel.indices.astype(np.uint32),
            probability=kernel.data,
            utility=np.ascontiguousarray(utility if whole else utility[:, pairs]),
            action=None,
            most_successors=rows.terms,
        )
        return GainPricer(sparse, lambda: self._tick())

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return a policy within `tolerance` of the best for weights (J,), with values exact to `precision`."""
        if self.exact:
            return super().best(weight, tolerance, precision)
        priced = self.pricer.price(weight, max(tolerance, FINEST), max(precision, FINEST))
        states, pairs, _ = self._inside
        actions = np.asarray(self.problem.actions.argmax(1))
        actions[states] = pairs[priced.choice] % self.problem.shape[1]
        compact = actions.astype(self.compact)
        value = self._keep(compact, (priced.low, priced.high), False)
        # The weighted sum is rounded, too.
        slip = (len(weight) + 2) * UNIT_ROUNDOFF * float(np.abs(weight) @ self._sizes)
        return Response(
            actions=compact,
            value=value.low,
            middle=value.guess,
            upper_bound=priced.upper_bound + slip,
            weighted_value=float(weight @ value.low) - slip,
            rounding=priced.rounding,
            evaluations=priced.evaluations,
        )

    def _keep(self, policy: Any, gains: tuple[Array, Array], is_fine: bool) -> Bracket:
        """Return the bounds of a policy from those of its gains, and keep them."""
        low, high = gains
        value = Bracket(low, high, 0.5 * (low + high)).within(self.extent)
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[policy.tobytes()] = Known(value, is_fine)
        return value

    def values(self, policy: AnyPolicy) -> Bracket:
        """Return proved bounds on V(ρ), of a policy (S, A), actions (S,), or a draw between several."""
        if self.exact or isinstance(policy, Drawn):
            return super().values(policy)
        pricer = self.pricer
        known = self._known.get(policy.tobytes())
        if known is not None and known.is_fine:
            return known.value
        chain = self._sparse_chain(policy)
        if has_several_classes(chain):
            return super().values(policy)
        found = pricer.evaluate(chain, PRECISION, 1 if policy.ndim == 1 else self.problem.shape[1])
        return self._keep(policy, found, True)

    def _sparse_chain(self, policy: Array | Actions) -> Chain:
        """Return the chain of a policy in the component."""
        self._tick()
        states = self._inside[0]
        if policy.ndim == 1:
            return chain_of(
                self.pricer.rows, 1.0, self._place[policy[states].astype(np.intp), np.arange(len(states))]
            )
        shares = np.ascontiguousarray(policy[states].T, dtype=np.float64)
        return chain_of(self.pricer.rows, 1.0, self._place, shares)

    @cached_property
    def _place(self) -> Indices:
        """The pair of every action in every state of the component, (A, S'); the state's first where it is not available."""
        _, pairs, rows = self._inside
        place = np.repeat(rows.first[None], self.problem.shape[1], 0)
        place[pairs % self.problem.shape[1], rows.state] = np.arange(len(pairs))
        return place.astype(np.uint32)

    def visits(self, policy: AnyPolicy, precision: float = 0.0) -> Array:
        """Return the share of time that a policy spends in each state in the long run, (S,)."""
        if self.exact or isinstance(policy, Drawn):
            return super().visits(policy, precision)
        return self._frequencies(policy, precision)[0]

    def _frequencies(self, policy: Any, precision: float) -> tuple[Array, Array]:
        if self.exact:
            return super()._frequencies(policy, precision)
        goal, key = max(SHARE * precision, FINEST), policy.tobytes()
        chain = self._sparse_chain(policy)
        if has_several_classes(chain):
            return super()._frequencies(policy, precision)
        start, reached = self._shares.get(key, (None, np.inf))
        if reached > goal:
            self._shares[key] = self.pricer.shares(chain, start, goal)
        share = np.zeros(len(self.problem.initial))
        share[self._inside[0]] = self._shares[key][0]
        return share, np.zeros_like(share)

    def mixed(
        self, policies: Sequence[AnyPolicy], weights: Array, precision: float = 0.0
    ) -> tuple[Any, Bracket]:
        """Return a policy with the averaged values of some policies, and proved bounds on its values.

        If there is no time to find a stationary policy, it is a draw between them.
        """
        try:
            return super().mixed(policies, weights, precision)
        except TimeoutError:
            drawn = Drawn.of(policies, weights)
            known = [
                self._known[part.tobytes()].value for part in drawn.parts if part.tobytes() in self._known
            ]
            if self.exact or len(known) == 1 or len(known) < len(drawn.parts):
                raise
            return drawn, averaged(drawn, known).within(self.extent)

    def _connecting(self, often: Array) -> Array:
        if self.exact:
            return super()._connecting(often)
        _, pairs, rows = self._inside
        chain, _ = uniform_chain(self.pricer.rows)
        share = self.pricer.shares(chain, None, SHARES)[0]
        found = np.zeros(self.problem.actions.size)
        found[pairs] = (share / np.bincount(rows.state))[rows.state]
        return (float(often.sum()) * found).reshape(self.problem.actions.shape)

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A); −∞ where there is no action."""
        if not self.exact and len(self._inside[0]) == len(policy):
            chain = self._sparse_chain(policy)
            if not has_several_classes(chain):
                self.pricer.evaluate(chain, max(tolerance, FINEST), self.problem.shape[1])
                q = action_value(self.problem, self.problem.utility, np.ascontiguousarray(self.pricer.bias.T))
                return np.where(self.problem.actions, q, -np.inf)[:, states]
        return super().action_values(policy, states, tolerance)


def has_several_classes(chain: Chain) -> bool:
    """Whether a chain has more than one recurrent class."""
    return bool(recurrent_classes(as_matrix(chain))[0].max() > 0)
