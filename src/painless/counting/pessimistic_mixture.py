"""The best mixture of policies by their pessimistic values.

    maximise f_0(w) subject to f_k(w) ≥ b_k, w ≥ 0, Σ w = 1,     f_j(w) = v_j·w − √(wᵀ G_j w + c_j)

with v_j the values of the policies, and G_j the products of their occupancies, weighed by the variance of a visit. It is convex, with few variables: Newton's method on a log
barrier (Boyd & Vandenberghe 2004, §11), whose weights are also the multipliers. While no mixture meets all b_k, the least f_k − b_k is maximised in place of f_0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Mask

SHARPER = 10.0  # by which the barrier becomes sharper from one stage to the next
NEWTON = 30  # steps of a stage, at most
# What a step promises of the barrier, at which a stage ends: multipliers are as exact as its root.
CLOSE = 1e-8
CENTRED = 0.1  # the same of the stages before the last
INSIDE = 0.95  # of the way to the nearest bound that a step may go
DECREASE = 0.25  # of what the slope promises, at least
SHORTEST = 1e-8  # of a step
CERTAIN = 1e-30  # what stands under the root of a value without error
FLAT = 1e-12  # curvature of a variable that nothing bounds
SPREAD = 0.05  # weight that is spread over all policies at first, so that none is 0


class Mixture(NamedTuple):
    """The weights of policies."""

    weight: Array  # (n,)
    multiplier: Array  # (J,) of each f; that of f_0 is 1, or 0 while no mixture meets all limits
    value: Array  # f, (J,)


class _Local(NamedTuple):
    """What follows from variables x."""

    x: Array  # (n,)
    value: Array  # f, (J,)
    slack: Array  # (K + m,) of f_k ≥ b_k, and of x ≥ 0
    product: Array  # G x, (J, n)
    root: Array  # (J,)

    def barrier(self, sharpness: float) -> float:
        """Return −t·f_0 − Σ log(f_k − b_k) − Σ log x."""
        if self.slack.min() <= 0:
            return np.inf
        return float(-sharpness * self.value[0] - np.log(self.slack).sum())


class _Concave(NamedTuple):
    """f_j(x) = v_j·x − √(xᵀ G_j x + c_j), j = 0 the objective, f_j ≥ b_j and x ≥ 0 where `positive`."""

    value: Array  # v, (J, n)
    gram: Array  # G, (J, n, n)
    constant: Array  # c, (J,)
    limit: Array  # b, (K,)
    positive: Mask  # (n,) these also sum to 1

    def at(self, x: Array) -> _Local:
        """Evaluate everything at x."""
        product = self.gram @ x
        root = np.sqrt(product @ x + self.constant)
        value = self.value @ x - root
        return _Local(x, value, np.concatenate([value[1:] - self.limit, x[self.positive]]), product, root)

    def step(self, here: _Local, sharpness: float) -> tuple[Array, float]:
        """Return Newton's step of the barrier, and what it promises."""
        x, product, root = here.x, here.product, here.root
        slack = here.slack[: len(self.limit)]
        weight = np.append(sharpness, 1 / slack)
        slope = self.value - product / root[:, None]  # (J, n)
        unit = np.where(self.positive, x, 1.0)  # in which the barrier of x is round
        gradient = -weight @ slope * unit - self.positive
        tilted, scaled = slope[1:] / slack[:, None], product * np.sqrt(weight / root**3)[:, None]
        hessian = np.tensordot(weight / root, self.gram, 1) - scaled.T @ scaled + tilted.T @ tilted
        n = len(x)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = hessian * np.outer(unit, unit) + np.diag(np.where(self.positive, 1.0, FLAT))
        system[n, :n] = system[:n, n] = unit * self.positive
        move = np.linalg.solve(system, np.append(-gradient, 0.0))[:n]
        return unit * move, float(-gradient @ move)

    def safest(self) -> _Concave:
        """Return the problem of the largest s with f_k − s ≥ b_k, with s as the last variable."""
        n, k = self.value.shape[1], len(self.limit)
        value = np.block([[np.zeros((1, n)), np.ones((1, 1))], [self.value[1:], -np.ones((k, 1))]])
        gram = np.concatenate([np.zeros((1, n, n)), self.gram[1:]])
        gram = np.pad(gram, ((0, 0), (0, 1), (0, 1)))
        constant = np.append(CERTAIN, self.constant[1:])
        return _Concave(value, gram, constant, self.limit, np.append(self.positive, False))

    def maximised(self, x: Array, gap: float, enough: float = np.inf) -> tuple[_Local, float]:
        """Return the x with the largest f_0, to a gap, or with one that is enough, and the sharpness of the barrier there."""
        here = self.at(x)
        sharpest = len(here.slack) / gap
        sharpness = min(1.0, sharpest)
        while True:
            close = CLOSE if sharpness >= sharpest else CENTRED
            for _ in range(NEWTON):
                move, promise = self.step(here, sharpness)
                if promise <= close:
                    break
                last, here = here, self._moved(here, move, promise, sharpness)
                if here is last or here.value[0] > enough:
                    break
            if sharpness >= sharpest or here.value[0] > enough:
                return here, sharpness
            sharpness = min(SHARPER * sharpness, sharpest)

    def _moved(self, here: _Local, move: Array, promise: float, sharpness: float) -> _Local:
        """Go as far along a step as the barrier falls."""
        shrinking = self.positive & (move < 0)
        length = min(1.0, INSIDE * float((here.x[shrinking] / -move[shrinking]).min(initial=np.inf)))
        now = here.barrier(sharpness)
        while length > SHORTEST:
            there = self.at(here.x + length * move)
            if there.barrier(sharpness) <= now - DECREASE * length * promise:
                return there
            length /= 2
        return here


def best_mixture(
    value: Array, gram: Array, constant: Array, limit: Array, start: Array, gap: float
) -> Mixture:
    """Return the best mixture of n policies.

    Arguments:
        value: v, (J, n).
        gram: G, (J, n, n).
        constant: c, (J,), positive.
        limit: b, (K,).
        start: weights to begin with, (n,).
        gap: that f_0 may be from its largest value.
    """
    n = len(start)
    program = _Concave(value, gram, constant, limit, np.ones(n, dtype=bool))
    weight = (1 - SPREAD) * start + SPREAD / n
    least = float(program.at(weight).slack[: len(limit)].min(initial=np.inf))
    if least <= 0:
        safest, sharpness = program.safest().maximised(np.append(weight, least - 1.0), gap, enough=gap)
        weight = safest.x[:n]
        if safest.x[-1] <= 0:
            price = np.append(0.0, 1 / (sharpness * safest.slack[: len(limit)]))
            return Mixture(weight, price, program.at(weight).value)
    found, sharpness = program.maximised(weight, gap)
    return Mixture(found.x, np.append(1.0, 1 / (sharpness * found.slack[: len(limit)])), found.value)
