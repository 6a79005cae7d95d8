"""Every claim of a `Solution` or a `Frontier`, held against the judge. Each returns what is wrong as (kind, sentence)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tests.fuzz.checker import TINY, Judge

Wrong = tuple[str, str]
KINDS = ("solved", "completed", "stopped", "infeasible")
PRICED = 2  # limits of either kind whose prices are judged, where there are many
ROUNDING = 64 * 2.0**-53


def claims(judge: Judge, solution, tolerance: float, horizon: int | None) -> list[Wrong]:
    """Return everything that is wrong about a solution."""
    policy = np.asarray(solution.policy.probabilities)
    wrong = [*_policy(judge, policy)]
    if wrong:
        return wrong
    kind = solution.status.kind.value
    if kind not in KINDS:
        return [("status", f"kind is {kind}")]
    if kind == "completed" and horizon is None:
        wrong.append(("status", "completed without a horizon"))
    wrong += _values(judge, solution, policy, tolerance)
    wrong += _feasible(judge, solution, policy)
    if kind == "infeasible":
        return [*wrong, *_infeasible(judge, solution)]
    if judge.decides:
        wrong += _verdict(judge, solution)
    wrong += _bound(judge, solution, policy, tolerance)
    wrong += _prices(judge, solution)
    return wrong


def _policy(judge: Judge, policy: np.ndarray) -> Iterator[Wrong]:
    model = judge.model
    if policy.shape != model.actions.shape:
        yield "policy", f"has shape {policy.shape}"
    elif not np.isfinite(policy).all() or (policy < 0).any() or (np.abs(policy.sum(1) - 1) > 1e-9).any():
        yield "policy", "has a row that is not a distribution"
    elif policy[~model.actions].any():
        yield "policy", "takes a forbidden action"


def _values(judge: Judge, solution, policy: np.ndarray, tolerance: float) -> Iterator[Wrong]:
    model = judge.model
    exact, size = judge.values(policy)
    size = size + 1e-6 * model.span * model.unit
    given = np.append(solution.reward_value, solution.constraint_value) * model.sign
    share = max(1e-9, ROUNDING * model.unit)
    for j, (value, true) in enumerate(zip(given, exact, strict=True)):
        # a model that is swept proves the reward from below, to a part of the tolerance
        spare = (
            0.1 * tolerance * abs(float(true))
            if j == 0 and solution.algorithm == "column-generation"
            else 0.0
        )
        if not np.isfinite(value) or abs(float(Fraction(value) - true)) > share * size[j] + spare + 1e-300:
            name = "reward_value" if j == 0 else f"constraint_value[{j - 1}]"
            yield "value", f"{name} is {value!r}, of this policy {float(true)!r} (V_|u| {size[j]:.3g})"


def _feasible(judge: Judge, solution, policy: np.ndarray) -> Iterator[Wrong]:
    model = judge.model
    exact, size = judge.values(policy)
    miss = np.array(
        [0.0 if b is None else float(b - v) for b, v in zip(judge.limits, exact[1:], strict=True)]
    )
    allowed = model.allowance(size)
    if solution.feasible and (miss > allowed * (1 + 1e-6)).any():
        i = int(np.argmax(miss - allowed))
        yield "feasible", f"said so, but limit {i} is missed by {miss[i]:.3g}, allowed {allowed[i]:.3g}"
    if not solution.feasible and (miss <= 0.5 * allowed).all():
        yield "feasible", f"denied, but no limit is missed by more than {max(miss.max(initial=0), 0):.3g}"
    violation = getattr(solution, "violation", None)
    if violation is None:
        return
    if np.shape(violation) != miss.shape or not (np.asarray(violation) >= 0).all():
        yield "violation", f"is {violation}"
        return
    for i, (said, true) in enumerate(zip(violation, miss, strict=True)):
        if true > said:
            yield "violation", f"of limit {i} is said to be at most {said:.3g}, and is {true:.3g}"


def _verdict(judge: Judge, solution) -> Iterator[Wrong]:
    if len(judge.limits) and solution.feasible is False and solution.status.kind.value == "solved":
        yield "status", "solved, but not feasible"
    if not len(judge.limits) or judge.can_meet(judge.limits, 1.5):
        return
    yield "verdict", f"{solution.status.kind.value}, but no policy meets the limits"


def _bound(judge: Judge, solution, policy: np.ndarray, tolerance: float) -> Iterator[Wrong]:
    model, sign = judge.model, judge.model.sign[0]
    bound, value, gap = sign * solution.upper_bound, sign * solution.reward_value, solution.gap
    if np.isnan(bound) or np.isnan(gap) or gap < 0:
        yield "gap", f"is {gap}, the bound {bound}"
        return
    if np.isinf(bound):
        if solution.status.kind.value == "solved" or gap != np.inf:
            yield "solved", f"{solution.status.kind.value} with the bound {bound} and the gap {gap}"
        return
    if abs(gap - max(bound - value, 0.0)) > 1e-9 * max(abs(bound), abs(value)):
        yield "gap", f"is {gap!r}, but the bound is {bound!r} and the value {value!r}"
    if solution.status.kind.value == "solved":
        span = model.span[0] or abs(model.utility[0][model.actions]).max() or 1.0
        target = tolerance * max(abs(bound), 1e-6 * span * model.unit)
        if not gap <= target * (1 + 1e-9):
            yield "solved", f"with a gap of {gap:.4g}, above the target {target:.4g}"
    size = judge.values(policy)[1]
    sizes = size[1:] + np.where(np.isfinite(model.limit), np.abs(model.limit), 0.0)
    prices = np.nan_to_num(np.asarray(solution.multiplier, float))
    rounding = (
        ROUNDING
        * model.unit
        * (max(size[0], abs(model.utility[0]).max() * model.unit) + float(prices @ sizes))
    )
    optimum, _, trust = judge.approximate
    close = optimum is None or bound < optimum + trust
    if close and judge.decides and (judge.size <= TINY or optimum is None or bound < optimum - trust):
        true = judge.optimum()
        optimum, trust = (None if true is None else float(true)), 0.0
    if optimum is not None and bound < optimum - trust - rounding:
        yield (
            "bound",
            f"{bound!r} lies {optimum - bound:.3g} below the optimum {optimum!r} (rounding {rounding:.2g})",
        )


def _prices(judge: Judge, solution) -> Iterator[Wrong]:
    model = judge.model
    prices = np.asarray(solution.multiplier, float)
    if prices.shape != model.limit.shape or (prices < 0).any() or np.isnan(prices).any():
        yield "price", f"multiplier is {prices}"
        return
    ranges = getattr(solution, "price_range", None)
    if ranges is None and not solution.gap <= 1e-9 * abs(solution.upper_bound):
        return  # nothing is promised yet of prices at an open gap
    given = np.column_stack([prices, prices]) if ranges is None else np.asarray(ranges, float)
    if given.shape != (len(prices), 2):
        yield "price", f"price_range has shape {given.shape}"
        return
    if not judge.decides or judge.size > 4 * TINY or judge.optimum() is None:
        return
    for i in _some(prices):
        price, (low, high) = prices[i], given[i]
        if not model.span[1 + i]:  # a constant is met or not, at any price
            continue
        scale = (model.span[0] or 1.0) / model.span[1 + i]
        spare = max(1e-7, ROUNDING * model.unit) * np.array([scale, 1.0])
        if not _within(price, low, high, spare):
            yield "price", f"{price:.6g} of limit {i} is outside its range {low:.6g}..{high:.6g}"
        if ranges is None:
            spare = spare + np.array([0.0, 1e-3])
        true, fits = None, False
        for least, most in judge.price_ranges(i):
            true = true or (least, most)
            if ranges is None:
                fits = _within(price, least, most, spare)
            else:
                fits = _within(least, low, high, spare) and _within(most, low, high, spare)
                fits = fits and (most > 0 or price == 0)
            if fits:
                break
        if true is not None and not fits:
            said = f"{price:.6g}" if ranges is None else f"{price:.6g} in {low:.6g}..{high:.6g}"
            yield "price", f"{said} of limit {i}; the derivatives are {true[0]:.6g} and {true[1]:.6g}"


def _some(prices: np.ndarray) -> list[int]:
    """Return all limits, or the dearest and the cheapest of many: each takes a dozen programs in whole numbers."""
    order = [int(i) for i in np.argsort(-prices, kind="stable")]
    return order if len(order) <= 2 * PRICED else [*order[:PRICED], *order[-PRICED:]]


def _within(price: float, low: float, high: float, spare: np.ndarray) -> bool:
    """Whether low ≤ price ≤ high, to an absolute and a relative tolerance."""
    if price == np.inf:
        return high == np.inf
    return low * (1 - spare[1]) - spare[0] <= price <= high * (1 + spare[1]) + spare[0]


def _infeasible(judge: Judge, solution) -> Iterator[Wrong]:
    model = judge.model
    if not judge.decides:
        optimum, _, trust = judge.approximate
        if optimum is not None and trust < 1e-6 * model.span[0] * model.unit and _clear(judge):
            yield "verdict", f"infeasible, but HiGHS finds a policy with reward {optimum!r}"
        return
    if judge.can_meet(judge.limits, 0.0):
        yield "verdict", "infeasible, but some policy meets all limits"
        return
    if judge.can_meet(judge.limits, 0.5):
        return  # a matter of definition
    yield from _conflict(judge, solution)
    yield from _remedies(judge, solution)


def _clear(judge: Judge) -> bool:
    """Whether HiGHS still finds a policy when every limit is tightened by a little."""
    from tests.fuzz.checker import highs

    model = judge.model
    tighter = model.limit + 1e-6 * (np.abs(model.limit) + model.span[1:] * model.unit)
    return highs(model, tighter)[0] is not None


def _conflict(judge: Judge, solution) -> Iterator[Wrong]:
    why = solution.infeasibility
    if why is None:
        yield "conflict", "infeasible without a reason"
        return
    chosen = [b if i in why.conflict else None for i, b in enumerate(judge.limits)]
    if judge.can_meet(chosen, 0.0):
        yield "conflict", f"{why.conflict} can be met together"
    for i in why.conflict:
        fewer = [None if j == i else b for j, b in enumerate(chosen)]
        if len(why.conflict) > 1 and not judge.can_meet(fewer, 1.5):
            yield "conflict", f"{why.conflict} cannot be met without {i} either"


def _remedies(judge: Judge, solution) -> Iterator[Wrong]:
    remedies = getattr(solution, "remedy", None)
    if remedies is None:
        return
    model = judge.model
    for i, said in enumerate(np.asarray(remedies, float) * model.sign[1:]):
        true = judge.remedy(i)
        if np.isnan(said):
            if true is not None and judge.limits[i] is not None:
                yield "remedy", f"none for limit {i}, but {float(true) * model.sign[1 + i]!r} is enough"
            continue
        changed = list(judge.limits)
        changed[i] = Fraction(said)
        if not judge.can_meet(changed, 1.0):
            shown = "nothing is enough" if true is None else f"the tightest is {float(true)!r}"
            yield "remedy", f"limit {i} to {said!r} (internal sense) is not enough; {shown}"
        elif true is not None and float(true - Fraction(said)) > 1e-6 * (abs(float(true)) + model.floor[i]):
            yield "remedy", f"limit {i} to {said!r} (internal sense) is looser than {float(true)!r}"
