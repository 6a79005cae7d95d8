"""The values of a certificate of a finite horizon, step by step from the last one.

Each step is a model of its own, whose values are computed, and then moved until the inequalities of `painless.verify` hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from painless import verify
from painless.common.arrays import Array
from painless.solving.certificate_values import NormalisedProblem, numbers, two_doubles
from painless.solving.paired_doubles import Outward
from painless.solving.residuals import pair_surplus, policy_deficit

CLOSE = 1e-12  # relative distance from a limit at which every bit counts


class StepwiseFinder:
    """Finds the values of a finite horizon."""

    def __init__(self, scaled: NormalisedProblem, model: verify.Model) -> None:
        self.scaled, self.model = scaled, model
        self._first = np.concatenate([[0], np.cumsum(model.actions.sum(1))])  # pair of every state

    def lower(self, policy: Array) -> dict[str, Array]:
        """Return constants (J, 2) and W of every utility, (J, H·S), with W ≤ u_π + γP_πW."""
        found = [
            self._lower(policy, weight, self._constant(weight)) for weight in np.eye(len(self.model.utility))
        ]
        for i, limit in enumerate(self.model.threshold):
            if abs(self._bound(*found[1 + i]) - limit) <= CLOSE * abs(limit):
                found[1 + i] = self._centred(policy, 1 + i, *found[1 + i])
        constants, values = (np.array(part) for part in zip(*found, strict=True))
        return {"lower_constant": constants, "lower_value": values}

    def _bound(self, constant: Array, value: Array) -> float:
        """Return what values (H·S,) and their constant (2,) prove at ρ, to rounding."""
        return float(self.model.initial @ value) + float(constant.sum()) * float(self.model.unit)

    def _centred(self, policy: Array, j: int, constant: Array, value: Array) -> tuple[Array, Array]:
        """Return lower values as differences from what is collected on average in a step, if that loses less to rounding."""
        mean = Fraction(float(self.model.initial @ value)) / self.model.unit
        moved = two_doubles(sum(map(Fraction, constant.tolist()), mean))
        other = self._lower(policy, np.eye(len(self.model.utility))[j], moved)
        return other if self._bound(*other) > self._bound(constant, value) else (constant, value)

    def _lower(self, policy: Array, weight: Array, constant: Array) -> tuple[Array, Array]:
        value = np.zeros(len(policy))
        arithmetic = Outward(*numbers(self.model, policy, constant))
        for step, states, _ in self._steps():
            ahead = self._ahead(value, states)
            value[states] = _lower_step(step, arithmetic, policy[states], weight, constant, ahead)
        return constant, value

    def upper(self, weight: Array) -> dict[str, Array]:
        """Return a constant (2,) and V (H·S,) with V ≥ w·u + γPV."""
        constant, value = self._constant(weight), np.zeros(len(self.model.actions))
        arithmetic = Outward(*numbers(self.model, weight, constant))
        allowed = np.zeros(self.model.utility.shape[1], dtype=bool)
        allowed[verify.allowed_pairs(self.model)] = True
        for step, states, pairs in self._steps():
            taken, ahead = np.flatnonzero(allowed[pairs]), self._ahead(value, states)
            if len(taken):
                value[states] = _upper_step(step, arithmetic, taken, weight, constant, ahead)
        return {"weight": weight, "upper_constant": constant, "upper_value": value}

    def _constant(self, weight: Array) -> Array:
        """Return a constant (2,); only one that is larger than what utilities vary by gains anything."""
        scaled = self.scaled
        even = ~scaled.problem.utility.any((1, 2))
        useful = scaled.extreme | even | (np.abs(scaled.origin) >= scaled.span)
        return scaled.constant(np.where(useful, weight, 0.0))

    def _steps(self) -> Iterator[tuple[verify.Model, slice, slice]]:
        """Yield each step as a model of its own, from the last to the first, with its states and pairs."""
        model, width = self.model, self.model.width
        for t in reversed(range(model.horizon or 0)):
            states = slice(t * width, (t + 1) * width)
            pairs = slice(int(self._first[states.start]), int(self._first[states.stop]))
            row = np.arange(pairs.start, pairs.stop) if model.row is None else model.row[pairs]
            mask, utility = model.actions[states], model.utility[:, pairs]
            yield model._replace(actions=mask, utility=utility, row=row, horizon=1), states, pairs

    def _ahead(self, value: Array, states: slice) -> Array:
        """Return the values of a step and of the next one, as a model of one step sees them."""
        width = self.model.width
        both = value[states.start : states.stop + width]
        return np.concatenate([both, np.zeros(2 * width - len(both))])


def _lower_step(
    step: verify.Model, arithmetic: Outward, table: Array, weight: Array, constant: Array, ahead: Array
) -> Array:
    """Return lower values (S,) of a policy (S, A) in one step."""

    def deficit(*own: Array) -> Array:
        return np.asarray(
            policy_deficit(step, arithmetic, table, weight, (*constant, *own), ahead), dtype=float
        )

    return _settled(deficit() / table.sum(1), deficit, -1.0)


def _upper_step(
    step: verify.Model,
    arithmetic: Outward,
    taken: NDArray[np.intp],
    weight: Array,
    constant: Array,
    ahead: Array,
) -> Array:
    """Return upper values (S,) in one step, for the pairs `taken`; 0 in states that have none, where no policy comes to."""
    places = step.states()[taken]

    def surplus(*own: Array) -> Array:
        least = np.full(len(step.actions), np.inf)
        parts = pair_surplus(step, arithmetic, taken, weight, (*constant, *own), ahead)
        np.minimum.at(least, places, parts)
        return np.where(np.isfinite(least), least, 0.0)

    return _settled(-surplus(), surplus, 1.0)


def _settled(value: Array, surplus: Callable[[Array], Array], sign: float) -> Array:
    """Move values (S,) up or down until the `surplus` in every state, which then grows as much, is not negative."""
    factor = 1.0
    while (lack := -np.minimum(surplus(value), 0.0)).any():
        moved = np.nextafter(value + sign * factor * lack, sign * np.inf)
        value = np.where(lack > 0, moved, value)
        factor *= 2
    return value
