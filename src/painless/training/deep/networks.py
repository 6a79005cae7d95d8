"""Bodies and heads in torch, and policies made of them.

Actor and critic are separate. A body is two tanh layers, a small convolutional network for images, or the user's own module; all weights
start orthogonal, those of the actor's head small, so that the first policy is nearly uniform.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from painless.common.errors import InputError, shown
from painless.environments.interface import Interface
from painless.policies.action_heads import ActionHead
from painless.policies.network import NetworkPolicy, Single
from painless.training.deep.moments import Moments
from painless.training.deep.settings import Deep

PIXEL = 255.0
LARGE_IMAGE = 36  # pixels from which the convolutions skip
FEATURES = 128  # of a convolutional body


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run torch on one thread, so that a result does not depend on the number of cores; small networks are faster so, too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def orthogonal(layer: Any, gain: float) -> Any:
    """Return a layer with orthogonal weights and no bias."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def plain_body(inputs: int, hidden: int) -> nn.Sequential:
    """Two tanh layers."""
    root = 2**0.5
    first, second = orthogonal(nn.Linear(inputs, hidden), root), orthogonal(nn.Linear(hidden, hidden), root)
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh())


class Convolutional(nn.Module):
    """A small convolutional body for images, channels first or last, whose pixels are 0..1."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.last = shape[2] <= min(shape[0], 16)  # otherwise the channels come first
        channels, *size = (shape[2], *shape[:2]) if self.last else shape
        large = min(size) >= LARGE_IMAGE
        kernels = [(8, 4), (4, 2), (3, 1)] if large else [(min(3, *size), 1), (min(2, *size), 1)]
        layers: list[nn.Module] = []
        for width, (kernel, stride) in zip((16, 32, 32), kernels, strict=False):
            layers += [orthogonal(nn.Conv2d(channels, width, kernel, stride), 2**0.5), nn.ReLU()]
            channels = width
        self.convolutions = nn.Sequential(*layers, nn.Flatten())
        with torch.no_grad():
            found = self.convolutions(torch.zeros(1, shape[2] if self.last else shape[0], *size)).shape[1]
        self.features = nn.Sequential(orthogonal(nn.Linear(found, FEATURES), 2**0.5), nn.ReLU())

    def forward(self, images: Any) -> Any:
        """Return features (n, F) of images (n, *shape)."""
        return self.features(self.convolutions(images.permute(0, 3, 1, 2) if self.last else images))


class Shaped(nn.Module):
    """A body that sees flat observations in the shape of their space."""

    def __init__(self, body: nn.Module, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.body, self.shape = body, shape

    def forward(self, rows: Any) -> Any:
        """Return features (n, F) of observations (n, D)."""
        return self.body(rows.reshape(-1, *self.shape)).flatten(1)


def own_body(given: Any, shape: tuple[int, ...]) -> nn.Module:
    """Return the user's module with a trial run behind it, or say what is wrong with it."""
    made = copy.deepcopy(given) if isinstance(given, nn.Module) else given()
    if not isinstance(made, nn.Module):
        raise InputError(f"network made {shown(made)}; it must make a torch.nn.Module")
    body = Shaped(made, shape)
    try:
        with torch.no_grad():
            found = body(torch.zeros(2, int(np.prod(shape))))
    except Exception as error:
        raise InputError(
            f"network fails on observations of shape (2, {', '.join(map(str, shape))}): {shown(error)}; "
            "it maps (n, *shape) to features (n, F)"
        ) from error
    if found.ndim != 2 or len(found) != 2:
        raise InputError(f"network returns shape {tuple(found.shape)} for 2 observations; return (n, F)")
    return body


def make_body(interface: Interface, settings: Deep) -> nn.Module:
    """Return the body for an environment's observations."""
    shape = tuple(interface.observation.get("shape", (interface.dimension,)))
    if settings.network is not None:
        return own_body(settings.network, shape)
    if interface.image is not None:
        return Shaped(Convolutional(interface.image), interface.image)
    return plain_body(interface.dimension, settings.hidden)


class Networks:
    """Actor and critic of a run.

    Arguments:
        interface: the spaces of the environment.
        utilities: J.
        settings: of the run.
        seed: of the first weights.
    """

    def __init__(self, interface: Interface, utilities: int, settings: Deep, seed: int) -> None:
        self.interface, self.head = interface, ActionHead.of(interface.action_space)
        self.plain = settings.network is None and interface.image is None
        self.kind = None if self.plain else "own" if settings.network is not None else "image"
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = self._with_head(make_body(interface, settings), self.head.outputs, 0.01)
            self.critic = self._with_head(make_body(interface, settings), utilities, 1.0)
        try:
            self.device = torch.device(settings.device)
            self.actor.to(self.device)
            self.critic.to(self.device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"device is {shown(settings.device)}: {shown(error)}; choose 'cpu'") from error
        self._acting = copy.deepcopy(self.actor).to("cpu")  # the copy that collects

    def _with_head(self, body: nn.Module, outputs: int, gain: float) -> nn.Sequential:
        with torch.no_grad():
            width = body(torch.zeros(1, self.interface.dimension)).shape[1]
        return nn.Sequential(body, orthogonal(nn.Linear(width, outputs), gain))

    @property
    def parameters(self) -> list[Any]:
        """All weights, the actor's first."""
        return [*self.actor.parameters(), *self.critic.parameters()]

    def values(self, rows: Single) -> Any:
        """Return the critic's values of normalised observations, (n, J)."""
        with torch.no_grad():
            return self.critic(torch.from_numpy(rows).to(self.device)).cpu().numpy()

    def policy(self, seen: Moments, updates: int, *, keep: bool) -> NetworkPolicy:
        """Return the actor as a policy; with `keep` it stays as it is when the actor moves on."""
        arrays = tuple(part.detach().cpu().numpy().copy() for part in self.actor.state_dict().values())
        fixed = self.interface.image is not None
        mean = np.zeros(1) if fixed else seen.mean
        scale = np.full(1, 1 / PIXEL) if fixed else 1 / np.sqrt(seen.variance + 1e-8)
        policy = NetworkPolicy(arrays, mean.astype(np.float32), scale.astype(np.float32), self.head, updates)
        if self.plain:
            return policy
        module = copy.deepcopy(self.actor).to("cpu") if keep else self._acting
        if not keep:
            module.load_state_dict(self.actor.state_dict())
        return replace(policy, forward=Forward(module), body=self.about)

    def sharpened(self, policy: NetworkPolicy) -> NetworkPolicy:
        """Return a policy that does what another is likeliest to do."""
        *body, weight, bias = policy.weights
        sharp = replace(policy, weights=(*body, *self.head.sharpened(weight, bias)))
        return sharp if self.plain else self.restored(sharp)

    @property
    def about(self) -> dict[str, Any]:
        """What a policy that is not of plain layers says of its body."""
        shape = self.interface.observation.get("shape", (self.interface.dimension,))
        return {"kind": self.kind, "shape": [int(n) for n in shape]}

    def restored(self, policy: NetworkPolicy) -> NetworkPolicy:
        """Return a policy of a checkpoint of this run, which acts again."""
        return replace(with_module(policy, copy.deepcopy(self._acting[0])), body=self.about)


class Forward:
    """A module as a function from rows to rows, on the CPU."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module.eval()

    def __call__(self, rows: Single) -> Single:
        """Return the outputs of normalised observations (n, D)."""
        with torch.no_grad():
            return self.module(torch.from_numpy(rows)).numpy()


def with_module(policy: NetworkPolicy, body: nn.Module) -> NetworkPolicy:
    """Return a stored policy that acts by a body like the one it was saved with."""
    width = policy.weights[-2].shape[1]
    module = nn.Sequential(body, nn.Linear(width, policy.head.outputs))
    names = list(module.state_dict())
    if len(names) != len(policy.weights):
        raise InputError(
            f"network has {len(names)} arrays, and the saved one {len(policy.weights)}; give the same one"
        )
    arrays = {name: torch.from_numpy(one) for name, one in zip(names, policy.weights, strict=True)}
    try:
        module.load_state_dict(arrays)
    except RuntimeError as error:
        raise InputError(f"network is not the one that was saved: {shown(error)}") from error
    return replace(policy, forward=Forward(module))


def image_policy(policy: NetworkPolicy) -> NetworkPolicy:
    """Return a stored policy over images that acts."""
    shape = tuple(int(n) for n in (policy.body or {})["shape"])
    return with_module(policy, Shaped(Convolutional(shape), shape))


def own_policy(policy: NetworkPolicy, network: Any) -> NetworkPolicy:
    """Return a stored policy with a network of the user's own, given again."""
    return with_module(policy, own_body(network, tuple(int(n) for n in (policy.body or {})["shape"])))
