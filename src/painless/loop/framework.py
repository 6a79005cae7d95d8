"""The primal-dual loop. One loop serves every learner, dual and evaluator.

At iteration t all J utilities of π_t are evaluated, the dual weighs them, and policy and dual both move on
from the same iterate. The dual sees the estimated values. The trace holds the values that a monitor gives
where there is one (the exact values beside an estimator), else those that the evaluator gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.common.frames import to_frame
from painless.duals.base import Dual
from painless.evaluators.base import Evaluation, Evaluator
from painless.loop.averages import measured
from painless.policies.learning_table import Policy

P = TypeVar("P", bound=Policy)


class Constrained(Protocol):
    """What the loop needs to know of a problem."""

    @property
    def threshold(self) -> Array:
        """b, (K,)."""


@dataclass(frozen=True)
class Step(Generic[P]):
    """One iteration: the evaluated policies, their values, and the dual's weights."""

    policy: P
    evaluation: Evaluation
    weight: Array  # (B, J)


@dataclass(frozen=True)
class Position(Generic[P]):
    """The state of the loop: the policies to evaluate next, and the dual's state."""

    policy: P
    dual: Any


def take_step(
    problem: Constrained,
    evaluator: Evaluator[P],
    dual: Dual[Any],
    position: Position[P],
    rngs: Sequence[np.random.Generator] = (),
) -> tuple[Step[P], Position[P]]:
    """Take one iteration; return the step and the next position."""
    policy, state = position.policy, position.dual
    evaluation = evaluator.evaluate(policy, rngs)
    shortfall = problem.threshold - evaluation.value[:, 1:]
    weight, state = dual.play(shortfall, state)
    return Step(policy, evaluation, weight), Position(policy.advance(weight, evaluation.q), state)


def iterate(
    problem: Constrained,
    evaluator: Evaluator[P],
    policy: P,
    dual: Dual[Any],
    *,
    multiplier: Array,
    rngs: Sequence[np.random.Generator] = (),
) -> Iterator[Step[P]]:
    """Run the loop indefinitely, one `Step` at a time; the caller decides when to stop.

    `multiplier` is λ_0, (B, K).
    """
    position = Position(policy, dual.init(multiplier))
    while True:
        step, position = take_step(problem, evaluator, dual, position, rngs)
        yield step


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened at every iteration, for one run (T, …) or for a batch (T, B, …).

    `multiplier` is what was played; for CRPO it is the 0/1 weight of each constraint. `exact` says whether
    the values are those of the model or estimates.
    """

    reward_value: Array  # (T,) or (T, B)
    constraint_value: Array  # (T, K) or (T, B, K)
    multiplier: Array  # (T, K) or (T, B, K)
    exact: bool = True

    def __len__(self) -> int:
        return len(self.reward_value)

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each iteration of one run as a DataFrame: values, and the multipliers that were played.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns.
        """
        if self.reward_value.ndim != 1:
            raise InputError("this trace holds a batch of runs; take one of them with run(index)")
        columns: dict[str, Any] = {"iteration": np.arange(len(self)), "reward_value": self.reward_value}
        for name in ("constraint_value", "multiplier"):
            columns |= {f"{name}_{i}": column for i, column in enumerate(getattr(self, name).T)}
        return to_frame(columns, make)

    def measured(self, measure: str = "average") -> Array:
        """Return the values of all J utilities, the reward's first, (J,) or (B, J), of the "average", the "tail" or the "last" iterate.

        The tail is the average of the second half of the iterates.

        >>> trace = Trace(np.array([1.0, 3.0]), np.array([[0.0], [4.0]]), np.zeros((2, 1)))
        >>> trace.measured(), trace.measured("last")
        (array([2., 2.]), array([3., 4.]))
        """
        reward, constraint = measured(self.reward_value, measure), measured(self.constraint_value, measure)
        return np.concatenate([np.asarray(reward)[..., None], constraint], axis=-1)

    def strong_violation(self, limit: ArrayLike, sense: Sequence[str] | None = None) -> Array:
        """Return Σ_t [b − V_c]₊/T of each constraint: what is missed counts, and nothing makes up for it, (K,) or (B, K).

        `limit` and `sense` are those of the problem; all senses are ">=" unless given.

        >>> trace = Trace(np.array([1.0, 3.0]), np.array([[0.0], [4.0]]), np.zeros((2, 1)))
        >>> trace.strong_violation([1.0])
        array([0.5])
        """
        signs = np.array(
            [-1.0 if one == "<=" else 1.0 for one in sense or [">="] * self.constraint_value.shape[-1]]
        )
        return np.asarray(np.maximum(signs * (np.asarray(limit) - self.constraint_value), 0.0).mean(0))

    def run(self, index: int) -> Trace:
        """Return the trace of one run of a batch."""
        return Trace(
            self.reward_value[:, index],
            self.constraint_value[:, index],
            self.multiplier[:, index],
            self.exact,
        )


class Recorder(Generic[P]):
    """Collects steps into a trace."""

    def __init__(self, monitor: Evaluator[P] | None = None, *, exact: bool = True) -> None:
        self.monitor = monitor
        self.exact = exact or monitor is not None
        self.steps: list[tuple[Array, Array]] = []  # values and weights, (B, J) each

    def add(self, step: Step[P]) -> Array:
        """Record one step; return the recorded values, (B, J)."""
        evaluation = self.monitor.evaluate(step.policy, ()) if self.monitor else step.evaluation
        self.steps.append((evaluation.value, step.weight))
        return evaluation.value

    def trace(self) -> Trace:
        """Return the batch's trace so far."""
        value = np.array([value for value, _ in self.steps])
        weight = np.array([weight for _, weight in self.steps])
        return Trace(value[..., 0], value[..., 1:], weight[..., 1:], self.exact)
