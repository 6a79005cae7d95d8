"""A policy on data that were kept aside: by the model of these data, and by weighting their episodes.

By the model, choices that the data do not have are left out; if the policy spends more than a thousandth of its time on them, no limit counts as met.

The weight of an episode is Π π(a|s)/b(a|s), with b the behaviour as the data show it. Weights are normalised step by step (weighted per-decision importance
sampling, Precup et al. 2000), and the interval comes from the spread of the weighted returns. It is told if the weights
are worth at least `OVERLAP` episodes, (Σw)²/Σw², and have a mean near 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask, one_thread, summed_by
from painless.common.errors import InputError, shown
from painless.common.render import number, text_table
from painless.counting.judgement import judge
from painless.engines.drawn import Drawn
from painless.logs.answer import MET, UNCLEAR, claims, feasible, intervals, limits_of
from painless.logs.behaviour import Episodes, episodes_in_order
from painless.logs.log_columns import END
from painless.logs.logged_model import LoggedModel
from painless.logs.name_index import Codes
from painless.policies.table import TabularPolicy, restricted, uniform_policy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.problem.criterion import Criterion
from painless.problem.names import Names

UNKNOWN = 1e-3  # share of the policy's time in choices without data above which no limit counts as met
OVERLAP = 10.0  # episodes that the weights must be worth
ASTRAY = 0.1  # by which the mean weight may differ from 1: it falls short if none of the episodes that weigh most happened


@dataclass(frozen=True)
class Check:
    """What other data say of a policy, in the user's terms."""

    value: Array  # (J,) by the model of the data
    low: Array  # (J,)
    high: Array  # (J,)
    weighted: Array | None  # (J,) by weighting their episodes; None where these overlap too little
    weighted_low: Array | None  # (J,)
    weighted_high: Array | None  # (J,)
    overlap: float  # the number of episodes that the weights are worth
    verdict: tuple[str, ...]  # (K,) by the model
    feasible: bool | None
    unknown: float  # share of the policy's time, by the model, in pairs that the data do not have
    names: tuple[str, ...]  # (J,)
    sense: tuple[str, ...]
    threshold: Array  # (K,)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and text."""
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in vars(self).items()
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table."""
        found: list[tuple[str, ...]] = []
        for j, name in enumerate(self.names):
            weighted = "too little overlap"
            if self.weighted is not None and self.weighted_low is not None and self.weighted_high is not None:
                weighted = interval_text(self.weighted[j], self.weighted_low[j], self.weighted_high[j])
            limit = (
                ""
                if not j
                else f"{'≥' if self.sense[j - 1] == '>=' else '≤'} {number(self.threshold[j - 1])}"
            )
            word = "" if not j else self.verdict[j - 1]
            found.append(
                (name, interval_text(self.value[j], self.low[j], self.high[j]), weighted, limit, word)
            )
        return found

    def __repr__(self) -> str:
        return text_table(("", "by the model", "by weighting", "limit", "verdict"), self.rows())


def interval_text(value: float, low: float, high: float) -> str:
    """Return a value with its interval.

    >>> interval_text(1.5, 1.25, 1.75)
    '1.5 (1.25 to 1.75)'
    """
    return f"{value:.4g} ({low:.4g} to {high:.4g})" if np.isfinite(low) else "–"


def check(
    policy: TabularPolicy | TimedPolicy | TableMixture, log: LoggedModel, own: LoggedModel, confidence: float
) -> Check:
    """Evaluate a policy that was planned on the log `own` on another log."""
    if not isinstance(log, LoggedModel):
        raise InputError(f"the other log is {shown(log)}; give one that painless.from_log made")
    if [str(name) for name in log.columns.utilities] != [str(name) for name in own.columns.utilities] or (
        log.columns.sense != own.columns.sense
    ):
        raise InputError(
            f"the other log has the utilities {[str(n) for n in log.columns.utilities]}, this one "
            f"{[str(n) for n in own.columns.utilities]}; give both the same reward and limits"
        )
    if log.adding != own.adding:
        raise InputError(
            f"the other log has the criterion {log.adding}, this one {own.adding}; read both with the same arguments"
        )
    given, weights = _tables(policy)
    tables, covered = _matched(given, policy.names, log)
    limits = limits_of(own, confidence)
    usable = restricted(tables, log.model.tried_or_all)
    timed, drawn = log.adding.horizon is not None, len(tables) > 1
    with one_thread():
        judged = judge(log.model, usable if timed else Drawn(tuple(usable), weights) if drawn else usable[0])
    table = np.tensordot(weights, tables, 1)
    low, high = intervals(judged, limits)
    time = judged.occupancy.sum(1)
    missing = float((time * (table * ~log.model.tried).sum(1)).sum() / max(time.sum(), 1e-300))
    words = claims(log, judged, 0.0, limits)
    if missing > UNKNOWN:
        words = tuple(UNCLEAR if word == MET else word for word in words)
    sign = own.sign
    found, weight_low, weight_high, overlap = weighted(
        log, tables * covered[:, None] if timed or not drawn else np.zeros((1, *table.shape)), confidence
    )
    ends = np.sort(np.stack([low * sign, high * sign]), 0)
    return Check(
        value=judged.value * sign + 0.0,
        low=ends[0] + 0.0,
        high=ends[1] + 0.0,
        weighted=None if found is None else found * sign + 0.0,
        weighted_low=None if found is None else np.minimum(weight_low * sign, weight_high * sign) + 0.0,
        weighted_high=None if found is None else np.maximum(weight_low * sign, weight_high * sign) + 0.0,
        overlap=overlap,
        verdict=words,
        feasible=feasible(words),
        unknown=missing,
        names=("cost" if own.columns.reward is None else "reward", *own.columns.constraint_names),
        sense=own.columns.sense,
        threshold=own.columns.limit,
    )


def _tables(policy: TabularPolicy | TimedPolicy | TableMixture) -> tuple[Array, Array]:
    """Return the tables of a policy, (n, S, A), and how often each is drawn, (n,); over a horizon one for each step."""
    if isinstance(policy, TableMixture):
        return np.stack([part.probabilities for part in policy.policies]), policy.weights
    if isinstance(policy, TimedPolicy):
        return policy.probabilities, np.full(len(policy), 1 / len(policy))
    return policy.probabilities[None], np.ones(1)


def _matched(tables: Array, names: Mapping[str, Names], log: LoggedModel) -> tuple[Array, Mask]:
    """Return tables (n, S, A) over the states and actions of another log, and where they are known, (S,).

    In states that the policy does not know it takes what the log tried; actions that the log never has count as unknown, too.
    """
    known, actions = names["states"], names["actions"]
    found = np.repeat(uniform_policy(log.model.tried_or_all)[None], len(tables), 0)
    places = np.array([-1 if (a := actions.place(name)) is None else a for name in log.actions])
    covered = np.zeros(len(log.states), dtype=bool)
    for s, text in enumerate(log.states.texts):
        place = known.places.get(text)
        if place is None:
            continue
        rows = np.where(places >= 0, tables[:, place][:, np.maximum(places, 0)], 0.0)
        if (rows.sum(1) > 1 - 1e-9).all():
            found[:, s], covered[s] = rows / rows.sum(1, keepdims=True), True
    return found, covered


def weighted(log: LoggedModel, tables: Array, confidence: float) -> tuple[Array | None, Array, Array, float]:
    """Return the weighted means of the returns, (J,), their intervals, and how many episodes the weights are worth.

    `tables` are those of each step, (H, S, A), or one for all, (1, S, A). Only episodes count that tell their return: of totals those that
    ended, over a horizon those that ended or are long enough.
    """
    nothing = np.zeros(0)
    if log.columns.episode is None or log.adding.average:
        return None, nothing, nothing, 0.0
    kept = log.kept
    order, number, time = _telling(log, episodes_in_order(kept))
    if not len(order):
        return None, nothing, nothing, 0.0
    count, length = int(number.max()) + 1, int(time.max()) + 1
    state, action = kept.state[order], kept.action[order]
    visits = log.memory.visits
    often = visits[state, action] / visits.sum(1)[state]
    ratio = tables[time % len(tables), state, action] / often
    weight, final = _running_product(ratio, number, time, count)
    effective = float(final.sum() ** 2 / (final**2).sum()) if final.any() else 0.0
    if effective < OVERLAP or abs(final.mean() - 1) > ASTRAY:
        return None, nothing, nothing, effective
    share = weight / np.maximum(_totals(weight, final, number, time, count, length)[time], 1e-300)
    gain = log.adding.weight(time)[:, None] * kept.utility[order]  # (n, J)
    mean_at = np.stack([summed_by(time, share * column, length) for column in gain.T], 1)  # (L, J)
    residual = share[:, None] * (gain - mean_at[time])
    by_episode = np.stack([summed_by(number, column, count) for column in residual.T], 1)
    error = np.sqrt((by_episode**2).sum(0) * count / max(count - 1, 1))
    width = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / gain.shape[1]) * error
    mean = mean_at.sum(0)
    return mean, mean - width, mean + width, effective


def _telling(log: LoggedModel, episodes: Episodes) -> Episodes:
    """Return the episodes, and the rows of them, whose returns count."""
    order, number, time = episodes
    if log.adding.criterion is Criterion.DISCOUNTED or not len(order):
        return episodes
    over = np.bincount(number, log.kept.successor[order] == END) > 0
    good = over
    if log.adding.horizon is not None:
        good = over | (np.bincount(number) >= log.adding.horizon)
    used = good[number] & (log.adding.weight(time) > 0)
    return Episodes(order[used], np.unique(number[used], return_inverse=True)[1], time[used])


def _running_product(ratio: Array, number: Codes, time: Codes, count: int) -> tuple[Array, Array]:
    """Return the product of the ratios up to each row, (n,), and of each whole episode, (count,)."""
    weight, final = np.empty_like(ratio), np.ones(count)
    for t in range(int(time.max()) + 1):
        now = time == t
        final[number[now]] *= ratio[now]
        weight[now] = final[number[now]]
    return weight, final


def _totals(weight: Array, final: Array, number: Codes, time: Codes, count: int, length: int) -> Array:
    """Return the sum of weights at each time, (L,); episodes that are over keep their last."""
    total = summed_by(time, weight, length)
    last = np.zeros(count, dtype=int)
    np.maximum.at(last, number, time)
    over = summed_by(np.minimum(last + 1, length), final, length + 1)[:length]
    return np.asarray(total + np.cumsum(over))
