"""Many runs as one array program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from painless.common import arguments
from painless.common.arrays import one_thread
from painless.common.errors import InputError
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.algorithms import Algorithm, kind, require_algorithm, require_single, stack
from painless.loop.framework import Recorder, Trace
from painless.planning.feasibility import Feasibility
from painless.policies.learning_table import LearningTable
from painless.policies.table import TabularPolicy, initial_policy
from painless.problem import CMDP, require_problem
from painless.storage.mapped import unchanged


@unchanged
def solve_batch(
    problem: CMDP,
    algorithms: Sequence[Algorithm],
    *,
    iterations: int,
    initial_policies: Sequence[ArrayLike | TabularPolicy | None] | None = None,
    seed: int = 0,
) -> list[Trace]:
    """Run many settings and starts as one array program; trace i is bit for bit that of a single run.

    `initial_policies` holds one for each of `algorithms`; equal kinds of algorithms advance together.

    >>> import painless
    >>> traces = solve_batch(painless.gridworld(), [painless.CBP(1.0), painless.CBP(8.0)], iterations=5)
    >>> [len(trace) for trace in traces]
    [5, 5]
    """
    require_problem(problem)
    arguments.whole("iterations", iterations)
    seed = arguments.seed(seed)
    if isinstance(algorithms, str) or not isinstance(algorithms, Sequence):
        raise InputError(f"algorithms is {algorithms!r}; give a list of them, such as [painless.CBP()]")
    for algorithm in algorithms:
        require_single(require_algorithm(algorithm))
    starts = initial_policies if initial_policies is not None else [None] * len(algorithms)
    if isinstance(starts, str) or not isinstance(starts, Sequence | np.ndarray):
        raise InputError(f"initial_policies is {starts!r}; give a list with one for each algorithm")
    if len(starts) != len(algorithms):
        raise InputError(
            f"{len(starts)} initial policies for {len(algorithms)} algorithms; give one for each"
        )
    with one_thread():
        prepared = AlgorithmCase.of(problem)
        if prepared.feasibility is not Feasibility.SLACK:
            raise InputError(f"{prepared.feasibility.value}; use solve(problem), which explains it or plans")
        priors = [initial_policy(start, problem.actions) for start in starts]
        traces: dict[int, Trace] = {}
        for rows in _groups(algorithms):
            recorder = Recorder[LearningTable[Any]]()
            group = stack([algorithms[i] for i in rows])
            steps = prepared.steps(group, np.array([priors[i] for i in rows]), iterations, seed)
            for _ in range(iterations):
                recorder.add(next(steps))
            batch = recorder.trace()
            traces |= {i: prepared.trace(batch.run(k)) for k, i in enumerate(rows)}
        return [traces[i] for i in range(len(algorithms))]


def _groups(algorithms: Sequence[Algorithm]) -> list[list[int]]:
    """Return the positions of algorithms of equal kind, together."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, algorithm in enumerate(algorithms):
        groups.setdefault(kind(algorithm), []).append(index)
    return list(groups.values())
