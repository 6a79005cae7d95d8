"""Vaidya's cutting planes for the multipliers (Gladin et al. 2023): a dual for few constraints.

The dual function d(λ) = max_π V_r + λ·(V_c − b), of entropy-regularised policies, is convex, and V_c − b at its maximiser is a gradient. λ is
the volumetric centre of a polytope that holds a minimiser, at first the box [0, U]:

    minimise ½ log det H,     H = Σ_i a_i a_iᵀ/s_i²,     s = y − A λ > 0
    σ_i = a_iᵀ H⁻¹ a_i/s_i²,  the leverage of constraint i

The policy takes m steps against λ. Then the half-space {μ: (V_c − b)·(μ − λ) ≤ β} is added, or, if a leverage is below η, that
constraint is dropped; and the centre is found again by Newton's method with Σ_i σ_i a_i a_iᵀ/s_i² for the Hessian. Every cut takes away
a part of the volume that depends on K alone, so that the convergence in cuts is linear.

The constants of the proof (η ≤ 1e-4, and cuts so shallow that λ stays inside) are far too careful in practice: here η = 0.01, and β is a tenth of
the width of the polytope, √(cᵀH⁻¹c) with c = V_c − b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting
from painless.duals.base import with_reward

LEAST_LEVERAGE = 0.01  # η
DEPTH = 0.1  # β, in units of the width
NEWTON = 20  # steps to the centre, at most
CLOSE = 1e-6  # the decrement at which a centre is one
SMALLEST = 1e-10  # distance of the centre from a constraint, in units of U, at which rounding would decide
MOST = 60  # constraints of a polytope, beyond which the least important goes


class Polytope(NamedTuple):
    """{x: A x ≤ y} in units of U, and its volumetric centre."""

    normal: Array  # (n, K)
    offset: Array  # (n,)
    centre: Array  # (K,)


class VaidyaState(NamedTuple):
    """A polytope for each run, and how many shortfalls there were."""

    polytopes: tuple[Polytope, ...]
    rounds: int


@dataclass(frozen=True)
class Vaidya:
    """Multipliers at the centre of what cutting planes leave of [0, U].

    Arguments:
        upper: U, one number or one for each constraint.
        inner: m, the steps of the policy between two cuts.

    >>> dual = Vaidya(upper=8.0, inner=1)
    >>> weight, state = dual.play(np.array([[-1.0]]), dual.init(np.ones((1, 1))))
    >>> weight, bool(dual.play(np.array([[-1.0]]), state)[0][0, 1] < 4)
    (array([[1., 4.]]), True)

    References:
        Gladin, Lavrik-Karmazin, Zainullina, Rudenko, Gasnikov & Takáč, "Algorithm for constrained Markov decision process with
        linear convergence", AISTATS 2023. Vaidya, "A new algorithm for minimizing convex functions over convex sets", FOCS 1989.
    """

    upper: Setting
    inner: Setting = 10

    def init(self, multiplier: Array) -> VaidyaState:
        """Start at the centre of the box."""
        runs, count = multiplier.shape
        identity = np.eye(count)
        offset = np.append(np.ones(count), np.zeros(count))
        box = Polytope(np.concatenate([identity, -identity]), offset, np.full(count, 0.5))
        return VaidyaState((box,) * runs, 0)

    def play(self, shortfall: Array, state: VaidyaState) -> tuple[Array, VaidyaState]:
        """Return (1, λ); after every m-th iteration cut, and find the next centre."""
        upper, rounds = np.zeros_like(shortfall) + self.upper, state.rounds + 1
        inner = np.broadcast_to(np.ravel(self.inner), len(shortfall))
        centres = np.array([one.centre for one in state.polytopes]).reshape(shortfall.shape)
        following = tuple(
            cut(one, -gain * scale) if rounds % int(steps) == 0 else one
            for one, gain, scale, steps in zip(state.polytopes, shortfall, upper, inner, strict=True)
        )
        return with_reward(upper * centres), VaidyaState(following, rounds)


def cut(polytope: Polytope, gradient: Array) -> Polytope:
    """Return the polytope without points at which a convex function with this gradient at the centre is larger than there."""
    length = np.sqrt(gradient @ gradient)
    normal, offset, centre = polytope
    slack = offset - normal @ centre
    if (
        not length > 0 or slack.min() < SMALLEST
    ):  # the centre is a minimum, or as good as one; or there is no constraint
        return polytope
    direction = gradient / length
    leverage, inverse = _leverage(normal, offset, centre)
    if leverage.min() < LEAST_LEVERAGE or len(offset) >= MOST:
        kept = np.arange(len(offset)) != leverage.argmin()
        normal, offset = normal[kept], offset[kept]
    width = np.sqrt(direction @ inverse @ direction)
    normal = np.concatenate([normal, direction[None]])
    offset = np.append(offset, direction @ centre + DEPTH * width)
    return Polytope(normal, offset, volumetric_centre(normal, offset, centre))


def volumetric_centre(normal: Array, offset: Array, start: Array) -> Array:
    """Return the point that minimises ½ log det H, from a point inside.

    >>> box = np.array([[1.0], [-1.0]])
    >>> volumetric_centre(box, np.array([1.0, 0.0]), np.array([0.9])).round(3)
    array([0.5])
    """
    point = start
    for _ in range(NEWTON):
        leverage, _ = _leverage(normal, offset, point)
        slack = offset - normal @ point
        gradient = normal.T @ (leverage / slack)
        curvature = (normal.T * (leverage / slack**2)) @ normal
        step: Array = -np.asarray(np.linalg.solve(curvature, gradient), dtype=float)
        if -gradient @ step < CLOSE:
            break
        point = _line_search(normal, offset, point, step)
    return point


def _line_search(normal: Array, offset: Array, point: Array, step: Array) -> Array:
    """Return the first of point + step·2⁻ᵏ that is inside and no worse."""
    value = _volume(normal, offset, point)
    for k in range(30):
        candidate = point + step * 0.5**k
        if (normal @ candidate < offset).all() and _volume(normal, offset, candidate) <= value:
            return candidate
    return point


def _hessian(normal: Array, offset: Array, point: Array) -> Array:
    scaled = normal / (offset - normal @ point)[:, None]
    return np.asarray(scaled.T @ scaled)


def _volume(normal: Array, offset: Array, point: Array) -> float:
    return float(np.linalg.slogdet(_hessian(normal, offset, point))[1])


def _leverage(normal: Array, offset: Array, point: Array) -> tuple[Array, Array]:
    """Return σ, (n,), and H⁻¹, (K, K)."""
    inverse = np.asarray(np.linalg.inv(_hessian(normal, offset, point)), dtype=float)
    scaled = normal / (offset - normal @ point)[:, None]
    return np.einsum("nk,kl,nl->n", scaled, inverse, scaled), inverse
