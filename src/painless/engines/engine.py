"""The engine interface: the best response to weights, and the values and visits of a policy.

A model is factorised or swept. Factorised systems are exact up to rounding, and cost S³ if dense; if sparse, the cost depends
on the fill-in: almost nothing on a line, S^1.5 on a grid, and nearly S³ if successors lie anywhere. A sweep costs the
model's size, whatever its graph; sweeps start from the last answer, and continue until the requested error is proved.

To add an engine, write a file and add a line to `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from painless.bellman import occupancy_policy, policy_transition, reachable
from painless.common.arrays import Array, Mask
from painless.engines.drawn import Drawn
from painless.policies.table import uniform_policy
from painless.problem import CMDP, Criterion
from painless.problem.function_model import FunctionModel
from painless.problem.units import TOLERANCE

EXACT_STATES = 500  # states up to which sparse models are factorised; larger ones are swept
AVERAGED_STATES = 1000  # states up to which averages are never swept
FEW_STATES = 128  # states up to which factorised systems are as fast as sweeps for many weights
UNIT_ROUNDOFF = 2.0**-53
STEPS = 16  # roundings of a step beside those of its sum
FINEST_VISITS = 1e-12  # precision of swept visits that are shown, relative to their sum
PRECISION = 0.02 * TOLERANCE  # of swept values and visits, relative to 1/(1−γ)

Actions = NDArray[np.unsignedinteger]  # (S,) a deterministic policy, in the smallest integer type
AnyPolicy = Array | Actions | Drawn  # the last for long-run averages alone


class Bracket(NamedTuple):
    """Proved bounds on the values of all utilities: the exact ones lie between `low` and `high`, (J,) each."""

    low: Array
    high: Array
    guess: Array  # the values as computed

    def within(self, extent: tuple[Array, Array]) -> Bracket:
        """Return the bracket clipped to the least and largest values of any policy, (J,) each."""
        low, high = np.maximum(self.low, extent[0]), np.minimum(self.high, extent[1])
        return Bracket(low, high, np.clip(self.guess, low, high))


class Loop(NamedTuple):
    """A policy that comes to a loop and never stops: what a step in the loop earns."""

    actions: Actions  # (S,)
    value: Array  # (J,) lower bounds
    middle: Array  # (J,) estimates


class Response(NamedTuple):
    """A best response: a deterministic policy that is best for some weights, and the bound on every policy."""

    actions: Actions  # (S,)
    value: Array  # (J,) lower bounds
    middle: Array  # (J,) estimates
    upper_bound: float  # of Σ_j w_j V_j(ρ), for every policy
    weighted_value: float  # lower bound on Σ_j w_j V_j(ρ) of this policy
    rounding: float  # the part of their distance that is rounding, so that no better bound is possible
    evaluations: int = 1  # of policies on the way
    visits: Array | None = None  # d(s), (S,), if it comes with the policy at no extra solve
    weight: Array | None = None  # (J,) for which the bound is proved, if not for those that were asked for
    loop: Loop | None = (
        None  # that pays in every round, so that the bound is ∞; the policy is not the best then
    )


class Engine(Protocol):
    """Solves one model; a policy is a table (S, A), or actions (S,) if deterministic; for averages also `Drawn`."""

    @property
    def problem(self) -> CMDP:
        """The model."""

    @property
    def unit(self) -> float:
        """The scale of values: the value of a utility of 1 in every step."""

    @property
    def exact(self) -> bool:
        """Whether answers are exact up to rounding; otherwise the cost depends on the requested precision."""

    @property
    def draws(self) -> bool:
        """Whether a mixture of policies may be a draw between them, and not one stationary policy."""

    @property
    def refines(self) -> bool:
        """Whether `values` may tell more of a policy than the best response that found it, at a moderate cost."""

    @property
    def rounding(self) -> float:
        """A bound on the rounding error of a value of this model."""

    @property
    def extent(self) -> tuple[Array, Array]:
        """The least and the largest value that a policy may have, (J,) each, rounded outwards."""

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`.

        The search starts from where the last one ended.
        """

    def aim_at(self, goal: Callable[[float], float]) -> None:
        """Say that best responses without constraints need be no more exact than `goal` of their bound; some engines then find them at once."""

    def values(self, policy: Any) -> Bracket:
        """Return proved bounds on V(ρ), to full precision; to less if `tick` raises TimeoutError on the way."""

    def visits(self, policy: Any, precision: float = PRECISION) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,), to `precision` relative to their sum; on average, shares of time."""

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A), from values exact to `tolerance`; −∞ where there is no action."""

    def mixed(self, policies: Sequence[Any], weights: Array, precision: float = 0.0) -> tuple[Any, Bracket]:
        """Return the stationary policy (S, A) with the averaged values of some policies, and proved bounds on its values.

        On average it may take a draw between them. In unreachable states the policy with the largest weight is used. Values may differ from the averages by about `precision`.
        """

    def shown(self, policy: Any) -> Any:
        """Return a policy, actions (S,) or a table, as an answer has it: a table (S, A), or a draw."""

    def any_policy(self) -> Any:
        """Return some policy, as an answer has it, if nothing is known of any."""

    @property
    def allowed(self) -> Mask:
        """The pairs that learners may take, (S, A)."""

    def playable(self, policy: Array) -> Array:
        """Return a table (S, A) as it is evaluated: one that has finite values."""

    def reachable(self, policy: Any) -> Mask:
        """Return which states a policy (S, A) may come to, (S,)."""

    def call_between_steps(self, tick: Callable[[], None]) -> None:
        """Call `tick` between sweeps or factorisations from now on; it may raise."""

    def continue_from(self, other: Any) -> None:
        """Start the next search from where that of another engine ended, if it is of the same kind and has the same pairs."""


class BaseEngine:
    """The part of an engine that is the same for every criterion."""

    draws = False
    refines = True
    # States in which the best mixture does one thing for a while, and then another.
    remembered: tuple[int, ...] = ()

    def __init__(self, problem: CMDP) -> None:
        self.problem = problem
        self.compact = np.min_scalar_type(problem.shape[1] - 1)  # the type of actions
        self._tick: Callable[[], None] = lambda: None
        # Min u/(1−γ) and max u/(1−γ), or the same with another unit, (J,) each, rounded outwards
        least, most = (side * problem.unit for side in problem.utility_range)
        self.extent = least - 4 * UNIT_ROUNDOFF * np.abs(least), most + 4 * UNIT_ROUNDOFF * np.abs(most)

    @cached_property
    def unit(self) -> float:
        """The scale of values."""
        return self.problem.unit

    def call_between_steps(self, tick: Callable[[], None]) -> None:
        """Call `tick` between steps from now on; it may raise."""
        self._tick = tick

    def aim_at(self, goal: Callable[[float], float]) -> None:
        """Ignore it: responses are as exact as is asked of each."""

    def continue_from(self, other: Any) -> None:
        """Start the next search from where that of another engine ended, where that is possible; here it is not."""

    def reachable(self, policy: Array) -> Mask:
        """Return which states a policy (S, A) may come to, (S,)."""
        if (self.problem.initial > 0).all():
            return np.ones(len(self.problem.initial), dtype=bool)
        return reachable(
            policy_transition(self.problem, (policy > 0).astype(np.float64)), self.problem.initial
        )

    @property
    def allowed(self) -> Mask:
        """The pairs that learners may take, (S, A)."""
        return self.problem.actions

    def playable(self, policy: Array) -> Array:
        """Return a table (S, A) as it is evaluated; here as it is."""
        return policy

    def shown(self, policy: Any) -> Any:
        """Return a policy, actions (S,) or a table, as an answer has it: a table (S, A), or a draw."""
        return policy if isinstance(policy, Drawn) else as_table(policy, self.problem.shape[1])

    def any_policy(self) -> Any:
        """Return some policy, as an answer has it: the uniform one."""
        return uniform_policy(self.problem.actions)

    def mixed(
        self: Engine, policies: Sequence[Array | Actions], weights: Array, precision: float = 0.0
    ) -> tuple[Array, Bracket]:
        """Return the policy (S, A) with the averaged values of some policies, and proved bounds on its values.

        π(a|s) = d(s, a)/d(s) with d = Σ_k w_k d_k.
        """
        del precision  # as precise as visits are
        used, actions = np.flatnonzero(weights).tolist(), self.problem.shape[1]
        largest = as_table(policies[int(weights.argmax())], actions)
        if len(used) > 1:
            total = np.zeros_like(largest)
            for k in used:
                total += weights[k] * (self.visits(policies[k])[:, None] * as_table(policies[k], actions))
            largest = occupancy_policy(total, largest)
        return largest, self.values(largest)


@runtime_checkable
class Completes(Protocol):
    """An engine whose best responses leave out states that nothing can reach, to save time."""

    def everywhere(self, actions: Actions, weight: Array) -> Actions:
        """Return a best response to `weight` (J,) with the best actions also in states that `best` left out."""


@runtime_checkable
class Recalls(Protocol):
    """An engine that keeps values and visits of policies when it continues from another, so that to evaluate them anew takes a few sweeps."""

    @property
    def are_values_dear(self) -> bool:
        """Whether the values of all utilities take about as long as the best response, so that they come roughly with it, and `recall` finds them more precisely with visits that a mixture needs too."""

    def bound(self, weight: Array, tolerance: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,) with the bound on every policy; nothing is claimed of its values."""

    def recall(self, actions: Array | Actions, precision: float) -> Bracket:
        """Return bounds on the values of a deterministic policy (S,), such as one of the model before, to within `precision`."""


class Exchange(NamedTuple):
    """Where a limit is likely to be met as the price of a best response moves."""

    start: float  # the price of the response
    slack: float  # that it has there
    price: float
    further: float  # up to which actions are exchanged in the policy
    policy: Actions | None  # (S,) on the other side of the limit; None if that is far away


@runtime_checkable
class Exchanges(Recalls, Protocol):
    """An engine that tells, from the values of its last best response, where a single limit is met as its price moves; it recalls the policies that it finds."""

    def exchange(
        self, threshold: float, policy: Actions | None = None, price: float = 0.0
    ) -> Exchange | None:
        """Return where the only constraint is likely to reach the threshold, from the last best response on, or from a recalled policy (S,) that is nearly one at a price; None if nothing is known."""


@runtime_checkable
class Foresees(Protocol):
    """An engine that tells from its last response which prices are likely to be those of the limits."""

    def likely_price(self, policy: Array | Actions, missed: Array, short: float, most: float) -> float:
        """Return the price of the utilities `missed` (J,), at most `most`, at which they are likely to gain `short`; `policy` is the last response."""


def averaged(drawn: Drawn, each: Sequence[Bracket]) -> Bracket:
    """Return the bounds on the averages of the values of all parts, (J,) each."""
    low, high, guess = (drawn.weights @ np.array(side) for side in zip(*each, strict=True))
    largest = np.max([np.maximum(np.abs(one.low), np.abs(one.high)) for one in each], axis=0)
    off = (2 * len(each) + STEPS) * UNIT_ROUNDOFF * largest
    return Bracket(low - off, high + off, guess)


def as_table(policy: Array | Actions, n_actions: int) -> Array:
    """Return a policy as a table of probabilities, (S, A).

    >>> as_table(np.array([1, 0], dtype=np.uint8), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    if policy.ndim == 2:
        return np.asarray(policy, dtype=np.float64)
    table: Array = np.zeros((len(policy), n_actions))
    table.reshape(-1)[np.arange(0, table.size, n_actions) + policy] = 1.0
    return table


def value_rounding(problem: CMDP, terms: int) -> float:
    """Bound the rounding error of values within [0, 1/(1−γ)] that are sums of `terms` products in each step."""
    return (terms + STEPS) * UNIT_ROUNDOFF * problem.unit * problem.unit


def occupancy(engine: Engine, policy: Array | Actions) -> Array:
    """d(s, a) = d(s) π(a|s), which sums to 1/(1−γ), (S, A)."""
    return engine.visits(policy)[:, None] * as_table(policy, engine.problem.shape[1])


@dataclass(frozen=True)
class Serves:
    """The models that an engine serves.

    Arguments:
        place: the module in `painless.engines`, which is imported when needed, and the class or function that makes the engine.
        criterion: of the models.
        swept: whether only large models are served: those with more than `swept_beyond` states, or, on average, large sparse ones.
        kind: the class of the models.
    """

    place: str
    criterion: Criterion
    swept: bool = False
    kind: type[CMDP] = CMDP

    def __call__(self, problem: CMDP, swept_beyond: float) -> Engine | None:
        """Return the engine of a model, or None if it does not serve it."""
        if problem.criterion is not self.criterion or not isinstance(problem, self.kind):
            return None
        beyond = swept_beyond
        if self.criterion is Criterion.AVERAGE and swept_beyond < np.inf:
            beyond = AVERAGED_STATES if problem.is_sparse else np.inf
        if self.swept and problem.shape[0] <= beyond:
            return None
        module, _, name = self.place.partition(":")
        make: Callable[[CMDP], Engine | None] = getattr(import_module(f"painless.engines.{module}"), name)
        return make(problem)


# Each returns its engine for a model, or None if it does not serve it. The last one that serves a model is taken.
ENGINES: dict[str, Callable[[CMDP, float], Engine | None]] = {
    "factorised": Serves("factorised:Factorised", Criterion.DISCOUNTED),
    "swept": Serves("swept:Swept", Criterion.DISCOUNTED, swept=True),
    "ending-soon": Serves("ending_soon:ending_soon", Criterion.DISCOUNTED, swept=True),
    "finite-horizon": Serves("finite_horizon:FiniteHorizon", Criterion.HORIZON),
    "total": Serves("total:Total", Criterion.TOTAL),
    "average": Serves("average:Average", Criterion.AVERAGE),
    "swept-average": Serves("swept_average:SweptAverage", Criterion.AVERAGE, swept=True),
    "function": Serves("function:Function", Criterion.DISCOUNTED, kind=FunctionModel),
}


def engine_of(problem: CMDP, swept_beyond: float | None = None) -> Engine:
    """Return the engine for a model, by its kind and size.

    Models with more than `swept_beyond` states are swept; by default sparse ones with more than 500, and no dense ones. If many
    weights are priced in succession, sweeps pay off earlier.

    >>> import painless
    >>> engine = engine_of(painless.gridworld())
    >>> engine.exact, round(engine.best(np.array([1.0, 0.0]), 0.0, 0.0).weighted_value, 6)
    (True, 1.732862)
    """
    if swept_beyond is None:
        swept_beyond = EXACT_STATES if problem.is_sparse else np.inf
    engine, latest_first = None, reversed(ENGINES.values())
    while engine is None:
        engine = next(latest_first)(problem, swept_beyond)
    return engine
