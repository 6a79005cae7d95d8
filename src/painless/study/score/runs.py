"""All runs on one problem of the suite: the default, the other algorithms as they come, and the baselines' grids.

Settings of one algorithm advance as one array program. The budget of a run is a number of policy evaluations, each of all
utilities. An algorithm that uses the multiplier bound U pays for the feasibility phase that finds it, with one evaluation for
every policy that its planner evaluates; the baselines get U for free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array, one_thread
from painless.evaluators import ExactEvaluator
from painless.loop.algorithms import ALGORITHMS, Algorithm, stack
from painless.loop.framework import Recorder
from painless.loop.prepare import Prepared
from painless.policies.table import LearningTable
from painless.study.score.merit import Judge
from painless.study.score.suite import Entry

Row = dict[str, Any]

# The grids of the paper (appendix): 20 points for GDA, 12 for CRPO, in normalised units.
GRIDS: dict[str, list[dict[str, float]]] = {
    "gda": [
        {"policy_rate": policy, "multiplier_rate": multiplier}
        for policy, multiplier in product((0.001, 0.01, 0.1, 1.0), (0.0001, 0.001, 0.01, 0.1, 1.0))
    ],
    "crpo": [
        {"rate": rate, "tolerance": tolerance}
        for rate, tolerance in product((0.001, 0.01, 0.05, 0.1, 0.5, 0.75), (0.0, 0.25))
    ],
}
DEFAULT, PAPER, BASELINES = "prm", "cbp", tuple(GRIDS)
MEASURES = ("average", "deployed")


class Contender(NamedTuple):
    """An algorithm with all the settings that it is run with."""

    name: str
    algorithms: Sequence[Algorithm]
    settings: Sequence[dict[str, float]]
    pays: bool = False  # for the feasibility phase


def contenders() -> list[Contender]:
    """Return the default first, then the paper's algorithm, then the baselines with their grids."""
    found = []
    for name in (DEFAULT, PAPER, *BASELINES):
        settings = GRIDS.get(name, [{}])
        algorithms = [ALGORITHMS[name](**setting) for setting in settings]
        found.append(Contender(name, algorithms, settings, pays=name == PAPER))
    return found


def run_table(entry: Entry, index: int, seed: int, budget: int) -> list[Row]:
    """Return a row for every algorithm, setting and measure on one table of the suite."""
    with one_thread():
        problem, start = entry.make(index, seed)
        prepared = Prepared.of(problem)
        judge = Judge.of(prepared.normal)
        rows: list[Row] = []
        for contender in contenders():
            spent = prepared.slater.evaluations if contender.pays else 0
            iterations = max(1, budget - spent)
            values = run_values(prepared, contender.algorithms, start, iterations, seed, entry)
            common = {
                "problem": entry.name,
                "family": entry.family,
                "seed": seed,
                "algorithm": contender.name,
            }
            for run, setting in enumerate(contender.settings):
                about = {**common, "setting": setting, "evaluations": spent + iterations}
                rows += [{**about, **judged} for judged in judgements(judge, values[:, run])]
    return rows


def run_values(
    prepared: Prepared,
    algorithms: Sequence[Algorithm],
    start: Array,
    iterations: int,
    seed: int,
    entry: Entry,
) -> Array:
    """Return the exact values of all iterates in normalised units, (T, B, J)."""
    estimator = None if entry.evaluator is None else entry.evaluator(prepared.normal)
    monitor = None if estimator is None else ExactEvaluator(prepared.normal)
    priors = np.repeat(start[None], len(algorithms), 0)
    steps = prepared.steps(stack(algorithms), priors, iterations, seed, estimator)
    recorder = Recorder[LearningTable[Any]](monitor)
    return np.array([recorder.add(next(steps)) for _ in range(iterations)])


def judgements(judge: Judge, values: Array) -> Iterator[Row]:
    """Return merit, gap and violations of both measures, from the values of all iterates (T, J)."""
    yield {"measure": "average", **judged(judge, values.mean(0))}
    yield {"measure": "deployed", **judged(judge, judge.deployed(values))}


def judged(judge: Judge, value: Array) -> Row:
    """Return merit, gap and violations of one answer by its values (J,)."""
    return {
        "merit": float(judge.merit(value)),
        "gap": float(judge.gap(value)),
        "violations": judge.violation(value).tolist(),
    }
