"""What the arrays of a certificate prove: bounds on what its policy collects, and on what any policy collects under its weights."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from . import average, stepwise, total
from .arithmetic import Outward, Rational, Refused
from .certificate import Certificate
from .model import OFF, Model, require_model

CRITERIA = {
    "discounted": stepwise,
    "finite horizon": stepwise,
    "total reward": total,
    "long-run average": average,
}


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
    criterion = CRITERIA[model.criterion]
    value = criterion.lower(certificate, model, arithmetic)
    bound = criterion.upper(certificate, model, arithmetic)
    weight = certificate.weight
    for i in np.flatnonzero(weight[1:]):
        bound -= Fraction(float(weight[1 + i])) * _limit(model, int(i))
    if not weight[0] and bound >= 0:
        raise Refused("its weights do not prove that no policy meets all limits")
    return Proved(value, bound if weight[0] else None)


def _limit(model: Model, i: int) -> Fraction:
    """Return a limit, or what every policy has of its utility, whichever is larger."""
    least, threshold = model.least_value(model.utility[1 + i]), float(model.threshold[i])
    known = [least] if least is not None else []
    known += [Fraction(threshold)] if np.isfinite(threshold) else []
    if not known:
        raise Refused(f"its weights count limit {1 + i}, which is none")
    return max(known)


def require_arrays(certificate: Certificate, model: Model) -> None:
    """Refuse arrays that do not fit the model, policies that are none, and weights that prove nothing."""
    if certificate.criterion != model.criterion:
        raise Refused(
            f"its criterion is '{certificate.criterion}', and that of the problem '{model.criterion}'"
        )
    shapes = CRITERIA[model.criterion].shapes(certificate, model)
    for (name, array), shape in zip(certificate.arrays.items(), shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64:
            raise Refused(f"{name} has shape {array.shape} and type {array.dtype}, not {shape} and float64")
        if not np.isfinite(array).all():
            raise Refused(f"{name} has an entry that is not finite")
    if len(certificate.violation) != len(model.threshold):
        limits = len(model.threshold)
        raise Refused(f"it claims something of {len(certificate.violation)} limits, not of {limits}")
    policy, weight, share = certificate.policy, certificate.weight, certificate.share
    if (policy < 0).any() or policy[..., ~model.actions].any() or not (abs(policy.sum(-1) - 1) <= OFF).all():
        raise Refused("its policy is not a distribution over the available actions of every state")
    if (weight < 0).any() or weight[0] not in (0.0, 1.0):
        raise Refused("its weights are not those of a bound: 1 or 0 for the reward, and none below 0")
    if "share" in certificate.arrays and ((share < 0).any() or not abs(share.sum() - 1) <= OFF):
        raise Refused("its shares are not a distribution over its policies")
