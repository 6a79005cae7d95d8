"""The update of PPO for plain layers, with gradients by hand: NumPy takes a fifth of torch's time on networks and parts this small.

The loss is that of `update`. With p the probabilities of a choice, n the size of a part, z = (a − μ)/σ, and i whether s is within its bounds,

    ∂ log π(a)/∂ logits = 1[a] − p             ∂ barrier/∂ logits = (1/A − p)/n
    ∂ log π(a)/∂ (μ, s) = (z/σ, (z² − 1)·i)   ∂ entropy/∂ (μ, s) = (0, i)/n

and layers take them backwards by tanh' = 1 − tanh².
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from painless.policies.action_heads import HALF_LOG_TWO_PI, LEAST, MOST, SHIFT, ActionHead
from painless.policies.network import Single
from painless.training.deep.networks import Networks
from painless.training.deep.settings import Deep
from painless.training.deep.update import FIRST_DECAY, SECOND_DECAY, SMALL, Steps, Updater


def forward(rows: Single, layers: Sequence[Single]) -> list[Single]:
    """Return the rows, what each hidden layer makes of them, and the outputs."""
    found = [rows]
    for index in range(0, len(layers), 2):
        value = found[-1] @ layers[index].T
        value += layers[index + 1]
        found.append(np.tanh(value, out=value) if index + 2 < len(layers) else value)
    return found


def backward(
    found: list[Single], slope: Single, layers: Sequence[Single], gradient: Sequence[Single]
) -> None:
    """Write the gradient of all layers, where `slope` (n, outputs) is that of the outputs."""
    for index in range(len(layers) - 2, -1, -2):
        value = found[index // 2]
        np.matmul(slope.T, value, out=gradient[index])
        slope.sum(0, out=gradient[index + 1])
        if index:
            slope = slope @ layers[index]
            slope *= 1 - value * value


def density_slopes(head: ActionHead, outputs: Single, actions: Any) -> tuple[Single, Single, Single]:
    """Return log-densities of actions (n, m), their slopes in the outputs, and those of the randomness of each row, (n, outputs) each."""
    if head.continuous:
        mean, spread = np.split(outputs, 2, axis=1)
        shifted = spread + np.float32(SHIFT)
        inside = (shifted >= LEAST) & (shifted <= MOST)
        log_deviation = np.clip(shifted, LEAST, MOST)
        deviation = np.exp(log_deviation)
        noise = (actions - mean) / deviation
        density = (-0.5 * noise * noise - log_deviation - np.float32(HALF_LOG_TWO_PI)).sum(1)
        slope = np.concatenate([noise / deviation, (noise * noise - 1) * inside], 1)
        return density, slope, np.concatenate([np.zeros_like(mean), inside], 1)
    rows, start = np.arange(len(outputs)), 0
    density, slope, randomness = (
        np.zeros(len(outputs), outputs.dtype),
        np.empty_like(outputs),
        np.empty_like(outputs),
    )
    for index, size in enumerate(head.sizes):
        logits, chosen = outputs[:, start : start + size], actions[:, index]
        shifted = logits - logits.max(1, keepdims=True)
        share = np.exp(shifted)
        total = share.sum(1, keepdims=True)
        share /= total
        density += shifted[rows, chosen] - np.log(total[:, 0])
        np.negative(share, out=slope[:, start : start + size])
        slope[rows, start + chosen] += 1
        randomness[:, start : start + size] = np.float32(1 / size) - share
        start += size
    return density, slope, randomness


class PlainUpdater(Updater):
    """Adam on the plain layers of actor and critic: torch's own tensors, seen as arrays."""

    def __init__(self, networks: Networks, settings: Deep) -> None:
        super().__init__(networks, settings)
        self.flat, self.slope = self.weights.data.numpy(), self.weights.grad.numpy()
        parts = networks.parameters
        layers, gradient = [one.data.numpy() for one in parts], [one.grad.numpy() for one in parts]
        half = len(parts) // 2
        self.actor, self.critic = (layers[:half], gradient[:half]), (layers[half:], gradient[half:])
        self.count, self.first, self.second = 0, np.zeros_like(self.flat), np.zeros_like(self.flat)

    def update(self, steps: Steps, pace: float, freedom: float, rng: np.random.Generator) -> None:
        """Pass over the steps in random parts; `pace` multiplies the rate, and `freedom` the weight of randomness."""
        settings = self.settings
        weight = freedom * (settings.entropy if self.networks.head.continuous else settings.barrier)
        for _ in range(settings.epochs):
            order = rng.permutation(len(steps.observations))
            for start in range(0, len(order), settings.minibatch):
                part = order[start : start + settings.minibatch]
                self._differentiate(Steps(*(column[part] for column in steps)), np.float32(weight))
                self._step(settings.rate * pace)

    def _differentiate(self, part: Steps, weight: np.float32) -> None:
        """Write the gradient of the loss of a part."""
        count, clip = len(part.advantage), self.settings.clip
        found = forward(part.observations, self.actor[0])
        density, slope, randomness = density_slopes(self.networks.head, found[-1], part.actions)
        ratio = np.exp(density - part.density)
        gained = ratio * part.advantage
        gained[gained > np.clip(ratio, 1 - clip, 1 + clip) * part.advantage] = 0.0  # clipped: flat
        slope *= -gained[:, None]
        slope -= weight * randomness
        slope /= count
        backward(found, slope, *self.actor)
        found = forward(part.observations, self.critic[0])
        backward(found, (found[-1] - part.target) / np.float32(count), *self.critic)

    def _step(self, rate: float) -> None:
        """Take a step of Adam along the gradient, whose norm is bounded (Kingma & Ba 2015)."""
        norm = float(np.sqrt(self.slope @ self.slope))
        slope = self.slope * np.float32(min(self.settings.gradient / (norm + 1e-6), 1.0))
        self.count += 1
        self.first *= np.float32(FIRST_DECAY)
        self.first += np.float32(1 - FIRST_DECAY) * slope
        self.second *= np.float32(SECOND_DECAY)
        slope *= slope
        self.second += np.float32(1 - SECOND_DECAY) * slope
        size = np.sqrt(self.second, out=slope)
        size *= np.float32((1 - SECOND_DECAY**self.count) ** -0.5)
        size += np.float32(SMALL)
        move = np.divide(self.first, size, out=size)
        move *= np.float32(rate / (1 - FIRST_DECAY**self.count))
        self.flat -= move

    def memory(self) -> dict[str, Any]:
        """Return the state of Adam as arrays."""
        return (
            {"step": np.float32(self.count), "exp_avg": self.first, "exp_avg_sq": self.second}
            if self.count
            else {}
        )

    def remember(self, memory: dict[str, Any]) -> None:
        """Bring Adam to a stored state."""
        self.count = int(memory["step"])
        self.first, self.second = np.array(memory["exp_avg"]), np.array(memory["exp_avg_sq"])
