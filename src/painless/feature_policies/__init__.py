"""Policies over features: a learner at every state, without a table of states."""

from __future__ import annotations

from typing import Any

from painless.feature_policies.folded import FoldedPolicy
from painless.feature_policies.history import History
from painless.feature_policies.linear import LinearQ
from painless.feature_policies.mixture import MixturePolicy
from painless.feature_policies.replayed import ReplayedPolicy
from painless.feature_policies.summed import SummedPolicy
from painless.features.base import FeatureMap, is_binary
from painless.learners import CoinBetting, ExponentiatedGradient, Learner

FeaturePolicy = ReplayedPolicy | SummedPolicy | FoldedPolicy


def start_policy(learner: Learner[Any], features: FeatureMap) -> FeaturePolicy:
    """Return the fastest policy there is for a learner over features, at the uniform policy."""
    if isinstance(learner, ExponentiatedGradient):
        return SummedPolicy.start(learner, features)
    if isinstance(learner, CoinBetting) and is_binary(features):
        return ReplayedPolicy.start(learner, features)
    return FoldedPolicy.start(learner, features)


__all__ = [
    "FeaturePolicy",
    "FoldedPolicy",
    "History",
    "LinearQ",
    "MixturePolicy",
    "ReplayedPolicy",
    "SummedPolicy",
    "start_policy",
]
