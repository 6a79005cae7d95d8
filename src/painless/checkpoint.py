"""Checkpoints of a training run: all that the rest of it depends on, in one file written whole.

A run that goes on from a checkpoint ends with the same bits as one that was never interrupted.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless import files
from painless.arrays import Array
from painless.duals.base import Dual
from painless.errors import InputError
from painless.feature_policies import FeaturePolicy, History, LinearQ, ReplayedPolicy, SummedPolicy
from painless.feature_policies.cells import Cells
from painless.feature_policies.storage import pack, unpack
from painless.features.base import FeatureMap
from painless.framework import Position


@dataclass
class Progressed:
    """How far a run has come."""

    position: Position[FeaturePolicy]
    rng: np.random.Generator
    values: list[Array]  # (J,) for each iteration done
    errors: list[Array]  # (J,) their standard errors
    weights: list[Array]  # (J,) what the dual played
    kept: list[FeaturePolicy]  # iterates of the mixture
    steps: int = 0  # of the simulator

    def __post_init__(self) -> None:
        self.mark()

    def mark(self) -> None:
        """Remember this place, at the end of an iteration."""
        self._marked = (
            self.position,
            self.rng.bit_generator.state,
            len(self.values),
            len(self.kept),
            self.steps,
        )

    def rewind(self) -> None:
        """Go back to the last mark, after an interrupt in the middle of an iteration."""
        self.position, state, count, kept, self.steps = self._marked
        self.rng.bit_generator.state = state
        for record in (self.values, self.errors, self.weights):
            del record[count:]
        del self.kept[kept:]


def save_checkpoint(
    path: str | os.PathLike[str], run: Progressed, settings: dict[str, Any], bound: dict[str, Any]
) -> None:
    """Write where a run stands. `settings` must be the same when it goes on; `bound` is the feasibility phase's."""
    policy = run.position.policy
    last = policy.last.weights[0] if policy.last is not None else np.zeros((0, policy.features.dimension))
    arrays = {
        "settings": json.dumps(settings),
        "rng": json.dumps(run.rng.bit_generator.state),
        "values": np.array(run.values),
        "errors": np.array(run.errors),
        "weights": np.array(run.weights),
        "steps": run.steps,
        "kept_updates": np.array([one.updates for one in run.kept], dtype=np.int64),
        **{f"bound_{name}": value for name, value in bound.items()},
        **{f"dual_{name}": value for name, value in run.position.dual._asdict().items()},
        **pack(last.T, "last"),
        **_policy_arrays(policy, run.kept),
    }
    files.write_npz(path, arrays)


def _policy_arrays(policy: FeaturePolicy, kept: list[FeaturePolicy]) -> dict[str, Any]:
    if isinstance(policy, SummedPolicy):
        sums = [one.weight_sum for one in (*kept, policy) if isinstance(one, SummedPolicy)]
        return pack(np.array(sums).T, "sums")
    return pack(policy.history.weights[:, : policy.updates], "history")


def load_checkpoint(
    path: str | os.PathLike[str], policy: FeaturePolicy, dual: Dual[Any], settings: dict[str, Any]
) -> tuple[Progressed, dict[str, Any]]:
    """Read where a run stands; `policy` and `dual` are those it started with."""
    content = files.read(path)
    try:
        stored = json.loads(str(content["settings"]))
    except (KeyError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not a checkpoint; give the folder of an interrupted run") from error
    for name, value in settings.items():
        if stored.get(name) != value:
            raise InputError(
                f"{path} belongs to a run with {name} = {stored.get(name)}, not {value}; "
                "resume with the same settings, or start anew in another folder"
            )
    rng = np.random.default_rng(0)
    rng.bit_generator.state = json.loads(str(content["rng"]))
    policies = _policies(content, policy)
    state = dual.init(np.ones((1, content["weights"].shape[1] - 1)))
    fields = {name: _as_stored(content[f"dual_{name}"]) for name in state._fields}
    position = Position(policies[-1], state._replace(**fields))
    bound = {key.removeprefix("bound_"): value for key, value in content.items() if key.startswith("bound_")}
    values, errors, weights = (list(content[name]) for name in ("values", "errors", "weights"))
    return Progressed(position, rng, values, errors, weights, policies[:-1], int(content["steps"])), bound


def _as_stored(value: Array) -> Any:
    return value if value.ndim else value.item()


def _policies(content: dict[str, Any], start: FeaturePolicy) -> list[FeaturePolicy]:
    """Return the iterates of the mixture, and the one to go on with."""
    features: FeatureMap = start.features
    count = len(content["values"])
    last = LinearQ(features, unpack(content, "last", features.dimension).T[None])
    kept = [int(updates) for updates in content["kept_updates"]]
    if isinstance(start, SummedPolicy):
        sums = unpack(content, "sums", features.dimension).T
        pairs = zip(sums, [*kept, count], strict=True)
        summed = [SummedPolicy(start.learner, features, one, updates) for one, updates in pairs]
        return [*summed[:-1], SummedPolicy(start.learner, features, summed[-1].weight_sum, count, last)]
    history = History.of(unpack(content, "history", features.dimension))
    if isinstance(start, ReplayedPolicy):
        older = [ReplayedPolicy(start.learner, start.features, history, updates) for updates in kept]
        cells = [Cells(start.learner, start.features)]
        return [*older, ReplayedPolicy(start.learner, start.features, history, count, last, cells)]
    kind = type(start)
    folded = [kind(start.learner, features, history, updates) for updates in kept]
    return [*folded, kind(start.learner, features, history, count, last)]
