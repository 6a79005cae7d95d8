"""CartPole in the score: short runs with few episodes, since there are hundreds of them.

An evaluation is one of LSTDQ from 10 episodes, and there are 40 of them. Every setting runs ten times, and its E is the mean of
theirs: otherwise the luckiest of the baselines' 32 runs would count as the best setting. The largest possible value stands for V_r*, which a policy
that balances the pole near the middle attains within both constraints; 1 stands for λ*, which is not known. All get the
multiplier bound 10 for free. GDA and CRPO run with their grids, the other contenders with their default settings. The average iterate is judged by its estimates, the deployed policy by fresh episodes; these determine
E to about 0.001, below which all are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from painless.common.arrays import Array
from painless.evaluators import AnchoredLSTDQ
from painless.loop.algorithms import Algorithm
from painless.loop.averages import tail_average
from painless.problems import CartPole
from painless.study.score.contenders import Contender, contenders
from painless.study.score.merit import Judge
from painless.study.score.runs import Row, judged
from painless.study.score.suite import CARTPOLE
from painless.training.result import Training
from painless.training.train import train

EVALUATIONS, EPISODES, FRESH = 40, 10, 500
REPEATS = 10
BOUND = (10.0, 10.0)
RESOLUTION = 1e-3  # of E; the standard error of the mean return of 500 episodes is of this order, as a part of the largest


def run_cartpole(seed: int, chosen: Sequence[Contender] | None = None) -> list[Row]:
    """Return a row for every algorithm, setting and measure."""
    judge = cartpole_judge()
    rows: list[Row] = []
    for contender in contenders(tuned=False) if chosen is None else chosen:
        for place, (algorithm, setting) in enumerate(
            zip(contender.algorithms, contender.settings, strict=True)
        ):
            runs = [
                _rows(judge, _train(algorithm, REPEATS * seed + k), contender, setting, seed)
                for k in range(REPEATS)
            ]
            about = {"untuned": place == contender.untuned}
            rows += [{**mean_row(repeats), **about} for repeats in zip(*runs, strict=True)]
    return rows


def _train(algorithm: Algorithm, seed: int) -> Training:
    return train(
        CartPole(),
        algorithm,
        iterations=EVALUATIONS,
        evaluator=partial(AnchoredLSTDQ, rollouts=EPISODES),
        multiplier_bound=BOUND,
        episodes=FRESH,
        seed=seed,
    )


def mean_row(rows: Sequence[Row]) -> Row:
    """Return one row for several runs of the same: the means of merit, gap and violations."""
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("merit", "gap")}
    return {**rows[0], **means, "violations": np.mean([row["violations"] for row in rows], 0).tolist()}


def cartpole_judge() -> Judge:
    """Return the judge: what stands for V_r* and λ*, and the ranges of the values."""
    specification = CartPole().specification
    steps = float((1 - specification.discount**200) / (1 - specification.discount))
    limits = np.asarray(specification.threshold)
    return Judge(steps, np.ones(len(limits)), limits, steps, np.full(len(limits), steps))


def _rows(
    judge: Judge, training: Training, contender: Contender, setting: dict[str, float], seed: int
) -> list[Row]:
    trace = training.trace
    values = np.column_stack([trace.reward_value, trace.constraint_value])
    measured: dict[str, Array] = {
        "average": values.mean(0),
        "tail": tail_average(values),
        "last": values[-1],
        "deployed": training.estimate.mean,
    }
    about = {
        "problem": "CartPole",
        "family": CARTPOLE,
        "seed": seed,
        "algorithm": contender.name,
        "setting": setting,
        "evaluations": EVALUATIONS,
    }
    rows = [{**about, "measure": name, **judged(judge, value)} for name, value in measured.items()]
    return [{**row, "merit": max(row["merit"], RESOLUTION)} for row in rows]
