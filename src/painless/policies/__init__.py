"""Policies: tables, policies over features, and mixtures. Each acts, advances and stores itself.

`table` has the policy of a finite model; a policy over features is a learner at every state, without a table of states. To add
a kind of policy over features, write a file and add it to `KINDS`; any other kind has a line in `storage.READERS`.
"""

from __future__ import annotations

from typing import Any

from painless.features.base import FeatureMap
from painless.learners import Learner
from painless.policies.base import FeaturePolicy
from painless.policies.folded import FoldedPolicy
from painless.policies.history import History
from painless.policies.linear_q import LinearQ
from painless.policies.mixture import MixturePolicy
from painless.policies.replayed import ReplayedPolicy
from painless.policies.summed import SummedPolicy

KINDS: list[type[FeaturePolicy]] = [SummedPolicy, ReplayedPolicy, FoldedPolicy]  # the fastest first


def fastest_kind(learner: Learner[Any], features: FeatureMap) -> type[FeaturePolicy]:
    """Return the fastest kind of policy there is for a learner over features."""
    return next(kind for kind in KINDS if kind.serves(learner, features))


def start_policy(learner: Learner[Any], features: FeatureMap) -> FeaturePolicy:
    """Return the fastest policy there is for a learner over features, at the uniform policy."""
    return fastest_kind(learner, features).start(learner, features)


__all__ = [
    "FeaturePolicy",
    "FoldedPolicy",
    "History",
    "LinearQ",
    "MixturePolicy",
    "ReplayedPolicy",
    "SummedPolicy",
    "fastest_kind",
    "start_policy",
]
