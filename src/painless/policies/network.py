"""Networks as policies. Plain layers act by NumPy alone, without torch: a saved policy needs nothing else.

z = clip((observation − mean)·scale, −10, 10),     outputs = W_L tanh(… tanh(W_1 z + b_1) …) + b_L
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.policies.action_heads import ActionHead, Rows
from painless.simulation.simulator import States
from painless.storage import checked_entries as entries

KIND = "network"  # of its description
LARGEST = 10.0  # of a normalised observation
Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """A network that maps observations (n, D) to what an `ActionHead` draws actions from.

    Arguments:
        weights: W_1, b_1, W_2, b_2, … of plain layers; or the arrays of another network, for `forward`.
        mean, scale: of the observations, (D,) or (1,) each.
        head: what its outputs are.
        updates: how many updates led here.
        forward: the network, if it is not of plain layers: from normalised observations to outputs.
        body: what kind of network `forward` is, for `description`.
    """

    weights: tuple[Single, ...]
    mean: Single
    scale: Single
    head: ActionHead
    updates: int = 0
    forward: Callable[[Single], Single] | None = None
    body: Mapping[str, Any] | None = None

    def normalised(self, states: States) -> Single:
        """Return observations as the network sees them, (n, D)."""
        rows = np.asarray(states, dtype=np.float32).reshape(len(states), -1)
        return np.clip((rows - self.mean) * self.scale, -LARGEST, LARGEST)

    def outputs(self, states: States) -> Single:
        """Return the outputs for observations (n, D)."""
        return self.outputs_of(self.normalised(states))

    def outputs_of(self, normalised: Single) -> Single:
        """Return the outputs for normalised observations (n, D)."""
        if self.forward is not None:
            return self.forward(normalised)
        if self.body is not None:
            raise InputError(
                "the policy is a network of your own; give it again: Training.load(folder, network=…)"
            )
        value = normalised
        for index in range(0, len(self.weights), 2):
            value = value @ self.weights[index].T + self.weights[index + 1]
            if index + 2 < len(self.weights):
                value = np.tanh(value)
        return value

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions at observations (n, D): (1, n, A)."""
        return self.head.probabilities(self.outputs(states))[None]

    def choose(self, states: States, rng: np.random.Generator, *, deterministic: bool = False) -> Rows:
        """Draw an action for each observation (n, D), as the interface of the environment takes it."""
        outputs = self.outputs(states)
        actions = self.head.likeliest(outputs) if deterministic else self.head.draw(outputs, rng)[0]
        return self.head.for_environment(actions)

    def description(self) -> dict[str, Any]:
        """Return the kind, the head, and the body if it is not of plain layers."""
        about: dict[str, Any] = {"kind": KIND, "head": self.head.as_dict(), "arrays": len(self.weights)}
        return about if self.body is None else {**about, "body": dict(self.body)}

    @classmethod
    def parts(cls, iterates: Sequence[NetworkPolicy]) -> dict[str, Any]:
        """Return the arrays of networks of one shape."""
        arrays = {
            f"weight_{k}": np.stack([one.weights[k] for one in iterates])
            for k in range(len(iterates[0].weights))
        }
        return {
            **arrays,
            **{name: np.stack([getattr(one, name) for one in iterates]) for name in ("mean", "scale")},
        }

    @classmethod
    def read(
        cls, description: Mapping[str, Any], content: Mapping[str, Any], updates: Sequence[int]
    ) -> list[NetworkPolicy]:
        """Return the policies that `parts` took apart."""
        head, count = ActionHead.from_dict(description["head"]), int(description["arrays"])
        weights = [_singles(content, f"weight_{k}", len(updates)) for k in range(count)]
        mean, scale = (_singles(content, name, len(updates)) for name in ("mean", "scale"))
        body = description.get("body")
        if body is None:
            _require_layers(weights, mean.shape[1:], scale.shape[1:], head.outputs)
        found = [
            cls(tuple(one[k] for one in weights), mean[k], scale[k], head, int(done), None, body)
            for k, done in enumerate(updates)
        ]
        return found if body is None else [restored_body(one) for one in found]


def _singles(content: Mapping[str, Any], name: str, count: int) -> Single:
    found = np.asarray(content[name])
    shape = (count, *[None] * (found.ndim - 1))
    return entries.floats(content, name, shape).astype(np.float32)


def _require_layers(
    weights: list[Single], mean: tuple[int, ...], scale: tuple[int, ...], outputs: int
) -> None:
    """Reject arrays that are no chain of layers."""
    if not weights or len(weights) % 2:
        raise InputError("its layers are not complete")
    width = weights[0].shape[-1]
    if mean not in ((width,), (1,)) or scale not in ((width,), (1,)):
        raise InputError("its layers do not fit its observations")
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        if matrix.ndim != 3 or bias.shape[1:] != matrix.shape[1:2] or matrix.shape[2] != width:
            raise InputError("its layers do not fit each other")
        width = matrix.shape[1]
    if width != outputs:
        raise InputError("its layers do not fit its actions")


def restored_body(policy: NetworkPolicy) -> NetworkPolicy:
    """Return a stored policy with a network that acts: one that is built in is made again, one's own must be given."""
    make = BODIES.get(str((policy.body or {}).get("kind")))
    return policy if make is None else make(policy)


BODIES: dict[str, Callable[[NetworkPolicy], NetworkPolicy]] = {}  # by kind; the trainer adds its own
