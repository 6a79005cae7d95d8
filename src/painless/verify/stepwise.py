"""Discounted problems and finite horizons: W ≤ u_π + γ P_π W and V ≥ w·u + γ P V."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .arithmetic import Arithmetic, Array
from .certificate import Certificate
from .inequalities import at_start, pair_surplus, policy_deficit, require_pairs, require_states
from .model import Model, allowed_pairs


def shapes(certificate: Certificate, model: Model) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the arrays."""
    (states, actions), utilities = model.actions.shape, len(model.utility)
    return (states, actions), (utilities,), (2,), (states,), (utilities, 2), (utilities, states)


def lower(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> list[Fraction]:
    """Return what the policy collects of every utility, at least."""
    found = []
    for j, each in enumerate(np.eye(len(model.utility))):
        value, constant = certificate.lower_value[j], certificate.lower_constant[j]
        own, ahead = (*constant, value), model.with_end(value)
        deficit = policy_deficit(model, arithmetic, certificate.policy, each, own, ahead)
        require_states(
            model, deficit, deficit >= 0, f"the lower values of {named(j)} exceed what the policy collects"
        )
        found.append(at_start(model, arithmetic, value, up=False) + _whole(constant) * model.unit)
    return found


def upper(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> Fraction:
    """Return what any policy collects of the weighted sum of the utilities, at most."""
    value, constant, pairs = certificate.upper_value, certificate.upper_constant, allowed_pairs(model)
    own, ahead = (*constant, value), model.with_end(value)
    surplus = pair_surplus(model, arithmetic, pairs, certificate.weight, own, ahead)
    require_pairs(model, pairs, surplus, surplus >= 0, "the upper value", "collects")
    return at_start(model, arithmetic, value, up=True) + _whole(constant) * model.unit


def named(j: int) -> str:
    """Return what a utility is called."""
    return f"limit {j}" if j else "the objective"


def _whole(constant: Array) -> Fraction:
    return sum(map(Fraction, constant.tolist()), Fraction(0))
