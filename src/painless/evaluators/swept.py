"""Evaluation of large sparse models: sweeps from the values of the last policy, until the error is small enough.

One pass over all pairs serves all J utilities, and gives the action values that the policy learns from as well:

    Q = u + γPV,     V' = ⟨π, Q⟩,     r = V' − V
    V' + γ/(1−γ)·min r ≤ V_π ≤ V' + γ/(1−γ)·max r,          Q_π likewise from Q          (MacQueen 1966)

The values at ρ are the lower bounds: the policy has at least these. Q is moved to the middle. Where such sweeps
shrink the range of r too slowly, as they do where a chain mixes slowly, the policy's own chain is solved (see
`engines.sweeps.chain_values`), which has faster methods, and one pass gives Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from painless.common.arrays import Array
from painless.evaluators.base import Evaluation
from painless.evaluators.exact import TablePolicy
from painless.policies.learning_table import TabularQ
from painless.problem import CMDP
from painless.problem.transitions import require_sound

if TYPE_CHECKING:
    from painless.engines.sweeps.chain_values import ChainValues
    from painless.engines.sweeps.sparse_rows import Indices
    from painless.engines.swept import Swept

COARSE = 1e-3  # the largest error, relative to 1/(1−γ), at the first iteration; it falls with 1/t
FINEST = 1e-11  # relative to 1/(1−γ); a smaller error is none
SLUGGISH = 0.75  # if a sweep shrinks the range by less, the policy's own chain is tried
TRIED = 2  # sweeps before that is judged
EPSILON = float(np.finfo(np.float64).eps)


class SweptEvaluator:
    """Evaluates one policy after another, each run of a batch from where its last one ended.

    Arguments:
        problem: a sparse model.
        tolerance: the error to prove of the middle values, in their units, as far as double precision goes; None is as
            exact as an iteration needs: 1e-3/((1−γ)t) at its t-th policy.
        engine: the rows of the model, if they are laid out already.
    """

    def __init__(self, problem: CMDP, tolerance: float | None = None, engine: Swept | None = None) -> None:
        from painless.engines.swept import Swept

        self.problem, self.tolerance = problem, tolerance
        self.engine = engine or Swept(problem)
        self.sweeps = 0  # over all pairs
        self._runs: list[_RunValues] = []

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator] = ()) -> Evaluation:
        """Evaluate all J utilities of every run; nothing is drawn."""
        del rngs
        tables = policy.probabilities
        require_sound(self.problem.transition)  # the engine shares its memory
        if len(self._runs) != len(tables):
            self._runs = [_RunValues(self) for _ in tables]
        parts = [run.evaluate(table) for run, table in zip(self._runs, tables, strict=True)]
        q = parts[0][0][None] if len(parts) == 1 else np.array([q for q, _ in parts])
        return Evaluation(TabularQ(q), np.array([value for _, value in parts]))

    @cached_property
    def utility(self) -> Array:
        """The utilities of all pairs, (J, N)."""
        return np.ascontiguousarray(self.engine.pricer.rows.utility)

    @cached_property
    def place(self) -> Indices:
        """Where each available pair stands among all pairs; empty where all are available."""
        if self.engine.pricer.rows.action is None:
            return np.empty(0, np.uint32)
        return np.flatnonzero(self.problem.actions).astype(np.uint32)


class _RunValues:
    """The values of one run's last policy, and how its sweeps go."""

    def __init__(self, evaluator: SweptEvaluator) -> None:
        self.evaluator = evaluator
        shape = (evaluator.problem.shape[0], len(evaluator.problem.utility))
        self.value, self.spare = np.zeros(shape), np.empty(shape)  # (S, J)
        self.rounds = 0
        self.chained: ChainValues | None = None

    def evaluate(self, table: Array) -> tuple[Array, Array]:
        """Return the action values (J, S, A), and values at ρ that the policy has at least, (J,)."""
        problem = self.evaluator.problem
        self.rounds += 1
        q = np.zeros((len(problem.utility), table.size))
        unit = 1 / (1 - problem.discount)
        low, high = self._settle(table, q, self._goal(unit))
        tail = problem.discount * unit
        middle = tail * (low + high) / 2
        self.value += middle
        q += middle[:, None]
        rounding = 8 * EPSILON * unit * float(np.abs(self.value).max())
        value = problem.initial @ self.value - tail * (high - low) / 2 - rounding
        return q.reshape(-1, *table.shape), value

    def _settle(self, table: Array, q: Array, goal: float) -> tuple[Array, Array]:
        """Sweep until the pass that gives Q proves the error, or rounding ends it; return the range of its changes."""
        before, error = np.inf, np.inf
        while error > goal:
            self._approach(table, goal)
            before, (low, high, error) = error, self._sweep(table, q)
            if error >= before:
                break
        return low, high

    def _approach(self, table: Array, goal: float) -> None:
        """Sweep the pairs that the policy takes until one pass more should be enough."""
        nothing = np.empty((0, 0))
        error, rate, count = np.inf, 1.0, 0
        while rate * error > goal:
            before, (_, _, error) = error, self._sweep(table, nothing)
            rate, count = min(error / before, 1.0) or 1.0, count + 1
            if count > TRIED and rate > SLUGGISH and rate * error > goal:
                self._solve(table, goal)
                break

    def _goal(self, unit: float) -> float:
        wanted = self.evaluator.tolerance
        return max(COARSE * unit / self.rounds if wanted is None else wanted, FINEST * unit)

    def _sweep(self, table: Array, q: Array) -> tuple[Array, Array, float]:
        """Do one pass over all pairs; return the range of the changes, (J,) each, and the error that it proves."""
        from painless.engines.sweeps.state_threads import PIECES
        from painless.evaluators._swept_kernels import policy_sweep

        evaluator, problem = self.evaluator, self.evaluator.problem
        policy = np.ascontiguousarray(table).reshape(-1)
        utilities = len(problem.utility)

        def part(start: int, stop: int) -> tuple[Array, Array]:
            low, high = np.empty(utilities), np.empty(utilities)
            rows = (*evaluator.engine.pricer.rows[:4], evaluator.utility)
            model = (*rows, evaluator.place, problem.discount)
            policy_sweep(*model, policy, self.value, q, self.spare, low, high, start, stop)
            return low, high

        parts = np.array(evaluator.engine.pricer.threads.share(part, len(table), PIECES))
        self.value, self.spare = self.spare, self.value
        evaluator.sweeps += 1
        low, high = parts[:, 0].min(0), parts[:, 1].max(0)
        tail = problem.discount / (1 - problem.discount)
        return low, high, tail * float((high - low).max()) / 2

    def _solve(self, table: Array, tolerance: float) -> None:
        """Solve the policy's own chain from the values so far."""
        from painless.engines.sweeps.chain_values import ChainValues

        engine = self.evaluator.engine
        if self.chained is None:
            self.chained = ChainValues(
                self.value, engine.problem.discount, engine.pricer.count, engine.pricer.threads
            )
            self.chained.along_flow = True
        self.chained.value = self.value
        self.chained.solve(engine.chain(table), tolerance)
        self.value = self.chained.value
