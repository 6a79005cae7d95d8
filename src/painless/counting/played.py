"""Answers on the way of a run: what was played, and what was said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.counting.judgement import judge
from painless.counting.learned_model import LearnedModel
from painless.counting.safe_plan import Candidate, Limits, weighed


class Played(NamedTuple):
    """An answer that was played, and what was known when it was chosen."""

    policy: Array  # (S, A) of the states known then
    multiplier: Array  # (K,)
    visits: Array  # (S·A,) then

    def judged_on(self, model: LearnedModel, limits: Limits) -> Candidate:
        """Judge it on a model of more steps: what came after the choice was not selected, so that the selection counts for the rest alone."""
        actions = self.policy.shape[1]
        rest = np.full((model.states - len(self.policy), actions), 1 / actions)
        policy = np.vstack([self.policy, rest])
        judged = judge(model, policy)
        occupancy = judged.occupancy.reshape(-1)
        before = np.zeros(len(occupancy))
        before[: len(self.visits)] = self.visits
        old = float(occupancy @ (before / np.maximum(model.visits, 1))) / float(occupancy.sum())
        return weighed(model, judged, replace(limits, selection=old * limits.selection), self.multiplier)


class Said(NamedTuple):
    """What the learned model said of an answer when it was chosen, in the internal sense."""

    value: Array  # (J,); of limits on whole episodes undiscounted
    error: Array  # (J,) standard errors
    multiplier: Array  # (K,)

    @classmethod
    def of(cls, answer: Candidate) -> Said:
        """Return what is said of an answer."""
        judged, scales = answer.judged, answer.scales
        return cls(judged.value * scales, judged.error * scales, answer.multiplier)
