"""The arguments of a `Solution` from the files that `Solution.save` wrote: every entry is checked, and nothing is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.loop.framework import Trace
from painless.policies.table_files import table_of
from painless.solving.status import Infeasibility, Kind, Status
from painless.storage import checked_entries as entries


def stored_arguments(content: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the validated arguments of a stored solution."""
    names = tuple(_of(content, "constraint_names", list))
    sense, count = tuple(_of(content, "sense", list)), len(names)
    if len(sense) != count or not {*sense} <= {">=", "<="} or not all(isinstance(n, str) for n in names):
        raise InputError("its constraints have no names or no senses")
    if content["objective"] not in ("minimise", "maximise"):
        raise InputError(f"its objective is '{content['objective']}'")
    why = content["infeasibility"]
    return {
        **{key: _number(content[key]) for key in ("reward_value", "upper_bound", "gap")},
        **{key: _numbers(content, key, count) for key in ("constraint_value", "multiplier", "violation")},
        "threshold": _limits(content, sense),
        "price_range": _price_range(content, count),
        "proof_weight": _proof_weight(content, count),
        "remedy": None if content["remedy"] is None else _numbers(content, "remedy", count),
        "feasible": _of(content, "feasible", bool),
        "algorithm": _of(content, "algorithm", str),
        "reason": str(content.get("reason", "")),
        "best_responses": entries.whole(content, "best_responses") if "best_responses" in content else 0,
        "iterations": entries.whole(content, "iterations"),
        "seconds": entries.number(content, "seconds", least=0.0),
        "policy": table_of(arrays),
        "status": Status(Kind(content["kind"]), _of(content, "status", str)),
        "sense": sense,
        "minimise": content["objective"] == "minimise",
        "constraint_names": names,
        "trace": _trace(arrays, count),
        "infeasibility": None if why is None else _infeasibility(why, count),
    }


def _of(content: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(content[key], kind):
        raise InputError(f"'{key}' is {str(content[key])[:60]}")
    return content[key]


def _number(value: Any) -> float:
    """Return a number of a JSON file; null is NaN."""
    if value is not None and not isinstance(value, float):
        raise InputError(f"{str(value)[:60]} is not a number")
    return np.nan if value is None else value


def _numbers(content: dict[str, Any], key: str, count: int) -> Array:
    if len(_of(content, key, list)) != count:
        raise InputError(f"'{key}' has {len(content[key])} entries for {count} constraints")
    return np.array([_number(value) for value in content[key]], dtype=float)


def _proof_weight(content: dict[str, Any], count: int) -> Array | None:
    """Return weights (J,); None if there are none."""
    return None if content.get("proof_weight") is None else _numbers(content, "proof_weight", 1 + count)


def _limits(content: dict[str, Any], sense: Sequence[str]) -> Array:
    """Return thresholds and budgets (K,); null is no limit."""
    limits = _numbers(content, "threshold", len(sense))
    return np.where(np.isnan(limits), [-np.inf if one == ">=" else np.inf for one in sense], limits)


def _price_range(content: dict[str, Any], count: int) -> Array:
    """Return (K, 2); a missing upper end is infinite."""
    ranges = _of(content, "price_range", list)
    if len(ranges) != count or not all(isinstance(one, list) and len(one) == 2 for one in ranges):
        raise InputError("'price_range' does not have two entries for each constraint")
    found = np.array([[_number(value) for value in one] for one in ranges], dtype=float).reshape(-1, 2)
    found[np.isnan(found[:, 1]) & ~np.isnan(found[:, 0]), 1] = np.inf
    return found


def _trace(arrays: dict[str, Any], count: int) -> Trace | None:
    if "trace_reward_value" not in arrays:
        return None
    reward = entries.floats(arrays, "trace_reward_value", (None,), infinite=True)
    constraint, multiplier = (
        entries.floats(arrays, f"trace_{name}", (len(reward), count), infinite=True)
        for name in ("constraint_value", "multiplier")
    )
    exact = arrays["trace_exact"]
    if exact.dtype != np.bool_ or exact.shape:
        raise InputError("'trace_exact' is neither true nor false")
    return Trace(reward, constraint, multiplier, bool(exact))


def _infeasibility(why: dict[str, Any], count: int) -> Infeasibility:
    conflict = tuple(_of(why, "conflict", list))
    if not all(type(i) is int and 0 <= i < count for i in conflict):
        raise InputError(f"'conflict' is {str(conflict)[:60]}")
    return Infeasibility(_numbers(why, "joint_slack", count), _numbers(why, "own_slack", count), conflict)
