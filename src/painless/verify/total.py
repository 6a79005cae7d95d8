"""Total rewards until the end (γ = 1), of policies that are drawn at the start.

A policy collects at least ρ·W_j if, in the states that may be reached,

    W_j ≤ u_j,π + P_π W_j,     N ≥ P_π N,  N ≥ 0,     and N ≥ 1 + P_π N where W_j > 0 for some j

since N bounds how often it is where W is positive: in the long run W is not, and the sums of all steps are at least ρ·W.

No policy collects more than ρ·V of the weighted sum, and meets the limits, if at every pair

    V ≥ w·u + P V,     Z ≥ z·u + P Z,     and Z ≥ 1 + z·u + P Z, or the pair pays nothing and V ≥ 0 in its state

with z ≥ 0. For a policy that takes pairs of the first kind infinitely often in expectation has Σ_j z_j V_j = −∞: one of these is the
reward, or breaks its limit. Every other ends, or stays where nothing is paid and V ≥ 0. At the end, W, V, N and Z are 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .arithmetic import Arithmetic, Indices, Refused
from .certificate import Certificate
from .inequalities import at_start, drawn, pair_surplus, policy_deficit, require_pairs, require_states
from .model import Model, allowed_pairs
from .stepwise import named


def shapes(certificate: Certificate, model: Model) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the arrays."""
    (states, actions), utilities, policies = model.actions.shape, len(model.utility), len(certificate.policy)
    first = (policies, states, actions), (policies,), (utilities,), (states,), (utilities,), (states,)
    return *first, (policies, utilities, states), (policies, states), (states,)


def lower(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> list[Fraction]:
    """Return what the policies collect of every utility, at least, on average over the draw."""
    reached, nothing = certificate.reach > 0, np.zeros(len(model.utility))
    for policy, values, steps in zip(
        certificate.policy, certificate.lower_value, certificate.lower_steps, strict=True
    ):
        _require_reach(certificate, model, np.flatnonzero(policy[model.actions] > 0))
        for j, each in enumerate(np.eye(len(model.utility))):
            own = (values[j],)
            deficit = policy_deficit(model, arithmetic, policy, each, own, model.with_end(values[j]))
            fine = (deficit >= 0) | ~reached
            require_states(
                model, deficit, fine, f"the lower values of {named(j)} exceed what the policy collects"
            )
        positive = ((values > 0).any(0) & reached).astype(np.float64)
        left = policy_deficit(model, arithmetic, policy, nothing, (-steps, positive), model.with_end(-steps))
        if (steps < 0).any():
            raise Refused("its numbers of steps are negative")
        require_states(model, left, (left >= 0) | ~reached, "the policy is not shown to leave what it values")
    return drawn(certificate, model, arithmetic, certificate.lower_value)


def upper(certificate: Certificate, model: Model, arithmetic: Arithmetic) -> Fraction:
    """Return what any policy collects of the weighted sum of the utilities, at most."""
    reached, pairs = certificate.reach > 0, allowed_pairs(model)
    _require_reach(certificate, model, pairs)
    _require_stops(certificate, model)
    states = model.states()
    pairs = pairs[reached[states[pairs]]]
    value, stop = certificate.upper_value, certificate.stop_value
    surplus = pair_surplus(model, arithmetic, pairs, certificate.weight, (value,), model.with_end(value))
    require_pairs(model, pairs, surplus, surplus >= 0, "the upper value", "collects")
    left = pair_surplus(model, arithmetic, pairs, certificate.stop_weight, (stop,), model.with_end(stop))
    idle = ~model.utility[:, pairs].any(0) & (value[states[pairs]] >= 0)
    fine = (left >= 1) | ((left >= 0) & idle)
    require_pairs(model, pairs, left, fine, "the stop value", "adds, which does not show that it ends")
    return at_start(model, arithmetic, value, up=True)


def _require_reach(certificate: Certificate, model: Model, pairs: Indices) -> None:
    """Refuse a set of states that is left by some pairs, or in which the process may not start."""
    reached, states = certificate.reach > 0, model.states()[pairs]
    inside = pairs[reached[states]]
    probability, successor, _ = model.rows(inside, states[reached[states]])
    goes: Any = np.append(reached, True)[successor] | (probability == 0)
    if not goes.all() or (model.initial[~reached] > 0).any():
        raise Refused("its policy, or another, may come to states beyond those that it says can be reached")


def _require_stops(certificate: Certificate, model: Model) -> None:
    """Refuse weights that do not show that a policy without an end breaks a limit, or has no value."""
    weight, limited = certificate.stop_weight, np.isfinite(model.threshold)
    if (weight < 0).any() or weight[1:][~limited].any():
        raise Refused("the weights of its stop values are negative, or those of limits that are none")
    if not certificate.weight[0] and weight[0]:
        raise Refused("its stop values rest on the reward, which no limit bounds")
