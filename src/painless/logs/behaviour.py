"""What the logged behaviour itself achieved: the returns of its episodes, and its value by the model.

The behaviour by the model takes each action as often as the log does in that state. How the plan differs from it is, with A_b the
advantage under the behaviour and d the occupancy of the plan (Kakade & Langford 2002),

    V(π) − V(b) = Σ d(s, a) A_b(s, a)

of which the pairs that the log hardly has are extrapolation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, summed_by
from painless.counting.judgement import Judged, judge
from painless.counting.safe_plan import Limits
from painless.logs.answer import intervals
from painless.logs.logged_model import LoggedModel
from painless.logs.tally import KeptRows


class Episodes(NamedTuple):
    """Whole episodes of a log, in order."""

    order: NDArray[np.int64]  # (n,) rows of them, episode by episode
    number: NDArray[np.int64]  # (n,) which episode each row belongs to, from 0
    time: NDArray[np.int64]  # (n,) steps since its start


@dataclass(frozen=True)
class Behaviour:
    """What was achieved in the log, in the user's terms."""

    mean: Array  # (J,) of the returns of the episodes, or per step on average; NaN without episodes in order
    low: Array  # (J,)
    high: Array  # (J,)
    episodes: int  # that this is the mean of
    steps: float  # mean length of an episode
    model_value: Array  # (J,) of taking each action as often as the log does, by the model
    model_low: Array  # (J,)
    model_high: Array  # (J,)


def episodes_in_order(kept: KeptRows) -> Episodes:
    """Return the episodes of the rows that were kept, as far as these are in order and without gaps."""
    new = np.append(True, np.diff(kept.episode) != 0)
    number = np.cumsum(new) - 1
    broken = ~new & (np.append(-1, kept.successor[:-1]) != kept.state)
    bad = np.bincount(number, broken) > 0
    if not kept.whole:
        bad[number[-1]] = True  # cut off where the rows that were kept end
    first = np.flatnonzero(new)
    time = np.arange(len(new)) - first[number]
    good = ~bad[number]
    names = np.unique(number[good], return_inverse=True)[1]
    return Episodes(np.flatnonzero(good), names, time[good])


def judged_behaviour(log: LoggedModel) -> Judged:
    """Return the behaviour on the model; its errors include those of how often it takes which action.

    s.e.² = Σ d(s)² Var[u + γ V(s') | s]/N(s) + Var[V(s_0)]/n, as of the chain that it makes of the states.
    """
    model, memory = log.model, log.memory
    judged = judge(model, model.behaviour)
    state = memory.pairs // memory.actions
    visits = np.maximum(memory.visits.sum(1), 1.0)
    share = model.count / visits[state]
    often = (model.visits / visits.repeat(memory.actions))[memory.pairs]
    target = judged.influence / often  # (J, M), given the state alone
    noise = np.maximum(memory.squares.sum(0).T / model.count - model.outcome**2, 0.0)
    noise = noise * judged.occupancy.sum(1)[state] ** 2
    mean = np.stack([summed_by(state, share * row, model.states) for row in target])
    square = np.stack([summed_by(state, share * row, model.states) for row in target**2 + noise])
    variance = np.maximum(square - mean**2, 0.0)
    steps = judged.pair_variance.sum(1)
    first = np.maximum(judged.error**2 - steps, 0.0) if np.isfinite(steps).all() else np.inf
    return judged._replace(error=np.sqrt((variance / visits).sum(1) + first))


def behaviour(log: LoggedModel, judged: Judged, limits: Limits, confidence: float) -> Behaviour:
    """Return what the logged behaviour achieved; `judged` is its policy on the model."""
    sign, returns, average = log.sign, log.returns, log.adding.average
    largest = np.where(np.abs(log.memory.low) > np.abs(log.memory.high), log.memory.low, log.memory.high)
    mean = returns.mean(average)
    ends = _in_terms(*returns.intervals(average, confidence, largest), sign)
    by_model = _in_terms(*intervals(judged, limits), sign)
    steps = returns.steps / returns.episodes if returns.episodes else np.nan
    return Behaviour(mean * sign + 0.0, *ends, returns.episodes, steps, judged.value * sign + 0.0, *by_model)


def _in_terms(low: Array, high: Array, sign: Array) -> tuple[Array, Array]:
    """Return the ends of intervals in the user's terms."""
    ends = np.sort(np.stack([low * sign, high * sign]), 0) + 0.0
    return ends[0], ends[1]
