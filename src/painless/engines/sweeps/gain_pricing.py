"""Pricing of long-run averages: the best policy for weights of the utilities in one end component, by inexact policy iteration.

    max_π g,        g + h ≥ u + Ph    at every pair,     u = Σ_j w_j u_j

A Bellman sweep bounds the gain on both sides, however inexact the bias h is (Odoni 1969), of every policy and of the greedy policy π:

    min(Th − h) ≤ g_π ≤ g* ≤ max(Th − h)

Until they meet, the bias of the greedy policy is brought to a share of their distance (see `gain_sweeps`). The biases of all utilities are kept, so that
their weighted sum is a warm start for any new weights; the first is that of the uniform policy, which sees rewards from anywhere.

The system on several levels has an ε. A greedy policy may have several recurrent classes; their biases differ by the difference of their gains over ε,
so that the next policy prefers the better one. ε starts large, so that this does no harm, and falls where it is what holds up the bounds. Where policies that stay for ages in several parts lead it astray, sweeps lead back from the best bias so far. A policy that still has several classes at the end is led
to the best of them, so that it has one gain for each utility.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.engines.chain_gains import recurrent_classes
from painless.engines.pair_rows import PairRows
from painless.engines.sweeps import _improve_kernels as kernels
from painless.engines.sweeps.active_states import ActiveStates
from painless.engines.sweeps.chain import Chain, ChangingChain, as_matrix
from painless.engines.sweeps.chain_values import EPSILON, STEPS
from painless.engines.sweeps.gain_sweeps import GainSweeps, has_small_factors
from painless.engines.sweeps.policy_steps import uniform_chain
from painless.engines.sweeps.sparse_rows import Indices, SparseRows
from painless.engines.sweeps.state_threads import PIECES, StateThreads

INEXACT = 0.02  # what is left of the greedy policy's bias, relative to the distance of the bounds
ROUNDS = 2000  # Bellman sweeps for one best response
STUCK = 0.5  # bounds that close in by less while the policy stays the same are held up by ε
CLOSER = 0.9  # bounds that close in by less are no better
JUMP, JUMPS = 10.0, 5  # by how much bounds part where a better class comes up, and how often that may be
# Rounds in a row without a better bound, after which to begin anew from the uniform policy, and to end: the rest is rounding.
ASTRAY, IDLE = 10, 60
# Turns of a few sweeps from the best bias so far where that does not help either; twice as many each time, up to the most.
TURNS, MOST_TURNS = 50, 1600
# Bounds that close in by less in so many rounds, while few states change, creep along: a border between two regions moves.
CREEPING, CREPT, FEW = 0.9, 5, 0.003
# The work of how many sweeps improvements may spread from state to state, and the least of them, relative to the goal.
STRETCH, SETTLED = 10, 0.1
LEAVING, SHRUNK, LEAST = 1e-5, 0.03, 1e-10  # ε at first, how it falls, and how far
TIE = 0.3  # a difference of two gains that does no harm, relative to the tolerance
MISSED = 10.0  # times what was asked for: how wide bounds are where a policy stays for ages in several parts
# Times that a policy is led to one of the parts where it stays for ages, and how far apart their gains are, relative to the utilities.
REGIMES, APART = 4, 1e-6
FIRST = 1e-6  # what is left of the uniform policy's bias, relative to the utilities


class GainPriced(NamedTuple):
    """A policy with one recurrent class, its gains, and the bound on every policy."""

    choice: Indices  # (S,)
    low: Array  # (J,) proved
    high: Array  # (J,) proved
    upper_bound: float  # of Σ_j w_j g_j, for every policy
    rounding: float  # the part of it that is rounding
    evaluations: int


class GainPricer:
    """Prices one weight vector after another, each from where the last one ended.

    Arguments:
        rows: the pairs of one end component, with the utilities (J, N).
        tick: called between sweeps; it may raise.
    """

    def __init__(self, rows: SparseRows, tick: Callable[[], None]) -> None:
        self.rows, self._tick, self.threads = rows, tick, StateThreads()
        states = len(rows.first) - 1
        self.bias = np.zeros((states, len(rows.utility)))  # of the last policy
        self.leaving = LEAVING
        self._choice: Indices = rows.first[:-1].copy()
        self._chain = ChangingChain(rows, 1.0, self.threads)
        self.last_bias: Array | None = None  # (S,) the bias that proved the last bound
        self._active: ActiveStates | None = None
        self._uniform: Array | None = None  # the biases of the uniform policy, (S, J)
        self._sizes = np.abs(rows.utility).max(1)  # (J,)
        self._has_factors: bool | None = None  # whether chains have small factors, once that is known

    def price(self, weight: Array, tolerance: float, precision: float) -> GainPriced:
        """Return a policy within about `tolerance` of the best for `weight` (J,), with gains exact to about `precision`."""
        if self._uniform is None:
            self._start()
        assert self._uniform is not None
        utility = weight @ self.rows.utility
        bias, bound, best, leaving = self._nearest(weight, utility), np.inf, np.inf, self.leaving
        level = 0.0  # the gain of the last policy, about
        last, idle, jumps, slow, led, evaluations, anew, refined = np.inf, 0, 0, 0, 0, 0, False, False
        closest, nearest, turns = (
            np.inf,
            bias,
            TURNS,
        )  # the least distance of the bounds, its bias, and turns if that stays so
        for _ in range(ROUNDS):
            bias -= 0.5 * (bias.min() + bias.max())
            rounding = self._rounding(float(weight @ self._sizes), bias, self.rows.most_successors)
            low, high, changed = self._bellman(utility, bias, rounding)
            width, goal = high - low, max(tolerance, 4 * rounding)
            bound = min(bound, high + rounding)
            if width > JUMP * best and jumps < JUMPS:  # two classes that differ in their gains
                best, jumps = np.inf, jumps + 1
            best, idle = (width, 0) if width < CLOSER * best else (best, idle + 1)
            if width < closest:
                closest, nearest = width, bias.copy()
            if width <= goal or idle > IDLE or not np.isfinite(width):
                break
            if idle > ASTRAY and not anew:
                bias, anew, last = self._uniform @ weight, True, np.inf
                continue
            if idle > 2 * ASTRAY and width > JUMP * closest and turns <= MOST_TURNS:
                bias, turns = self._swept(weight, utility, nearest, turns), 2 * turns
                best, last, idle = np.inf, np.inf, 0
                continue
            if changed:
                refined = False
            if not changed and width > STUCK * last:
                if not refined and self._refine(weight, bias, 0.3 * goal):
                    refined = True
                    continue
                if self.leaving <= LEAST:
                    if led == REGIMES:
                        break
                    led += 1
                    self._lead_to_better_regime(weight, bias)
                self.leaving = max(SHRUNK * self.leaving, LEAST)
            slow = slow + 1 if width > CREEPING * last else 0
            if slow >= CREPT and 0 < changed < FEW * len(bias):
                self._improve_neighbours(utility - level, bias, SETTLED * min(width, goal))
            last = width
            bias, level = self._evaluated(weight, bias, max(INEXACT * width, 0.3 * goal), TIE * goal)
            evaluations += 1
        if width > goal:
            self.leaving = leaving
        self.last_bias = bias.copy()
        self._lead_to_best_class(utility, bias)
        gains = self.evaluate(self._chain.follow(self._choice), precision)
        for _ in range(REGIMES):
            if not self._lead_to_one_regime(*gains, precision):
                break
            gains = self.evaluate(self._chain.follow(self._choice), precision)
        return GainPriced(self._choice.copy(), *gains, bound, 4 * rounding, evaluations + 1)

    def _improve_neighbours(self, utility: Array, bias: Array, least: float) -> None:
        """Improve the current policy from state to state, for a utility (N,) less the gain of the last one: a border between two regions moves at once."""
        if self._active is None:
            self._active = ActiveStates(self.rows, 1.0 - LEAST, self.threads)
        self._active.improve(utility, bias.copy(), self._choice, least, STRETCH, self._tick)

    def _evaluated(self, weight: Array, bias: Array, goal: float, tie: float) -> tuple[Array, float]:
        """Return a bias of the current policy, from another one on, and about its gain; if it has several classes, of one that is led to the best."""
        chain = self._chain.follow(self._choice)
        gain, found = np.ascontiguousarray(chain.gain @ weight), bias.copy()
        sweeps = self._sweeps(chain)
        low, high = sweeps.improve(gain, found, goal)
        if sweeps.is_slow and self._lead_to_best_class(weight @ self.rows.utility, found, tie):
            chain = self._chain.follow(self._choice)
            gain, found = np.ascontiguousarray(chain.gain @ weight), bias
            low, high = self._sweeps(chain).improve(gain, found, goal)
        return found, 0.5 * (low + high)

    def _swept(self, weight: Array, utility: Array, start: Array, turns: int) -> Array:
        """Return a bias for `weight` (J,), from `start` on, by turns of a few sweeps of the greedy policy.

        Bounds close in slowly then, and do not part (modified policy iteration; Puterman 2005, §8.7). The values of a policy that stays for ages in
        each of several parts differ by more than rounding leaves of them, so that policies that are greedy for these lead nowhere.
        """
        bias = start.copy()
        for _ in range(turns):
            self._bellman(utility, bias, 0.0)
            chain = self._chain.follow(self._choice)
            gain, sweeps = np.ascontiguousarray(chain.gain @ weight), self._sweeps(chain)
            sweeps.sweep(gain, bias, sweeps.rest(gain, bias))
        return bias

    def _nearest(self, weight: Array, utility: Array) -> Array:
        """Return where to begin for a utility (N,): the biases of the last policy, or that of the last bound, whichever leaves less."""
        known = self.bias @ weight
        if self.last_bias is None:
            return known
        left = []
        for bias in (known, self.last_bias):
            low, high, _ = self._bellman(utility, bias, 0.0)
            left.append(high - low)
        return known if left[0] <= left[1] else self.last_bias.copy()

    def _start(self) -> None:
        """Begin with the biases of the uniform policy."""
        chain, gain = uniform_chain(self.rows)
        sweeps = self._sweeps(chain)
        for j, own in enumerate(gain):
            bias = np.zeros(len(own))
            sweeps.improve(own, bias, FIRST * float(self._sizes[j]))
            self.bias[:, j] = bias
        self._uniform = self.bias.copy()

    def _bellman(self, utility: Array, bias: Array, margin: float) -> tuple[float, float, int]:
        """Take the best pairs; return the least and the largest of Th − h, and how many states changed."""

        def part(begin: int, end: int) -> tuple[float, float, float, int]:
            return kernels.improve(
                *(*self.rows[:4], utility, 1.0, bias, bias, margin, self._choice, begin, end)
            )

        self._tick()
        _, low, high, changed = zip(*self.threads.share(part, len(bias), PIECES), strict=True)
        return min(low), max(high), sum(changed)

    def evaluate(self, chain: Chain, precision: float, mixed: int = 1) -> tuple[Array, Array]:
        """Return proved bounds on the gains of a chain with one recurrent class, (J,) each, about `precision` apart if possible.

        Its rows are mixtures of so many pairs.
        """
        leaving = self.leaving
        sweeps = self._sweeps(chain, leaving)
        successors = int((chain.stop - chain.start).max(initial=0)) + mixed
        low, high, found = np.empty(len(self._sizes)), np.empty(len(self._sizes)), True
        for j in range(len(low)):
            bias = np.ascontiguousarray(self.bias[:, j])
            gain = np.ascontiguousarray(chain.gain[:, j])
            least, most = sweeps.improve(gain, bias, self._goal(precision, j, bias, successors))
            while most - least > self._goal(precision, j, bias, successors) and leaving > LEAST:
                leaving = max(SHRUNK * leaving, LEAST)
                sweeps = self._sweeps(chain, leaving)
                least, most = sweeps.improve(gain, bias, self._goal(precision, j, bias, successors))
            found &= most - least <= self._goal(precision, j, bias, successors)
            self.bias[:, j] = bias
            rounding = self._rounding(float(self._sizes[j]), bias, successors)
            low[j], high[j] = least - rounding, most + rounding
        if found:
            self.leaving = leaving
        return low, high

    def shares(self, chain: Chain, start: Array | None, goal: float) -> tuple[Array, float]:
        """Return the share of time in each state of a chain with one recurrent class, (S,), and Σ|μP − μ|, at most `goal` if possible."""
        return self._sweeps(chain).shares(start, goal)

    def _goal(self, precision: float, utility: int, bias: Array, successors: int) -> float:
        """Return how far apart bounds on a gain may be: rounding counts."""
        return max(precision, 4 * self._rounding(float(self._sizes[utility]), bias, successors))

    def _refine(self, weight: Array, bias: Array, goal: float) -> bool:
        """Bring a bias (S,) of the current policy for `weight` (J,) to a residual of `goal` by factors, in place; return whether it has small ones."""
        chain = self._chain.follow(self._choice)
        if self._has_factors is None:
            self._has_factors = has_small_factors(chain)
        if self._has_factors:
            self._sweeps(chain).refine(np.ascontiguousarray(chain.gain @ weight), bias, goal)
        return self._has_factors

    def _sweeps(self, chain: Chain, leaving: float | None = None) -> GainSweeps:
        return GainSweeps(chain, self.leaving if leaving is None else leaving, self._count)

    def _count(self, sweeps: int) -> None:
        del sweeps
        self._tick()

    @staticmethod
    def _rounding(size: float, bias: Array, successors: int) -> float:
        """Bound the rounding of u + Ph − h."""
        largest = float(np.abs(bias).max(initial=0.0))
        return (3 * successors + STEPS) * EPSILON / 2 * (size + 2 * largest)

    def _lead_to_best_class(self, utility: Array, bias: Array, tie: float | None = None) -> bool:
        """Lead a policy with several recurrent classes to the one with the largest gain, or to all that tie with it; return whether others were left.

        Classes whose gains differ by less than `tie` do no harm, and which of them is chosen would be rounding.
        """
        chain = self._chain.follow(self._choice)
        matrix = as_matrix(chain)
        label, recurrent = recurrent_classes(matrix)
        self._tick()
        if int(label.max()) == 0:
            return False
        rest = utility[self._choice] + matrix @ bias - bias  # in each class about its gain
        inside = label[recurrent]
        gain = np.bincount(inside, rest[recurrent]) / np.bincount(inside)
        best = np.arange(len(gain)) == gain.argmax() if tie is None else gain >= gain.max() - tie
        elsewhere = recurrent & ~best[label]
        if not elsewhere.any():
            return False
        elsewhere |= PairRows(matrix, np.arange(len(bias)), len(bias)).leading_to(elsewhere) >= 0
        lead = self._pair_rows.leading_to(~elsewhere)
        self._choice = np.where(elsewhere, lead, self._choice).astype(np.uint32)
        return True

    def _lead_to_one_regime(self, low: Array, high: Array, precision: float) -> bool:
        """Lead a policy that stays for ages in parts of the component, with gains of their own, to one of them; return whether to evaluate it again.

        What is left of the bias is about the gain of the part where a state is.
        """
        widest = int((high - low).argmax())
        if high[widest] - low[widest] <= max(MISSED * precision, APART * self._sizes[widest]):
            return False
        chain = self._chain.follow(self._choice)
        # With a large ε there is a solution that tells the parts apart, if not from where another policy ended.
        sweeps = self._sweeps(chain, LEAVING)
        self.bias[:] = 0.0
        gain, bias = np.ascontiguousarray(chain.gain[:, widest]), np.zeros(len(chain.gain))
        least, most = sweeps.improve(gain, bias, APART * float(self._sizes[widest]))
        if most - least > APART * self._sizes[widest]:
            self._lead_to_larger(sweeps.rest(gain, bias))
        else:
            self.bias[:, widest] = bias
        return True

    def _lead_to_better_regime(self, weight: Array, bias: Array) -> None:
        """Lead a policy whose bias for `weight` (J,) leaves two levels, which are the gains of two parts, to the part with the larger one."""
        chain = self._chain.follow(self._choice)
        gain = np.ascontiguousarray(chain.gain @ weight)
        self._lead_to_larger(self._sweeps(chain).rest(gain, bias))

    def _lead_to_larger(self, rest: Array) -> None:
        """Lead a policy from where the smaller half of the range of `rest` (S,) is to where the larger one is."""
        elsewhere = rest < 0.5 * (rest.min() + rest.max())
        lead = self._pair_rows.leading_to(~elsewhere)
        self._choice = np.where(elsewhere, lead, self._choice).astype(np.uint32)

    @cached_property
    def _pair_rows(self) -> PairRows:
        rows, states = self.rows, len(self.rows.first) - 1
        kernel = scipy.sparse.csr_array(
            (rows.probability, rows.successor.astype(np.intp), rows.pointer.astype(np.intp)),
            (len(rows.pointer) - 1, states),
        )
        return PairRows(kernel, np.repeat(np.arange(states), np.diff(rows.first).astype(np.intp)), states)
