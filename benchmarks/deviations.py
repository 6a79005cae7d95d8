"""What each deviation from the paper changes, measured: the numbers of docs/paper-notes.md.

Run it with `python -m benchmarks.deviations`.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from painless import CBP, CRPO, GDA, LinearProgram, Output, PrimalDual
from painless.duals import Lagrangian
from painless.learners import Cocob, CoinBetting, SigmoidBetting, Winnings
from painless.loop.batch import solve_batch
from painless.policies.table import dirichlet_policy


def variant(name, dual=lambda s: Cocob(8.0), **primal):
    return PrimalDual(
        primal=lambda s: CoinBetting(s.normaliser, s.iterations, **primal),
        dual=lambda s: Lagrangian(dual(s), s.multiplier_bound),
        name=name,
    )


VARIANTS = [
    CBP(8.0),
    variant("dual winnings as printed in Alg. 2", lambda s: Cocob(8.0, Winnings.PRINTED)),
    variant("dual winnings as released", lambda s: Cocob(8.0, Winnings.RELEASED)),
    variant("primal denominator as printed", printed=True),
    PrimalDual(
        primal=lambda s: CoinBetting(s.normaliser),
        dual=lambda s: Lagrangian(Cocob(8.0), s.multiplier_bound),
        name="anytime (no T)",
    ),
    PrimalDual(
        primal=lambda s: CoinBetting(s.normaliser, s.iterations),
        dual=lambda s: Lagrangian(Cocob(8.0), np.inf),
        name="no upper clip of λ",
    ),
    CBP.theoretical(),
    variant("cb-dual as printed", lambda s: SigmoidBetting(s.shortfall_bound, printed=True)),
    GDA(1.0, 0.1),
    GDA.theoretical(),
    CRPO(0.75),
]


def measure(problem, optimum, iterations, seeds):
    """Return OG, CV and the last multiplier of every variant, averaged over starts."""
    starts = [dirichlet_policy(problem.actions, np.random.default_rng(seed)) for seed in seeds]
    for algorithm in VARIANTS:
        traces = solve_batch(
            problem, [algorithm] * len(starts), iterations=iterations, initial_policies=starts
        )
        gap = optimum.reward_value - np.mean([trace.reward_value.mean() for trace in traces])
        violation = problem.limit[0] - np.mean([trace.constraint_value.mean() for trace in traces])
        last = problem.limit[0] - np.mean([trace.constraint_value[-200:].mean() for trace in traces])
        yield algorithm.name, gap, violation, last, np.mean([trace.multiplier[-1, 0] for trace in traces])


def outputs(console):
    """What is proved of each output policy."""
    columns = [output.name.lower() for output in Output]
    table = Table("problem", *columns, title="Relative proved gap after 500 iterations of CBP")
    for label, problem in {
        "gridworld": painless.gridworld(),
        "gridworld, K = 3": painless.gridworld(constraints=3),
        **{
            f"Garnet {s}, K = {k}": painless.garnet(s, 4, 5, k, seed=s)
            for s, k in ((30, 1), (100, 1), (50, 3))
        },
    }.items():
        runs = [painless.solve(problem, CBP(), iterations=500, output=output) for output in Output]
        table.add_row(
            label, *(f"{run.gap / run.upper_bound:.1e}{'' if run.feasible else ' !'}" for run in runs)
        )
    console.print(table)


def main():
    console = Console(width=120)
    garnet = painless.garnet(30, 4, 5, 1, seed=13, tightness=0.9)
    for name, problem, iterations, seeds in (
        ("gridworld, T = 1500, 5 starts", painless.gridworld(), 1500, range(5)),
        ("Garnet (30, 4, 5), tightness 0.9, T = 2000, 5 starts", garnet, 2000, range(5)),
    ):
        optimum = painless.solve(problem, LinearProgram())
        title = f"{name}: optimum {optimum.reward_value:.6f}, b = {problem.limit[0]:.4f}, λ* = {optimum.multiplier[0]:.4f}"
        table = Table("variant", "average OG", "average CV", "CV of last 200", "last λ", title=title)
        for label, gap, violation, last, multiplier in measure(problem, optimum, iterations, seeds):
            table.add_row(label, f"{gap:.4f}", f"{violation:+.4f}", f"{last:+.4f}", f"{multiplier:.3f}")
        console.print(table)
    outputs(console)


if __name__ == "__main__":
    main()
