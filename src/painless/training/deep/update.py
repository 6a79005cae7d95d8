"""The update of PPO: a clipped ratio for the policy, squared errors for all value heads (Schulman et al. 2017).

    loss = −mean min(ρA, clip(ρ, 1 ± ε)A) + ½ Σ_j mean (V_j − target_j)² − randomness

Randomness is the entropy of a Gaussian, and for choices the log barrier, the mean over all actions of log π(a|s) (Agarwal et al. 2021). The
gradient of the entropy vanishes with a probability, and so does that of the advantages: an action that is of no use while a limit is still loose
dies out, and no multiplier brings it back. The gradient of the barrier, 1/A − π(a|s), does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from painless.policies.action_heads import HALF_LOG_TWO_PI, LEAST, MOST, SHIFT, ActionHead
from painless.policies.network import Single
from painless.training.deep.networks import Networks
from painless.training.deep.settings import Deep

MEMORY = ("step", "exp_avg", "exp_avg_sq")  # of Adam
FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.999, 1e-5  # of Adam


class Steps(NamedTuple):
    """The steps that an update learns from."""

    observations: Any  # (n, D) normalised
    actions: Any  # (n, m)
    density: Any  # (n,) logarithm of the density with which each action was drawn
    advantage: Single  # (n,) weighted and normalised
    target: Single  # (n, J) of the critic


def densities(head: ActionHead, outputs: Any, actions: Any) -> tuple[Any, Any]:
    """Return the logarithms of the densities of actions (n, m), and their randomness: mean entropy or log barrier, up to a constant."""
    if head.continuous:
        mean, spread = outputs.chunk(2, dim=1)
        log_deviation = (spread + SHIFT).clamp(LEAST, MOST)
        noise = (actions - mean) / log_deviation.exp()
        density = (-0.5 * noise.square() - log_deviation - HALF_LOG_TWO_PI).sum(1)
        return density, log_deviation.sum(1).mean()
    total: Any = 0.0
    barrier: Any = 0.0
    for index, logits in enumerate(outputs.split(head.sizes, dim=1)):
        log_share = torch.log_softmax(logits, dim=1)
        total = total + log_share.gather(1, actions[:, index : index + 1]).squeeze(1)
        barrier = barrier + log_share.mean()
    return total, barrier


def one_tensor(parameters: Sequence[Any]) -> Any:
    """Return one tensor of all weights, of which they and their gradients become parts: a norm or a step of Adam is then a single operation."""
    flat = torch.nn.Parameter(torch.cat([part.detach().reshape(-1) for part in parameters]))
    flat.grad = torch.zeros_like(flat)
    ends = np.cumsum([part.numel() for part in parameters]).tolist()
    for part, start, end in zip(parameters, [0, *ends], ends, strict=False):
        part.data, part.grad = (row[start:end].view_as(part) for row in (flat.data, flat.grad))
    return flat


class Updater:
    """Adam on actor and critic."""

    def __init__(self, networks: Networks, settings: Deep) -> None:
        self.networks, self.settings = networks, settings
        self.weights = one_tensor(networks.parameters)
        fused = networks.device.type == "cpu"
        self.adam = torch.optim.Adam(
            [self.weights], lr=settings.rate, betas=(FIRST_DECAY, SECOND_DECAY), eps=SMALL, fused=fused
        )

    def update(self, steps: Steps, pace: float, freedom: float, rng: np.random.Generator) -> None:
        """Pass over the steps in random parts; `pace` multiplies the rate, and `freedom` the weight of randomness."""
        settings, networks = self.settings, self.networks
        weight = freedom * (settings.entropy if networks.head.continuous else settings.barrier)
        for group in self.adam.param_groups:
            group["lr"] = settings.rate * pace
        tensors = [torch.from_numpy(np.ascontiguousarray(part)).to(networks.device) for part in steps]
        observations, actions, density, advantage, target = tensors
        for _ in range(settings.epochs):
            order = torch.from_numpy(rng.permutation(len(observations))).to(networks.device)
            for part in order.split(settings.minibatch):
                seen = observations[part]
                found, randomness = densities(networks.head, networks.actor(seen), actions[part])
                ratio, gain = (found - density[part]).exp(), advantage[part]
                clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
                policy_loss = -torch.min(ratio * gain, clipped * gain).mean()
                value_loss = 0.5 * (networks.critic(seen) - target[part]).square().mean(0).sum()
                loss = policy_loss + value_loss - weight * randomness
                self.weights.grad.zero_()
                loss.backward()
                torch.nn.utils.clip_grad_norm_([self.weights], settings.gradient)
                self.adam.step()

    def arrays(self) -> dict[str, Any]:
        """Return the weights and the state of Adam as arrays."""
        found: dict[str, Any] = {}
        for name, module in (("actor", self.networks.actor), ("critic", self.networks.critic)):
            for k, part in enumerate(module.state_dict().values()):
                found[f"{name}_{k}"] = part.detach().cpu().numpy()
        return found | {f"adam_{key}": value for key, value in self.memory().items()}

    def memory(self) -> dict[str, Any]:
        """Return the state of Adam as arrays."""
        state = self.adam.state.get(self.weights, {})
        return {key: state[key].detach().cpu().numpy() for key in MEMORY if key in state}

    def restore(self, content: Any) -> None:
        """Bring weights and Adam to a stored state."""
        for name, module in (("actor", self.networks.actor), ("critic", self.networks.critic)):
            current = module.state_dict()
            for k, (key, part) in enumerate(current.items()):
                current[key] = torch.from_numpy(np.asarray(content[f"{name}_{k}"])).reshape(part.shape)
            module.load_state_dict(current)
        if "adam_step" in content:
            self.remember({key: np.array(content[f"adam_{key}"]) for key in MEMORY})

    def remember(self, memory: dict[str, Any]) -> None:
        """Bring Adam to a stored state."""
        device = self.weights.device
        self.adam.state[self.weights] = {
            key: torch.from_numpy(one).to(device if key != "step" or self.adam.defaults["fused"] else "cpu")
            for key, one in memory.items()
        }
