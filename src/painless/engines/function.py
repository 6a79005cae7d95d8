"""A model given as functions: best responses and values by sweeps that compute its rows, with proved bounds.

A mixture of policies is a draw between them: its values are the averages of theirs, which are known. A stationary policy with the same values would need visits, which
go against the direction in which functions give successors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.engines.drawn import Drawn
from painless.engines.engine import PRECISION, BaseEngine, Bracket, Response, averaged, value_rounding
from painless.engines.sweeps.function_pricing import FunctionPricer
from painless.problem.function_model import FunctionModel

FINEST = 1e-13  # relative to 1/(1−γ); pricing is never asked for more


class Function(BaseEngine):
    """Sweeps a model given as functions."""

    exact = False
    draws = True
    refines = False

    def __init__(self, problem: FunctionModel) -> None:
        super().__init__(problem)
        self.model = problem
        self._known: dict[int, Bracket] = {}  # values of policies, by their hash

    @cached_property
    def pricer(self) -> FunctionPricer:
        """The pricer, made on first use."""
        return FunctionPricer(self.model, lambda: self._tick())

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`."""
        scale, finest = float(weight.sum()), FINEST * self.unit
        bound = self.pricer.price(weight / scale, max(tolerance / scale, finest))
        actions = self.pricer.sweeps.blocks.policy()
        found = self._evaluated(actions, max(precision, finest))
        return Response(
            actions=actions,
            value=found.low,
            middle=found.guess,
            upper_bound=bound * scale,
            weighted_value=float(weight @ found.low),
            rounding=float(self.pricer.sweeps.rounding(float(weight @ self.pricer.sweeps.sizes))),
        )

    def _evaluated(self, actions: Any, precision: float) -> Bracket:
        """Evaluate the current policy (S,), and keep what is known of it."""
        value, error = self.pricer.evaluate(precision)
        found = Bracket(value - error, value + error, value).within(self.extent)
        self._known[hash(actions.tobytes())] = found
        return found

    def values(self, policy: Any) -> Bracket:
        """Return proved bounds on V(ρ), to full precision; to less if `tick` raises TimeoutError on the way."""
        if isinstance(policy, Drawn):
            return averaged(policy, [self.values(part) for part in policy.parts])
        self.pricer.sweeps.blocks.take_policy(policy)
        return self._evaluated(policy, PRECISION * self.unit)

    def mixed(self, policies: Sequence[Any], weights: Array, precision: float = 0.0) -> tuple[Any, Bracket]:
        """Return a draw between policies, and proved bounds on its values, the averages of theirs."""
        del precision  # that of the best responses
        drawn = Drawn.of(policies, weights)
        each = [self._known.get(hash(part.tobytes())) or self.values(part) for part in drawn.parts]
        found = averaged(drawn, each)
        return drawn, found._replace(guess=found.low)  # no more is claimed than is proved

    def shown(self, policy: Any) -> Any:
        """Return a policy as a draw."""
        return policy if isinstance(policy, Drawn) else Drawn((policy,), np.ones(1))

    def any_policy(self) -> Any:
        """Return some policy: the current one."""
        return self.shown(self.pricer.sweeps.blocks.policy())

    @cached_property
    def rounding(self) -> float:
        """A bound on the rounding error of a value of this model."""
        return value_rounding(self.problem, self.model.most_successors)

    def visits(self, policy: Any, precision: float = PRECISION) -> Array:
        """Refuse: functions give successors, and visits need predecessors."""
        raise InputError(
            "the visits of a model given as functions are not computed; make a CMDP of arrays for them"
        )

    def action_values(self, policy: Any, states: NDArray[np.intp], tolerance: float) -> Array:
        """Refuse: nothing asks for them."""
        raise InputError("a model given as functions takes no initial_policy; leave it out")

    def reachable(self, policy: Any) -> Mask:
        """Return that all states may be reached: no more is known."""
        return np.ones(self.model.states, dtype=bool)
