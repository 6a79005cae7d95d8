"""A safety margin that decays, around any dual (FlexDOME: Zuo, Wang & He 2026).

the dual sees b + ε_t − V_c,     ε_t = ε_0/(t + 1)^p

While the multipliers still swing, the margin keeps the swings on the safe side; it vanishes more slowly than they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting
from painless.duals.base import Dual


class MarginState(NamedTuple):
    """The state of the dual inside, and how many shortfalls there were."""

    inner: Any
    rounds: int


@dataclass(frozen=True)
class Margin:
    """A dual for which every threshold is higher at first.

    Arguments:
        dual: the dual inside.
        first: ε_0, one number, or one for each constraint (B, K) or (K,).
        power: p > 0.

    >>> from painless.duals import Switching
    >>> dual = Margin(Switching(), first=1.0, power=1.0)
    >>> weight, state = dual.play(np.array([[-0.75]]), dual.init(np.ones((1, 1))))
    >>> weight, dual.play(np.array([[-0.75]]), state)[0]
    (array([[0., 1.]]), array([[1., 0.]]))

    References:
        Zuo, Wang & He, "Near-constant strong violation and last-iterate convergence for online CMDPs via decaying safety
        margins", 2026.
    """

    dual: Dual[Any]
    first: Setting
    power: Setting = 0.5

    def init(self, multiplier: Array) -> MarginState:
        """Start the dual inside."""
        return MarginState(self.dual.init(multiplier), 0)

    def play(self, shortfall: Array, state: MarginState) -> tuple[Array, MarginState]:
        """Let the dual inside play for the higher thresholds."""
        margin = self.first * decay(state.rounds + 1, self.power)
        weight, inner = self.dual.play(shortfall + margin, state.inner)
        return weight, MarginState(inner, state.rounds + 1)


def decay(rounds: int, power: Setting) -> Setting:
    """n^(−p), (B, 1) for a power of each run; each has the same bits as if it were run alone.

    >>> decay(4, 0.5), decay(4, np.array([0.5, 1.0]))
    (0.5, array([[0.5 ],
           [0.25]]))
    """
    if isinstance(power, np.ndarray) and power.ndim:
        return np.array([[float(rounds) ** -float(one)] for one in power.reshape(-1)])
    return float(rounds) ** -float(power)
