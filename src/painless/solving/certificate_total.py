"""The values of a certificate of a total reward: of the way to the end, and of what shows that it comes.

With Z ≥ 1 + z·u + PZ outside rests, V + δZ satisfies every inequality of the weights w + δz for some small δ, whatever rounding left of V: the
weights of the certificate are these, divided by that of the reward. Where one cannot stop almost surely any more, stopping costs so much that nobody goes there,
so that V is known there, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from painless import verify
from painless.bellman import policy_transition, policy_utility, reachable, resolvent
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.engines.chain_gains import recurrent_classes
from painless.engines.pair_rows import Places
from painless.engines.reduction import Quotient, Reduction
from painless.engines.total_iteration import improved
from painless.engines.well_posed import Guard, guard_of
from painless.problem import CMDP
from painless.problem.units import FREE, presolve
from painless.solving.certificate_average import SLIPS, STRICT, moved
from painless.solving.certificate_values import REFINED, numbers
from painless.solving.paired_doubles import Outward
from painless.solving.residuals import pair_surplus, policy_deficit

PENALTY = 100.0
LARGEST = 1e30  # penalties beyond this are in vain


class TotalFinder:
    """Finds the values of the way to the end."""

    def __init__(self, problem: CMDP, model: verify.Model) -> None:
        self.problem, self.model = presolve(problem)[0], model
        self.whole = Reduction(self.problem)
        self.reached = self.whole.reached
        self.nothing = np.zeros(len(problem.utility))

    def lower(self, policy: Array) -> dict[str, Array]:
        """Return values of every utility, (M, J, S), and numbers of steps (M, S), of policies (M, S, A)."""
        found = [self._lower(table) for table in policy]
        values, steps = (np.array(part) for part in zip(*found, strict=True))
        return {"lower_value": values, "lower_steps": steps}

    def _lower(self, table: Array) -> tuple[Array, Array]:
        kernel = scipy.sparse.csr_array(policy_transition(self.problem, table))
        reached = reachable(kernel, self.problem.initial)
        way = reached & ~_resting(kernel, self.whole.ending, table)
        states = np.flatnonzero(way)
        steps, value = np.zeros(len(table)), np.zeros((len(self.nothing), len(table)))
        each = np.eye(len(value))
        if len(states):
            inverse = resolvent(kernel[states][:, states], 1.0)
            steps[states] = STRICT * inverse.state_value(np.ones((1, len(states))))[0]
            value[:, states] = inverse.state_value(policy_utility(self.problem.utility, table)[:, states])
            for _ in range(REFINED):
                left = [self._residual(table, *one) for one in zip(each, value, strict=True)]
                value[:, states] += inverse.state_value(np.array(left)[:, states])
        found = [self._lowered(table, reached, *one, steps) for one in zip(each, value, strict=True)]
        return np.array(found), steps

    def _residual(self, table: Array, each: Array, value: Array) -> Array:
        """u_π + P_π W − W, (S,), almost exactly."""
        outward = Outward(*numbers(self.model, table, value))
        ahead = self.model.with_end(value)
        return np.asarray(policy_deficit(self.model, outward, table, each, (value,), ahead))

    def _lowered(self, table: Array, reached: Mask, each: Array, value: Array, steps: Array) -> Array:
        def holds(found: Array) -> bool:
            return bool((self._residual(table, each, found)[reached] >= 0).all())

        return moved(lambda slip: value - slip * steps, holds, float(np.abs(value).max()))

    def upper(self, weight: Array) -> dict[str, Array]:
        """Return the weights (J,) and V (S,), and the weights and values that show that other policies do not stop."""
        guard = self._guard(bool(weight[0]))
        stop_weight, stop_value = STRICT * guard.weight, STRICT * guard.value
        value = self._best(weight)
        size, pairs = float(np.abs(value[self.reached]).max(initial=0.0)), self._pairs()

        def raised(slip: float) -> tuple[Array, Array]:
            whole = 1.0 + slip * stop_weight[0] if weight[0] else 1.0
            return (weight + slip * stop_weight) / whole, (value + slip * stop_value) / whole

        for slip in SLIPS:
            shares, found = raised(slip * (size + 1e-300))
            outward = Outward(*numbers(self.model, shares, found))
            ahead = self.model.with_end(found)
            if (pair_surplus(self.model, outward, pairs, shares, (found,), ahead) >= 0).all():
                break
        return {
            "weight": shares,
            "upper_value": found,
            "stop_weight": stop_weight,
            "stop_value": stop_value,
        }

    def _guard(self, reward: bool) -> Guard:
        """Return what shows that loops lose: in a limit, or in the reward if that may count, or if nothing else shows it."""
        limited = np.append(reward, self.problem.threshold > -FREE)
        try:
            return guard_of(self.whole, limited, lambda: None)
        except InputError:
            if reward:
                raise
            return self._guard(True)

    def _pairs(self) -> Any:
        """Return the pairs at which the checker asks for inequalities."""
        pairs = verify.allowed_pairs(self.model)
        return pairs[self.reached[self.model.states()[pairs]]]

    def _best(self, weight: Array) -> Array:
        """Return the values of the best way to stop, (S,)."""
        quotient = self.whole.quotient(weight > 0, self.whole.pairs, everywhere=True)
        utility = quotient.utility(np.tensordot(weight, self.problem.utility, 1))
        size = quotient.utility(np.tensordot(weight, np.abs(self.problem.utility), 1))
        resting = np.zeros(quotient.count, dtype=bool)
        resting[quotient.node[(self.whole.rests.label >= 0) & (quotient.node >= 0)]] = True
        away = quotient.is_stop & ~resting[quotient.rows.state]
        sure = np.zeros(quotient.count, dtype=bool)
        sure[quotient.node[self.whole.sure.any(1) & (quotient.node >= 0)]] = True
        start, most = self._start(weight, quotient, away)
        penalty = PENALTY * max(most, float(size.max(initial=0.0)))
        while True:
            priced = np.where(away, -penalty, utility)
            found = improved(quotient, priced, start, lambda: None, size=size)
            if penalty > LARGEST or not away[found.choice[sure]].any():
                break
            penalty *= PENALTY  # it is still better to stop where one should not
        return np.where(quotient.node >= 0, found.value[quotient.node], 0.0)

    def _start(self, weight: Array, quotient: Quotient, away: Mask) -> tuple[Places, float]:
        """Return rows (N,) to start from, which stop almost surely: those of the best way for whoever must, and its largest value."""
        lead = quotient.towards(quotient.ends & ~away)
        lead = np.where(lead >= 0, lead, quotient.rows.first)
        usual = self.whole.quotient(weight > 0)
        if not usual.count:
            return lead, 0.0
        utility = usual.utility(np.tensordot(weight, self.problem.utility, 1))
        best = improved(usual, utility, usual.first, lambda: None)
        taken = usual.pair[best.choice]
        row = np.full(self.problem.actions.size, -1)
        row[quotient.pair[~quotient.is_stop]] = np.flatnonzero(~quotient.is_stop)
        rows = row[taken[taken >= 0]]
        choice, rows = lead.copy(), rows[rows >= 0]
        choice[quotient.rows.state[rows]] = rows
        most = float(np.abs(best.value).max(initial=0.0))
        return choice if quotient.stops_surely(choice).all() else lead, most


def _resting(chain: Any, ending: Array, table: Array) -> Any:
    """Return the states in which a chain stays for ever, (S,)."""
    states = len(table)
    leaves = np.flatnonzero(((ending > 0) & (table > 0)).any(1))
    ends = scipy.sparse.csr_array((np.ones(len(leaves)), (leaves, np.zeros(len(leaves), int))), (states, 1))
    loop = scipy.sparse.csr_array(np.ones((1, 1)))
    whole = scipy.sparse.block_array([[chain, ends], [None, loop]], format="csr")
    return recurrent_classes(whole)[1][:states]
