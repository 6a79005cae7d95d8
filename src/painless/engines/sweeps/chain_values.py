"""The values V = u + γPV of the Markov chain of one policy, by the faster of two kinds of sweeps.

- Even sweeps (Jacobi): the range of the residual shrinks as fast as the chain mixes, whatever γ; the constant that
  is left is known at the end.
- Sweeps along the flow (Gauss–Seidel): states are visited so that the most probable successor comes first, unless
  there is a cycle. One sweep then carries a value along a whole path, and the error shrinks with the probability
  of leaving the path, not with γ.

If neither is fast, a narrow chain is solved by elimination (see `elimination`), and others on several levels (see `multilevel`).

The errors are proved (MacQueen 1966), with r = u + γPV − V:

    V + min r/(1−γ) ≤ V_π ≤ V + max r/(1−γ)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _chain_kernels as kernels
from painless.engines.sweeps.chain import Chain, flow_order, transitions
from painless.engines.sweeps.elimination import SMALL, eliminate
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.engines.sweeps.multilevel import Multilevel, width_of
from painless.engines.sweeps.sparse_rows import Indices
from painless.engines.sweeps.state_threads import PIECES, StateThreads

EPSILON = float(np.finfo(np.float64).eps)
STEPS = 16  # roundings of a sweep beside those of its sums
BURST = 6  # maximum number of sweeps between two checks of the error
UNTRIED = 0.8  # even sweeps that shrink the error by less are compared with the other kind
SLUGGISH = 0.8  # if a sweep shrinks the error by less, the other kind is tried
DRAGGING = 0.7  # even sweeps that shrink the error by less may be slowed by a few states
STANDING_OUT = 0.1  # relative change from which a state counts as one of these
FEW = 200  # maximum number of these
MANY = 100  # sweeps that cost more than to solve on several levels,
SWEPT = 200_000  # beside as many as visit so many states
STRETCH = 24  # sweeps of one kind before the other is tried, doubled with every turn


def most_roundings(chain: Chain) -> float:
    """Return the relative error of a sweep, at most."""
    return (STEPS + 3 * int((chain.stop - chain.start).max(initial=0))) * EPSILON / 2


class ChainValues:
    """The values of one policy after another, each solved from where the last one ended.

    It remembers which kind of sweep served best.
    """

    def __init__(
        self, value: Array, discount: float, tick: Callable[[int], None], threads: StateThreads | None = None
    ) -> None:
        self.threads = threads or StateThreads()
        self.value, self.discount, self.tick = value, discount, tick  # (S, J)
        self.along_flow = False
        self.order: Indices | None = None  # of sweeps along the flow
        self.rate = {False: 0.0, True: UNTRIED}  # by which a sweep shrinks the error, by its kind
        # Whether chains are solved by elimination; None while not known.
        self.by_elimination: bool | None = True if len(value) <= SMALL else None
        self.elimination: EliminationOrder | None = None  # the order for the chains of one model
        self._room: Array | None = None  # for sweeps and for what comes next, (S, J)
        self._owner = True  # of the values that it starts from
        self.is_slow = False  # whether it is known that sweeps of either kind are, so that levels come first
        self._low, self._high = np.empty(value.shape[1]), np.empty(value.shape[1])

    def know_from(self, other: ChainValues) -> None:
        """Take over what is known of which way serves best."""
        self.rate, self.by_elimination = dict(other.rate), other.by_elimination

    def share_room(self, other: ChainValues) -> None:
        """Use the scratch space of other values, which are not solved at the same time."""
        self._owner = self.value is not other.value
        if self.value.shape == other.value.shape:
            self._room = other._room

    @property
    def _spare(self) -> Array:
        if self._room is None:
            self._room = np.empty_like(self.value)
        return self._room

    def solve_in_time(self, chain: Chain, tolerance: float) -> Array:
        """Solve, but if `tick` raises TimeoutError return the error proved so far, (J,)."""
        try:
            return self.solve(chain, tolerance)
        except TimeoutError:
            self.along_flow = False
            self._even_sweeps(chain, 1)
            self._range(lambda *part: kernels.change(self._spare, self.value, *part), PIECES)
            self._low, self._high = self.discount * self._low, self.discount * self._high
            return self._centred(self._rounding(most_roundings(chain)))

    def solve(
        self,
        chain: Chain,
        tolerance: float,
        weighted: tuple[Array, Array] | None = None,
        levels: Callable[[], Multilevel] | None = None,
    ) -> Array:
        """Bring the values to within `tolerance` of V_π; return the error that is proved, (J,).

        `weighted` is weights (J,) and about the values (S,) of the weighted utility, if these are known better than those of each; `levels`
        returns levels that serve the chain.
        """
        self.order, roundings = None, most_roundings(chain)
        if self.by_elimination:
            self.try_elimination(chain)
        width, rate, turns, levelled = self.sweep(chain, 1), 0.0, 0, False
        done, entered = 1, width  # sweeps of this kind, and the width when they began
        settles = True  # until that makes it worse
        while True:
            rounding = self._rounding(roundings)
            goal = 2 * (1 - self.discount) * max(tolerance, rounding)
            if width <= goal or (rate > 0.9 and width <= 16 * (1 - self.discount) * rounding):
                if done > BURST and width > 0:
                    self.rate[self.along_flow] = (width / entered) ** (1 / (done - 1))
                if self.by_elimination:
                    self._room = None  # which takes none between two policies
                return self._centred(rounding)
            # Before a sweep: what is proved is proved of the values after it.
            settled = settles and rate > DRAGGING and not self.along_flow and self.settle(chain)
            count = BURST if rate == 0.0 else int(np.clip(np.log(goal / width) / np.log(rate), 1, BURST))
            is_slow = self.is_slow or self._expected(rate, goal / width) > MANY + SWEPT / len(self.value)
            if is_slow and not levelled and not self.by_elimination:
                levelled = True
                self.try_if_unknown(chain)
                if not self.by_elimination:
                    self._on_levels(
                        chain,
                        Multilevel.of(chain, self.tick) if levels is None else levels(),
                        0.5 * goal,
                        weighted,
                    )
                done, entered, rate = 1, self.sweep(chain, 1), 0.0
                width = entered
                continue
            before, width = width, self.sweep(chain, count)
            settles = settles and not (settled and width > before)
            rate = min((width / before) ** (1 / count), 0.999999)
            done += count
            if done > STRETCH << turns and width > entered * SLUGGISH**done and rate > SLUGGISH:
                self.turn()
                turns += 1
                if turns == 1:
                    self.try_if_unknown(chain)
                done, entered, rate = 1, self.sweep(chain, 1), 0.0
                width = entered

    def _expected(self, rate: float, share: float) -> float:
        """Return how many more sweeps it takes to leave so much of the error, by the rate of this solve or that of the last ones."""
        rate = rate or self.rate[self.along_flow]
        if self.by_elimination or not self.along_flow or not 0.0 < rate < 1.0 or rate == UNTRIED:
            return 0.0  # even sweeps are followed by others before anything else is tried
        return float(np.log(min(share, 1.0)) / np.log(rate))

    def _rounding(self, roundings: float) -> float:
        """Return a bound on the rounding error of the values, given that of a sweep, relative to them."""
        return float(roundings * max(self.value.max(), -self.value.min()) / (1 - self.discount))

    def _centred(self, rounding: float) -> Array:
        """Move V to the middle of the proved bounds, and return the error, (J,)."""
        self._centre()
        return (self._high - self._low) / (2 * (1 - self.discount)) + rounding

    def try_if_unknown(self, chain: Chain) -> None:
        """Solve directly if the chain fills in little and this is not known yet."""
        if self.by_elimination is None:
            self.try_elimination(chain)

    def try_elimination(self, chain: Chain) -> None:
        """Solve directly if the chain fills in little, and remember whether it does."""
        value = eliminate(chain, chain.gain, order=self.elimination, room=lambda: self._spare)
        self.by_elimination = value is not None
        if value is not None:
            if value is self._room:  # nothing that stays is allocated among what goes
                self._room = self.value if self._owner else None
            self.value, self.along_flow = np.ascontiguousarray(value), False

    def settle(self, chain: Chain) -> bool:
        """Solve the states that slow even sweeps among themselves, if they are few; return whether they are.

        If a well-mixing chain has a pair of states that almost always lead to each other, after some sweeps only their values
        keep changing. The other states then change only by a constant, which is found later.
        """
        change = self.value - self._spare
        constant = change.mean(0)
        change -= constant
        np.abs(change, out=change)
        slow = np.flatnonzero((change > STANDING_OUT * change.max(0)).any(1))
        if len(slow) > FEW:
            return False
        origin, target, weight = transitions(chain, slow)
        residual = chain.gain[slow] - (1 - chain.stay[slow])[:, None] * self.value[slow]
        np.add.at(residual, origin, weight[:, None] * self.value[target])
        inside = np.isin(target, slow)
        system = np.diag(1 - chain.stay[slow])
        np.subtract.at(system, (origin[inside], np.searchsorted(slow, target[inside])), weight[inside])
        self.value[slow] += np.linalg.solve(system, residual - self.discount * constant)
        return True

    @property
    def evenly(self) -> bool:
        """Whether even sweeps have been faster recently."""
        return not self.by_elimination and self.rate[False] <= self.rate[True]

    def turn(self) -> None:
        """Switch to the other kind of sweep."""
        if not self.along_flow:
            self._centre()
        self.along_flow = not self.along_flow

    def sweep(self, chain: Chain, count: int) -> float:
        """Sweep, and return an upper bound on the width of the residual's range."""
        if self.along_flow and self.order is None:
            self.order = flow_order(chain, self.threads)
        if self.along_flow:
            for _ in range(count):
                self._flow_sweep(chain)
        else:
            self._even_sweeps(chain, count)
            self._range(lambda *part: kernels.change(self._spare, self.value, *part), PIECES)
        self.tick(count)
        self._low, self._high = self.discount * self._low, self.discount * self._high
        return float((self._high - self._low).max())

    def _flow_sweep(self, chain: Chain) -> None:
        assert self.order is not None
        before, order = self.value, self.order
        if self.threads.several(len(order)):
            before = self._spare
            before[:] = self.value
        self._range(lambda *part: kernels.flow_sweep(*chain, order, self.value, before, *part))

    def _even_sweeps(self, chain: Chain, count: int) -> None:
        """Sweep evenly; threads wait for each other after every sweep."""
        states = len(self.value)
        at_once = 1 if self.threads.several(states) else count
        for _ in range(count // at_once):
            value, spare = self.value, self._spare

            def part(begin: int, end: int, value: Array = value, spare: Array = spare) -> None:
                kernels.even_sweeps(*chain, value, spare, at_once, begin, end)

            self.threads.share(part, states, PIECES)
            if at_once % 2:
                self.value, self._room = spare, value

    def _range(self, kernel: Callable[[Array, Array, int, int], None], pieces: int = 2) -> None:
        """Run a kernel that writes the least and the largest change of a range of states, for all of them."""

        def part(begin: int, end: int) -> tuple[Array, Array]:
            low, high = np.empty_like(self._low), np.empty_like(self._high)
            kernel(low, high, begin, end)
            return low, high

        low, high = zip(*self.threads.share(part, len(self.value), pieces), strict=True)
        self._low, self._high = reduce(np.minimum, low), reduce(np.maximum, high)

    def _centre(self) -> None:
        """Move V to the middle of the proved bounds."""
        self.value += (self._low + self._high) / (2 * (1 - self.discount))

    def _on_levels(
        self, chain: Chain, levels: Multilevel, goal: float, weighted: tuple[Array, Array] | None = None
    ) -> None:
        """Improve V on several levels, one utility after another, until the range of the residual is at most `goal` wide.

        The last one starts from what the others leave of the weighted values.
        """
        if self._low.size and not self.along_flow:
            self._centre()
        places = range(self.value.shape[1]) if weighted is None else np.argsort(weighted[0], kind="stable")
        for j in places:
            value = np.ascontiguousarray(self.value[:, j])
            if weighted is not None and j == places[-1]:
                weight, total = weighted
                value += (total - self.value @ weight) / weight[j]
            levels.improve(np.ascontiguousarray(chain.gain[:, j]), value, width_of, goal)
            self.value[:, j] = value
        self.along_flow = False  # what is left is proved by an even sweep
