"""Between an environment's spaces and numbers: observations become numbers, and numbers actions.

A space is described by plain numbers and text, so that a saved policy can act without Gymnasium.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError, shown

Tree = Mapping[str, Any]

MOST_ACTIONS = 1000  # combinations of a product of actions, unless a network draws them one by one
MOST_NUMBERS = 1000  # of one observation, unless a network sees them
MOST_PIXELS = 10**7  # of one observation that a network sees
MOST_STATES = 10**6  # of a space that is certainly counted
UNBOUNDED = 1e300  # stands for infinity in a description

ARRAYS = {spaces.Box: "box", spaces.MultiDiscrete: "multi-discrete", spaces.MultiBinary: "multi-binary"}


# Spaces of numbers; a dictionary may also have text
NUMBERS = (spaces.Discrete, spaces.Tuple, spaces.Dict, *ARRAYS)


def describe(space: Any, where: str) -> dict[str, Any]:
    """Return the description of an observation space. Text in a dictionary, such as a mission, is left out.

    >>> describe(spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiBinary(2)]), "Env")["kind"]
    'tuple'
    """
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.Tuple):
        return {"kind": "tuple", "parts": [describe(part, where) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        kept = {name: part for name, part in space.spaces.items() if isinstance(part, NUMBERS)}
        if kept:
            parts = {str(name): describe(part, f"{where}['{name}']") for name, part in kept.items()}
            left = [str(name) for name in space.spaces if name not in kept]
            return {"kind": "dict", "parts": parts, "left_out": left}
    for kind, name in ARRAYS.items():
        if isinstance(space, kind):
            return _array(space, name, where)
    raise InputError(
        f"{where} has observations {shown(type(space).__name__)}, which are no numbers; leave them out with a "
        "gymnasium.ObservationWrapper"
    )


def _array(space: Any, kind: str, where: str) -> dict[str, Any]:
    size = int(np.prod(space.shape))
    if size > MOST_PIXELS:
        shape = "×".join(map(str, space.shape))
        raise InputError(
            f"{where} has observations of {shape} = {size} numbers, at most {MOST_PIXELS} can be trained; reduce "
            "them with a gymnasium.ObservationWrapper"
        )
    found: dict[str, Any] = {"kind": kind, "shape": list(space.shape)}
    if kind == "multi-discrete":
        return {**found, "n": np.asarray(space.nvec).reshape(-1).tolist(), "start": _starts(space).tolist()}
    if kind == "box":
        found["whole"] = bool(np.issubdtype(space.dtype, np.integer) or space.dtype == bool)
        if size > MOST_NUMBERS:  # an image: one range for all of its numbers
            return {**found, "low": [float(np.min(space.low))], "high": [float(np.max(space.high))]}
        found["low"], found["high"] = (
            np.clip(np.asarray(end, float).reshape(-1), -UNBOUNDED, UNBOUNDED).tolist()
            for end in (space.low, space.high)
        )
    return found


def _starts(space: Any) -> NDArray[np.int64]:
    start = getattr(space, "start", None)
    nvec = np.asarray(space.nvec)
    return np.zeros(nvec.size, np.int64) if start is None else np.asarray(start, np.int64).reshape(-1)


def size_of(tree: Tree) -> int:
    """Return the number of numbers of an observation, D."""
    kind = tree["kind"]
    if kind == "discrete":
        return 1
    if kind in ("tuple", "dict"):
        parts = tree["parts"].values() if kind == "dict" else tree["parts"]
        return sum(size_of(part) for part in parts)
    return int(np.prod(tree["shape"]))


def whole_of(observation: Any) -> int:
    """Return the whole number that an observation of a Discrete space is.

    >>> whole_of(np.int64(3)), whole_of(np.array(3))
    (3, 3)
    """
    try:
        number = int(observation)
    except (TypeError, ValueError):
        number = None
    if number is None or number != observation:
        raise InputError(f"the observation is {shown(observation)}; a Discrete space has whole numbers")
    return number


def numbers_of(tree: Tree, observation: Any) -> Array:
    """Return an observation as numbers, (D,)."""
    kind = tree["kind"]
    if kind == "discrete":
        return np.array([float(whole_of(observation)) - tree["start"]])
    if kind == "tuple":
        parts = zip(tree["parts"], observation, strict=True)
        return np.concatenate([numbers_of(part, one) for part, one in parts])
    if kind == "dict":
        return np.concatenate([numbers_of(part, observation[name]) for name, part in tree["parts"].items()])
    array = np.asarray(observation, dtype=np.float64)
    if list(array.shape) != list(tree["shape"]):
        raise InputError(f"the observation has shape {array.shape}, not {tuple(tree['shape'])}")
    return array.reshape(-1)


def left_out_of(tree: Tree) -> list[str]:
    """Return the names of parts that are no numbers; those of inner dictionaries with the names of the outer ones.

    >>> inner = spaces.Dict({"x": spaces.Discrete(3), "mission": spaces.Text(9)})
    >>> left_out_of(describe(spaces.Dict({"robot": inner}), "Env"))
    ['robot.mission']
    """
    parts = tree.get("parts", {})
    named = parts.items() if tree["kind"] == "dict" else enumerate(parts)
    inner = [f"{name}.{one}" for name, part in named for one in left_out_of(part)]
    return [*tree.get("left_out", ()), *inner]


def states_of(tree: Tree) -> float:
    """Return how many observations there are; infinite if they are not whole numbers within bounds."""
    kind = tree["kind"]
    if kind == "discrete":
        return float(tree["n"])
    if kind in ("tuple", "dict"):
        parts = tree["parts"].values() if kind == "dict" else tree["parts"]
        return math.prod(states_of(part) for part in parts)
    if kind == "multi-binary":
        return 2.0 ** size_of(tree)
    if kind == "multi-discrete":
        return math.prod(map(float, tree["n"]))
    if not tree["whole"]:
        return math.inf
    if len(tree["low"]) < size_of(tree):
        return math.inf
    return math.prod(high - low + 1 for low, high in zip(tree["low"], tree["high"], strict=True))


def bounds_of(tree: Tree) -> tuple[Array, Array]:
    """Return the least and the largest numbers of an observation, (D,) each."""
    kind = tree["kind"]
    if kind == "discrete":
        return np.zeros(1), np.array([float(tree["n"])])
    if kind in ("tuple", "dict"):
        parts = tree["parts"].values() if kind == "dict" else tree["parts"]
        lows, highs = zip(*map(bounds_of, parts), strict=True)
        return np.concatenate(lows), np.concatenate(highs)
    if kind == "box":
        return np.asarray(tree["low"], float), np.asarray(tree["high"], float)
    if kind == "multi-binary":
        return np.zeros(size_of(tree)), np.full(size_of(tree), 2.0)
    start = np.asarray(tree["start"], float)
    return start, start + np.asarray(tree["n"], float)


def describe_actions(space: Any, where: str) -> dict[str, Any]:
    """Return the description of an action space: Discrete, a product of such, or a Box.

    >>> describe_actions(spaces.MultiDiscrete([2, 3]), "Env")["n"]
    [2, 3]
    """
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        nvec = getattr(space, "nvec", None)  # MultiBinary has none
        count = [2] * int(np.prod(space.shape)) if nvec is None else np.asarray(nvec).reshape(-1).tolist()
        start = [0] * len(count) if nvec is None else _starts(space).tolist()
        return {"kind": "product", "n": count, "start": start, "shape": list(space.shape)}
    if isinstance(space, spaces.Box):
        low, high = (
            np.clip(np.asarray(end, float).reshape(-1), -UNBOUNDED, UNBOUNDED).tolist()
            for end in (space.low, space.high)
        )
        return {"kind": "box", "shape": list(space.shape), "low": low, "high": high, "type": str(space.dtype)}
    raise InputError(
        f"{where} has actions {shown(space)}; only Discrete actions, products of them and boxes can be trained: offer "
        "some with a gymnasium.ActionWrapper"
    )


def _leaf(tree: Tree, observation: Any) -> Any:
    """Return the first part of an observation that has no parts."""
    while tree["kind"] in ("tuple", "dict"):
        name = 0 if tree["kind"] == "tuple" else next(iter(tree["parts"]))
        tree, observation = tree["parts"][name], observation[name]
    return observation


def _axes(tree: Tree, observation: Any) -> int:
    """Return how many axes an observation has beyond those of its space: 1 for a batch."""
    part = tree
    while part["kind"] in ("tuple", "dict"):
        part = part["parts"][0] if part["kind"] == "tuple" else next(iter(part["parts"].values()))
    return int(np.ndim(_leaf(tree, observation))) - len(part.get("shape", ()))


def _taken(tree: Tree, observation: Any, index: int) -> Any:
    """Return one observation of a batch."""
    if tree["kind"] == "tuple":
        return tuple(_taken(part, one, index) for part, one in zip(tree["parts"], observation, strict=True))
    if tree["kind"] == "dict":
        return {name: _taken(part, observation[name], index) for name, part in tree["parts"].items()}
    return observation[index]


@dataclass(frozen=True)
class Interface:
    """The spaces of an environment, described.

    >>> both = Interface.of(spaces.MultiDiscrete([4, 5]), spaces.MultiDiscrete([2, 3]), "Env")
    >>> both.state(np.array([3, 1])), both.action(4), both.actions
    (array([3., 1.]), array([1, 1]), 6)
    """

    observation: Tree
    action_space: Tree

    @classmethod
    def of(cls, observation: Any, action: Any, where: str) -> Interface:
        """Describe two spaces; `where` names the environment in errors."""
        return cls(describe(observation, where), describe_actions(action, where))

    def require_few(self, where: str) -> None:
        """Reject what only a network can be trained on: boxes of actions, many combinations of actions, and images."""
        advice = "install painless-cmdp[deep] to train a network"
        if self.continuous:
            raise InputError(
                f"{where} has actions in a Box; only Discrete actions and products of them can be trained without a "
                f"network: {advice}, or offer some with a gymnasium.ActionWrapper"
            )
        if self.actions > MOST_ACTIONS:
            raise InputError(
                f"{where} has {self.actions:g} combinations of actions, at most {MOST_ACTIONS} can be trained without a "
                f"network: {advice}, or reduce them with a gymnasium.ActionWrapper"
            )
        if self.dimension > MOST_NUMBERS:
            shape = "×".join(map(str, self.observation.get("shape", [])))
            size = f"{shape} = {self.dimension}" if shape else str(self.dimension)
            raise InputError(
                f"{where} has observations of {size} numbers, at most {MOST_NUMBERS} can be trained without a network: "
                f"{advice}, or reduce them with a gymnasium.ObservationWrapper"
            )

    @cached_property
    def actions(self) -> int:
        """A; a box of actions counts as one."""
        if self.continuous:
            return 1
        return math.prod(self.action_space["n"]) if self.product else int(self.action_space["n"])

    @cached_property
    def continuous(self) -> bool:
        """Whether an action is a point of a box."""
        return self.action_space["kind"] == "box"

    @cached_property
    def image(self) -> tuple[int, ...] | None:
        """The shape of an observation that is a picture: whole numbers with three axes."""
        tree = self.observation
        picture = tree["kind"] == "box" and len(tree["shape"]) == 3 and tree["whole"]
        return tuple(tree["shape"]) if picture else None

    @cached_property
    def product(self) -> bool:
        """Whether an action is an array."""
        return self.action_space["kind"] == "product"

    @cached_property
    def discrete(self) -> bool:
        """Whether an observation is one whole number, 0..n−1."""
        return self.observation["kind"] == "discrete"

    @property
    def left_out(self) -> list[str]:
        """The parts of dictionaries that are no numbers, and so are not seen."""
        return left_out_of(self.observation)

    @cached_property
    def dimension(self) -> int:
        """D, the numbers of an observation."""
        return size_of(self.observation)

    @cached_property
    def small(self) -> bool:
        """Whether the observations are so few that they repeat."""
        return states_of(self.observation) <= MOST_STATES

    def state(self, observation: Any) -> Any:
        """Return an observation as a whole number if it is Discrete, else as numbers, (D,)."""
        if self.discrete:
            return whole_of(observation) - self.observation["start"]
        return numbers_of(self.observation, observation)

    def states(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """Return one observation, or a batch with a leading axis in every part, as states; and whether it was one."""
        single = _axes(self.observation, observation) == 0
        if single:
            return np.array([self.state(observation)]), True
        count = len(_leaf(self.observation, observation))
        return np.array([self.state(_taken(self.observation, observation, k)) for k in range(count)]), False

    def action(self, chosen: Any) -> Any:
        """Return action 0..A−1 as the environment takes it; or the components of a product, or a point of a box."""
        space = self.action_space
        if self.continuous:
            point = np.clip(np.asarray(chosen, float).reshape(-1), space["low"], space["high"])
            return point.reshape(space["shape"]).astype(space["type"])
        if not self.product:
            return int(chosen) + space["start"]
        if np.ndim(chosen):
            return (np.asarray(chosen, np.int64) + space["start"]).reshape(space["shape"])
        return self._actions[chosen].copy()

    def random_action(self, rng: np.random.Generator) -> Any:
        """Draw an action for `action`, uniformly where it has bounds."""
        space = self.action_space
        if self.continuous:
            low, high = np.array(space["low"]), np.array(space["high"])
            bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED)
            drawn = rng.random(len(low))
            point = np.where(bounded, low, 0.0) + drawn * np.where(
                bounded, high - np.where(bounded, low, 0), 0
            )
            return np.where(bounded, point, rng.normal(size=len(low)))
        if self.actions > MOST_ACTIONS:
            return rng.integers(space["n"])
        return rng.integers(self.actions, size=1)[0]

    @cached_property
    def _actions(self) -> NDArray[np.int64]:
        """All actions of a product, (A, …)."""
        counts: Sequence[int] = self.action_space["n"]
        grid = np.stack(np.unravel_index(np.arange(self.actions), counts), 1) + self.action_space["start"]
        return grid.reshape(self.actions, *self.action_space["shape"]).astype(np.int64)

    def as_dict(self) -> dict[str, Any]:
        """Return both descriptions."""
        return {"observation": self.observation, "action": self.action_space}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Interface:
        """Return what `as_dict` described, once it acts on nothing that it should not."""
        found = cls(content["observation"], content["action"])
        if found.actions < 1 or not 1 <= found.dimension <= MOST_PIXELS:
            raise InputError("it describes spaces that no environment here has")
        return found
