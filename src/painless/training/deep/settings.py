"""The settings of networks, each with its reason. One set serves all environments; none has to be chosen."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from painless.common import extras
from painless.common.arguments import number, whole
from painless.common.errors import InputError, shown
from painless.duals.multipliers import untuned_learner
from painless.learners.base import Learner
from painless.policies.network import BODIES, NetworkPolicy

SHORTEST = 16  # steps of a copy between two updates, with many copies


def _image_policy(policy: NetworkPolicy) -> NetworkPolicy:
    """Make the network of a stored policy over images again."""
    extras.require_torch()
    from painless.training.deep.networks import image_policy

    return image_policy(policy)


BODIES["image"] = _image_policy


@dataclass(frozen=True)
class Deep:
    """Networks: PPO with a value head for each utility, and multipliers that nobody tunes.

    Arguments:
        network: your own body, a `torch.nn.Module` or a function that makes one: from observations (n, …), or (n, D) where they
            are tuples or dictionaries, to features (n, F). By default two layers, or a small convolutional network for images.
        device: where the networks are updated, "cpu" or "cuda"; none is required.
        workers: processes that step the environments; 1 is this process. A script that asks for more needs `if __name__ == "__main__":`.
        hidden: width of the two layers; twice as many are no better on the environments tried, and slower.
        environments: copies that are stepped side by side.
        horizon: steps of each copy between two updates; with 16 copies 1,024 steps, of which an update can tell a direction.
        epochs, minibatch: passes over these steps, and the size of a part: 80 steps of Adam an update. With 24 the pendulum settles on hanging
            down before it has learned to swing up (−487 in place of −361 after 100,000 steps).
        rate, last_rate: of Adam, and the share of it that is left at the end; it falls so that the last policies agree with each other.
        clip: how far an update may move the probability of an action.
        entropy: bonus for the randomness of continuous actions, which falls to nothing over the run; without it exploration ends too early, and
            with some of it left at the end a thermostat spends 0.9 of 101 on actions that it does not mean.
        barrier: the same for discrete actions, where it is the weight of the mean log-probability of all choices. No choice dies out then while a
            limit is still loose; with an entropy bonus of 0.01 a thermostat lost one that it needed later.
        smoothing: λ of generalised advantage estimation.
        gradient: the largest norm of a gradient.
        stagger: steps over which the ends of the first episodes are spread. Otherwise episodes of one length all end at once, and costs of
            one time of an episode are seen together (16 in place of 1 on one task).
        dual: learner of the multipliers on [0, ∞), which gains the shortfall in units of its deviation, divided by 1 + Σλ. By default COCOB
            without wind-up, played five steps ahead.
        annealing: share of the run at which the multipliers aim at the limits. Before it they come down evenly from what the first episodes,
            of nearly random actions, collected, or from three deviations of these beyond the limits if that is more: multipliers that press at
            once end exploration. Without the deviations a pendulum with two limits, which its first policy nearly keeps, does not learn to
            swing up (−300 and −296 with seeds 14 and 15; with them −120 and −124 at 8.2 and 8.7 of 8, which a mixture can bring within the limits).
        checkpoints: policies that are kept for the answer, from an eighth of the run on; each is tried as it is, and as what it is likeliest to do.
        margin: standard errors of the episodes that select it, and as many of those that judge it, by which the safest of the mixtures that may
            be the answer keeps away from the limits; bolder ones follow it as far as they are met. The multipliers aim twice as many errors of
            the verdict's episodes beyond the limits, once for the selection and once for the verdict: policies right at a limit leave nothing
            to select from. Half of that was no better on thermostat, nuisance and Acrobot.
        selection, verification: shares of `steps` that are spent on fresh episodes in addition, to select the answer and to judge it.

    >>> Deep(hidden=128).hidden
    128
    """

    network: Any = None
    device: str = "cpu"
    workers: int = 1
    hidden: int = 64
    environments: int = 16
    horizon: int = 64
    epochs: int = 10
    minibatch: int = 128
    rate: float = 5e-4
    last_rate: float = 0.1
    clip: float = 0.2
    entropy: float = 0.01
    barrier: float = 0.03
    smoothing: float = 0.95
    gradient: float = 0.5
    stagger: int = 256
    dual: Learner[Any] | None = None
    annealing: float = 0.5
    checkpoints: int = 24
    margin: float = 3.0
    selection: float = 0.25
    verification: float = 0.25

    def __post_init__(self) -> None:
        for one in ("workers", "hidden", "environments", "horizon", "epochs", "minibatch", "checkpoints"):
            whole(one, getattr(self, one))
        whole("stagger", self.stagger, least=0)
        for one in ("rate", "clip", "gradient"):
            if not number(one, getattr(self, one), "give a positive number") > 0:
                raise InputError(f"{one} is {getattr(self, one)}; give a positive number")
        for one in (
            "last_rate",
            "entropy",
            "barrier",
            "smoothing",
            "annealing",
            "margin",
            "selection",
            "verification",
        ):
            if not number(one, getattr(self, one), "give a number from 0 on") >= 0:
                raise InputError(f"{one} is {getattr(self, one)}; give a number from 0 on")
        for one in ("smoothing", "annealing"):
            if getattr(self, one) > 1:
                raise InputError(f"{one} is {getattr(self, one)}; give a share of at most 1")
        if not isinstance(self.device, str):
            raise InputError(f"device is {shown(self.device)}; give a name such as 'cpu' or 'cuda'")
        if self.network is not None and not callable(self.network):
            raise InputError(
                f"network is {shown(self.network)}; give a torch.nn.Module, or a function that makes one"
            )

    def beside(self, copies: int | None) -> Deep:
        """Return the settings for an environment that has so many copies of its own, with about as many steps for an update."""
        if copies is None:
            return self
        horizon = max(-(-self.environments * self.horizon // copies), SHORTEST)
        return replace(self, environments=copies, horizon=horizon)

    @property
    def learner(self) -> Learner[Any]:
        """The learner of the multipliers."""
        return untuned_learner() if self.dual is None else self.dual

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain numbers and text, to compare two runs."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        own = {"network": self.network is not None, "dual": repr(self.learner)}
        return {name: value for name, value in (plain | own).items() if name not in ("device", "workers")}
