"""A large sparse model, solved by sweeps: nothing of size S × S is formed, and every error is proved.

Best responses come from one `Pricer`, each from where the last one ended. Values and visits start from the latest ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.bellman import action_value
from painless.common.arrays import Array, Mask
from painless.engines.engine import (
    PRECISION,
    Actions,
    BaseEngine,
    Bracket,
    Exchange,
    Response,
    value_rounding,
)
from painless.engines.sweeps._chain_kernels import reach
from painless.engines.sweeps.chain import Chain, chain_of
from painless.engines.sweeps.chain_occupancy import chain_occupancy
from painless.engines.sweeps.likely_price import likely_price
from painless.engines.sweeps.mixing import Mixer
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.sparse_rows import Indices
from painless.problem import CMDP
from painless.problem.comparison import same_model

SOME = 0.01  # share of the states beyond which their action values are found together
ROUGH = 0.01  # of visits from which a price is guessed
FINEST = 1e-13  # relative to 1/(1−γ); pricing is never asked for more


class Swept(BaseEngine):
    """Finds best responses by modified policy iteration."""

    exact = False

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        self._visits: Array | None = None
        # What ended the last response, which gave what was proved by then; the next one raises it.
        self._stop: TimeoutError | KeyboardInterrupt | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what another search may continue from: the model, and what is known of its policies."""
        return {"problem": self.problem, "pricer": self.pricer.state(), "mixer": self._mixer.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore it."""
        self.__init__(state["problem"])  # type: ignore[misc]
        self.pricer.restore(state["pricer"])
        self._mixer.restore(state["mixer"])

    @cached_property
    def pricer(self) -> Pricer:
        """The pricer, made on first use."""
        return Pricer(self.problem, lambda: self._tick())

    def continue_from(self, other: Any) -> None:
        """Start the next search from where that of another engine ended, if it has the same pairs."""
        if not isinstance(other, Swept):
            return
        if not same_model(self.problem, other.problem):
            self.pricer = Pricer(self.problem, lambda: self._tick(), other.pricer.rows)
            self.pricer.continue_from(other.pricer)
            self._mixer.continue_from(other._mixer)
            return
        self.pricer, self._mixer = other.pricer, other._mixer  # they know nothing of limits
        self.pricer.count.tick = lambda: self._tick()

    def aim_at(self, goal: Callable[[float], float]) -> None:
        """Make best responses without constraints as exact as `goal` of their bound."""
        self.pricer.goal = lambda bound: max(goal(bound), FINEST * self.unit)

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`.

        If `tick` raises on the way and there is a goal (see `aim_at`), return the best policy by then; the next response raises.
        """
        return self._response(weight, tolerance, precision)

    def bound(self, weight: Array, tolerance: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,) with the bound on every policy; nothing is claimed of its values.

        It starts from the best of the policies that were recalled.
        """
        known = self._mixer.best_recalled(weight)
        if known is not None:
            self.pricer.start_from(*known)
        return self._response(weight, tolerance, tolerance, evaluates=False)

    def _response(
        self, weight: Array, tolerance: float, precision: float, evaluates: bool = True
    ) -> Response:
        scale = float(weight.sum())
        finest = FINEST * self.unit
        precision = max(precision, finest)
        if self._stop is not None:
            raise self._stop
        try:
            priced = self.pricer.price(weight / scale, max(tolerance / scale, finest), precision, evaluates)
        except (TimeoutError, KeyboardInterrupt) as stop:
            if self.pricer.reached is None:
                raise
            priced, self._stop = self.pricer.reached, stop
        low = priced.value - priced.error
        return Response(
            actions=self.actions_of(priced.choice),
            value=low,
            middle=priced.value,
            upper_bound=priced.upper_bound * scale,
            weighted_value=float(weight @ low) if evaluates else -np.inf,
            rounding=self.pricer.rounding(weight),
        )

    def likely_price(self, policy: Array | Actions, missed: Array, short: float, most: float) -> float:
        """Return the price of the utilities `missed` (J,), at most `most`, at which they are likely to gain `short`, by the values of the last response, `policy`."""
        if self.pricer.takes_steps:
            return most  # visits cost as much as a response
        visits = self.visits(policy, ROUGH)
        self._visits = None  # too rough to go on from
        value = self.pricer.values.value
        return likely_price(self.pricer.rows, self.problem.discount, value, visits, missed, short, most)

    def actions_of(self, choice: Actions) -> Actions:
        """Return the actions (S,) of a policy given by the index of its pair among each state's pairs."""
        action = self.pricer.rows.action
        chosen = choice if action is None else action[self.pricer.pairs(choice)]
        return chosen.astype(self.compact)

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A), from values exact to `tolerance`; −∞ where there is no action."""
        value, rows = self.pricer.values_of(self.chain(policy), tolerance), self.pricer.rows
        actions = self.problem.actions
        if len(states) > SOME * len(actions):
            masked = np.where(actions, self.problem.utility, -np.inf)
            return action_value(self.problem, masked, np.ascontiguousarray(value.T))[:, states]
        q = np.full((len(rows.utility), len(states), actions.shape[1]), -np.inf)
        for n, s in enumerate(states):
            for action in np.flatnonzero(actions[s]):
                pair = self._pairs[action, s]
                part = slice(rows.pointer[pair], rows.pointer[pair + 1])
                ahead = rows.probability[part] @ value[rows.successor[part]]
                q[:, n, action] = rows.utility[:, pair] + self.problem.discount * ahead
        return q

    @cached_property
    def rounding(self) -> float:
        """A bound on the rounding error of a value of this model."""
        return value_rounding(self.problem, self.pricer.rows.most_successors)

    def values(self, policy: Array | Actions) -> Bracket:
        """Return proved bounds on V(ρ), to full precision; to less if `tick` raises TimeoutError on the way."""
        low, error = self.pricer.value_of(self.chain(policy), PRECISION * self.unit)
        return Bracket(low, low + 2 * error, low + error).within(self.extent)

    def visits(self, policy: Array | Actions, precision: float = PRECISION) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,), to `precision` relative to their sum."""
        self._visits = chain_occupancy(
            self.chain(policy),
            self.problem.discount,
            self.problem.initial,
            precision,
            self.pricer.count,
            self._visits,
            along_flow=self.pricer.along_flow,
            on_levels=self.pricer.takes_steps,
            threads=self.pricer.threads,
            elimination=self.pricer.values.elimination,
        )
        return self._visits

    def mixed(
        self, policies: Sequence[Array | Actions], weights: Array, precision: float = 0.0
    ) -> tuple[Array, Bracket]:
        """Return the stationary policy (S, A) with the averaged values of some policies, and proved bounds on its values."""
        used = [k for k in np.argsort(-weights, kind="stable").tolist() if weights[k] > 0]
        if any(policies[k].ndim == 2 for k in used):
            return super().mixed(policies, weights)
        chosen = np.empty((len(used), self.problem.shape[0]), np.uint32)
        for choice, k in zip(chosen, used, strict=True):
            choice[:] = self._chosen(policies[k])
        table, low, error = self._mixer.mixed(chosen, weights[used], precision / self.unit)
        if len(used) > 1:  # visits of the mixture are asked for next
            self._visits = self._mixer.occupancy
        # No more is claimed than is proved
        return table, Bracket(low, low + 2 * error, low).within(self.extent)

    @property
    def are_values_dear(self) -> bool:
        """Whether policies are evaluated on several levels, one utility after another."""
        return self.pricer.takes_steps

    def recall(self, actions: Array | Actions, precision: float) -> Bracket:
        """Return bounds on the values of a policy (S,), such as one of the model from which this one continues, to within `precision`."""
        low, error = self._mixer.recall(self._chosen(actions), max(precision, FINEST * self.unit))
        return Bracket(low, low + 2 * error, low + error).within(self.extent)

    def exchange(
        self, threshold: float, policy: Actions | None = None, price: float = 0.0
    ) -> Exchange | None:
        """Return where the only constraint is likely to reach the threshold, from the last best response on, or from a recalled policy (S,) that is nearly one at a price; None if nothing is known."""
        choice = None if policy is None else self._chosen(policy)
        found = self._mixer.exchange(threshold, choice, price)
        if found is None or found.choice is None:
            return None if found is None else Exchange(*found[:-1], None)
        return Exchange(*found[:-1], self.actions_of(found.choice - self.pricer.rows.first[:-1]))

    def reachable(self, policy: Array) -> Mask:
        """Return which states a policy (S, A) may come to, (S,)."""
        rows, initial = self.pricer.rows, self.problem.initial
        seen: Mask = initial > 0
        waiting, starts = np.empty(len(initial), np.uint32), np.flatnonzero(seen)
        waiting[: len(starts)] = starts
        action = np.empty(0, np.intp) if rows.action is None else rows.action
        if len(starts) < len(seen):
            reach(*rows[:4], action, policy, seen, waiting, len(starts))
        return seen

    @cached_property
    def _mixer(self) -> Mixer:
        return Mixer(self.problem, self.pricer)

    def _chosen(self, actions: Array | Actions) -> Indices:
        """Return the pairs of a deterministic policy, (S,)."""
        if self.pricer.rows.action is None:
            return self.pricer.rows.first[:-1] + actions.astype(np.uint32)
        return self._pairs[actions, np.arange(len(actions))]

    def chain(self, policy: Array | Actions) -> Chain:
        """Return the chain of a policy."""
        self._tick()
        if policy.ndim == 2:
            shares = np.ascontiguousarray(policy.T, dtype=np.float64)
            return chain_of(self.pricer.rows, self.problem.discount, self._pairs, shares)
        return chain_of(self.pricer.rows, self.problem.discount, self._chosen(policy))

    @cached_property
    def _pairs(self) -> Indices:
        """The pair of every action in every state, (A, S); the state's first where it is not available."""
        first = self.pricer.rows.first[:-1]
        actions = self.problem.actions
        if self.pricer.rows.action is None:
            return first + np.arange(actions.shape[1], dtype=np.uint32)[:, None]
        rank = (actions.cumsum(1, dtype=np.uint32) - np.uint32(1)) * actions
        return np.ascontiguousarray(first + rank.T.astype(np.uint32))
