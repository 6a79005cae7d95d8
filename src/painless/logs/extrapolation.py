"""How much of a plan is extrapolation: what it needs and the log hardly has, in order of what more rows would be worth.

A hundred more rows of a pair shrink its part of the variance from σ² d²/N to σ² d²/(N + 100). Worth is what this takes off the margins, z·s.e., those of limits at
their shadow prices, those of the objective as they are. Pairs that the plan avoids since the log hardly has them are worth the same to the optimum of the
estimate, but never more than what that promises beyond the plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.counting.judgement import Judged, advantage
from painless.counting.safe_plan import Limits
from painless.logs.logged_model import LoggedModel

MORE = 100  # rows of a pair whose worth is told
FEW = 10  # rows below which the log hardly has a pair
LISTED = 20  # pairs


@dataclass(frozen=True)
class NeededPair:
    """A pair that a plan needs."""

    state: str
    action: str
    rows: int
    time: float  # share of the plan's time
    worth: float  # of a hundred more rows, in units of the objective


@dataclass(frozen=True)
class Extrapolation:
    """What of a plan the log does not cover, in the user's terms."""

    time: float  # share of the plan's time in pairs with fewer than `FEW` rows
    difference: Array  # (J,) of the plan's values from those of the logged behaviour, by the model
    extrapolated: Array  # (J,) the part of it that comes from pairs with fewer than `FEW` rows
    needed: tuple[NeededPair, ...]  # by worth


def extrapolation(
    log: LoggedModel, judged: Judged, optimum: Judged, behaviour: Judged, limits: Limits, multiplier: Array
) -> Extrapolation:
    """Return what of a plan is extrapolation; `multiplier` (K,) are its shadow prices, `optimum` is that of the estimate."""
    model, visits = log.model, log.memory.visits
    time = judged.occupancy / max(judged.occupancy.sum(), 1e-300)
    hardly = visits < FEW
    gain = advantage(model, behaviour)  # (J, S, A), or (J, H, S, A)
    part = gain * judged.occupancy if judged.stages is None else (gain * judged.stages).sum(1)
    own, promised = (_worth(one, visits.ravel(), limits, multiplier) for one in (judged, optimum))
    more = max(float(optimum.value[0] - judged.value[0]), 0.0) if np.isfinite(optimum.value[0]) else 0.0
    worth = np.maximum(own, np.minimum(promised, more))
    order = [k for k in np.argsort(-worth, kind="stable")[:LISTED].tolist() if worth[k] > 0]
    actions = len(log.actions)
    needed = tuple(
        NeededPair(
            log.states.texts[k // actions],
            log.actions.texts[k % actions],
            int(visits.flat[k]),
            float(time.flat[k]),
            float(worth[k]),
        )
        for k in order
    )
    return Extrapolation(
        float(time[hardly].sum()),
        (judged.value - behaviour.value) * log.sign + 0.0,
        part[:, hardly].sum(1) * log.sign + 0.0,
        needed,
    )


def _worth(judged: Judged, visits: Array, limits: Limits, multiplier: Array) -> Array:
    """Return what a hundred more rows of each pair are worth, (S·A,)."""
    saved = judged.pair_variance * MORE / (visits + MORE)  # (J, S·A)
    known = np.isfinite(judged.error)[:, None]
    error = np.where(known, judged.error[:, None], 0.0)
    left = np.where(known, np.sqrt(np.maximum(error**2 - np.where(known, saved, 0.0), 0.0)), 0.0)
    price = np.append(1.0, multiplier)
    return np.asarray(limits.deviations * (price[:, None] * (error - left)).sum(0))
