"""The long-run average, in any model: the best gain of each end component, and where to settle.

    V(ρ) = lim 1/n Σ_{t<n} E u(s_t, a_t)

Whatever a policy does, it stays in one end component from some time on, and only what it earns there counts. A best response takes the best policy
of each component (`gain_iteration`) and the best way to them (`settling`). Bounds are checks of functions that no pair can improve, not
contractions: see these modules, and `chain_gains` for the values of a policy.

Averages of policies are another matter than with a discount. Within one component a stationary policy has the averaged values: the one of the averaged
frequencies if these connect, and otherwise one that comes as close as one likes. Where policies settle in different components, it
takes a draw between them at the start: `Drawn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import (
    action_value,
    occupancy_policy,
    policy_transition,
    policy_utility,
)
from painless.common.arrays import Array, Mask
from painless.engines.chain_gains import RecurrentChain
from painless.engines.components import EndComponents, end_components, shared_graph
from painless.engines.drawn import Drawn
from painless.engines.engine import (
    UNIT_ROUNDOFF,
    Actions,
    AnyPolicy,
    BaseEngine,
    Bracket,
    Response,
    as_table,
    averaged,
)
from painless.engines.gain_iteration import Factorise, Gains, best_gains
from painless.engines.iterated import Inverses
from painless.engines.pair_rows import PairRows, Places
from painless.engines.settling import Settling
from painless.problem import CMDP
from painless.problem.transitions import require_sound

STEPS = 16  # roundings of a step beside those of its sum
SAME = 1e-11  # a smaller loss is rounding, relative to the range of a utility
DOMINANT = 10.0  # times the largest bias: what a difference in gain counts beside a difference in bias


class Average(BaseEngine):
    """Finds best responses by policy iteration in end components."""

    exact = True
    draws = True
    rounding = np.inf  # depends on the policy: `values` bounds it
    _same = SAME

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        require_sound(problem.transition)
        self._last: Gains | None = None
        self._terms = 3 * problem.most_successors + problem.shape[1] + STEPS

    @cached_property
    def reached(self) -> Mask:
        """The states that any policy may come to, (S,)."""
        problem, start = self.problem, np.flatnonzero(self.problem.initial)
        graph = None if len(start) > 1 else shared_graph(problem.transition, problem.actions)
        if graph is None:
            return self.reachable(problem.actions.astype(np.float64))
        found = np.zeros(len(problem.initial), dtype=bool)
        found[scipy.sparse.csgraph.breadth_first_order(graph, start[0], return_predecessors=False)] = True
        return found

    @cached_property
    def components(self) -> EndComponents:
        """The end components of what the process may come to."""
        reached = self.reached
        self._tick()
        return end_components(
            self.problem.transition, self.problem.actions & reached[:, None], lambda: self._tick()
        )

    @cached_property
    def settling(self) -> Settling:
        """The problem of where to settle."""
        return Settling(self.problem, self.components, self.reached)

    @cached_property
    def _inside(self) -> tuple[NDArray[np.intp], NDArray[np.intp], PairRows]:
        """The states in components, the pairs that stay there, and their transitions among these states."""
        states = np.flatnonzero(self.components.label >= 0)
        pairs = np.flatnonzero(self.components.pairs)
        kernel: Any = self.problem.transition
        flat = kernel.reshape(-1, self.problem.shape[0]) if isinstance(kernel, np.ndarray) else kernel
        rows = flat[pairs] if len(pairs) < flat.shape[0] else flat
        rows = rows if len(states) == flat.shape[1] else rows[:, states]
        rank = np.zeros(self.problem.shape[0], dtype=np.intp)
        rank[states] = np.arange(len(states))
        return states, pairs, PairRows(rows, rank[pairs // self.problem.shape[1]], len(states))

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return the best policy for weights (J,); the search starts from the last one."""
        del tolerance, precision  # exact to rounding
        problem = self.problem
        utility = weight[0] * problem.reward + np.tensordot(weight[1:], problem.constraint_reward, 1)
        states, pairs, rows = self._inside
        label = self.components.label[states]
        gains = best_gains(
            *(rows, utility.reshape(-1)[pairs], label, self._last, self.factorise, lambda: self._tick())
        )
        self._last = gains
        # The weighted sum is rounded, too.
        slip = (len(weight) + 2) * UNIT_ROUNDOFF * float(np.abs(weight) @ self._sizes)
        settled = self.settling.settle(gains.upper + slip, self.factorise, lambda: self._tick())
        actions = self._lifted(gains, settled.stops, settled.pair)
        chain = self._chain(actions)
        own = problem.utility[:, np.arange(len(actions)), actions.astype(np.intp)]
        whole = chain.values(
            np.vstack([own, utility[np.arange(len(actions)), actions]])[:, chain.states], self._terms
        )
        value = Bracket(*(part[:-1] for part in whole)).within(self.extent)
        low = max(float(whole.low[-1]) - slip, -np.inf)
        visits = chain.visits()[0]
        rounding = max(settled.upper_bound - low, 0.0)
        return Response(
            *(actions, value.low, value.guess, settled.upper_bound, low, rounding, gains.evaluations, visits)
        )

    @cached_property
    def _sizes(self) -> Array:
        return np.abs(self.problem.utility).max((1, 2), initial=0.0, where=self.problem.actions)  # (J,)

    @cached_property
    def factorise(self) -> Factorise:
        """Makes (I − P)⁻¹ of a chain."""
        return Inverses(lambda: self._tick())

    def _lifted(self, gains: Gains, stops: Mask, taken: Places) -> Actions:
        """Return the policy that stays where it should stop, and goes on elsewhere, (S,)."""
        states, pairs, rows = self._inside
        width = self.problem.shape[1]
        chosen = np.asarray(self.problem.actions.argmax(1))
        chosen[states] = pairs[gains.choice] % width
        goes_on = taken[states] >= 0
        if goes_on.any():  # lead each component that is left to where it is left
            label = self.components.label[states]
            lead = rows.leading_to(goes_on)
            left = ~stops[label] & (lead >= 0)
            chosen[states[left]] = pairs[lead[left]] % width
        on_the_way = taken >= 0
        chosen[on_the_way] = taken[on_the_way] % width
        return chosen.astype(self.compact)

    def _chain(self, policy: Array | Actions) -> RecurrentChain:
        self._tick()
        chain = policy_transition(self.problem, policy)
        return RecurrentChain(chain, self.problem.initial, self.factorise, lambda: self._tick())

    def values(self, policy: AnyPolicy) -> Bracket:
        """Return proved bounds on V(ρ), of a policy (S, A), actions (S,), or a draw between several."""
        if isinstance(policy, Drawn):
            return averaged(policy, [self.values(part) for part in policy.parts]).within(self.extent)
        table, chain = as_table(policy, self.problem.shape[1]), self._chain(policy)
        gain = policy_utility(self.problem.utility, table)
        return chain.values(gain[:, chain.states], self._terms).within(self.extent)

    def visits(self, policy: AnyPolicy, precision: float = 0.0) -> Array:
        """Return the share of time that a policy spends in each state in the long run, (S,)."""
        del precision  # exact to rounding
        if isinstance(policy, Drawn):
            return policy.weights @ [self.visits(part) for part in policy.parts]
        return self._chain(policy).visits()[0]

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A); −∞ where there is no action."""
        del tolerance  # exact to rounding
        q, _ = self.action_values_and_gain(policy)
        return np.where(self.problem.actions, q, -np.inf)[:, states]

    def action_values_and_gain(self, policy: Array) -> tuple[Array, Array]:
        """Q = u + Ph + M·(Pg − g), (J, S, A), with M so large that gains come before biases, and the gain at ρ, (J,)."""
        problem = self.problem
        everywhere = np.full(len(policy), 1 / len(policy))
        chain = RecurrentChain(
            policy_transition(problem, policy), everywhere, self.factorise, lambda: self._tick()
        )
        gain, bias = chain.gain_and_bias(policy_utility(problem.utility, policy))
        q = action_value(problem, problem.utility, bias)
        if chain.classes > 1:
            ahead = action_value(problem, np.zeros_like(problem.utility), gain) - gain[:, :, None]
            q = q + (DOMINANT * (1 + np.abs(bias).max(1)))[:, None, None] * ahead
        return q, gain @ problem.initial

    def mixed(
        self, policies: Sequence[AnyPolicy], weights: Array, precision: float = 0.0
    ) -> tuple[Any, Bracket]:
        """Return a policy with the averaged values of some policies, and proved bounds on its values.

        It is one stationary policy if one loses at most about `precision`, relative to the range of each utility, and else a draw between them at the start.
        """
        drawn = Drawn.of(policies, weights)
        if len(drawn.parts) == 1:
            table = as_table(drawn.parts[0], self.problem.shape[1])
            return table, self.values(table)
        each = [self.values(part) for part in drawn.parts]
        together = averaged(drawn, each).within(self.extent)
        width = self.extent[1] - self.extent[0]
        for connected in (0.0, precision) if precision else (0.0,):
            table = self._stationary(drawn, connected, precision)
            value = self.values(table)
            if (value.low >= together.low - (self._same + 2 * connected) * width).all():
                return table, value
        return drawn, together

    def _frequencies(self, policy: Any, precision: float) -> tuple[Array, Array]:
        """Return the share of time that a policy spends in each state, and its visits on the way, (S,) each."""
        del precision  # exact to rounding
        return self._chain(policy).visits()

    def _stationary(self, drawn: Drawn, connected: float, precision: float) -> Array:
        """Return the policy of the averaged frequencies, (S, A), with a share of connecting ones in each component."""
        actions = self.problem.shape[1]
        often, way = np.zeros(self.problem.actions.shape), np.zeros(self.problem.actions.shape)
        for part, weight in zip(drawn.parts, drawn.weights, strict=True):
            table = as_table(part, actions)
            long_run, on_the_way = self._frequencies(part, precision)
            often += weight * long_run[:, None] * table
            way += weight * on_the_way[:, None] * table
        if connected:
            often = (1 - connected) * often + connected * self._connecting(often)
        heaviest = as_table(drawn.parts[int(drawn.weights.argmax())], actions)
        return occupancy_policy(often, occupancy_policy(way, heaviest))

    def _connecting(self, often: Array) -> Array:
        """Return frequencies (S, A) that connect each component, with as much in each component as `often` (S, A) has."""
        states, pairs, rows = self._inside
        label, width = self.components.label[states], self.problem.shape[1]
        mass = np.bincount(label, often.sum(1)[states], self.components.number)
        share = 1 / np.diff(np.append(rows.first, len(pairs)))[rows.state]
        spread = scipy.sparse.csr_array(
            (share, (rows.state, np.arange(len(pairs)))), (len(states), len(pairs))
        )
        chain = RecurrentChain(
            np.asarray(spread @ rows.kernel) if isinstance(rows.kernel, np.ndarray) else spread @ rows.kernel,
            mass[label] / np.bincount(label)[label],
            self.factorise,
            lambda: self._tick(),
        )
        found = np.zeros(self.problem.actions.size)
        found[pairs] = chain.visits()[0][rows.state] * share
        return found.reshape(-1, width)

    def reachable(self, policy: Any) -> Mask:
        """Return which states a policy may come to, (S,)."""
        if isinstance(policy, Drawn):
            tables = [as_table(part, self.problem.shape[1]) for part in policy.parts]
            return np.asarray(np.any([self.reachable(table) for table in tables], axis=0))
        return super().reachable(policy)
