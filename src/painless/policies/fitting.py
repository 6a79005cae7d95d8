"""Whether a policy fits a simulator: it may come from a file that belongs to another."""

from __future__ import annotations

from typing import Any

from painless.common.errors import InputError
from painless.features.one_hot import OneHot
from painless.policies.mixture import MixturePolicy
from painless.simulation.simulator import Simulator, TableSimulator


def require_fit(policy: Any, simulator: Simulator) -> None:
    """Reject a policy over features that has other actions, or other states of a table, than the simulator."""
    for one in policy.policies if isinstance(policy, MixturePolicy) else (policy,):
        features = getattr(one, "features", None)
        if features is None:
            continue
        wanted = simulator.specification.actions
        if features.actions != wanted:
            raise InputError(
                f"the policy has {features.actions} actions and the simulator {wanted}; give the one it was trained on"
            )
        states = _states(simulator) if isinstance(features, OneHot) else None
        if states is not None and features.states != states:
            raise InputError(
                f"the policy is for {features.states} states and the simulator has {states}; give the one it was trained on"
            )


def _states(simulator: Simulator) -> int | None:
    """Return how many states a simulator has, None if they are not numbered."""
    if isinstance(simulator, TableSimulator):
        return simulator.problem.shape[0]
    suggest = getattr(simulator, "features", None)
    suggested = suggest() if callable(suggest) else None
    return suggested.states if isinstance(suggested, OneHot) else None
