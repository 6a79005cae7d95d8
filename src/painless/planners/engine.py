"""What everything above asks of a model: the best response to weights, the values and the visits of a policy.

A model is factorised or swept. Factorised systems are exact to rounding, and cost S³ dense; of a sparse model they cost what
its graph fills in: next to nothing on a line, S^1.5 on a grid, and nearly S³ where successors lie anywhere. Sweeps cost the
model's size each, whatever its graph; they start from the last answer, and go on until the asked error is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.bellman import occupancy_policy
from painless.problem import CMDP
from painless.units import TOLERANCE

EXACT_STATES = 500  # up to which sparse models are factorised; more are swept
FEW_STATES = 128  # up to which factorised systems are as quick as sweeps, though many weights are priced
UNIT_ROUNDOFF = 2.0**-53
STEPS = 16  # roundings of a step beside those of its sum
FINEST_VISITS = 1e-12  # precision of swept visits that are shown, relative to their sum
PRECISION = 0.02 * TOLERANCE  # of swept values and visits, relative to 1/(1−γ)

Actions = NDArray[np.unsignedinteger]  # (S,) a deterministic policy, in as few bytes as it takes


class Bracket(NamedTuple):
    """Values of all utilities that are proved: the exact ones lie between `low` and `high`, (J,) each."""

    low: Array
    high: Array
    guess: Array  # the values as computed

    def within(self, extent: tuple[Array, Array]) -> Bracket:
        """Return it without what no policy of the model has: less than the least, or more than the largest, (J,) each."""
        low, high = np.maximum(self.low, extent[0]), np.minimum(self.high, extent[1])
        return Bracket(low, high, np.clip(self.guess, low, high))


class Response(NamedTuple):
    """A deterministic policy that is best for some weights, and the bound on every policy."""

    actions: Actions  # (S,)
    value: Array  # (J,) at least
    middle: Array  # (J,) as well as they are known
    upper_bound: float  # of Σ_j w_j V_j(ρ), for every policy
    weighted_value: float  # Σ_j w_j V_j(ρ) of this one, at least
    rounding: float  # what of the distance between the two is rounding: no better bound can be had
    evaluations: int = 1  # of policies on the way
    visits: Array | None = None  # d(s), (S,), where it comes with the policy, and costs no solve of its own


class Engine(Protocol):
    """Solves one model; a policy is a table (S, A), or actions (S,) where it is deterministic."""

    @property
    def problem(self) -> CMDP:
        """The model."""

    @property
    def unit(self) -> float:
        """The scale of a value: what a utility of 1 in every step comes to."""

    @property
    def exact(self) -> bool:
        """Whether answers are exact to rounding, at once; otherwise what is asked for decides the cost."""

    @property
    def rounding(self) -> float:
        """What rounding may do to a value of this model, at most."""

    @property
    def extent(self) -> tuple[Array, Array]:
        """The least and the largest value that a policy may have, (J,) each, rounded outwards."""

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`.

        The search starts from where the last one ended.
        """

    def values(self, policy: Array | Actions) -> Bracket:
        """Return what is proved of V(ρ), to full precision; to less where `tick` raises TimeoutError on the way."""

    def visits(self, policy: Array | Actions, precision: float = PRECISION) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,), to `precision` relative to their sum."""

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A), from values exact to `tolerance`; −∞ where there is no action."""

    def mixed(
        self, policies: Sequence[Array | Actions], weights: Array, precision: float = 0.0
    ) -> tuple[Array, Bracket]:
        """Return the stationary policy (S, A) with the averaged values of some policies, and what is proved of its values.

        Where no policy comes, the one with the largest weight decides. Values may differ from the averages by about `precision`.
        """

    def call_between_steps(self, tick: Callable[[], None]) -> None:
        """Call `tick` between sweeps or factorisations from now on; it may raise."""


def as_table(policy: Array | Actions, n_actions: int) -> Array:
    """Return a policy as a table of probabilities, (S, A).

    >>> as_table(np.array([1, 0], dtype=np.uint8), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    if policy.ndim == 2:
        return np.asarray(policy, dtype=np.float64)
    return np.asarray(np.eye(n_actions)[policy])


def extent_of(problem: CMDP) -> tuple[Array, Array]:
    """Return min u/(1−γ) and max u/(1−γ), (J,) each, rounded outwards."""
    unit = 1 / (1 - problem.discount)
    least = problem.utility.min((1, 2), where=problem.actions, initial=np.inf) * unit
    most = problem.utility.max((1, 2), where=problem.actions, initial=-np.inf) * unit
    return least - 4 * UNIT_ROUNDOFF * np.abs(least), most + 4 * UNIT_ROUNDOFF * np.abs(most)


def value_rounding(problem: CMDP, terms: int) -> float:
    """Bound what rounding does to values within [0, 1/(1−γ)] that are sums of `terms` products in each step."""
    unit = 1 / (1 - problem.discount)
    return (terms + STEPS) * UNIT_ROUNDOFF * unit * unit


def occupancy(engine: Engine, policy: Array | Actions) -> Array:
    """d(s, a) = d(s) π(a|s), which sums to 1/(1−γ), (S, A)."""
    return engine.visits(policy)[:, None] * as_table(policy, engine.problem.shape[1])


def mixed_table(engine: Engine, policies: Sequence[Array | Actions], weights: Array) -> Array:
    """π(a|s) = d(s, a)/d(s) with d = Σ_k w_k d_k: the stationary policy with the averaged values, (S, A)."""
    largest = as_table(policies[int(weights.argmax())], engine.problem.shape[1])
    used = np.flatnonzero(weights).tolist()
    if len(used) == 1:
        return largest
    total = sum(weights[k] * occupancy(engine, policies[k]) for k in used)
    return occupancy_policy(np.asarray(total), largest)


def engine_of(problem: CMDP, swept_beyond: float | None = None) -> Engine:
    """Return the engine for a model, by its kind and size.

    Models with more than `swept_beyond` states are swept; by default sparse ones with more than 500, and no dense ones. Where many
    weights are priced, one after another, sweeps pay sooner.

    >>> import painless
    >>> engine = engine_of(painless.gridworld())
    >>> engine.exact, round(engine.best(np.array([1.0, 0.0]), 0.0, 0.0).weighted_value, 6)
    (True, 1.732862)
    """
    if swept_beyond is None:
        swept_beyond = EXACT_STATES if problem.is_sparse else np.inf
    if problem.shape[0] > swept_beyond:
        from painless.planners.swept import Swept

        return Swept(problem)
    from painless.planners.factorised import Factorised

    return Factorised(problem)


def visitor(problem: CMDP) -> Callable[[Array | Actions], Array]:
    """Return a function from policies to their visits d = ρ (I − γ P_π)⁻¹, (S,), which share one engine.

    >>> import painless
    >>> round(float(visitor(painless.gridworld())(np.zeros(25, dtype=np.uint8)).sum()), 9)
    10.0
    """
    engine = engine_of(problem, EXACT_STATES)
    return lambda policy: np.maximum(engine.visits(policy, FINEST_VISITS), 0.0)
