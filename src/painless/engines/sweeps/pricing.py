"""Pricing: the best policy for weights of the utilities, by modified policy iteration on sparse rows.

    max_π Σ_j w_j V_j(ρ),        T the Bellman optimality operator of u = Σ_j w_j u_j

The values V_j of the last policy are kept for all utilities, so that Σ_j w_j V_j is its value under any new weights: a warm
start that is already good. A sweep TV gives bounds on both sides, however inexact V is (MacQueen 1966; Puterman,
Markov Decision Processes, th. 6.6.6), of the optimum and of the greedy policy π:

    ρ·TV + γ/(1−γ) min(TV − V) ≤ V_π(ρ) ≤ V*(ρ) ≤ ρ·TV + γ/(1−γ) max(TV − V)

Until they meet, one of two things is done:

- where even sweeps shrink errors fast, the greedy policy is followed for a few of them, for all utilities at once; if the
  bounds do not close in, for longer each time;
- elsewhere, by policy iteration from the uniform policy on, with values by elimination where chains fill in little (see `elimination`), and on
  several levels where they do not (see `policy_steps`); where that takes many steps, improvements spread from state to state (see
  `active_states`), and the policy that they end in is evaluated.

In the limit both are policy iteration. A state changes its action only for a gain above rounding, so that it cannot cycle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps import _improve_kernels as kernels
from painless.engines.sweeps.active_states import ActiveStates
from painless.engines.sweeps.chain import Chain, ChangingChain, chain_of
from painless.engines.sweeps.chain_values import DRAGGING, EPSILON, STEPS, ChainValues
from painless.engines.sweeps.elimination import eliminate, fills_in_much
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.engines.sweeps.multilevel import KeptLevels
from painless.engines.sweeps.paired_bounds import PairedBounds
from painless.engines.sweeps.policy_steps import (
    IDLE,
    INEXACT,
    SPREAD,
    STEADY,
    TRIES,
    UNAIDED,
    Progress,
    evaluate_inexactly,
    uniform_chain,
    uniform_values,
)
from painless.engines.sweeps.sparse_rows import Indices, SparseRows, sparse_rows
from painless.engines.sweeps.state_threads import PIECES, StateThreads
from painless.problem import CMDP

FOLLOWED = 5  # sweeps of the greedy policy after a Bellman sweep, at first
STALLED = 0.3  # a range that shrinks by less, while the policy stays the same, doubles them
PATIENCE = 50  # Bellman sweeps after which they are doubled anyway
# The work of so many Bellman sweeps on active states, at most, before the policy is evaluated: by sweeps, by elimination, or by one that is as quick as two or three sweeps; of the last two twice as much after eight policies.
STRETCH, BRIEF, BRIEFEST = 40, 6, 2
ALONE = 2  # policies after the uniform one that are evaluated by elimination before improvements spread from state to state
CLOSER = 0.01  # error of a policy's weighted value on the way, relative to the distance between the bounds
# Bellman sweeps after which at most this share of the range may be left, or the model mixes slowly.
SLOW = (2, 0.9), (4, 0.5)
# Sweeps along the flow, of which each must leave less than this share of the error, or policy iteration is better: it sweeps all pairs less often,
# so that a state with twice as many pairs as a few asks for twice the speed.
TRIED, FLOWING, PAIRS = 8, 0.83, 4
GIVEN_UP = 2  # policy iteration that was given up at one price is tried again at the next if it served at more than so many
HALF = 0.5  # share of an error that rough values may leave; the rest is rounding
# Precision of the weighted values on the way, relative to that of all values at the end: rougher ones cost turns (a grid at γ = 0.999 twice the time).
FINER = 0.1
SMALLEST = 1e-4  # improvements that spread from state to state without constraints, relative to the range of the last one
# What is kept of a pricer, beside its values, if another one goes on from it.
KEPT = ("_choice", "_started", "_steps_pay", "_credit", "_flows")
LONGEST = 100_000  # sweeps in a row; who needs more is at the limits of rounding


class Priced(NamedTuple):
    """A best response, its values (J,), and the bound on every policy."""

    choice: NDArray[np.unsignedinteger]  # (S,) the number of the pair among the state's own
    value: Array  # (J,)
    upper_bound: float  # of Σ_j w_j V_j(ρ), for every policy
    error: float  # of the values, at most


class Swept(NamedTuple):
    """What a Bellman sweep of values V leaves."""

    above: float  # the upper bound at ρ
    low: float  # the least of TV − V
    high: float  # the largest
    width: float  # the distance of the bounds at ρ
    rounding: float  # what of that is rounding
    changed: int  # states with another action
    centre: float  # what takes V to the middle of the bounds on the values of the policy
    error: float  # of the values there


class SweepCount:
    """Counts sweeps of one policy, and calls `tick` after them, which raises where it is time to stop."""

    def __init__(self, tick: Callable[[], None]) -> None:
        self.sweeps, self.tick = 0, tick

    def __call__(self, sweeps: int) -> None:
        """Count so many more."""
        self.sweeps += sweeps
        self.tick()


class Pricer:
    """Prices one weight vector after another, each from where the last one ended."""

    def __init__(
        self, problem: CMDP, tick: Callable[[], None] = lambda: None, like: SparseRows | None = None
    ) -> None:
        self.rows: SparseRows = sparse_rows(problem, shares_utility=True, like=like)
        self.initial, self.discount = problem.initial, problem.discount
        self.bellman_sweeps, self.solves = 0.0, 0
        # Where there is one utility: the tolerance of its best policy, given the bound, if that is all that is asked for; and what is proved on the way.
        self.goal: Callable[[float], float] | None = None
        self.reached: Priced | None = None
        self.count = SweepCount(tick)
        self.threads = StateThreads()
        states = len(self.rows.first) - 1
        self._choice: Indices = self.rows.first[:-1].copy()
        self.values = ChainValues(
            np.zeros((states, len(self.rows.utility))), self.discount, self.count, self.threads
        )
        rows = self.rows
        self.values.elimination = EliminationOrder(lambda: uniform_chain(rows)[0])
        self._chain = ChangingChain(self.rows, self.discount, self.threads)
        self._levels = KeptLevels(self.count)
        self._active: ActiveStates | None = None
        self._started = False  # from the uniform policy
        self._uniform: Chain | None = None  # its chain, until then
        self._steps_pay: bool | None = None  # whether policy iteration makes progress; None while not known
        # Of policy iteration: for prices at which it served, less those at which it was given up.
        self._credit = 0
        self._flows = False  # whether sweeps along the flow are fast
        self._error = np.inf  # of the values, as those of the current policy
        self.priced: Array | None = (
            None  # weights (J,) for which the current policy is the best response, if its values are known
        )
        # Weights (J,) and the current policy's values of the weighted utility (S,), if these are known better than those of each.
        self._weighted: tuple[Array, Array] | None = None
        # Of a Bellman sweep, relative to the values: of rows that sum to about 1 and their sums; of a piece of the sum over first states.
        self._roundings = (3 * self.rows.most_successors + STEPS) * EPSILON / 2
        self._sum_roundings = (states / PIECES + STEPS) * EPSILON / 2
        most = int(np.diff(self.rows.first).max())
        self._compact = np.min_scalar_type(most - 1)

    def state(self) -> dict[str, Any]:
        """Return what another pricer of the same model may go on from."""
        own = {name: getattr(self, name) for name in KEPT}
        values = {name: getattr(self.values, name) for name in ("value", "rate", "by_elimination")}
        order = self.values.elimination
        return {
            "own": own,
            "values": values,
            "order": order if order is not None and order.is_known else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what another pricer of the same model knew."""
        self.__dict__.update(state["own"])
        self.values.__dict__.update(state["values"])
        if state["order"] is not None:
            self.values.elimination = state["order"]

    def continue_from(self, other: Pricer) -> None:
        """Start from the last policy and values of another pricer, if it has the same pairs and utilities."""
        same = self.values.value.shape == other.values.value.shape
        if not same or not np.array_equal(self.rows.first, other.rows.first):
            return
        self._choice = other._choice.copy()
        np.multiply(other.values.value, (1 - other.discount) / (1 - self.discount), out=self.values.value)
        self.values.know_from(other.values)
        alike = ((one, two) for one, two in zip(self.rows[1:3], other.rows[1:3], strict=True))
        if all(one is two or np.array_equal(one, two) for one, two in alike):
            self.values.elimination = other.values.elimination  # which depends on the graph alone
            if other._active is not None:
                self._active = ActiveStates(self.rows, self.discount, self.threads, other._active)
        self._started, self._steps_pay, self._credit = other._started, other._steps_pay, other._credit
        self._flows = other._flows

    def start_from(self, choice: Indices, value: Array) -> None:
        """Start from a policy, as the pairs that it takes (S,), and its values (S, J)."""
        self._choice[:], self.values.value[:] = choice, value
        self._error, self._weighted, self.priced = np.inf, None, None

    def price(
        self, weight: Array, tolerance: float, value_tolerance: float, evaluates: bool = True
    ) -> Priced:
        """Return a policy within `tolerance` of the best for `weight` (J,), which sums to at most 1.

        Its values are exact to `value_tolerance`; unless it `evaluates`, nothing is known of them.
        """
        self.solves += 1
        self.priced = None
        utility: Array | None = None  # of the pairs, weighted
        bound, last, count, precision = np.inf, np.inf, FOLLOWED, value_tolerance
        self._weighted = self.reached = None
        margin, steps = 4 * EPSILON, ALONE
        self._steps_pay = True if self._credit > 0 else self._steps_pay
        widest, idle, asked, value, error = 0.0, 0, np.inf, self.values.value @ weight, self._error
        evaluated = np.empty_like(self._choice)
        for rounds in range(1, LONGEST):
            evaluated[:] = self._choice
            known, self._error = self._error, np.inf  # until it is known that the policy stays
            utility = self._weighted_utility(weight) if utility is None else utility
            swept = self._improve(utility, value, margin)
            margin, width, changed = 4 * EPSILON, swept.width, swept.changed
            bound = min(bound, swept.above)
            if self.goal is not None:
                tolerance = self.goal(bound)
                value_tolerance = HALF * tolerance
                precision = min(precision, value_tolerance)
            goal = max(tolerance, swept.rounding)
            if bound - float(self.initial @ value) + error <= goal:
                self._choice, self._error = evaluated, known
                break
            if not changed:
                self._error = known
            if width <= goal:
                break
            widest = max(width, widest)
            if not self.along_flow and any(rounds > n and width > left * widest for n, left in SLOW):
                self.values.rate[False] = 1.0
            first = None
            if self.along_flow:
                # Not while an order is looked for, which needs room
                utility = utility if self._started or self.values.by_elimination is False else None
                first = self._first_values(weight)
                utility = self._weighted_utility(weight) if utility is None else utility
            if first is not None:
                value, error, margin, steps = first, np.inf, 0.0, 0  # tiny differences show the way
            elif self.along_flow and not self.values.by_elimination and self._takes_steps():
                bound = min(bound, self._take_steps(weight, utility, value, goal, swept))
                if self._steps_pay:
                    break
                error = np.inf
            elif self.along_flow:
                if rounds > TRIES or (not changed and asked < 0.01 * error < np.inf):
                    break  # the rest is rounding
                least = 0.1 ** min(rounds, 8) * (1 - self.discount) * goal
                if self.goal is not None:  # among prices, policies must be as good as their bounds
                    least = max(least, SMALLEST * (swept.high - swept.low))
                # Policies that alternate need more precise values, as does one that stays.
                last, idle = (width, 0) if width < STEADY * last else (last, idle + 1)
                precision = precision if changed and idle < IDLE else 0.1 * precision
                if not self.values.by_elimination or steps >= ALONE:
                    self._improve_active(utility, value, least, rounds)
                steps += 1
                if self.values.by_elimination or len(weight) == 1:
                    # What is needed again after the elimination stays, but for the largest: nothing that stays is allocated among what goes.
                    asked, utility = precision, None if self.values.by_elimination else utility
                    self.evaluate(precision)
                    value, error = np.matmul(self.values.value, weight, out=value), self._error
                else:
                    # Rough values cost another turn, and save much only where sweeps are slow; they become finer, or policies may alternate.
                    rough = 0.0 if self._flows else min(CLOSER * width, 0.1 * asked)
                    asked = max(FINER * precision, rough)
                    value, error = self._weighted_value(weight, value, asked)
            else:
                stalled = width > STALLED * last and not changed
                count = max(
                    FOLLOWED << rounds // PATIENCE, self._needed(count, width / goal) if stalled else 0
                )
                if count > LONGEST:
                    break
                last = width
                self._follow(count)
                value, error = self.values.value @ weight, np.inf
        del utility, value, evaluated
        if evaluates and self._error > value_tolerance:
            self.evaluate(value_tolerance)
        self.priced = weight if evaluates else None
        return Priced(self.compact(), self.initial @ self.values.value, bound, self._error)

    def _weighted_utility(self, weight: Array) -> Array:
        """Return the utility of each pair for `weight` (J,), (N,)."""
        used = np.flatnonzero(weight)
        alone = len(used) == 1 and weight[used[0]] == 1.0  # the utility as it is stored
        found: Array = self.rows.utility[used[0]] if alone else weight @ self.rows.utility
        return found

    def _first_values(self, weight: Array) -> Array | None:
        """Return the uniform policy's values of the weighted utility (S,) by elimination, once; None if chains fill in much."""
        if self.values.by_elimination is None and fills_in_much(self._transitions, len(self._choice)):
            self.values.by_elimination = False
        if self._started or self.values.by_elimination is False:
            return None
        if self.values.by_elimination is None:
            self._chain.release()  # an order takes room to find
        chain, gain = uniform_chain(self.rows, self.discount)
        right = weight @ gain
        del gain  # of all utilities, while the elimination needs room
        if self.values.by_elimination is None:
            self.values.elimination = EliminationOrder(lambda: chain)
        found = eliminate(chain, right, order=self.values.elimination)
        if self.values.by_elimination is None:
            self.values.by_elimination = found is not None
        self._started = bool(self.values.by_elimination)
        self._uniform = None if self._started else chain
        return found

    def _takes_steps(self) -> bool:
        """Whether to go on by policy iteration: where a few sweeps along the flow, tried once, shrink errors slowly."""
        if self._steps_pay is None:
            self._error = np.inf
            chain = self._chain.follow(self._choice)
            self.values.order = None
            if not self.values.along_flow:
                self.values.turn()
            first, last = (self.values.sweep(chain, count) for count in (2, TRIED))
            dear = max((len(self.rows.pointer) - 1) / (PAIRS * len(self._choice)), 1.0)
            self._steps_pay = last > first * FLOWING ** (TRIED * dear)
            self._flows = not self._steps_pay
            if self._flows:
                self._uniform = None  # not needed, and large
        return self._steps_pay

    def _take_steps(self, weight: Array, utility: Array, value: Array, goal: float, swept: Swept) -> float:
        """Improve policy and values (S,) by policy iteration until the bounds meet, or no longer close in; return the upper bound.

        `swept` is what a Bellman sweep of these values gave.
        """
        bound, progress = np.inf, Progress(self._credit)
        self._error = np.inf
        for step in itertools.count():
            if not self._started and (step == UNAIDED or not self._is_spread):
                self._started = True
                value = uniform_values(self.rows, self.discount, utility, self.count, self._uniform)
                self._uniform = None
                swept = self._improve(utility, value, 4 * EPSILON)
            elif step:
                swept = self._improve(utility, value, 4 * EPSILON)
            bound = min(bound, swept.above)
            goal = max(goal if self.goal is None else self.goal(bound), swept.rounding)
            if swept.width <= goal or progress.has_ended(swept.width):
                break
            needed = 0.3 * goal * (1 - self.discount) / self.discount
            chain = self._chain.follow(self._choice)
            levels = self._levels.of(chain, self._choice)
            evaluate_inexactly(levels, chain, weight, value, max(INEXACT * (swept.high - swept.low), needed))
        self._steps_pay, self._started, self._uniform = swept.width <= goal, True, None
        self._credit += 1 if self._steps_pay else -GIVEN_UP
        value += swept.centre
        if len(weight) == 1:  # the bounds are those of the policy's own values
            self.values.value[:, 0] = value / weight[0]
            self._error = swept.error / weight[0]
        else:
            self._weighted = weight, value
        return bound

    @property
    def _transitions(self) -> int:
        """How many transitions the chain of a policy has that takes the pairs with the most successors, but for self-loops."""
        return self._chain.transitions - len(self._choice)

    @property
    def _is_spread(self) -> bool:
        """Whether the uniform policy leads to many more states than others do, or even these to many."""
        if self._uniform is None:
            return fills_in_much(self._transitions, len(self._choice))
        return len(self._uniform.target) > SPREAD * self._transitions

    def _weighted_value(self, weight: Array, value: Array, tolerance: float) -> tuple[Array, float]:
        """Return the current policy's values of the weighted utility alone, (S,), from `value` on, and their error."""
        alone = self.beside(value[:, None])
        chain = self._chain.follow(self._choice)
        error = alone.solve(chain._replace(gain=(chain.gain @ weight)[:, None]), tolerance)
        self.values.know_from(alone)
        value = alone.value[:, 0]
        self._weighted = weight, value
        return value, float(error[0])

    def beside(self, value: Array) -> ChainValues:
        """Return values (S, n) that are solved in the way that serves best."""
        values = ChainValues(value, self.discount, self.count, self.threads)
        values.along_flow = self.along_flow
        values.know_from(self.values)
        values.share_room(self.values)
        values.elimination = self.values.elimination
        return values

    def _improve_active(self, utility: Array, value: Array, least: float, rounds: int) -> None:
        self.count.tick()
        if self._active is None:
            self._active = ActiveStates(self.rows, self.discount, self.threads)
        self._error = np.inf  # an interruption leaves another policy than the one that was evaluated
        order = self.values.elimination
        brief = BRIEFEST if order is not None and order.is_thin else BRIEF
        most = min(brief << rounds // 8, STRETCH) if self.values.by_elimination else STRETCH
        self.bellman_sweeps += self._active.improve(
            utility, value, self._choice, least, most, self.count.tick
        )

    def _improve(self, utility: Array, value: Array, margin: float) -> Swept:
        """Improve the policy by a Bellman sweep of values (S,); an action is another's only for a gain above `margin`, relative to the values.

        What is left is MacQueen's bounds: on the best value at ρ, and on those of the policy.
        """
        size, tail = float(max(abs(value.max()), abs(value.min()))), self.discount / (1 - self.discount)
        at_start, low, high, changed = self._bellman(utility, value, margin * size)
        rounding = self._roundings * (size + abs(high))
        above = at_start + tail * (high + rounding) + rounding + self._sum_roundings * abs(at_start)
        rounding, unit = 4 * rounding * (1 + tail), 1 / (1 - self.discount)
        centre, error = 0.5 * unit * (low + high), 0.5 * unit * (high - low) + rounding
        if self.goal is not None:
            self._keep(float(self.initial @ value) + centre, error, above)
        return Swept(above, low, high, tail * (high - low), rounding, changed, centre, error)

    def _keep(self, value: float, error: float, bound: float) -> None:
        """Keep what is proved of the current policy, unless another is proved to be better, and the least bound."""
        best = self.reached
        if best is None or value - error > best.value[0] - best.error:
            best = Priced(self.compact(), np.array([value]), bound, error)
        self.reached = best._replace(upper_bound=min(bound, best.upper_bound))

    def rounding(self, weight: Array) -> float:
        """Return what rounding does to the bound for `weight` (J,) and to the values of the current policy."""
        columns = self.values.value.T  # one after another, which is many times faster
        size = sum(w * max(float(v.max()), -float(v.min())) for w, v in zip(weight, columns, strict=True))
        return 8 * self._roundings * size / (1 - self.discount)

    @property
    def along_flow(self) -> bool:
        """Which kind of sweep has served better of late (see `chain`)."""
        return not self.values.evenly

    @property
    def takes_steps(self) -> bool:
        """Whether policies are evaluated on several levels, since sweeps are slow."""
        return bool(self._steps_pay) and self.along_flow and not self.values.by_elimination

    def _needed(self, count: int, excess: float) -> int:
        """Return how long to follow a policy that stays the same: what its rate asks for, or twice as long."""
        needed = np.log(max(excess, 2.0)) / -np.log(min(max(self.values.rate[False], 0.1), 0.999))
        return int(max(2 * count, min(needed, 64)))

    def _follow(self, count: int) -> None:
        """Follow the current policy for some even sweeps."""
        self.values.along_flow, self._error = False, np.inf
        chain = self._chain.follow(self._choice)
        first = self.values.sweep(chain, 2)
        last = self.values.sweep(chain, count - 2)
        if last > 0 and first > 0:
            rate = float((last / first) ** (1 / (count - 2)))
            if rate <= DRAGGING or not self.values.settle(chain):
                self.values.rate[False] = rate

    @property
    def response(self) -> tuple[Indices, Array, float] | None:
        """The last best response, as the pairs that it takes (S,), with its values (S, J) and the price of the only constraint; None if there is none, or no positive price."""
        if self.priced is None or len(self.priced) != 2 or not (self.priced > 0).all():
            return None
        return self._choice, self.values.value, float(self.priced[1] / self.priced[0])

    def evaluate(self, tolerance: float) -> None:
        """Evaluate the current policy for all utilities."""
        self.values.along_flow, self.values.is_slow = self.along_flow, self.takes_steps
        weighted, self._weighted = self._weighted, None
        chain = self._chain.follow(self._choice)
        error = self.values.solve(chain, tolerance, weighted, lambda: self._levels.of(chain, self._choice))
        self._error = float(error.max())

    def values_of(self, chain: Chain, tolerance: float) -> Array:
        """Return V of a chain at every state, (S, J), and go on from there: its policy is where the next one starts."""
        self.values.along_flow, self._error, self.priced = self.along_flow, np.inf, None
        self.values.solve(chain, tolerance)
        return self.values.value

    def value_of(
        self,
        chain: Chain,
        tolerance: float,
        visits: Array | None = None,
        values: ChainValues | None = None,
    ) -> tuple[Array, Array]:
        """Return V(ρ) of a chain, (J,), which it has at least, and by how much the middle may err, (J,).

        Where the time is up on the way, the error is larger than `tolerance`. The better its visits (S,) are known, the rougher the values may be. They
        start from `values`, which change, and by default from those of the current policy.
        """
        start = self.values.value if values is None else values.value  # which elimination leaves as it is
        paired = None if visits is None else PairedBounds(chain, self.discount, self.initial, visits)
        if paired is not None:
            middle, error = paired.around(start)
            if error.max() <= tolerance:
                return middle - error, error
        rough = tolerance if paired is None else max(tolerance, HALF * tolerance / paired.left)
        values = values or self.beside(start if self.values.by_elimination else start.copy())
        error = values.solve_in_time(chain, rough)
        middle = self.initial @ values.value
        if paired is not None:
            closer, left = paired.around(values.value)
            middle, error = np.where(left < error, closer, middle), np.minimum(left, error)
        return middle - error, error

    def chain(self, choices: Indices, shares: Array | None = None) -> Chain:
        """Return the chain of a policy, deterministic or mixed by state; the former until another is asked for."""
        self.count.tick()
        if shares is None:
            return self._chain.follow(choices)
        self._chain.release()
        return chain_of(self.rows, self.discount, choices, shares)

    @property
    def sweeps(self) -> int:
        """Sweeps of one policy, so far."""
        return self.count.sweeps

    def compact(self) -> NDArray[np.unsignedinteger]:
        """Return the current policy in as few bytes as it takes."""
        return (self._choice - self.rows.first[:-1]).astype(self._compact)

    def pairs(self, compact: NDArray[np.unsignedinteger]) -> Indices:
        """Return a policy as the pairs that it takes, (S,)."""
        return self.rows.first[:-1] + compact.astype(np.uint32)

    def _bellman(self, utility: Array, value: Array, margin: float) -> tuple[float, float, float, int]:
        def part(begin: int, end: int) -> tuple[float, float, float, int]:
            return kernels.improve(
                *(*self.rows[:4], utility, self.discount, self.initial),
                *(value, margin, self._choice, begin, end),
            )

        self.count.tick()
        self.bellman_sweeps += 1
        at_start, low, high, changed = zip(*self.threads.share(part, len(value), PIECES), strict=True)
        return sum(at_start), min(low), max(high), sum(changed)
