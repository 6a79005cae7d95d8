"""Units for simulators: every utility divided by its span, with 0 kept at 0, since nothing follows the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.simulation.simulator import Outcome, Simulator, Specification, States


@dataclass(frozen=True, eq=False)
class NormalisedSimulator:
    """A simulator whose utilities have span 1."""

    inner: Simulator

    @cached_property
    def specification(self) -> Specification:
        """The inner one's, in normalised units."""
        inner = self.inner.specification
        span = inner.span
        return replace(
            inner, threshold=inner.threshold / span[1:], low=inner.low / span, high=inner.high / span
        )

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Draw the first states of `count` episodes."""
        return self.inner.reset(count, rng)

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Take one action in each state."""
        outcome = self.inner.step(states, actions, rng)
        return outcome._replace(utilities=outcome.utilities / self.inner.specification.span)

    def fused_rollout(self, policy: Any, episodes: int, rng: np.random.Generator, span: Array) -> Any:
        """Return the inner one's in the scaled units, or None if it has none."""
        fused = getattr(self.inner, "fused_rollout", None)
        return None if fused is None else fused(policy, episodes, rng, span * self.inner.specification.span)
