"""The game of planning: a master over the values of policies alternates with best responses to its prices.

The master mixes the policies found so far, and prices the utilities that must reach a threshold. With o the weights of the
utilities to maximise, it solves one of

    max_w  Σ_k w_k o·V_k     subject to   Σ_k w_k V_k,i ≥ b_i  for all held i                    (e.g. the reward)
    max_w  min_i Σ_k w_k (V_k,i − b_i)                                                           (the joint slack, o = 0)

which is a lower bound. The best response to its prices λ joins the master, and gives an upper bound over all policies:

    max_π (o + λ)·V_π − λ·b

This is Dantzig and Wolfe's method (1960). Feasibility, polishing, column generation and frontiers use it. The game asks an
engine for best responses, whatever the criterion; `stop` ends it, and `propose` may choose other prices than the master's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.engine import UNIT_ROUNDOFF, Actions, Engine, Recalls
from painless.planning.interpolation import interpolated
from painless.planning.master import AMPLE, Column, Columns, Mixture, best_mixture, largest_slack
from painless.problem.units import TOLERANCE

ROUNDS = 1000  # usually a few suffice
COARSE = 1e-2  # the open gap assumed for the first responses, in the engine's unit
SHARE = 0.1  # tolerance of a best response, relative to the open gap
FINEST = 1e-13  # the smallest tolerance of a response, in the engine's unit
ROUNDING = 1e-12  # smaller gains are rounding, in the engine's unit
SLACK_COARSE = 1e-3  # the initial distance between the bounds on the slack, in the engine's unit
# The highest precision of best responses in the game for it, in the same unit.
SLACK_FINEST = 0.01 * TOLERANCE
DIGITS = 1e-6  # relative precision of a slack that is not close to 0, if the engine sweeps
BRISK = 0.3  # interpolated multipliers that leave more of the gap are not tried twice in a row
SMOOTH_STATES = 5000  # states from which values are smooth enough in the multipliers to interpolate
SMOOTH_CONSTRAINTS = 4  # constraints up to which they are
SETTLED = 0.01  # relative change of the master's multipliers from one response to the next, below which they are not smoothed
PATIENCE = 60  # rounds in a row without progress, after which the rest is rounding


@dataclass(frozen=True)
class Aim:
    """What the master maximises, and the thresholds that the held utilities must reach."""

    objective: Array  # (J,) weights of the utilities; all 0 for the joint slack
    held: NDArray[np.intp]  # (H,) the utilities that are held
    threshold: Array  # (H,) for which the bound is proved
    reached: Array  # (H,) which mixtures must reach: a little lower if there is no Slater point

    def weight(self, price: Array) -> Array:
        """Return o + λ, (J,)."""
        weight = self.objective.copy()
        weight[self.held] += price
        return weight

    def bound(self, price: Array, response: float) -> float:
        """Return max_π (o + λ)·V_π − λ·b, rounded up, from a bound on the first term."""
        roundings = (len(price) + 4) * UNIT_ROUNDOFF * float(price @ np.abs(self.threshold))
        return response - float(price @ self.threshold) + roundings

    def bound_at(self, weight: Array, response: float) -> tuple[float, Array]:
        """Return the bound that max_π w·V_π ≤ `response` proves for any weights (J,), and its prices (H,); ∞ if it proves none."""
        price, rest = weight[self.held], weight.copy()
        rest[self.held] = 0.0
        used = self.objective > 0
        scale = float((weight[used] / self.objective[used]).min()) if used.any() else float(price.sum())
        if not scale > 0 or np.any(rest > scale * self.objective):
            return np.inf, price
        bound = self.bound(price, response) / scale
        return bound + 4 * UNIT_ROUNDOFF * abs(bound), price / scale


class Game:
    """One game and its proof: no policy, and no mixture of policies, reaches more than `upper`.

    Arguments:
        columns: initial policies.
        safe: weights (m,) of the first m columns, a mixture that reaches the thresholds.
        precision: of the responses' weighted values; by default a share of the open gap.
        coarse, finest: the first and the last tolerance of a best response, in the engine's unit.
        cautious: whether the master counts on no more than is proved of the policies' values.
    """

    def __init__(
        self,
        engine: Engine,
        aim: Aim,
        columns: Columns | None = None,
        *,
        safe: Array | None = None,
        precision: float | None = None,
        coarse: float = COARSE,
        finest: float = FINEST,
        cautious: bool = False,
    ) -> None:
        self.engine, self.aim, self.safe, self.precision = engine, aim, safe, precision
        self.columns = Columns() if columns is None else columns
        self.cautious = cautious
        self.coarse, self.finest = coarse * engine.unit, finest * engine.unit
        used, held = np.flatnonzero(aim.objective), len(aim.held)
        self.price = np.zeros(held) if len(used) else np.full(held, 1 / max(held, 1))  # that proves the bound
        self.upper = float(engine.extent[1][used] @ aim.objective[used]) if len(used) else np.inf
        self.mixture = Mixture(np.empty(0), self.price, -np.inf)  # the best of the columns
        self.response: Actions | None = None  # to these prices
        self.last_bound, self.rounding = np.inf, 0.0  # proved by the last response, and its rounding
        self.responses, self.evaluations = 0, 0  # best responses, and policies evaluated for them
        # Prices (H,), and the bound on max (o + λ)·V that was proved for them.
        self.bounds: list[tuple[Array, float]] = []
        self.proved: list[Array] = []  # (J,) proved values of all responses, also of dropped ones
        self.watch: Callable[[], None] = lambda: None  # called after each response
        self.useful = True  # whether the last response improves on the master's mixture
        self.exhausted = False  # whether further rounds are useless
        self.place = 0  # of the last response among the columns
        self.is_new = True  # whether its policy was not among them
        # Whether the last response found a new loop that pays, so that its prices prove no bound.
        self.looped = False
        self.proved_loops: list[Array] = []  # (J,) proved values of a round in each loop
        # Tolerance of a response, given the bound, if that is enough.
        self.goal: Callable[[float], float] | None = None
        self.tolerance = np.inf  # of the last response
        self._share = SHARE  # of the open gap, which the next response may leave
        # Error that the weighted values of a response may have where values are dear, relative to its tolerance.
        self.rough = 0.0

    @property
    def open(self) -> float:
        """The distance between the bounds."""
        return self.upper - self.mixture.value

    def play(
        self,
        stop: Callable[[], bool],
        rounds: int = ROUNDS,
        propose: Callable[[Game], Array] | None = None,
    ) -> bool:
        """Alternate master and responses until `stop`; return whether it stopped them.

        Otherwise the rounds are used up, or the game is `exhausted`: the rest is rounding.
        """
        self.useful, least, idle = True, np.inf, 0
        for turn in range(rounds + 1):
            self.mix()
            if stop():
                return True
            gap = self.upper - self.mixture.value
            least, idle = (gap, 0) if not gap >= 0.99 * least else (least, idle + 1)
            self.exhausted = idle > PATIENCE
            if turn == rounds or self.exhausted:
                break
            master = self.mixture.multiplier
            price = master if propose is None else propose(self)
            column = self.respond(price)
            weight, value = self.aim.weight(master), column.low if self.cautious else column.value
            gain = float(value @ weight) - float(master @ self.aim.reached) - self.mixture.value
            rounding = ROUNDING * self.engine.unit * (1 + float(master.sum()))
            gap = self.upper - self.mixture.value
            self.useful = self.looped or gain > max(0.1 * self._share * gap, rounding)
            if self.useful:
                self._share = SHARE
            elif price is master:  # the same prices would give the same response
                self.exhausted = self.engine.exact or self.tolerance <= self.finest
                if self.exhausted:
                    self.mix()
                    return stop()
                self._share *= 0.1
        return False

    def mix(self) -> Mixture:
        """Solve the master; if rounding leaves no feasible mixture, keep the safe one."""
        aim, columns = self.aim, self.columns
        if columns.known:
            values = columns.lows if self.cautious else columns.values
            held = values[:, aim.held]
            if aim.objective.any():
                table = np.column_stack([values @ aim.objective, held])
                mixture = best_mixture(table, aim.reached, self.safe, columns.loops)
            else:
                mixture = largest_slack(held, aim.reached, columns.loops)
            if mixture is None:
                safe, weights = np.ones(1) if self.safe is None else self.safe, np.zeros(len(values))
                weights[: len(safe)] = safe
                mixture = Mixture(weights, self.price, float(weights @ values @ aim.objective))
            self.mixture = mixture
        return self.mixture

    def respond(self, price: Array, tolerance: float | None = None) -> Column:
        """Add the best response to prices (H,), and keep its bound if it is the lowest so far.

        By default its tolerance is a share of the open gap, which falls while responses do not help.
        """
        if tolerance is None:
            gap = SHARE * min(self.upper - self.mixture.value, self.coarse)
            tolerance = self._share / SHARE * (gap if self.goal is None else self.goal(self.upper))
        wanted = self.tolerance = max(tolerance, self.finest)
        weight = self.aim.weight(price)
        precision = SHARE * wanted if self.precision is None else max(self.precision, self.finest)
        if self.rough and isinstance(self.engine, Recalls) and self.engine.are_values_dear:
            precision = max(precision, self.rough * wanted)
        response = self.engine.best(weight, max(wanted, precision), precision / float(weight.sum()))
        self.rounding = 2 * response.rounding
        self.responses += 1
        self.evaluations += response.evaluations
        bound = self.aim.bound(price, response.upper_bound)
        if response.weight is not None:
            bound, price = self.aim.bound_at(response.weight, response.upper_bound)
        else:
            self.bounds.append((price, response.upper_bound))
        self.last_bound, self.looped = bound, False
        column = Column(response.actions, response.middle, response.value, weight, response.visits)
        if bound < self.upper or self.response is None:
            self.response = response.actions
        if bound < self.upper:
            self.upper, self.price = bound, price
        self.proved.append(column.low)
        before = len(self.columns.known)
        self.place = self.add(column)
        self.is_new = self.place >= before
        if response.loop is not None:
            actions, low, value = response.loop
            self.proved_loops.append(low)
            known = len(self.columns.known)
            self.looped = self.add(Column(actions, value, low, weight, is_loop=True)) >= known
        self.watch()
        return column

    def know(self, price: Array, response: float) -> None:
        """Take over a bound on max (o + λ)·V that is proved for prices (H,) of the same model at other thresholds."""
        self.bounds.append((price, response))
        bound = self.aim.bound(price, response)
        if bound < self.upper:
            self.upper, self.price = bound, price

    def add(self, column: Column) -> int:
        """Offer a policy to the master; return its index."""
        columns = self.columns
        place = columns.add(column)
        if columns.taken > columns.memory or len(columns.known) > columns.most:
            columns.drop(columns.values @ self.aim.weight(self.mix().multiplier))
        return place


class SlackGame(Game):
    """The game for the joint slack of some constraints.

    Arguments:
        members: the constraints that play; all by default.
        columns: initial policies.
        enough: the share of the largest slack at which the game may end, unless that is close to 0.
        precision: of the policies' values; by default a share of the open gap.
    """

    def __init__(
        self,
        engine: Engine,
        members: list[int] | None = None,
        columns: Columns | None = None,
        *,
        enough: float = 1.0,
        precision: float | None = None,
    ) -> None:
        problem = engine.problem
        chosen = np.arange(problem.shape[2]) if members is None else np.array(members, dtype=np.intp)
        objective, threshold = np.zeros(1 + problem.shape[2]), problem.threshold[chosen]
        if not len(chosen):  # the reward, if nothing must be met
            objective[0] = 1.0
        super().__init__(
            *(engine, Aim(objective, 1 + chosen, threshold, threshold), columns),
            precision=precision,
            coarse=SLACK_COARSE,
            finest=SLACK_FINEST,
            cautious=not engine.exact,
        )
        self.enough = enough

    def find(self, rounds: int = ROUNDS) -> None:
        """Play until the slack is known."""
        if not self.columns.known:
            self.respond(self.price)
        if len(self.aim.held):
            self.play(self.is_known, rounds)

    def is_known(self) -> bool:
        """Whether the slack is known to the tolerance; with sweeps, its sign and first digits suffice."""
        slack, least = self.mixture.value, TOLERANCE * self.engine.unit
        if slack >= AMPLE and self.columns.loops.any():
            return True
        if slack > least and self.enough < 1 and slack >= self.enough * self.upper:
            return True
        open_sign = slack <= least and self.upper >= -least
        digits = 0.0 if self.engine.exact or open_sign else DIGITS
        return self.upper - slack <= max(0.1 * least, digits * abs(slack))


@dataclass
class Smoothed:
    """The multipliers at which column generation prices: the master's, blended with those that prove the bound, or interpolated.

    Smoothing towards those of the best bound (Wentges 1997) saves responses for K > 1. If the frontier is smooth, they are interpolated (see
    `interpolation`). After a response that does not help the master, or hardly moves its multipliers, its own are used.
    """

    share: float | None = (
        None  # of the multipliers that prove the bound; by default the one that needs the fewest solves on Garnets and grids
    )
    guessed: bool = False  # whether the last ones were interpolated
    last: float = np.inf  # the gap that was open then
    master: Array | None = None  # the last multipliers of the master
    is_smooth: bool = True  # until an interpolated one finds nothing new: with one constraint the frontier then has corners there

    def __call__(self, game: Game) -> Array:
        """Return the multipliers for the next response, (K,)."""
        states, _, constraints = game.engine.problem.shape
        share = (0.2 if constraints == 1 else 0.5) if self.share is None else self.share
        self.is_smooth &= game.useful or not self.guessed or constraints > 1
        share = share if game.useful and self.is_smooth else 0.0
        guess, gap = None, game.upper - game.mixture.value
        smooth = states >= SMOOTH_STATES and constraints <= SMOOTH_CONSTRAINTS
        if smooth and share > 0 and not (self.guessed and gap > BRISK * self.last):
            guess = interpolated(game.columns.known, game.mixture.weights, game.aim.reached)
        self.guessed, self.last = guess is not None, gap
        if guess is not None:
            return guess
        master = game.mixture.multiplier
        last, self.master = self.master, master
        if constraints == 1 and last is not None and np.abs(master - last).max() <= SETTLED * master.max():
            return master  # to hold it back would only delay the proof
        return master if share == 0 else share * game.price + (1 - share) * master
