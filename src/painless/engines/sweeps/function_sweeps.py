"""Sweeps over a model given as functions, and best responses by modified policy iteration on them.

All that is stored are the values of the current policy for all utilities, (S, J), room for the next ones, the weighted values and the
policy, an integer for each state, in one block or several. As in `pricing`, a sweep proves bounds on both sides, with V' the values after it:

    V'(ρ) + γ/(1−γ)·low ≤ V_π(ρ),        V*(ρ) ≤ V'(ρ) + γ/(1−γ)·high

Of an even sweep `low` and `high` are the least and the largest change. Of one in the order of the states they are taken together with 0: what is
left of the residual comes from successors that changed later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps.function_block import Followed, pieces_of
from painless.engines.sweeps.function_blocks import Blocks
from painless.problem.function_model import FunctionModel

EPSILON = float(np.finfo(np.float64).eps)
STEPS = 16  # roundings of a sweep beside those of its sums


class Swept(NamedTuple):
    """What a sweep shows: values at ρ after it, and the range of the changes."""

    value: Array  # (J,) at ρ
    low: Array  # (J,) least change of each utility
    high: Array  # (J,)
    weighted: float = 0.0  # Σ_j w_j V_j at ρ, if the policy was improved
    least: float = 0.0  # change of that
    most: float = 0.0
    changed: int = 0  # states with another action than before


class FunctionSweeps:
    """The values and the policy of a model given as functions.

    Arguments:
        tick: called after each sweep; it may raise.
    """

    def __init__(self, problem: FunctionModel, tick: Callable[[], None] = lambda: None) -> None:
        self.problem, self.tick = problem, tick
        self.discount = problem.discount
        self.states, self.actions, constraints = problem.shape
        self.utilities = 1 + constraints
        self.blocks = Blocks(problem)
        # The least and the largest value of each utility when they were last asked for, and whether they are the present ones.
        self._ends, self._are_known = np.zeros((2, self.utilities)), True
        self.sweeps = 0.0  # over all pairs of states and actions
        self._ascending = True
        # Of a sweep, relative to the values; of the sum over first states.
        self._roundings = (3 * problem.callbacks.most + STEPS) * EPSILON / 2
        pieces = pieces_of(self.states)
        most = np.diff(np.searchsorted(np.sort(problem.start.state), pieces)).max()
        self._sum_roundings = (most + len(pieces) + STEPS) * EPSILON / 2

    @property
    def tail(self) -> float:
        """γ/(1−γ): what a change in every state adds to the sum of all later ones."""
        return self.discount / (1 - self.discount)

    def follow(self, even: bool) -> Swept:
        """Sweep the current policy once, for all utilities."""
        sweep = ("follow", even, self._ascending)
        return self._followed(self._call(*sweep), even)

    def improve(self, weight: Array, even: bool) -> Swept:
        """Sweep the Bellman equation for weights (J,) of the utilities once, and then the policy that it gives."""
        margin = 4 * EPSILON * float(weight @ np.abs(self._ends).max(0))
        sweep = ("improve", weight, margin, even, self._ascending)
        found = self._call(*sweep)
        low, high, changed, value, followed = zip(*found, strict=True)
        self.sweeps += 1
        return self._followed(followed, even)._replace(
            weighted=float(np.sum(value)),
            least=min(low) if even else min(*low, 0.0),
            most=max(high) if even else max(*high, 0.0),
            changed=sum(changed),
        )

    def _call(self, method: str, *arguments: Any) -> list[Any]:
        """Have all blocks sweep; return what they say of each piece."""
        self._are_known = False
        return self.blocks.call(method, *arguments, reads="value", lends="value")

    def _followed(self, pieces: Sequence[Followed], even: bool) -> Swept:
        """Put together what a sweep of the policy shows in each piece."""
        low, high, value = (np.array(side) for side in zip(*pieces, strict=True))
        ends = low.min(0), high.max(0)
        self._ascending = not self._ascending
        self.swept(1 / self.actions)
        if not even:
            ends = np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)
        return Swept(value.sum(0), *ends)

    def swept(self, sweeps: float) -> None:
        """Count a sweep that is done."""
        self.sweeps += sweeps
        self.tick()

    def extrapolate(self, swept: Swept) -> None:
        """Move the values by what all states changed at least, in a sweep, and would in all later ones."""
        amount = self.tail * (np.maximum(swept.low, 0.0) + np.minimum(swept.high, 0.0))
        if amount.any():
            self.blocks.call("shift", amount)
            self._ends += amount

    def rounding(self, size: Array | float) -> Any:
        """Bound what rounding does to values of this size, as those at ρ that a sweep proves."""
        return ((self._roundings + 4 * EPSILON) / (1 - self.discount) + self._sum_roundings) * size

    @property
    def sizes(self) -> Array:
        """The largest absolute value of each utility, (J,)."""
        if not self._are_known:
            low, high = zip(*self.blocks.ask("ends", "value"), strict=True)
            self._ends, self._are_known = np.array([np.min(low, 0), np.max(high, 0)]), True
        return np.abs(self._ends).max(0)
