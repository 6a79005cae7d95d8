"""What everything above asks of a model: the best response to weights, the values and the visits of a policy.

A model is factorised or swept. Factorised systems are exact to rounding, and cost S³ dense; of a sparse model they cost what
its graph fills in: next to nothing on a line, S^1.5 on a grid, and nearly S³ where successors lie anywhere. Sweeps cost the
model's size each, whatever its graph; they start from the last answer, and go on until the asked error is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.problem import CMDP
from painless.units import TOLERANCE

EXACT_STATES = 500  # up to which sparse models are factorised; more are swept
UNIT_ROUNDOFF = 2.0**-53
STEPS = 16  # roundings of a step beside those of its sum
PRECISION = 0.02 * TOLERANCE  # of swept values and visits, relative to 1/(1−γ)

Actions = NDArray[np.unsignedinteger]  # (S,) a deterministic policy, in as few bytes as it takes


class Bracket(NamedTuple):
    """Values of all utilities that are proved: the exact ones lie between `low` and `high`, (J,) each."""

    low: Array
    high: Array
    guess: Array  # the values as computed

    def within(self, problem: CMDP) -> Bracket:
        """Return it without what no policy of the model has: less than min u/(1−γ), or more than max u/(1−γ)."""
        unit = 1 / (1 - problem.discount)
        least = problem.utility.min((1, 2), where=problem.actions, initial=np.inf) * unit
        most = problem.utility.max((1, 2), where=problem.actions, initial=-np.inf) * unit
        low = np.maximum(self.low, least - 4 * UNIT_ROUNDOFF * np.abs(least))
        high = np.minimum(self.high, most + 4 * UNIT_ROUNDOFF * np.abs(most))
        return Bracket(low, high, np.clip(self.guess, low, high))


class Response(Protocol):
    """A deterministic policy that is best for some weights, and the bound on every policy."""

    @property
    def actions(self) -> Actions:
        """The policy, (S,)."""

    @property
    def evaluations(self) -> int:
        """How many policies were evaluated on the way."""

    @property
    def upper_bound(self) -> float:
        """Bounds Σ_j w_j V_j(ρ) of every policy."""

    @property
    def weighted_value(self) -> float:
        """Σ_j w_j V_j(ρ) of this policy, at least."""

    @property
    def rounding(self) -> float:
        """What of the distance between the two is rounding: no better bound can be had."""

    @property
    def value(self) -> Array:
        """V(ρ) of all utilities, (J,), at least."""

    @property
    def middle(self) -> Array:
        """V(ρ) of all utilities, (J,), as well as they are known."""

    def value_and_visits(self) -> tuple[Array, Array | None]:
        """Return Σ d(s, a) u(s, a) and d(s) where the visits come with the policy; else `value`, and None."""


class Engine(Protocol):
    """Solves one model; a policy is a table (S, A), or actions (S,) where it is deterministic."""

    @property
    def problem(self) -> CMDP:
        """The model."""

    @property
    def exact(self) -> bool:
        """Whether answers are exact to rounding, at once; otherwise what is asked for decides the cost."""

    @property
    def rounding(self) -> float:
        """What rounding may do to a value of this model, at most."""

    def best(
        self, weight: Array, tolerance: float, precision: float, start: Actions | None = None
    ) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`."""

    def values(self, policy: Array | Actions) -> Bracket:
        """Return what is proved of V(ρ), to full precision; to less where `tick` raises TimeoutError on the way."""

    def visits(self, policy: Array | Actions, precision: float = PRECISION) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,), to `precision` relative to their sum."""

    def heed(self, tick: Callable[[], None]) -> None:
        """Call `tick` between sweeps or factorisations from now on; it may raise."""

    def stored(self, actions: Actions) -> Array | Actions:
        """Return a deterministic policy in the form in which many of them are kept."""


def as_table(policy: Array | Actions, n_actions: int) -> Array:
    """Return a policy as a table of probabilities, (S, A).

    >>> as_table(np.array([1, 0], dtype=np.uint8), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    if policy.ndim == 2:
        return np.asarray(policy, dtype=np.float64)
    return np.asarray(np.eye(n_actions)[policy])


def value_rounding(problem: CMDP, terms: int) -> float:
    """Bound what rounding does to values within [0, 1/(1−γ)] that are sums of `terms` products in each step."""
    unit = 1 / (1 - problem.discount)
    return (terms + STEPS) * UNIT_ROUNDOFF * unit * unit


def occupancy(engine: Engine, policy: Array | Actions) -> Array:
    """d(s, a) = d(s) π(a|s), which sums to 1/(1−γ), (S, A)."""
    return engine.visits(policy)[:, None] * as_table(policy, engine.problem.shape[1])


def engine_of(problem: CMDP, *, sweep_dense: bool = False) -> Engine:
    """Return the engine for a model, by its kind and size.

    Dense models are factorised whatever their size, unless `sweep_dense`: where many weights are priced, one after another,
    sweeps pay for them as well.

    >>> import painless
    >>> engine = engine_of(painless.gridworld())
    >>> engine.exact, round(engine.best(np.array([1.0, 0.0]), 0.0, 0.0).weighted_value, 6)
    (True, 1.732862)
    """
    if problem.shape[0] > EXACT_STATES and (problem.is_sparse or sweep_dense):
        from painless.planners.swept import Swept

        return Swept(problem)
    from painless.planners.factorised import Factorised

    return Factorised(problem)
