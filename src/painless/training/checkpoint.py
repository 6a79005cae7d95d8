"""Checkpoints of a training run: all that the rest of it depends on, in one atomically written file.

A run that continues from a checkpoint gives bit for bit the result of an uninterrupted one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.duals.base import Dual
from painless.loop.framework import Position
from painless.policies import FeaturePolicy, LinearQ
from painless.policies.packing import pack, unpack
from painless.storage import checked_entries as entries
from painless.storage import results

LARGEST = 1e12  # of a value, in normalised units


@dataclass
class TrainingState:
    """The state of a run."""

    position: Position[FeaturePolicy]
    rng: np.random.Generator
    values: list[Array]  # (J,) for each iteration done
    errors: list[Array]  # (J,) their standard errors
    weights: list[Array]  # (J,) what the dual played
    kept: list[FeaturePolicy]  # iterates of the mixture
    steps: int = 0  # of the simulator

    def __post_init__(self) -> None:
        self.mark()

    def keep(self, policy: FeaturePolicy, most: int) -> None:
        """Keep an iterate of about every n-th iteration, where n doubles whenever there are too many."""
        spacing = 1
        while len(self.values) >= most * spacing:
            spacing *= 2
        if not len(self.values) % spacing:
            self.kept = [one for one in self.kept if not one.updates % spacing] + [policy]

    def mark(self) -> None:
        """Remember this state, at the end of an iteration."""
        self._marked = (
            self.position,
            self.rng.bit_generator.state,
            len(self.values),
            self.kept,
            self.steps,
        )

    def rewind(self) -> None:
        """Go back to the last mark, after an interrupt in the middle of an iteration."""
        self.position, state, count, self.kept, self.steps = self._marked
        self.rng.bit_generator.state = state
        for record in (self.values, self.errors, self.weights):
            del record[count:]


def save_checkpoint(
    path: str | os.PathLike[str], run: TrainingState, settings: dict[str, Any], bound: dict[str, Any]
) -> None:
    """Write the state of a run. `settings` must be the same when it continues; `bound` is the feasibility phase's result."""
    policy = run.position.policy
    last = policy.last.weights[0] if policy.last is not None else np.zeros((0, policy.features.dimension))
    content = {
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
        **policy.parts([*run.kept, policy]),
    }
    results.write(path, "checkpoint", content)


def require_same(
    path: str | os.PathLike[str], stored: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Reject a checkpoint of a run with other settings."""
    for name in dict.fromkeys([*settings, *stored]):
        given = json.loads(json.dumps(settings.get(name)))
        if stored.get(name) != given:
            raise InputError(
                f"{path} belongs to a run with {name} = {stored.get(name)}, not {given}; "
                "resume with the same settings, or start again in another folder"
            )


def read_run(path: str | os.PathLike[str], kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read the checkpoint of a run of this kind with these settings."""
    content = results.read(path, "checkpoint")
    if str(content.get("kind")) != kind:
        raise InputError(f"{path} belongs to another kind of run; start again in another folder")
    with results.understood(path, "checkpoint"):
        stored = dict(entries.parsed(content, "settings").items())
    require_same(path, stored, settings)
    return content


class Checkpoint:
    """A checkpoint of a run with these settings; its content is validated on access.

    Arguments:
        path: the file.
        settings: those of the run that continues; another's checkpoint is rejected.
        constraints: K.
        iterations: T, the most that a checkpoint can have.
    """

    def __init__(
        self, path: str | os.PathLike[str], settings: dict[str, Any], constraints: int, iterations: int
    ) -> None:
        self.path, self.constraints = path, constraints
        self.content = results.read(path, "checkpoint")
        with results.understood(path, "checkpoint"):
            stored = dict(entries.parsed(self.content, "settings").items())
            shape = (None, 1 + constraints)
            self.values = entries.floats(self.content, "values", shape, least=-LARGEST, most=LARGEST)
            self.count = len(self.values)
        require_same(path, stored, settings)
        if not 1 <= self.count <= iterations:
            raise InputError(
                f"{path} does not hold a checkpoint: {self.count} iterations are done; start the run again"
            )

    def bound(self) -> dict[str, Any]:
        """Return what the feasibility phase found."""
        with results.understood(self.path, "checkpoint"):
            name = "bound_multiplier_bound"
            upper = entries.floats(self.content, name, (self.constraints,), least=0.0, infinite=True)
            return {"multiplier_bound": upper, "steps": entries.whole(self.content, "bound_steps")}

    def state(self, policy: FeaturePolicy, dual: Dual[Any]) -> TrainingState:
        """Return the state of the run; `policy` and `dual` are the initial ones."""
        with results.understood(self.path, "checkpoint"):
            shape = self.values.shape
            errors = entries.floats(self.content, "errors", shape, least=0.0, most=LARGEST, infinite=True)
            weights = entries.floats(self.content, "weights", shape)
            policies = self._policies(policy)
            position = Position(policies[-1], self._dual(dual))
            steps = entries.whole(self.content, "steps")
            return TrainingState(
                position, self._rng(), list(self.values), list(errors), list(weights), policies[:-1], steps
            )

    def _rng(self) -> np.random.Generator:
        rng = np.random.default_rng(0)
        state = entries.parsed(self.content, "rng")
        rng.bit_generator.state = state
        if rng.bit_generator.state != state:
            raise InputError("'rng' is not the state of a generator")
        return rng

    def _dual(self, dual: Dual[Any]) -> Any:
        """Return the dual's state: its fields have the shapes that they have at the start."""
        state = dual.init(np.ones((1, self.constraints)))
        fields: dict[str, Any] = {}
        for name, first in state._asdict().items():
            if isinstance(first, int):
                fields[name] = entries.whole(self.content, f"dual_{name}")
            else:
                found = entries.floats(self.content, f"dual_{name}", np.shape(first))
                fields[name] = found if found.ndim else found.item()
        return state._replace(**fields)

    def _policies(self, start: FeaturePolicy) -> list[FeaturePolicy]:
        """Return the iterates of the mixture, and the one to continue with."""
        found = unpack(self.content, "last", start.features.dimension).T
        if len(found) != 1 + self.constraints:
            raise InputError(f"'last' is of {len(found)} utilities, not {1 + self.constraints}")
        last = LinearQ(start.features, found[None])
        kept = entries.wholes(self.content, "kept_updates", (None,), below=self.count)
        if (np.diff(kept) <= 0).any():
            raise InputError("'kept_updates' is not in order")
        stages = [*kept.tolist(), self.count]
        policies = start.from_parts(start.learner, start.features, self.content, stages)
        return [*policies[:-1], policies[-1].resumed(last)]
