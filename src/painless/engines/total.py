"""The total reward until the end: best responses by policy iteration, without a contraction.

What the model is reduced to, and which loops it has, is in `reduction`; whether the problem has an answer at all, in `well_posed`; best responses and
their bounds are in `total_iteration`, those of large models first in `swept_total`; values of policies in `transient`. If the best rows contain loops whose gains cancel at the given
weights, as they do where a budget bounds a loop, the bound is proved for the weights + δw, with w and W of `well_posed`: V + δW.

Averages of policies: one that rests where another goes on cannot share a table with it, since there is no pair that rests. Then it takes a
draw between them at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import occupancy_policy, policy_transition, policy_utility
from painless.common.arrays import Array, Mask
from painless.engines.drawn import Drawn
from painless.engines.engine import (
    UNIT_ROUNDOFF,
    Actions,
    BaseEngine,
    Bracket,
    Loop,
    Response,
    as_table,
    averaged,
)
from painless.engines.iterated import FACTORISED, Inverses
from painless.engines.pair_rows import Places
from painless.engines.reduction import Quotient, Reduction, leading
from painless.engines.swept_total import SweptTotal
from painless.engines.total_iteration import (
    Improved,
    at_start,
    excess,
    improved,
    stationary,
    upper_bound,
)
from painless.engines.transient import TransientChain
from painless.engines.well_posed import Guard, guard_of, is_evident, require_stops
from painless.problem import CMDP
from painless.problem.transitions import require_sound
from painless.problem.units import FREE

STEPS = 16
TOUCH = 2e-7  # the share of a policy that leads to a loop, where no other does
UNIFORM = 0.01  # of the uniform table in one that would not stop
RAISES = 4
CAREFUL = 0.05  # the error of a swept value, relative to what is asked for


class Total(BaseEngine):
    """Finds the best way to stop."""

    rounding = np.inf  # depends on the policy: `values` bounds it
    draws = True
    refines = False

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        require_sound(problem.transition)
        self.exact = problem.shape[0] <= FACTORISED  # larger chains are swept
        self._is_posed = False  # whether it is known to be
        # The weights that count are told from others by their positive ones; several may have one quotient.
        self._keys: dict[bytes, bytes] = {}
        self._quotients: dict[bytes, Quotient] = {}
        self._last: dict[bytes, Places] = {}
        self._sweeps: dict[bytes, SweptTotal] = {}
        everywhere = np.full(1 + problem.shape[2], np.inf)
        self.extent = -everywhere, everywhere  # nothing is known of all policies

    @cached_property
    def whole(self) -> Reduction:
        """What policies may do that stop almost surely."""
        return Reduction(self.problem)

    @cached_property
    def guard(self) -> Guard:
        """What shows that the problem is well posed; else it is rejected."""
        return guard_of(self.whole, self._limited, lambda: self._tick(), self.factorise)

    @property
    def _limited(self) -> Mask:
        return np.append(True, self.problem.threshold > -FREE)

    def _require_answer(self) -> None:
        """Reject problems that are not well posed; where the pairs alone show that they are, nothing is computed."""
        if self._is_posed:
            return
        if is_evident(self.whole, self._limited):
            require_stops(self.whole)
        else:
            _ = self.guard
        self._is_posed = True

    @cached_property
    def factorise(self) -> Inverses:
        """Makes (I − P)⁻¹ of a chain."""
        return Inverses(lambda: self._tick())

    def _quotient(self, weight: Array) -> tuple[bytes, Quotient]:
        asked = (weight > 0).tobytes()
        if asked not in self._keys:
            used = self.whole.relevant(weight > 0)
            key = self._keys[asked] = used.tobytes()
            if key not in self._quotients:
                self._quotients[key] = self.whole.quotient(used)
        return self._keys[asked], self._quotients[self._keys[asked]]

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return the best policy for weights (J,), or a ray; the search starts from the last policy."""
        self._require_answer()
        self.factorise.error = (
            0.0 if self.exact else CAREFUL * min(tolerance, precision * float(weight.sum()))
        )
        try:
            found = None if self.exact else self._swept_best(weight, tolerance, precision)
            return self._best(weight) if found is None else found
        finally:
            self.factorise.error = 0.0

    def _swept(self, weight: Array) -> tuple[bytes, SweptTotal]:
        key, quotient = self._quotient(weight)
        if key not in self._sweeps:
            start = self._last.get(key, quotient.first)
            self._sweeps[key] = SweptTotal(self.problem, quotient, start, lambda: self._tick())
        return key, self._sweeps[key]

    def _swept_best(self, weight: Array, tolerance: float, precision: float) -> Response | None:
        """Return a policy within `tolerance` of the best for weights (J,), by sweeps; None if they do not find it."""
        key, swept = self._swept(weight)
        found = swept.best(weight, tolerance, precision, self.factorise)
        if found is None:
            return None
        self._last[key] = found.choice.astype(np.intp, copy=False)
        actions = swept.quotient.lifted(found.choice, self._fallback.astype(self.compact))
        low = self._weighted_low(weight, found.value)
        rounding = max(found.bound - low, 0.0)
        return Response(
            *(actions, found.value.low, found.value.guess, found.bound, low, rounding, found.sweeps)
        )

    @cached_property
    def unit(self) -> float:
        """The scale of values: about the time to stop of a large model; 1 of others."""
        if self.exact:
            return 1.0
        self._require_answer()
        reward = np.eye(1 + self.problem.shape[2])[0]
        _, swept = self._swept(reward)
        return swept.rough_time(reward) if swept.serves else 1.0

    def _best(self, weight: Array) -> Response:
        key, quotient = self._quotient(weight)
        weighted = np.tensordot(weight, self.problem.utility, 1)
        utility = quotient.utility(weighted)
        start = self._last.get(key, quotient.first)
        size = quotient.utility(np.tensordot(weight, np.abs(self.problem.utility), 1))
        found = improved(quotient, utility, start, lambda: self._tick(), self.factorise, size=size)
        self._last[key] = found.choice
        actions = quotient.lifted(found.choice, self._fallback)
        chain = self._chain(actions)
        value = chain.values()
        low = self._weighted_low(weight, value)
        bound, proved, loop = np.inf, weight, None
        if found.rays:
            loop = self._loop(quotient, utility, found)
        else:
            rounded = utility + (len(weight) + 2) * UNIT_ROUNDOFF * size  # the weighted sum is rounded, too
            bound = upper_bound(quotient, rounded, found, lambda: self._tick(), self.factorise)
            if not np.isfinite(bound):
                bound, proved = self._guarded(weight, quotient, found)
        return Response(
            *(actions.astype(self.compact), value.low, value.guess, bound, low, max(bound - low, 0.0)),
            *(found.evaluations, chain.visits if self.exact else None),
            weight=None if proved is weight else proved,
            loop=loop,
        )

    def _weighted_low(self, weight: Array, value: Bracket) -> float:
        used = weight > 0
        low = weight[used] @ value.low[used]
        size = weight[used] @ np.maximum(np.abs(value.low), np.abs(value.high))[used]
        return float(low - 4 * (len(weight) + 2) * UNIT_ROUNDOFF * size) if np.isfinite(low) else -np.inf

    def _loop(self, quotient: Quotient, utility: Array, found: Improved) -> Loop:
        """Return the loop that pays most: actions that stay in it, and stop elsewhere."""
        ray = max(found.rays, key=lambda one: float(utility[one.rows] @ one.share))
        circling = found.choice.copy()
        circling[quotient.rows.state[ray.rows]] = ray.rows
        actions = quotient.lifted(circling, self._fallback).astype(self.compact)
        states, gain, share = self.circulation(actions)
        size = np.abs(self.problem.utility[:, states, actions[states].astype(np.intp)]) @ share
        return Loop(actions, gain - 64 * (len(states) + STEPS) * UNIT_ROUNDOFF * size, gain)

    def circulation(self, policy: Array | Actions) -> tuple[NDArray[np.intp], Array, Array]:
        """Return the states of the loops that a policy never leaves, what a step there earns (J,), and the share of each state."""
        chain = self._chain(policy, everywhere=True)
        table = as_table(policy, self.problem.shape[1])
        states = np.concatenate(chain.loops)
        matrix = scipy.sparse.csr_array(chain._whole)
        share = np.concatenate([stationary(matrix[one][:, one]) for one in chain.loops]) / len(chain.loops)
        gain = policy_utility(self.problem.utility[:, states], table[states]) @ share
        return states, gain, share

    @cached_property
    def _fallback(self) -> NDArray[np.intp]:
        return np.asarray(self.problem.actions.argmax(1))

    def _guarded(self, weight: Array, quotient: Quotient, found: Improved) -> tuple[float, Array]:
        """Return a bound on the value at weights + δw: that of V + δW, checked at every pair."""
        guard = self.guard
        key, whole = self._quotient(np.ones(len(weight)))
        del key
        states = np.zeros(whole.count, dtype=np.intp)
        known = np.flatnonzero(whole.node >= 0)
        states[whole.node[known[::-1]]] = known[::-1]  # the first state of each node
        value, extra = found.value[quotient.node[states]], guard.value[states]
        utility = whole.utility(self.problem.utility)

        def over(share: float) -> Array:
            weighted = (weight + share * guard.weight) @ utility
            slip = (len(weight) + 2) * UNIT_ROUNDOFF * ((weight + share * guard.weight) @ np.abs(utility))
            return excess(whole, weighted + slip, value + share * extra)

        share = 2 * float(over(0.0).max(initial=0.0))
        for _ in range(RAISES):
            if (over(share) <= 0).all():
                return at_start(whole, value + share * extra), weight + share * guard.weight
            share *= 10
        return np.inf, weight

    def _chain(self, policy: Any, everywhere: bool = False) -> TransientChain:
        """Return the chain of a policy, from ρ or from everywhere that may be reached."""
        self._tick()
        problem = self.problem
        reached = self.whole.sure.any(1)
        start = reached / reached.sum() if everywhere else problem.initial
        used = np.any(problem.utility != 0, axis=0)  # (S, A)
        if policy.ndim == 1:
            actions, at = policy.astype(np.intp), np.arange(len(policy))
            chain, gain = policy_transition(problem, actions), problem.utility[:, at, actions]
            leaves, pays = self.whole.ending[at, actions] > 0, used[at, actions]
        else:
            table = np.asarray(policy, dtype=np.float64)
            chain, gain = policy_transition(problem, table), policy_utility(problem.utility, table)
            leaves = np.asarray(((self.whole.ending > 0) & (table > 0)).any(1))
            pays = np.asarray((used & (table > 0)).any(1))
        return TransientChain(chain, start, leaves, gain, pays, problem.shape[1], self.factorise)

    def values(self, policy: Any) -> Bracket:
        """Return proved bounds on V(ρ), of a policy (S, A), actions (S,), or a draw between several; infinite if it never stops."""
        if isinstance(policy, Drawn):
            return averaged(policy, [self.values(part) for part in policy.parts])
        return self._chain(policy).values()

    def visits(self, policy: Any, precision: float = 0.0) -> Array:
        """Return how often each state is visited before the process stops, (S,); at the end, how often it is reached."""
        del precision  # exact to rounding
        if isinstance(policy, Drawn):
            return np.asarray(policy.weights @ [self.visits(part) for part in policy.parts])
        return self._chain(policy).visits

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A); −∞ where there is no action."""
        del tolerance  # exact to rounding
        return np.where(self.problem.actions, self.all_action_values(policy), -np.inf)[:, states]

    def all_action_values(self, policy: Array) -> Array:
        """Return Q of all utilities, (J, S, A), of a table (S, A)."""
        ahead = np.asarray((self.whole.flat @ self._everywhere(policy).T).T)
        return self.problem.utility + ahead.reshape(self.problem.utility.shape)

    def _everywhere(self, policy: Array, utility: Array | None = None) -> Array:
        """Return V of all utilities in all states, (J, S), also in those that ρ does not reach; 0 where it never stops."""
        problem = self.problem
        utility = problem.utility if utility is None else utility
        spread = np.full(len(policy), 1 / len(policy))
        chain = TransientChain(
            policy_transition(problem, policy),
            spread,
            np.asarray(((self.whole.ending > 0) & (policy > 0)).any(1)),
            policy_utility(utility, policy),
            np.asarray(((problem.utility != 0).any(0) & (policy > 0)).any(1)),
            problem.shape[1],
            self.factorise,
        )
        return np.nan_to_num(chain.state_values)

    def touring(self, states: NDArray[np.intp]) -> Array:
        """Return a table (S, A) that comes to some states with a positive probability, and stops almost surely if it can."""
        whole, actions = self.whole, self.problem.shape[1]
        _, quotient = self._quotient(np.ones(1 + self.problem.shape[2]))
        stops = np.eye(actions)[quotient.lifted(quotient.leaving, self._fallback)]
        lead = leading(whole.flat, whole.sure, _mask(states, len(stops)))
        way = np.flatnonzero(lead >= 0)
        table = stops.copy()
        table[way] *= 0.5
        table[way, lead[way] % actions] += 0.5
        return table

    @cached_property
    def allowed(self) -> Mask:
        """The pairs that a policy may take if it stops almost surely, (S, A); all pairs of states without one."""
        sure = self.whole.sure
        return np.where(sure.any(1, keepdims=True), sure, self.problem.actions)

    def playable(self, policy: Array) -> Array:
        """Return a table (S, A), with a share of the uniform one if it does not stop almost surely from everywhere."""
        if not self._chain(policy, everywhere=True).loops:
            return policy
        uniform = self.allowed / self.allowed.sum(1, keepdims=True)
        return (1 - UNIFORM) * policy + UNIFORM * uniform

    def reachable(self, policy: Array) -> Mask:
        """Return which states a policy (S, A) may come to, (S,)."""
        return self.whole.reached_by(policy > 0)

    def scale(self, policy: Array) -> float:
        """Return the largest total of absolute utilities from any state under a policy (S, A)."""
        size = np.abs(self.problem.utility).max(0)[None]
        return float(np.nanmax(self._everywhere(policy, size), initial=1.0))

    def mixed(self, policies: Sequence[Any], weights: Array, precision: float = 0.0) -> tuple[Any, Bracket]:
        """Return a policy with the averaged values of some policies and loops, and proved bounds on its values.

        It is one table, or a draw between several if some rest where others go on.
        """
        order = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
        if not self.exact and all(getattr(policies[k], "ndim", 0) == 1 for k in order):
            _, sweeps = self._swept(np.ones(1 + self.problem.shape[2]))
            found = sweeps.mixed([policies[k] for k in order], weights[order], precision)
            if found is not None:
                return found
        groups = self._groups(policies, weights)
        tables = [group.table() for group in groups]
        share = np.array([group.weight for group in groups])
        if len(tables) == 1:
            return tables[0], self.values(tables[0])
        drawn = Drawn(tuple(tables), share / share.sum())
        return drawn, self.values(drawn)

    def _groups(self, policies: Sequence[Any], weights: Array) -> list[_Group]:
        """Return the parts of a mixture, those together that can share a table."""
        groups: list[_Group] = []
        order = [k for k in np.argsort(-weights, kind="stable").tolist() if weights[k] > 0]
        parts = [(part, weights[k] * share) for k in order for part, share in _parts(policies[k])]
        loops = []
        for part, weight in parts:
            chain = self._chain(part, everywhere=part.ndim == 1)
            if chain.loops:
                loops.append((part, weight))
                continue
            chain = self._chain(part)
            for one in groups:
                if one.fits(chain):
                    one.add(part, weight, chain)
                    break
            else:
                groups.append(_Group(self, part, weight, chain))
        for part, weight in loops:
            states, _, share = self.circulation(part)
            open_to = [one for one in groups if not one.resting[states].any()]
            often = [float(one.often[states].sum()) for one in open_to]
            group: _Group | None = open_to[int(np.argmax(often))] if open_to else None
            if group is None or not (group.often[states] > 0).any():
                touring = self.touring(states)
                chain = self._chain(touring)
                if chain.loops or chain.rest[states].any():
                    # No table that stops has rounds of this loop: it would have to rest after some of them.
                    self.remembered = tuple(np.flatnonzero(chain.rest).tolist()) or tuple(states.tolist())
                    continue
                group = next((one for one in open_to if one.fits(chain)), None)
                if group is not None:
                    group.occupancy *= 1 - TOUCH
                    group.add(touring, TOUCH * group.weight, chain)
                    group.weight /= 1 + TOUCH
                else:
                    group = _Group(self, touring, TOUCH, chain)
                    groups.append(group)
            group.circle(part, weight, states, share)
        return groups


class _Group:
    """Policies that can share a table, with weights."""

    def __init__(self, engine: Total, policy: Any, weight: float, chain: TransientChain) -> None:
        self.weight = 0.0
        self.occupancy: Array = np.zeros(engine.problem.actions.shape)
        self.resting = np.zeros(len(self.occupancy), dtype=bool)
        self.moving = np.zeros(len(self.occupancy), dtype=bool)
        self.prior = as_table(policy, engine.problem.shape[1])
        self.add(policy, weight, chain)

    @property
    def often(self) -> Array:
        return np.asarray(self.occupancy.sum(1))

    def fits(self, chain: TransientChain) -> bool:
        """Whether nobody rests where another goes on."""
        moving = _mask(chain.way, len(self.moving))
        return not ((self.resting & moving) | (self.moving & chain.rest)).any()

    def add(self, policy: Any, weight: float, chain: TransientChain) -> None:
        self.weight += weight
        self.occupancy += weight * chain.visits[:, None] * as_table(policy, self.occupancy.shape[1])
        self.resting |= chain.rest
        self.moving[chain.way] = True

    def circle(self, policy: Any, weight: float, states: NDArray[np.intp], share: Array) -> None:
        """Add rounds of a loop."""
        self.occupancy[states] += weight * share[:, None] * as_table(policy, self.occupancy.shape[1])[states]

    def table(self) -> Array:
        return occupancy_policy(self.occupancy, self.prior)


def _mask(states: NDArray[np.intp], count: int) -> Any:
    mask = np.zeros(count, dtype=bool)
    mask[states] = True
    return mask


def _parts(policy: Any) -> list[tuple[Any, float]]:
    if isinstance(policy, Drawn):
        return [*zip(policy.parts, policy.weights.tolist(), strict=True)]
    return [(policy, 1.0)]
