"""Shadow prices with a proof: a proved range for the price of every limit.

Every optimal multiplier λ satisfies, for every policy π and any upper bound on the optimum,

    V_r(π) + λ·(V_c(π) − b) ≤ upper bound,        λ ≥ 0

The least and the largest λ_i that satisfy them are a proved range of each price: from the derivative of the optimum when the limit is
loosened to that when it is tightened. It narrows as the bound improves and as policies are added: the best response at an end of
the range either cuts it off or confirms it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.planning import highs
from painless.planning.certificate import RANK, Answer, Certifier
from painless.planning.game import Smoothed
from painless.planning.master import NOTHING, maximise

NONE = 1e-9  # a price below this, in normalised units, of a limit that is not tight is 0
SETTLED = 1e-12  # a dual value may exceed the bound by this rounding error, in the engine's unit
FEW = 8  # constraints up to which the ends are found from what is known even if the time is up: it takes milliseconds
PRICINGS = 40  # maximum number of best responses for each end of a range; usually a few suffice
DIGITS = 1e-10  # relative width of a range that is narrow enough
# The gap at which the ends of a swept model's ranges are sought, and the error of the responses there, relative to the gap that was asked for.
CLOSER, CLOSEST = 0.01, 0.01
# Relative width of a range that is narrow enough for a swept model, times the tolerance, and at most.
ENOUGH, WIDE = 100.0, 0.3
# Such a width from which on responses beside the price come first, and how much farther away the next one is.
INNER, FARTHER = 3e-6, 4.0
EXACT = 0.03  # error of a policy's values, relative to the gap
MOVED = 1e-10  # relative move of an end that counts as none
CLOSING = 8  # best responses that first lower the bound, times K + 1
IMPROVED = 5000  # states up to which the answer is improved while prices are narrowed
WIDENED = 1e-9  # relative widening of the ranges: the precision of the linear programs


class PricePrecision(NamedTuple):
    """How precise prices are meant to be; by default as precise as possible."""

    gap: float = 0.0  # between the bounds
    settled: float = 0.0  # of responses at the ends of a range
    digits: float = DIGITS  # relative width of a range that is narrow enough

    @classmethod
    def as_asked(cls, tolerance: float, gap: float) -> PricePrecision:
        """Return the precision for a swept model, of which a gap was asked for, and relative to the value a tolerance."""
        if not np.isfinite(gap):
            return cls()
        return cls(CLOSER * gap, CLOSEST * gap, max(DIGITS, min(ENOUGH * tolerance, WIDE)))


FULL = PricePrecision()


class PriceRanges(NamedTuple):
    """The least and the largest possible price of each limit, (K,) each, in normalised units."""

    low: Array
    high: Array


def closed_in(
    certifier: Certifier, answer: Answer, improve: bool = True, precise: PricePrecision = FULL
) -> Answer:
    """Continue master and pricing after the gap is proved, since prices are as precise as the bound.

    With `improve`, the answer improves too, unless its mixture is too expensive to evaluate.
    """
    game, (states, _, constraints) = certifier.game, certifier.problem.shape
    rounds, propose = CLOSING * (1 + constraints), None
    closer, game.precision = answer, EXACT * precise.settled  # 0 is as precise as possible
    if precise.gap > 0:
        propose = Smoothed()
    try:
        game.play(
            lambda: (
                game.upper - game.mixture.value <= precise.gap
                or (precise.gap > 0 and _Ranges(certifier, answer, precise).are_narrow)
            ),
            rounds,
            propose,
        )
        weights = game.mixture.weights
        used = np.flatnonzero(weights)
        game.proved.append(weights[used] @ game.columns.lows[used])
        if improve and states <= IMPROVED:
            closer = certifier.answer(weights)
    except (TimeoutError, KeyboardInterrupt):
        pass  # what is proved by now
    return max(closer, answer, key=RANK)


def price_ranges(
    certifier: Certifier,
    answer: Answer,
    tick: Callable[[], None] = lambda: None,
    narrow: bool = True,
    precise: PricePrecision = FULL,
) -> PriceRanges:
    """Return a proved range for every price, narrowed by best responses at its ends until it is precise, or `tick` raises."""
    ranges, stopped = _Ranges(certifier, answer, precise, tick), (TimeoutError, KeyboardInterrupt)
    if precise.settled > 0:
        certifier.game.precision = EXACT * precise.settled
    with suppress(*stopped):
        for place in ranges.ends:
            ranges.end(*place)
        if narrow:
            with suppress(*stopped):
                ranges.narrow()
            for place in ranges.ends:
                ranges.end(*place)
    return PriceRanges(ranges.low, ranges.high)


class _Ranges:
    """What the inequalities A·λ ≤ r of the policies known so far prove of each price."""

    def __init__(
        self,
        certifier: Certifier,
        answer: Answer,
        precise: PricePrecision,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.certifier, self.answer, self.tick = certifier, answer, tick
        self.digits, self.settled = precise.digits, max(SETTLED * certifier.engine.unit, precise.settled)
        self.unit = certifier.engine.unit
        self._tries: Counter[tuple[int, int]] = Counter()  # in a row that cut off nothing, by end
        # An upper end from single inequalities: r/a if no other constraint is missed.
        slack, room = self._rows()
        slack, room = slack[(slack >= 0).all(1)], room[(slack >= 0).all(1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(slack > 0, np.maximum(room, 0.0)[:, None] / slack, np.inf)
        self.low, self.high = np.zeros(certifier.problem.shape[2]), ratio.min(0, initial=np.inf)
        dearest_first = np.argsort(-certifier.game.price, kind="stable")
        self._wide = [int(i) for i in dearest_first if self.high[i] > NONE]
        self.ends = [(i, side) for i in self._wide for side in (-1, 1)]  # of the ranges that may be wide

    @property
    def are_narrow(self) -> bool:
        """Whether all ranges are narrow enough by what is known; not looked at if there are many constraints."""
        if len(self.low) > FEW:
            return False
        for place in self.ends:
            self.end(*place)
        low, high = self.low[self._wide], self.high[self._wide]
        return bool((np.isfinite(high) & (high - low <= self.digits * high)).all())

    def narrow(self) -> None:
        """Price at the ends until each is confirmed, or no longer moves: a response there cuts it off if it can, and then another try is worthwhile."""
        game, open_ends = self.certifier.game, self.ends
        priced: dict[tuple[int, int], float] = {}  # λ_i of the last pricing
        if not np.isfinite(game.upper):
            return
        for _ in range(PRICINGS):
            places, open_ends = open_ends, []
            for index, side in places:
                low, high = self.low[index], self.high[index]
                if np.isfinite(high) and high - low <= self.digits * high:
                    continue
                end, last = self.end(index, side), priced.get((index, side), np.inf)
                if end is None or abs(last - end[index]) <= MOVED * end[index] + NONE:
                    continue
                inner = None if self.digits < INNER else self._beside_the_price(end, index, side)
                game.respond(end if inner is None else inner, self.settled)
                if inner is not None:
                    found = self.end(index, side)
                    is_cut = found is not None and 2 * side * found[index] <= side * (
                        inner[index] + end[index]
                    )
                    self._tries[index, side] = 0 if is_cut else self._tries[index, side] + 1
                else:
                    priced[index, side] = float(end[index])
                    excess = game.last_bound - game.upper
                    if excess <= self.settled * (1 + float(end.sum())) + game.rounding:
                        continue
                open_ends.append((index, side))
            if not open_ends:
                break

    def _beside_the_price(self, end: Array, index: int, side: int) -> Array | None:
        """Return a point between the best prices and an end, at first so close that a range that ends there is narrow, then farther away.

        The bound is convex in the prices, so that a response there cuts off what lies beyond, unless the price itself does. None if it is the
        end's turn.
        """
        price = self.certifier.game.price
        whole = side * float(end[index] - price[index])
        part = 0.4 * self.digits * float(price[index]) * FARTHER ** self._tries[index, side]
        if not 0 < part < whole:
            return None
        return np.asarray(price + (end - price) * (part / whole))

    def _rows(self) -> tuple[Array, Array]:
        """Return V_c − b (n, K) and bound − V_r (n,), from lower bounds on the policies' values; a slack of next to nothing says less than it could."""
        certifier = self.certifier
        low = np.array([*certifier.game.proved, self.answer.low])
        low = low[np.isfinite(low).all(1) & np.isfinite(certifier.game.upper)]
        slack = (low[:, 1:] - certifier.problem.threshold) / self.unit
        slack = np.where(np.abs(slack) < NOTHING, np.minimum(np.sign(slack), 0.0) * NOTHING, slack)
        bound = certifier.game.upper if len(low) else 0.0
        room = (bound - low[:, 0]) / self.unit  # may be negative if a limit is missed
        if certifier.game.proved_loops:  # no round of a loop may gain at optimal prices
            rounds = np.array(certifier.game.proved_loops) / self.unit
            slack, room = np.vstack([slack, rounds[:, 1:]]), np.append(room, -rounds[:, 0])
        return slack, room

    def end(self, index: int, side: int) -> Array | None:
        """Return the multipliers (K,) with the least (−1) or the largest (+1) λ_i, None if there is no such end; keep the proved end.

        Proved ends are widened by the precision of the linear programs.
        """
        if len(self.low) > FEW:
            self.tick()
        slack, room = self._rows()
        multiplier, proved = None, (np.inf if side > 0 else 0.0)
        if slack.shape[1] == 1:
            part = slack[:, 0] * side > 0
            if part.any():
                found = room[part] / slack[part, 0]
                proved = max(float(found.min() if side > 0 else found.max()), 0.0)
            if part.any() or side < 0:
                multiplier = np.array([proved])
        else:
            multiplier, proved = _end(slack, room, index, side)
        if side < 0:
            self.low[index] = max(self.low[index], proved * (1 - WIDENED) - WIDENED * NONE)
        else:
            self.high[index] = min(self.high[index], proved * (1 + WIDENED))
        return multiplier


def _end(slack: Array, room: Array, index: int, side: int) -> tuple[Array | None, float]:
    """Return the same for several constraints by a linear program, and a proved bound at or beyond the end."""
    scale = np.maximum(np.abs(slack).max(1), np.abs(room))  # or HiGHS is imprecise for small rows
    slack, room = slack[scale > 0] / scale[scale > 0, None], room[scale > 0] / scale[scale > 0]
    objective = np.zeros(slack.shape[1])
    objective[index] = -side
    found = _by_pivots(slack, room, objective)
    if found is None:
        result = highs.minimise(objective, A_ub=slack, b_ub=room)
        if result.status != 0:
            return None, (np.inf if side > 0 else 0.0)
        found = np.maximum(result.x, 0.0), np.maximum(-result.ineqlin.marginals, 0.0)
    multiplier, weight = found
    missing = np.maximum(-(objective + weight @ slack), 0.0).max()  # weak duality, and its error
    proved = -float(weight @ room) - 2 * float(missing) * float(multiplier.sum())
    # The program minimises −side·λ_i, so that `proved` ≤ −side·λ_i for every remaining λ.
    return multiplier, -side * min(proved, -side * float(multiplier[index]))


def _by_pivots(slack: Array, room: Array, objective: Array) -> tuple[Array, Array] | None:
    """Return the multipliers (K,) that minimise the objective (K,) subject to slack·λ ≤ room, and the weights (n,) of its inequalities, by the program that is dual to it.

    max_w −room·w  subject to  wᵀ·slack ≥ −objective:  one policy more, whose weight is 1, has the right-hand side. None if it has no weights to start from, or rounding spoils the result.
    """
    count, rows = slack.shape
    if rows > FEW:
        return None
    basis = np.append(count + 1 + np.arange(rows), 0)
    index = int(objective.argmin())
    if objective[index] < 0:
        ample = np.flatnonzero((slack >= 0).all(1) & (slack[:, index] > 0))
        if not len(ample):
            return None
        basis[index] = 1 + int(ample[slack[ample, index].argmax()])
    table = np.vstack([objective, slack])
    best = maximise(np.append(0.0, -room), table, 1, basis)
    return None if best is None else (best.multiplier, best.weights[1:])
