"""Long-run averages per step, of policies that are drawn at the start.

A policy earns at least ρ·g_j per step of utility j if in every state

    g_j ≤ P_π g_j,     N ≥ P_π N,  N ≥ 0,     and g_j + h_j ≤ u_j,π + P_π h_j, or N ≥ 1 + P_π N

since N bounds how often it is where the third inequality fails, which is nothing in the long run. In the same way no policy earns more than ρ·g of the
weighted sum if at every pair

    g ≥ P g,     N ≥ P N,  N ≥ 0,     and g + h ≥ w·u + P h, or N ≥ 1 + P N
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .arithmetic import Arithmetic, Refused
from .certificate import Certificate
from .inequalities import at_start, drawn, pair_surplus, policy_deficit, require_pairs, require_states
from .model import OFF, Model
from .stepwise import named


def shapes(certificate: Certificate, model: Model) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the arrays."""
    (states, actions), utilities, policies = model.actions.shape, len(model.utility), len(certificate.policy)
    first = (policies, states, actions), (policies,), (utilities,), (states,), (states,), (states,)
    return *first, (policies, utilities, states), (policies, utilities, states), (policies, states)


def lower(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> list[Fraction]:
    """Return what the policies earn of every utility per step, at least, on average over the draw."""
    nothing = np.zeros(len(model.utility))
    for m, policy in enumerate(certificate.policy):
        steps = certificate.lower_steps[m]
        left = policy_deficit(model, arithmetic, policy, nothing, (-steps,), -steps)
        _require_steps(steps)
        require_states(model, left, left >= 0, "the numbers of steps are below what the policy needs")
        rare = left >= 1 + 2 * OFF
        for j, each in enumerate(np.eye(len(model.utility))):
            gain, bias = certificate.lower_gain[m, j], certificate.lower_value[m, j]
            rise = policy_deficit(model, arithmetic, policy, nothing, (gain,), gain)
            require_states(model, rise, rise >= 0, f"the lower gains of {named(j)} fall")
            deficit = policy_deficit(model, arithmetic, policy, each, (gain, bias), bias)
            fine = (deficit >= 0) | rare
            require_states(
                model, deficit, fine, f"the lower gains of {named(j)} exceed what the policy earns"
            )
    return drawn(certificate, model, arithmetic, certificate.lower_gain)


def upper(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> Fraction:
    """Return what any policy earns of the weighted sum of the utilities per step, at most."""
    gain, bias, steps = certificate.upper_gain, certificate.upper_value, certificate.upper_steps
    pairs, nothing = np.arange(model.utility.shape[1]), np.zeros(len(model.utility))
    fall = pair_surplus(model, arithmetic, pairs, nothing, (gain,), gain)
    require_pairs(model, pairs, fall, fall >= 0, "the upper gain", "leads to")
    left = pair_surplus(model, arithmetic, pairs, nothing, (steps,), steps)
    _require_steps(steps)
    require_pairs(model, pairs, left, left >= 0, "the number of steps", "leads to")
    surplus = pair_surplus(model, arithmetic, pairs, certificate.weight, (gain, bias), bias)
    require_pairs(model, pairs, surplus, (surplus >= 0) | (left >= 1), "the upper gain", "earns")
    return at_start(model, arithmetic, gain, up=True)


def _require_steps(steps: object) -> None:
    if (np.asarray(steps) < 0).any():
        raise Refused("its numbers of steps are negative")
