"""What the deviations on CartPole change, measured: the CartPole table of docs/paper-notes.md.

Run it with `python -m benchmarks.cartpole_deviations`; it takes some minutes.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from painless import CBP, CartPole
from painless.evaluators import AnchoredLSTDQ, PlainLSTDQ
from painless.evaluators import trajectories as lstdq

BOUND = [50.0, 50.0]


@dataclass(frozen=True)
class WithoutEndings(PlainLSTDQ):
    """Plain LSTDQ that leaves out the steps on which an episode ends, as the paper's released code does."""

    def evaluate(self, policy, rngs):
        whole = lstdq.roll_out

        def without_endings(*arguments):
            steps = whole(*arguments)
            kept = ~steps.terminated
            names = ("states", "actions", "utilities", "successors", "terminated")
            return replace(steps, **{name: getattr(steps, name)[kept] for name in names})

        lstdq.roll_out = without_endings
        try:
            return super().evaluate(policy, rngs)
        finally:
            lstdq.roll_out = whole


VARIANTS = {
    "anchored (default)": AnchoredLSTDQ,
    "plain, expected next feature": partial(PlainLSTDQ, expected=True),
    "plain (the paper's)": PlainLSTDQ,
    "plain, ending steps left out": WithoutEndings,
}


def main(alphas=(0.1, 50.0, 500.0), seeds=(1, 2)):
    table = Table(
        "evaluator",
        "α",
        "return",
        "CV 1",
        "CV 2",
        "seconds",
        title="CartPole, T = 200, averages over the run",
    )
    for name, evaluator in VARIANTS.items():
        for alpha in alphas:
            runs = [
                painless.train(
                    CartPole(),
                    CBP(alpha),
                    evaluator=evaluator,
                    multiplier_bound=BOUND,
                    seed=seed,
                    episodes=10,
                )
                for seed in seeds
            ]
            value = np.mean([run.trace.reward_value.mean() for run in runs])
            violation = np.mean([run.average_violation for run in runs], 0)
            cost = np.mean([run.seconds for run in runs])
            table.add_row(
                name, f"{alpha:g}", f"{value:.1f}", *(f"{v:+.1f}" for v in violation), f"{cost:.0f}"
            )
            print(name, alpha, value, violation, cost, flush=True)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
