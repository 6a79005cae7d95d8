"""What a log lets one claim, in sentences for the reader who decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from painless.common.render import counted, number
from painless.logs.answer import FEWEST, MET, MISSED, UNCLEAR, Answered, hardly_known, unseen
from painless.logs.extrapolation import FEW
from painless.logs.logged_model import LoggedModel

MOST = 1000.0  # times as many rows beyond which no number is told
MUCH = 0.05  # of the planned value, beyond which what the estimate promises is told
NOTABLE = 0.02  # share of the time above which extrapolation is told


def conclusion(found: Answered, log: LoggedModel, solution: Mapping[str, Any]) -> str:
    """Return what can be claimed, why not more, and what would help."""
    parts = [_verdict(solution), _never_seen(log, solution), _more_rows(found, log, solution)]
    parts += [_in_the_log(solution)] * (log.rows >= FEW)
    parts += [_extrapolated(solution), _promised(found, log), _never_tried(found, log)]
    parts += [one.sentence for one in solution["assumptions"] if not one.holds]
    return " ".join(part for part in parts if part)


def _verdict(solution: Mapping[str, Any]) -> str:
    names, words, sure = solution["constraint_names"], solution["verdict"], f"{solution['confidence']:.4g}"
    if not words:
        return (
            "The log has no limits: this is its best policy by the estimate, cautious where it has few rows."
        )
    which = {
        word: [name for name, one in zip(names, words, strict=True) if one == word]
        for word in (MET, MISSED, UNCLEAR)
    }
    if len(which[MET]) == len(words):
        several = "Both" if len(words) == 2 else f"All {len(words)}"
        what = f"The limit on {names[0]} is" if len(words) == 1 else f"{several} limits are"
        return f"{what} met with confidence {sure}."
    parts = []
    if which[MISSED]:
        parts.append(
            f"No policy was found that meets {_listed(which[MISSED])}: this one comes closest, and misses it."
        )
    if which[UNCLEAR]:
        parts.append(f"The log does not tell whether {_listed(which[UNCLEAR])} would be met.")
    if which[MET]:
        parts.append(
            f"{_listed(which[MET])[:1].upper()}{_listed(which[MET])[1:]} would be met with confidence {sure}."
        )
    return " ".join(parts)


def _listed(names: list[str]) -> str:
    return (
        f"the limit on {names[0]}"
        if len(names) == 1
        else f"the limits on {', '.join(names[:-1])} and {names[-1]}"
    )


def _never_seen(log: LoggedModel, solution: Mapping[str, Any]) -> str:
    """Say of which limits no row says anything."""
    names = [name for name, never in zip(solution["constraint_names"], unseen(log), strict=True) if never]
    if not names or log.rows < FEW:
        return ""
    return f"No row of the log has any {' or '.join(names)}: how often it comes, and how much of it, this log cannot tell."


def _more_rows(found: Answered, log: LoggedModel, solution: Mapping[str, Any]) -> str:
    """Return how many rows would settle what is unclear: margins shrink with the root of their number."""
    if UNCLEAR not in solution["verdict"]:
        return ""
    if log.rows < FEW:
        return f"{counted(log.rows, 'row')} {'is' if log.rows == 1 else 'are'} too few for any claim."
    if hardly_known(log, found.judged):
        return f"Of most of what it would do the log has fewer than {FEWEST} rows, which is too few for any claim."
    room = found.judged.value[1:] - log.threshold
    margin = found.limits.deviations * found.judged.error[1:] + found.curse[1:]
    open_ones = np.array([word == UNCLEAR for word in solution["verdict"]]) & ~unseen(log)
    if not open_ones.any():
        return ""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(room > 0, (margin / room) ** 2, np.inf)[open_ones].max()
    if times > MOST:
        return f"{counted(log.rows, 'row')} are far too few for a claim this close to the limit; loosen it, or log more of the choices that the policy needs."
    return f"About {max(times, 1.1):.2g} times as many rows of this kind would settle it."


def _in_the_log(solution: Mapping[str, Any]) -> str:
    """Say which limits the logged behaviour itself breaks."""
    was, parts = solution["behaviour"], []
    mean, low, high = was.model_value, was.model_low, was.model_high  # endless, as the limit is
    for k, (name, sense) in enumerate(zip(solution["constraint_names"], solution["sense"], strict=True)):
        limit = solution["threshold"][k]
        broken = high[1 + k] < limit if sense == ">=" else low[1 + k] > limit
        if broken:
            side = "at least" if sense == ">=" else "at most"
            parts.append(
                f"What was done in the log breaks the limit on {name}: {mean[1 + k]:.4g} where {side} {number(limit)} is allowed."
            )
    return " ".join(parts)


def _extrapolated(solution: Mapping[str, Any]) -> str:
    beyond = solution["extrapolation"]
    if beyond.time < NOTABLE:
        return ""
    return (
        f"The policy spends {beyond.time:.0%} of its time on choices of which the log has fewer than ten rows; "
        f"the most useful rows to add are {_pairs(beyond.needed[:3])}."
    )


def _promised(found: Answered, log: LoggedModel) -> str:
    """Say if the estimate promises much more, on choices that the log hardly has."""
    promised, planned = found.optimum.value[0], found.judged.value[0]
    time = found.optimum.occupancy
    rare = time[log.memory.visits < FEW].sum() / max(time.sum(), 1e-300)
    if not promised - planned > MUCH * abs(planned) or rare < NOTABLE:
        return ""
    what = "cost" if log.columns.reward is None else "reward"
    return f"The estimate promises a {what} of {promised * log.sign[0]:.4g}, on choices of which the log has fewer than ten rows: that is luck until more rows show it."


def _pairs(needed: Any) -> str:
    return ", ".join(f"{one.action} in {one.state}" for one in needed) or "those of any kind"


def _never_tried(found: Answered, log: LoggedModel) -> str:
    """Say how much of the policy's time is in states where something was never tried."""
    model = log.model
    live = model.tried.any(1)
    open_states = live & ~model.tried.all(1)
    time = found.judged.occupancy.sum(1)
    share = time[open_states].sum() / max(time.sum(), 1e-300)
    if share < NOTABLE:
        return ""
    count = int((~model.tried[open_states]).sum())
    return (
        f"{count} choice{'' if count == 1 else 's'} that the policy could face {share:.0%} of its time {'was' if count == 1 else 'were'} never tried: "
        "what they would bring, this log cannot tell."
    )
