"""What the arrays of a certificate prove: bounds on what its policy collects, and on what any policy collects under its weights."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .arithmetic import Arithmetic, Array, Outward, Rational, Refused
from .certificate import NAMES, Certificate
from .inequalities import at_start, pair_surplus, policy_deficit
from .model import OFF, Model, allowed_pairs, require_model


class Proved(NamedTuple):
    """What a certificate proves, in exact numbers: V_j(π) ≥ `value`, and Σ w_j (V_j − b_j) ≤ `bound` for every policy."""

    value: list[Fraction]  # (J,)
    bound: Fraction | None  # None: no policy meets the limits


def prove(certificate: Certificate, model: Model, exact: bool = False) -> Proved:
    """Return what the arrays of a certificate prove; raise `Refused` at the first inequality that fails."""
    require_model(model)
    require_arrays(certificate, model)
    numbers = (model.probability, model.utility, model.initial, np.array([model.discount]))
    arithmetic = Rational() if exact else Outward(*certificate.arrays.values(), *numbers)
    value = [_lower(certificate, model, arithmetic, j) for j in range(len(model.utility))]
    bound = _upper(certificate, model, arithmetic)
    weight = certificate.weight
    for share, threshold, utility in zip(weight[1:], model.threshold, model.utility[1:], strict=True):
        every = Fraction(float(utility.min())) * model.unit  # every policy has at least this
        limit = max(Fraction(float(threshold)), every) if np.isfinite(threshold) else every
        bound -= Fraction(float(share)) * limit
    if not weight[0] and bound >= 0:
        raise Refused("its weights do not prove that no policy meets all limits")
    return Proved(value, bound if weight[0] else None)


def _lower(certificate: Certificate, model: Model, arithmetic: Arithmetic, j: int) -> Fraction:
    """Return what the policy collects of utility j, at least."""
    value, constant = certificate.lower_value[j], certificate.lower_constant[j]
    each, own = np.eye(len(model.utility))[j], (*constant, value)
    deficit = policy_deficit(model, arithmetic, certificate.policy, each, own, model.with_end(value))
    if not (deficit >= 0).all():
        state = int(np.argmin(deficit >= 0))
        raise Refused(
            f"the lower values of {f'limit {j}' if j else 'the objective'} exceed what the policy collects from "
            f"{_state(model, state)}, by up to {-float(deficit[state]):.3g} a step"
        )
    return at_start(model, arithmetic, value, up=False) + _whole(constant) * model.unit


def _upper(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> Fraction:
    """Return what any policy collects of the weighted sum of the utilities, at most."""
    value, constant, pairs = certificate.upper_value, certificate.upper_constant, allowed_pairs(model)
    own, ahead = (*constant, value), model.with_end(value)
    surplus = pair_surplus(model, arithmetic, pairs, certificate.weight, own, ahead)
    if not (surplus >= 0).all():
        first = int(np.argmin(surplus >= 0))
        state, action = np.argwhere(model.actions)[pairs[first]]
        raise Refused(
            f"the upper value of {_state(model, state)} is below what action {action} collects, "
            f"by up to {-float(surplus[first]):.3g} a step"
        )
    return at_start(model, arithmetic, value, up=True) + _whole(constant) * model.unit


def _whole(constant: Array) -> Fraction:
    return sum(map(Fraction, constant.tolist()), Fraction(0))


def _state(model: Model, state: Any) -> str:
    if model.horizon is None:
        return f"state {state}"
    return f"state {state % model.width} at step {state // model.width}"


def require_arrays(certificate: Certificate, model: Model) -> None:
    """Refuse arrays that do not fit the model, a policy that is none, and weights that prove nothing."""
    if certificate.criterion != model.criterion:
        raise Refused(
            f"its criterion is '{certificate.criterion}', and that of the problem '{model.criterion}'"
        )
    (states, actions), utilities = model.actions.shape, len(model.utility)
    shapes = dict(zip(NAMES["discounted"], _shapes(states, actions, utilities), strict=True))
    for name, array in certificate.arrays.items():
        if array.shape != shapes[name] or array.dtype != np.float64:
            raise Refused(
                f"{name} has shape {array.shape} and type {array.dtype}, not {shapes[name]} and float64"
            )
        if not np.isfinite(array).all():
            raise Refused(f"{name} has an entry that is not finite")
    if len(certificate.violation) != utilities - 1:
        raise Refused(f"it claims something of {len(certificate.violation)} limits, not of {utilities - 1}")
    policy, weight = certificate.policy, certificate.weight
    if (policy < 0).any() or policy[~model.actions].any() or not (abs(policy.sum(1) - 1) <= OFF).all():
        raise Refused("its policy is not a distribution over the available actions of every state")
    if (weight < 0).any() or weight[0] not in (0.0, 1.0):
        raise Refused("its weights are not those of a bound: 1 or 0 for the reward, and none below 0")


def _shapes(states: int, actions: int, utilities: int) -> tuple[tuple[int, ...], ...]:
    return (states, actions), (utilities,), (2,), (states,), (utilities, 2), (utilities, states)
