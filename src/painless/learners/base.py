"""The learner interface: a pair of pure functions over a small state."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

from painless.common.arrays import Array


class LearnerState(Protocol):
    """The state of a learner. It is a NamedTuple; `decision` is what the learner plays next."""

    @property
    def decision(self) -> Array:
        """The point played next, of the shape of the prior."""

    def _replace(self, *, decision: Array) -> Self: ...


State = TypeVar("State", bound=LearnerState)


class Learner(Protocol[State]):
    """An online linear learner. It always maximises the gains that it is given.

    All arrays have the shape of the prior, including a leading batch axis if there is one. Settings
    are scalars, or arrays (B,) with one value for each run of the batch.
    """

    def init(self, prior: Array) -> State:
        """Return the state before the first gain; `prior` is the first decision."""

    def update(self, gain: Array, state: State) -> State:
        """Return the state after `gain` was seen, without changing `state`."""
