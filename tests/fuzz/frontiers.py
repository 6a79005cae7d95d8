"""What a `Frontier` claims: vertices in order, concave, attained, and the optimum at every limit."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tests.fuzz.checker import TINY, Judge
from tests.fuzz.claims import Wrong


def frontier_claims(judge: Judge, curve) -> list[Wrong]:
    """Return everything that is wrong about a frontier."""
    return [*_shape(judge, curve), *_attained(judge, curve), *_optimal(judge, curve)]


def _inside(judge: Judge, curve) -> tuple[np.ndarray, np.ndarray]:
    """Return limits and values in the internal sense."""
    sign = judge.model.sign
    return curve.threshold * sign[1 + curve.constraint], curve.reward_value * sign[0]


def _shape(judge: Judge, curve) -> Iterator[Wrong]:
    limit, value = _inside(judge, curve)
    if not (np.diff(limit) > 0).all():
        yield "frontier order", f"limits {limit} do not rise"
    if not (np.diff(value) < 0).all():
        yield "frontier order", f"values {value} do not fall"
    price = curve.multiplier[:, 0]
    if not (np.diff(price) >= 0).all() or not (price >= 0).all():
        yield "frontier prices", f"{price} do not rise"


def _attained(judge: Judge, curve) -> Iterator[Wrong]:
    model = judge.model
    for vertex in range(min(len(curve), 6)):
        exact, size = judge.values(np.asarray(curve.policy(vertex).probabilities))
        said = np.append(curve.reward_value[vertex], curve.constraint_value[vertex]) * model.sign
        share = max(1e-9, 64 * 2.0**-53 * model.unit)
        for j, (value, true) in enumerate(zip(said, exact, strict=True)):
            if abs(value - float(true)) > share * size[j] + 1e-300:
                yield (
                    "frontier value",
                    f"vertex {vertex} has {value!r} for utility {j}; its policy {float(true)!r}",
                )


def _optimal(judge: Judge, curve) -> Iterator[Wrong]:
    if not judge.decides or judge.size > 4 * TINY:
        return
    model, index = judge.model, curve.constraint
    limit, _ = _inside(judge, curve)
    ends = limit[-1] - limit[0]
    for share in (-0.1, 0.0, 0.3, 0.77, 1.0) if ends else (0.0,):
        given = float(limit[0] + share * ends)
        found = float(curve.value(given * model.sign[1 + index])) * model.sign[0]
        spare = 2 * (
            1e-9 * np.abs(model.utility[0]).max() * model.unit + curve.error * np.ptp(curve.reward_value)
        )
        most, least = (_optimum(judge, index, given, side) for side in (-1, 1))
        if most is None:
            yield "frontier verdict", f"no policy attains {given!r}, a limit of the frontier"
        elif not found <= float(most) + spare or (least is not None and found < float(least) - spare):
            shown = None if least is None else float(least)
            yield "frontier optimum", f"at {given!r} is {found!r}; the optimum lies in {shown}..{float(most)}"
    beyond = list(judge.limits)
    beyond[index] = Fraction(float(limit[-1] + 1e-6 * (abs(limit[-1]) + model.span[1 + index] * model.unit)))
    if model.span[1 + index] and judge.can_meet(beyond, 0.0):
        yield "frontier verdict", f"{float(beyond[index])!r}, beyond the last vertex, can be met"


def _optimum(judge: Judge, index: int, given: float, side: int) -> Fraction | None:
    """Return the optimum with one limit given and all loosened (−1) or tightened (+1) by a rounding."""
    model = judge.model
    limits: list[Fraction | None] = []
    for i, limit in enumerate(model.limit):
        wanted = given if i == index else float(limit)
        spare = 2 * model.epsilon * (abs(wanted) + np.abs(model.utility[1 + i]).max() * model.unit)
        limits.append(Fraction(wanted) + side * Fraction(spare) if np.isfinite(wanted) else None)
    return judge.solved(limits).value


def held_can_be_met(judge: Judge) -> bool:
    """Whether all constraints but the first can be met, so that a frontier exists."""
    return judge.can_meet([None, *judge.limits[1:]], 0.0)
