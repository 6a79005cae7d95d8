"""How the outputs of a network become actions: one softmax for each component of a product, a Gaussian for a box.

    product:  component i is drawn from softmax(outputs of i);  Discrete is a product of one
    box:      a ~ N(μ, σ²),  σ = exp(clip(s − ½, −4, 1)),  outputs (μ, s);  the environment gets low + (clip(a, −1, 1) + 1)/2·(high − low)

A dimension of a box without bounds gets a itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError

UNBOUNDED = 1e300  # stands for infinity
SHIFT, LEAST, MOST = -0.5, -4.0, 1.0  # of the logarithm of a deviation: the start, and its bounds
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
MOST_OUTPUTS = 10**6
SHARP = 1e3  # by which the logits of a sharpened product are multiplied

Rows = NDArray[Any]  # (n, m): whole numbers of a product, or points of a Gaussian


@dataclass(frozen=True)
class ActionHead:
    """The actions of a network.

    Arguments:
        sizes: how many choices each component of a product has; none for a box.
        low, high: the bounds of a box; none for a product.

    >>> ActionHead(sizes=(2, 3)).outputs, ActionHead(low=(-2.0,), high=(2.0,)).outputs
    (5, 2)
    """

    sizes: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        box, outputs = len(self.low), self.outputs
        if bool(self.sizes) == bool(box) or len(self.high) != box or not 1 <= outputs <= MOST_OUTPUTS:
            raise InputError("a network's actions are the sizes of a product, or the bounds of a box")
        if any(size < 1 for size in self.sizes) or not all(
            a <= b for a, b in zip(self.low, self.high, strict=True)
        ):
            raise InputError("a network's actions have a size below 1, or bounds in the wrong order")

    @classmethod
    def of(cls, space: Mapping[str, Any]) -> ActionHead:
        """Return the head for the described action space of an environment."""
        if space["kind"] == "box":
            return cls(low=tuple(map(float, space["low"])), high=tuple(map(float, space["high"])))
        sizes = space["n"] if space["kind"] == "product" else [space["n"]]
        return cls(sizes=tuple(int(n) for n in sizes))

    @property
    def continuous(self) -> bool:
        """Whether it is for a box."""
        return bool(self.low)

    @property
    def outputs(self) -> int:
        """How many outputs the network has."""
        return 2 * len(self.low) if self.low else sum(self.sizes)

    @cached_property
    def _ends(self) -> list[int]:
        return np.cumsum(self.sizes)[:-1].tolist()

    @cached_property
    def _bounds(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        low, high = np.array(self.low), np.array(self.high)
        return low, high, (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED)

    def gaussian(self, outputs: Rows) -> tuple[Rows, Rows]:
        """Return mean and deviation of a box, (n, m) each."""
        mean, log_deviation = np.split(outputs, 2, axis=1)
        return mean, np.exp(np.clip(log_deviation + SHIFT, LEAST, MOST))

    def draw(self, outputs: Rows, rng: np.random.Generator) -> tuple[Rows, Array]:
        """Draw an action for each row of outputs; return the actions (n, m), and the logarithms of their densities (n,)."""
        if self.continuous:
            mean, deviation = self.gaussian(outputs)
            noise = rng.normal(size=mean.shape)
            density = -0.5 * noise * noise - np.log(deviation) - HALF_LOG_TWO_PI
            return (mean + deviation * noise).astype(np.float32), density.sum(1)
        noise = rng.gumbel(size=outputs.shape)
        chosen, total = [], np.zeros(len(outputs))
        parts = zip(self._split(outputs), self._split(outputs + noise), strict=True)
        for logits, noisy in parts:
            action = noisy.argmax(1)
            shifted = logits - logits.max(1, keepdims=True)
            total = total + shifted[np.arange(len(action)), action] - np.log(np.exp(shifted).sum(1))
            chosen.append(action)
        return np.stack(chosen, 1), total

    def _split(self, outputs: Rows) -> list[Rows]:
        return np.split(outputs, self._ends, axis=1) if self._ends else [outputs]

    def likeliest(self, outputs: Rows) -> Rows:
        """Return the likeliest action for each row of outputs, (n, m)."""
        if self.continuous:
            return self.gaussian(outputs)[0]
        return np.stack([part.argmax(1) for part in self._split(outputs)], 1)

    def sharpened(self, weight: Rows, bias: Rows) -> tuple[Rows, Rows]:
        """Return a last layer (outputs, F), (outputs,) whose draws are all but certainly the likeliest actions."""
        if not self.continuous:
            return weight * np.float32(SHARP), bias * np.float32(SHARP)
        box, weight, bias = len(self.low), weight.copy(), bias.copy()
        weight[box:], bias[box:] = 0.0, LEAST - SHIFT
        return weight, bias

    def probabilities(self, outputs: Rows) -> Array:
        """Return the probabilities of all combinations, (n, A), in the order of `numpy.unravel_index`."""
        if self.continuous:
            raise InputError(
                "a policy over a box of actions has no probabilities; draw from it with predictor()"
            )
        total = np.ones((len(outputs), 1))
        for logits in self._split(outputs.astype(np.float64)):
            weight = np.exp(logits - logits.max(1, keepdims=True))
            part = weight / weight.sum(1, keepdims=True)
            total = (total[:, :, None] * part[:, None, :]).reshape(len(outputs), -1)
        return total

    def for_environment(self, actions: Rows) -> Rows:
        """Return drawn actions as the environment's description has them: (n,) of one component, else (n, m)."""
        if not self.continuous:
            return actions[:, 0] if len(self.sizes) == 1 else actions
        low, high, bounded = self._bounds
        width = np.where(bounded, high, 0.0) - np.where(bounded, low, 0.0)
        inside = np.where(bounded, low, 0.0) + (np.clip(actions, -1.0, 1.0) + 1.0) / 2.0 * width
        return np.where(bounded, inside, np.clip(actions, low, high))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain lists."""
        return {"sizes": list(self.sizes), "low": list(self.low), "high": list(self.high)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ActionHead:
        """Return what `as_dict` described."""
        sizes = [int(n) for n in content["sizes"]]
        ends = [[float(x) for x in content[name]] for name in ("low", "high")]
        return cls(tuple(sizes), tuple(ends[0]), tuple(ends[1]))
