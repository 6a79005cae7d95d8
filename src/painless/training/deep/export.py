"""A trained network for other programs: ONNX or TorchScript, where their packages are installed.

The exported function maps observations (n, D), as flat numbers, to the outputs of the network: logits of the components one after the other, or
mean and the raw deviation of a box. Normalisation is part of it.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import torch
from torch import nn

from painless.common.errors import InputError
from painless.policies import MixturePolicy
from painless.policies.network import LARGEST, NetworkPolicy
from painless.storage import files

ENDINGS = (".onnx", ".pt")


class Normalised(nn.Module):
    """A network with the normalisation of its observations in front."""

    def __init__(self, policy: NetworkPolicy) -> None:
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(np.array(policy.mean)))
        self.register_buffer("scale", torch.from_numpy(np.array(policy.scale)))
        self.network = module_of(policy)

    def forward(self, observations: Any) -> Any:
        """Return the outputs for observations (n, D)."""
        return self.network(((observations - self.mean) * self.scale).clamp(-LARGEST, LARGEST))


def module_of(policy: NetworkPolicy) -> nn.Module:
    """Return the network of a policy as a module."""
    if policy.forward is not None:
        return policy.forward.module  # type: ignore[attr-defined]
    layers: list[nn.Module] = []
    for weight, bias in zip(policy.weights[::2], policy.weights[1::2], strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def export(training: Any, path: str | os.PathLike[str]) -> None:
    """Write the likeliest policy of a training, or a single network policy, as `.onnx` or, for TorchScript, as `.pt`."""
    policy = getattr(training, "policy", training)
    if isinstance(policy, MixturePolicy):
        policy = policy.policies[int(np.argmax(policy.weights))]
    if not isinstance(policy, NetworkPolicy):
        raise InputError(f"{type(policy).__name__} is no network; only networks can be exported")
    target = files.as_path(path)
    if target.suffix not in ENDINGS:
        raise InputError(f"{target} must end in .onnx or .pt; rename it")
    module = Normalised(policy).eval()
    width = (
        len(policy.mean) if len(policy.mean) > 1 else int(np.prod((policy.body or {"shape": [1]})["shape"]))
    )
    example = torch.zeros(2, width)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that deprecate each other
        traced = torch.jit.trace(module, example)
        if target.suffix == ".pt":
            files.write_atomically(target, lambda stream: torch.jit.save(traced, stream))
            return
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise InputError(
                "ONNX files need the package onnx; install it with: pip install 'painless-cmdp[onnx]', or export to .pt"
            ) from error
        names = {"input_names": ["observations"], "output_names": ["outputs"]}
        axes = {"observations": {0: "n"}, "outputs": {0: "n"}}
        files.write_atomically(
            target,
            lambda stream: torch.onnx.export(
                module, (example,), stream, dynamic_axes=axes, dynamo=False, **names
            ),
        )
