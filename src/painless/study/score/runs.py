"""All runs on one problem of the suite: every contender with all its settings.

Settings of one algorithm advance as one array program. The budget of a run is a number of policy evaluations, each of all
utilities. CBP, which uses the multiplier bound U, pays for the feasibility phase that finds it, with one evaluation for
every policy that its planner evaluates; the others get U for free.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array, one_thread
from painless.evaluators import ExactEvaluator
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.algorithms import Algorithm, is_registered, stack
from painless.loop.averages import tail_average
from painless.loop.framework import Recorder
from painless.policies.learning_table import LearningTable
from painless.study.score.contenders import Contender, contenders
from painless.study.score.merit import Judge
from painless.study.score.suite import Entry

Row = dict[str, Any]

MEASURES = ("average", "tail", "last", "deployed")  # what is made of the iterates of a run
JUDGED = ("average", "deployed")  # those in which a win must be one


def run_table(
    entry: Entry, index: int, seed: int, budget: int, chosen: Sequence[Contender] | None = None
) -> list[Row]:
    """Return a row for every algorithm, setting and measure on one table of the suite."""
    with one_thread():
        problem, start = entry.make(index, seed)
        prepared = AlgorithmCase.of(problem)
        judge = Judge.of(prepared.normal)
        rows: list[Row] = []
        for contender in contenders() if chosen is None else chosen:
            spent = prepared.slater.evaluations if contender.pays else 0
            iterations = max(1, budget - spent)
            begin = time.process_time()
            values = run_values(prepared, contender.algorithms, start, iterations, seed, entry)
            seconds = (time.process_time() - begin) / len(contender.settings)
            common = {
                "problem": entry.name,
                "family": entry.family,
                "seed": seed,
                "algorithm": contender.name,
                "evaluations": spent + iterations,
                "seconds": round(seconds, 4),
            }
            for run, setting in enumerate(contender.settings):
                about = {**common, "setting": setting, "untuned": run == contender.untuned}
                rows += [{**about, **judged} for judged in judgements(judge, values[:, run])]
    return rows


def run_values(
    prepared: AlgorithmCase,
    algorithms: Sequence[Algorithm],
    start: Array,
    iterations: int,
    seed: int,
    entry: Entry,
) -> Array:
    """Return the exact values of all iterates in normalised units, (T, B, J)."""
    if len(algorithms) > 1 and not is_registered(
        algorithms[0]
    ):  # a user's own settings are numbers, not arrays
        each = [run_values(prepared, [one], start, iterations, seed, entry) for one in algorithms]
        return np.concatenate(each, axis=1)
    estimator = None if entry.evaluator is None else entry.evaluator(prepared.normal)
    monitor = None if estimator is None else ExactEvaluator(prepared.normal)
    priors = np.repeat(start[None], len(algorithms), 0)
    steps = prepared.steps(stack(algorithms), priors, iterations, seed, estimator)
    recorder = Recorder[LearningTable[Any]](monitor)
    return np.array([recorder.add(next(steps)) for _ in range(iterations)])


def judgements(judge: Judge, values: Array) -> Iterator[Row]:
    """Return merit, gap and violations of all measures, from the values of all iterates (T, J)."""
    strong = judge.violation(values).mean(0).tolist()
    answers = {
        "average": values.mean(0),
        "tail": tail_average(values),
        "last": values[-1],
        "deployed": judge.deployed(values),
    }
    for measure in MEASURES:
        yield {"measure": measure, **judged(judge, answers[measure]), "strong": strong}


def judged(judge: Judge, value: Array) -> Row:
    """Return merit, gap and violations of one answer by its values (J,)."""
    return {
        "merit": float(judge.merit(value)),
        "gap": float(judge.gap(value)),
        "violations": judge.violation(value).tolist(),
    }
