"""The values of a certificate: below what a policy collects, and above what any policy collects under some weights.

They are computed to full precision, and then moved until the inequalities of `painless.verify` hold, rounding included:

    residual = u + γPW − W,     z = 1.25·2⁻⁵³ (|W| + γP|W|) + γPz,     W + (I − γP)⁻¹ residual − z, stored as doubles, holds

so that rounding counts where policies go. What still fails is paid for by the constant of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from painless import verify
from painless.bellman import action_value, policy_transition, policy_utility, resolvent
from painless.common.arrays import Array, Mask
from painless.engines.engine import EXACT_STATES, PRECISION, UNIT_ROUNDOFF
from painless.engines.factorised import policy_iteration
from painless.engines.swept import FINEST, Swept
from painless.problem import CMDP, Criterion
from painless.problem.units import presolve
from painless.solving.paired_doubles import Outward
from painless.solving.residuals import pair_surplus, policy_deficit

ROUNDINGS = 1.25 * UNIT_ROUNDOFF  # of a residual, relative to the values in it, which are stored as doubles
REFINED = 2  # times that exact values are refined
IMPROVED = 20  # times that a best policy is improved with exact residuals; usually once or twice
SHARE = 0.01  # of the solution's gap, to which a swept bound is priced
FINER = 0.05  # precision of swept values, relative to that of the solver


def two_doubles(number: Fraction) -> Array:
    """Return the two doubles whose sum is nearest to a number, (2,)."""
    high = float(number)
    return np.array([high, float(number - Fraction(high))])


class NormalisedProblem(NamedTuple):
    """A problem whose utilities are (u − origin)/span, without the pairs that no policy within the limits takes."""

    problem: CMDP
    origin: Array  # (J,)
    span: Array  # (J,)
    extreme: Mask  # (J,) limits that leave no choice

    @classmethod
    def of(cls, problem: CMDP) -> NormalisedProblem:
        """Presolve and scale a problem."""
        smaller, met = presolve(problem)
        low, high = smaller.utility_range
        extreme = np.zeros(len(low), dtype=bool)
        extreme[1 + met] = True
        origin = np.where(low > 0, low, np.where(high < 0, high, 0.0))
        origin = np.where(extreme, problem.utility_range[1], origin)
        span = np.where(high > low, high - low, 1.0)
        utility = (problem.utility - origin[:, None, None]) / span[:, None, None]
        utility = np.where(problem.actions, utility, 0.0)
        return cls(
            smaller.with_constraints(utility[0], utility[1:], problem.threshold), origin, span, extreme
        )

    def constant(self, weight: Array) -> Array:
        """Σ_j w_j·origin_j as the sum of two doubles, (2,)."""
        total = sum(
            Fraction(w) * Fraction(o) for w, o in zip(weight.tolist(), self.origin.tolist(), strict=True)
        )
        return two_doubles(Fraction(total))

    def cleared(self, policy: Array, value: Array) -> Array:
        """Return lower values (J, S) with exact zeros from where the policy meets a limit that leaves no choice."""
        used = policy > 0
        for j in np.flatnonzero(self.extreme):
            chain: Any = policy_transition(self.problem, used.astype(np.float64))
            pays = ((self.problem.utility[j] != 0) & used).any(1)
            while (found := pays | (np.asarray(chain @ pays.astype(np.float64)) > 0)).sum() > pays.sum():
                pays = found
            value[j, ~pays] = 0.0
        return value


class Finder(Protocol):
    """Finds the values of one model."""

    def lower(self, policy: Array) -> dict[str, Array]:
        """Return the arrays that bound what a policy collects of every utility from below."""

    def upper(self, weight: Array) -> dict[str, Array]:
        """Return the arrays that bound the weighted sum of the utilities from above, the weights among them."""


def finder(problem: CMDP, model: verify.Model, gap: float) -> Finder:
    """Return the finder for a model, by its kind and size; a swept bound need only be good in relation to the gap."""
    if problem.criterion is Criterion.AVERAGE:
        from painless.solving.certificate_average import AverageFinder

        return AverageFinder(problem, model)
    if problem.criterion is Criterion.TOTAL:
        from painless.solving.certificate_total import TotalFinder

        return TotalFinder(problem, model)
    scaled = NormalisedProblem.of(problem)
    if problem.horizon is not None:
        from painless.solving.certificate_steps import StepwiseFinder

        return StepwiseFinder(scaled, model)
    if problem.is_sparse and problem.shape[0] > EXACT_STATES:
        return SweptFinder(scaled, model, gap)
    return ExactFinder(scaled, model)


def lowered(model: verify.Model, policy: Array, weight: Array, constant: Array, value: Array) -> Array:
    """Return a constant (2,), near the given one, with which lower values (S,) hold."""
    arithmetic = Outward(*numbers(model, weight, value, policy))

    def least(constant: Array) -> float:
        return float(policy_deficit(model, arithmetic, policy, weight, (*constant, value), value).min())

    return _moved(constant, least, -1.0)


def all_lowered(
    scaled: NormalisedProblem, model: verify.Model, policy: Array, constant: Array, value: Array
) -> dict[str, Array]:
    """Return constants near (J, 2) with which lower values (J, S) of all utilities hold, and these values."""
    low, each = scaled.cleared(policy, value), np.eye(len(value))
    constants = [lowered(model, policy, *one) for one in zip(each, constant, low, strict=True)]
    return {"lower_constant": np.array(constants), "lower_value": low}


def raised(model: verify.Model, weight: Array, constant: Array, value: Array) -> Array:
    """Return a constant (2,), near the given one, with which upper values (S,) hold."""
    arithmetic, pairs = Outward(*numbers(model, weight, value)), verify.allowed_pairs(model)

    def least(constant: Array) -> float:
        return float(pair_surplus(model, arithmetic, pairs, weight, (*constant, value), value).min())

    return _moved(constant, least, 1.0)


def numbers(model: verify.Model, *others: Array) -> tuple[Array, ...]:
    """Return the numbers that the inequalities of a model are made of, and others."""
    return (model.probability, model.utility, np.array([model.discount]), *others)


def _moved(constant: Array, least: Callable[[Array], float], sign: float) -> Array:
    """Move a constant up or down until `least`, which then grows as much, is not negative."""
    moved, factor = constant.copy(), 1.0
    while (lack := -least(moved)) > 0:
        moved[1] = np.nextafter(moved[1] + sign * factor * lack, sign * np.inf)
        factor *= 2
    return moved


def bound_of(model: verify.Model, constant: Array, value: Array) -> float:
    """ρ·V, to rounding."""
    return float(model.initial @ value + constant.sum() / (1 - model.discount))


class ExactFinder:
    """Finds values by factorised systems."""

    def __init__(self, scaled: NormalisedProblem, model: verify.Model) -> None:
        self.scaled, self.problem, self.model = scaled, scaled.problem, model
        self.utility = scaled.problem.utility * scaled.span[:, None, None]

    def lower(self, policy: Array) -> dict[str, Array]:
        """Return constants (J, 2) and W of every utility, (J, S): as they are, or as differences from ρ·W, whichever loses less to rounding."""
        chain = policy_transition(self.problem, policy)
        inverse = resolvent(chain, self.problem.discount)
        value = inverse.state_value(policy_utility(self.utility, policy))
        constant = np.array([self.scaled.constant(one) for one in np.eye(len(value))])
        tried = [
            self._lower(policy, chain, inverse, *start)
            for start in ((constant, value), self._centred(constant, value))
        ]
        bounds = [
            [bound_of(self.model, *one) for one in zip(*found.values(), strict=True)] for found in tried
        ]
        other = np.array(bounds[1]) > np.array(bounds[0])
        return {name: np.where(other[:, None], tried[1][name], first) for name, first in tried[0].items()}

    def _centred(self, constant: Array, value: Array) -> tuple[Array, Array]:
        """Return values less what they are at ρ, and constants that make up for it; not where exact zeros count."""
        mean = np.where(self.scaled.extreme, 0.0, value @ self.model.initial) * (1 - self.problem.discount)
        moved = [
            two_doubles(sum(map(Fraction, (*one, shift)), Fraction(0)))
            for one, shift in zip(constant.tolist(), mean.tolist(), strict=True)
        ]
        return np.array(moved), value - mean[:, None] / (1 - self.problem.discount)

    def _lower(
        self, policy: Array, chain: Any, inverse: Any, constant: Array, value: Array
    ) -> dict[str, Array]:
        """Refine values (J, S), each residual a little above 0; return them, and constants with which they hold."""
        for _ in range(REFINED):
            each = zip(np.eye(len(value)), value, constant, strict=True)
            residual = np.array([self._residual(policy, *one) for one in each])
            size = np.abs(value) + self.problem.discount * np.asarray((chain @ np.abs(value).T).T)
            holds = residual.min(1, keepdims=True) >= 0
            value = np.where(holds, value, value + inverse.state_value(residual - ROUNDINGS * size))
        return all_lowered(self.scaled, self.model, policy, constant, value)

    def _residual(self, policy: Array, weight: Array, value: Array, constant: Array) -> Array:
        """w·u + γPV − V under a policy, (S,), almost exactly."""
        arithmetic = Outward(*numbers(self.model, policy, value))
        return policy_deficit(self.model, arithmetic, policy, weight, (*constant, value), value)

    def upper(self, weight: Array) -> dict[str, Array]:
        """Return a constant (2,) and V (S,) with V ≥ w·u + γPV: the best of three."""
        even, gain = self._best(weight)
        nothing = np.zeros_like(even)  # no policy collects more than the best pair in every step
        tried = (even, even + self._excess(even, gain), nothing)
        found = [(raised(self.model, weight, self.scaled.constant(weight), value), value) for value in tried]
        constant, value = min(found, key=lambda one: bound_of(self.model, *one))
        return {"weight": weight, "upper_constant": constant, "upper_value": value}

    def _best(self, weight: Array) -> tuple[Array, Array]:
        """Return the values of a best policy, (S,), and what every pair gains on them, (S, A), almost exactly."""
        problem, actions = self.problem, self.problem.shape[1]
        utility = np.tensordot(weight, self.utility, 1)
        chosen, value = policy_iteration(problem, utility).actions, np.zeros(len(utility))
        for _ in range(IMPROVED):
            inverse = resolvent(policy_transition(problem, chosen), problem.discount)
            for _ in range(1 + REFINED):
                residual = self._residual(
                    np.eye(actions)[chosen], weight, value, self.scaled.constant(weight)
                )
                value = value + inverse.state_value(residual[None])[0]
            gain = self._gain(weight, value)
            better = gain.max(1) > 2 * ROUNDINGS * np.abs(value).max()
            if not better.any():
                break
            chosen = np.where(better, gain.argmax(1), chosen)
        return value, gain

    def _gain(self, weight: Array, value: Array) -> Array:
        """w·u + γPV − V of every pair, (S, A), almost exactly; −∞ where there is no action."""
        arithmetic, pairs = (
            Outward(*numbers(self.model, weight, value)),
            np.arange(len(self.model.pointer) - 1),
        )
        constant = self.scaled.constant(weight)
        gain = np.full(self.model.actions.shape, -np.inf)
        gain[self.model.actions] = -pair_surplus(
            self.model, arithmetic, pairs, weight, (*constant, value), value
        )
        gain[~self.problem.actions] = -np.inf
        return gain

    def _excess(self, value: Array, gain: Array) -> Array:
        """Z ≥ w + γPZ at every pair, (S,), where w is what a pair gains, rounding included."""
        problem, size = self.problem, np.abs(value)
        ahead = action_value(problem, np.zeros((1, *gain.shape)), size[None])[0]
        over = np.where(problem.actions, np.maximum(gain, 0.0) + 2 * ROUNDINGS * (size[:, None] + ahead), 0.0)
        plan = policy_iteration(problem, over)
        return plan.resolvent.state_value(over[np.arange(len(over)), plan.actions][None])[0]


class SweptFinder:
    """Finds values by sweeps."""

    def __init__(self, scaled: NormalisedProblem, model: verify.Model, gap: float) -> None:
        self.scaled, self.model, self.gap = scaled, model, gap
        self.engine = Swept(scaled.problem)

    def lower(self, policy: Array) -> dict[str, Array]:
        """Return constants (J, 2) and W of every utility, (J, S)."""
        engine = self.engine
        found = engine.pricer.values_of(engine.chain(policy), FINER * PRECISION * engine.unit)
        constant = np.array([self.scaled.constant(one) for one in np.eye(found.shape[1])])
        return all_lowered(self.scaled, self.model, policy, constant, found.T * self.scaled.span[:, None])

    def upper(self, weight: Array) -> dict[str, Array]:
        """Return a constant (2,) and V (S,) with V ≥ w·u + γPV, to a share of the solution's gap."""
        pricer, finest = self.engine.pricer, FINEST * self.engine.unit
        scale, constant = float(weight @ self.scaled.span), self.scaled.constant(weight)
        share, wanted = weight * self.scaled.span / scale, SHARE * self.gap / scale
        tolerance = max(wanted, finest) if np.isfinite(wanted) else finest
        while True:
            pricer.price(share, tolerance, tolerance)
            value = pricer.values.value @ (share * scale)
            found = raised(self.model, weight, constant, value)
            loose = bound_of(self.model, found - constant, np.zeros_like(value))
            if tolerance <= finest or loose <= wanted * scale:
                return {"weight": weight, "upper_constant": found, "upper_value": value}
            tolerance = max(0.1 * tolerance, finest)
