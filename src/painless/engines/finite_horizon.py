"""A finite horizon, solved by backward induction: exact but for the rounding of H steps.

    V_t(s) = max_a u_t(s, a) + γ Σ_s' P_t(s'|s, a) V_{t+1}(s'),     V_H = 0,        d_{t+1} = γ d_t P_π

The states (t, s) are numbered t·S + s (see `problem.stages`). A best response takes one pass backwards, visits one forwards, and
neither forms anything larger than the utilities. With e the rounding of one step, relative to the largest value, values are
off by at most Σ_t γ^t e.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.engines.engine import STEPS, UNIT_ROUNDOFF, Actions, BaseEngine, Bracket, Response, as_table
from painless.engines.pair_rows import compiled_steps
from painless.engines.sweeps.backward import (
    follow_step,
    mix_step,
    reach_step,
    shares_step,
    steps_back,
    visit_step,
    write_shares,
)
from painless.engines.sweeps.sparse_rows import Indices, unsigned
from painless.engines.sweeps.state_threads import PIECES, StateThreads
from painless.problem import CMDP
from painless.problem.stages import Stages
from painless.problem.transitions import require_sound

COMPILED = 1_500_000  # transitions of all steps from which compiled code is worth its loading
SHARED = 50_000  # states from which a second thread pays
EVERY: Mask = np.empty((1, 0, 0), dtype=bool)  # stands for all actions
TOGETHER = 200_000  # states of steps that are taken together, between two looks at the clock


class FiniteHorizon(BaseEngine):
    """Finds best responses by backward induction."""

    exact = True

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        self.process = steps_of(problem)
        for kernel in self.process.kernels:
            require_sound(kernel)
        self._terms = 3 * self.process.most_successors + problem.shape[1] + STEPS
        self.rounding = self._terms * UNIT_ROUNDOFF * self.unit * self.unit

    @cached_property
    def _shape(self) -> tuple[int, int, int]:
        return self.process.steps, self.process.states, self.process.actions

    @cached_property
    def _utility(self) -> Array:
        own = self.problem.step_utility
        if own is None:
            return self.problem.utility.reshape(-1, *self._shape)  # (J, H, S, A)
        return np.broadcast_to(own[:, None], (len(own), *self._shape))

    @cached_property
    def _sizes(self) -> Array:
        return np.maximum(*np.abs(self.problem.utility_range))  # (J,)

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return the best policy for weights (J,)."""
        del tolerance, precision  # exact to rounding
        if self._compiled:
            return self._swept_best(weight)
        steps, states, _ = self._shape
        mask = self.problem.actions.reshape(self._shape)
        actions, everyone = np.empty((steps, states), dtype=self.compact), np.arange(states)
        ahead, largest = np.zeros((1 + 2 * len(weight), states)), float(np.abs(weight) @ self._sizes)
        for t in reversed(range(steps)):
            self._tick()
            utility = self._utility[:, t]
            # Of the best policy: the weighted values, those of all utilities, and of their sizes
            q = self.problem.discount * self.process.ahead(t, ahead)
            total = np.where(mask[t], self._weighted(weight, t) + q[0], -np.inf)
            actions[t] = total.argmax(1)
            taken = utility[:, everyone, actions[t]]
            ahead[0], ahead[1:] = total.max(1), q[1:, everyone, actions[t]]
            ahead[1:] += np.concatenate([taken, np.abs(taken)])
            largest = max(largest, float(np.abs(ahead[0]).max(initial=0.0)))
        return self._response(weight, actions.reshape(-1), ahead[0], largest, self._bracket(ahead[1:]))

    def _response(
        self, weight: Array, actions: Actions, value: Array, largest: float, each: Bracket
    ) -> Response:
        states = self.process.states
        best = float(value @ self.problem.initial[:states])
        # Each step rounds Σ_j w_j u_j + γ Σ P V, which is at most twice as large as the largest of its terms.
        off = 2 * (self._terms + len(weight) + states) * UNIT_ROUNDOFF * self.unit * largest
        return Response(actions, each.low, each.guess, best + off, best - off, 2 * off)

    @cached_property
    def _compiled(self) -> bool:
        """Whether passes are compiled: over many transitions of sparse kernels."""
        kernels: Any = self.process.kernels
        if any(isinstance(one, np.ndarray) for one in kernels):
            return False
        return sum(one.nnz for one in kernels) * (self.process.steps // len(kernels)) > COMPILED

    def _swept_best(self, weight: Array) -> Response:
        """Find the best actions and the values of all utilities in one pass over what can be reached; elsewhere the first action is taken."""
        actions = self._first_actions.copy()
        value, values, largest = self._backwards(weight, actions, self._near, self._columns)
        largest = max(largest, float(np.abs(weight) @ self._sizes))
        return self._response(weight, actions.reshape(-1), value, largest, self._bracket(values.T))

    @cached_property
    def _first_actions(self) -> Actions:
        """The first action of each state, (H, S)."""
        steps, states, _ = self._shape
        if self._unmasked:
            return np.zeros((steps, states), dtype=self.compact)
        first = self._masks(0, steps).argmax(-1).astype(self.compact)
        return first if len(first) == steps else np.tile(first, (steps, 1))

    def everywhere(self, actions: Actions, weight: Array) -> Actions:
        """Return a best response to weights (J,) with the best actions also in states (t, s) that nothing can reach."""
        states = self.process.states
        if not self._compiled or (self._near == states).all():
            return actions
        whole = actions.copy()
        self._backwards(weight, whole.reshape(self._shape[:2]), np.full(len(self._near), states))
        return whole

    def _backwards(
        self, weight: Array, actions: Actions, near: NDArray[np.intp], columns: int = 0
    ) -> tuple[Array, Array, float]:
        """Write the best actions (H, S) of the first `near` states of each step (H,); return the values (S,) at the first step, those of all utilities, (S, C), if they are wanted, and the largest absolute value on the way.

        Values beyond those states are left over from other steps.
        """
        steps, states, _ = self._shape
        value, values, newest = np.zeros((2, states)), np.zeros((2, states, columns)), 0
        # Steps that are alike are taken together, unless threads wait for each other
        alone = self._threads.several(states) or len(self.process.kernels) > 1 or not self._alike
        together, largest, end = 1 if alone else max(TOGETHER // states, 1), 0.0, steps
        weighted = self._weighted(weight, 0)
        while end > 0:
            first = max(end - together, 0)
            for _ in range(first, end):
                self._tick()
            if not self._alike:
                weighted = self._weighted(weight, first)
            own = weighted, self._masks(first, end), self._utility[:, first], self.problem.discount
            found = near[first:end], actions[first:end], value, values, newest
            most = self._shared(steps_back, *self._arrays(first), *own, *found, states=int(near[end - 1]))
            largest, newest, end = max(largest, *most), (newest + end - first) % 2, first
        return value[newest], values[newest], largest

    @cached_property
    def _alike(self) -> bool:
        """Whether all steps have the same utilities."""
        if self.problem.step_utility is not None:
            return True
        return all(np.array_equal(self._utility[:, 0], self._utility[:, t]) for t in range(1, self._shape[0]))

    def _weighted(self, weight: Array, step: int) -> Array:
        """Return Σ_j w_j u_j of a step, (S, A)."""
        total = weight[0] * self._utility[0, step]
        for price, utility in zip(weight[1:], self._utility[1:, step], strict=True):
            total += price * utility
        return total

    def _masks(self, first: int, end: int) -> Mask:
        """Return the actions of some steps, (n, S, A), or one step for all; nothing if all are available in every step."""
        if self._unmasked:
            return EVERY
        repeated = self.problem.step_utility is not None
        return self.problem.actions.reshape(self._shape)[slice(1) if repeated else slice(first, end)]

    @cached_property
    def _unmasked(self) -> bool:
        return bool(self.problem.actions.all())

    @cached_property
    def _columns(self) -> int:
        """The columns of values: those of all utilities, and of their sizes unless no utility is negative."""
        signed = bool((self.problem.utility_range[0] < 0).any())
        return len(self._utility) * (2 if signed else 1)

    @cached_property
    def _threads(self) -> StateThreads:
        return StateThreads(SHARED)

    @cached_property
    def _near(self) -> NDArray[np.intp]:
        """How many of the first states, in their order, hold all that may be reached in t steps, (H,); all of them unless the process starts in one state."""
        steps, states, actions = self._shape
        start = np.flatnonzero(self.problem.initial[:states])
        if len(start) > 1 or len(self.process.kernels) > 1 or not self._compiled:
            return np.full(steps, states)
        kernel: Any = self.process.kernel(0)
        first = np.ascontiguousarray(kernel.indptr[::actions])  # of each state
        graph = scipy.sparse.csr_array((kernel.data, kernel.indices, first), (states,) * 2)
        order, before = scipy.sparse.csgraph.breadth_first_order(graph, start[0])
        later = compiled_steps(order.astype(np.intp), before.astype(np.intp), np.full(states, steps))
        last = np.zeros(steps + 1, dtype=np.intp)
        np.maximum.at(last, np.minimum(later, steps), np.arange(states) + 1)
        return np.maximum.accumulate(last[:-1])

    def _shared(self, kernel: Callable[..., Any], *arguments: Any, states: int | None = None) -> list[Any]:
        """Run a kernel on all states, or on the first ones, in parts; return what it returns for each."""
        return self._threads.share(partial(kernel, *arguments), states or self.process.states, PIECES)

    def _arrays(self, step: int) -> tuple[Indices, Indices, Array]:
        """The sparse rows of a step."""
        if self._only_arrays is not None:
            return self._only_arrays
        kernel: Any = self.process.kernel(step)
        return unsigned(kernel.indptr), unsigned(kernel.indices), kernel.data

    @cached_property
    def _only_arrays(self) -> tuple[Indices, Indices, Array] | None:
        """The sparse rows of all steps if they are the same; None if they are not."""
        if len(self.process.kernels) > 1:
            return None
        kernel: Any = self.process.kernel(0)
        return unsigned(kernel.indptr), unsigned(kernel.indices), kernel.data

    def _followed(self, step: int, policy: Array | Actions, ahead: Array, near: int, values: Array) -> Array:
        """Write and return the values (S, C) of a step from those of the next one, compiled, for actions (S,) or a table (S, A), of the first states."""
        follow = follow_step if policy.ndim == 1 else mix_step
        whole = (np.ascontiguousarray(policy), self.problem.discount, ahead, values)
        self._shared(follow, *self._arrays(step), self._utility[:, step], *whole, states=near)
        return values

    def values(self, policy: Array | Actions) -> Bracket:
        """Return proved bounds on V(ρ), of a policy (H·S, A) or actions (H·S,)."""
        steps, states, _ = self._shape
        table = policy.reshape(steps, states, *policy.shape[1:])
        if self._compiled:
            values, spare = np.zeros((2, states, self._columns))
            for t in reversed(range(steps)):
                self._tick()
                values, spare = self._followed(t, table[t], values, int(self._near[t]), spare), values
            return self._bracket(values.T)
        value, everyone = np.zeros((2 * len(self._utility), states)), np.arange(states)
        for t in reversed(range(steps)):
            self._tick()
            utility = self._utility[:, t]
            q = np.concatenate([utility, np.abs(utility)])  # of all utilities, and of their sizes
            q += self.problem.discount * self.process.ahead(t, value)
            value = q[:, everyone, table[t]] if policy.ndim == 1 else (q * table[t]).sum(-1)
        return self._bracket(value)

    def _bracket(self, value: Array) -> Bracket:
        """Return bounds from the values of all utilities and their sizes at the first step, (2J, S); (J, S) if both are the same."""
        steps, states, _ = self._shape
        value, size = value[: len(self._utility)], value[-len(self._utility) :]
        at_start = value @ self.problem.initial[:states]
        # Each step rounds sums of |u| at most `terms` times, and there are `steps` of them in a row.
        off = (self._terms * steps + states) * UNIT_ROUNDOFF * (size @ self.problem.initial[:states])
        off = off * (1 + 1e-6) + 4 * np.finfo(float).tiny
        return Bracket(at_start - off, at_start + off, at_start).within(self.extent)

    def visits(self, policy: Array | Actions, precision: float = 0.0) -> Array:
        """Return d(t, s) = γ^t P(s_t = s), (H·S,)."""
        del precision  # exact to rounding
        steps, states, actions = self._shape
        rows = policy.reshape(steps, states, *policy.shape[1:])
        visits = np.zeros((steps, states))
        visits[0] = self.problem.initial[:states]
        for t in range(steps - 1):
            self._tick()
            if self._compiled and policy.ndim == 1:
                moved = (self.problem.discount, visits[t, : self._near[t]], visits[t + 1])
                visit_step(*self._arrays(t), rows[t], actions, *moved)
            else:
                taken = visits[t][:, None] * as_table(rows[t], actions)
                visits[t + 1] = self.problem.discount * self.process.flow(t, taken)
        return visits.reshape(-1)

    def mixed(
        self, policies: Sequence[Array | Actions], weights: Array, precision: float = 0.0
    ) -> tuple[Array, Bracket]:
        """Return the policy (H·S, A) with the averaged values of some policies, and proved bounds on its values.

        Of deterministic ones no occupancy of all pairs is formed.
        """
        used = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
        if len(used) < 2 or any(policies[k].ndim == 2 for k in used):
            return super().mixed(policies, weights, precision)
        often = [self.visits(policies[k]).reshape(self._shape[:2]) for k in used]
        parts = [policies[k].reshape(self._shape[:2]) for k in used]
        table = np.empty(self._shape)
        write = shares_step if self._compiled else write_shares
        for t, near in enumerate(self._near.tolist()):
            share = np.array([weights[k] * one[t, :near] for k, one in zip(used, often, strict=True)])
            write(share, np.array([one[t] for one in parts]), table[t])
        whole = table.reshape(-1, self.process.actions)
        return whole, self.values(whole)

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states (t, s), (J, n, A); −∞ where there is no action."""
        del tolerance  # exact to rounding
        q = action_values(self.problem, policy[None])[0]
        return np.where(self.problem.actions, q, -np.inf)[:, states]

    def reachable(self, policy: Array) -> Mask:
        """Return which states (t, s) a policy (H·S, A) may come to, (H·S,)."""
        steps, states, _ = self._shape
        rows = policy.reshape(self._shape)
        found = np.zeros((steps, states), dtype=bool)
        found[0] = self.problem.initial[:states] > 0
        for t in range(steps - 1):
            if self._compiled:
                reach_step(*self._arrays(t), rows[t], found[t, : self._near[t]], found[t + 1])
            else:
                taken = found[t][:, None] & (rows[t] > 0)
                found[t + 1] = self.process.flow(t, taken.astype(np.float64)) > 0
        return found.reshape(-1)


def steps_of(problem: CMDP) -> Stages:
    """Return the steps of a problem with a horizon."""
    assert problem.stages is not None
    return problem.stages


def action_values(problem: CMDP, policy: Array) -> Array:
    """Q_t = u_t + γ P_t V_{t+1} of a batch of policies (B, H·S, A): (B, J, H·S, A)."""
    process = steps_of(problem)
    shape = (process.steps, process.states, process.actions)
    utility = problem.utility.reshape(-1, *shape)
    table = policy.reshape(-1, *shape)
    q = np.empty((len(policy), *utility.shape))
    for run in range(len(policy)):  # each by itself, so that its bits do not depend on its neighbours
        value = np.zeros((len(utility), process.states))
        for t in reversed(range(process.steps)):
            q[run, :, t] = utility[:, t] + problem.discount * process.ahead(t, value)
            value = (q[run, :, t] * table[run, t]).sum(-1)
    return q.reshape(len(policy), len(utility), -1, process.actions)
