"""`python -m benchmarks.variants`: variants of one model by `solve_many`, beside a loop of `solve`; CPU seconds of one thread, and their ratio.

Four kinds of variants: other limits, other prices (every reward and cost changed by up to 2 %), other discounts, and other probabilities (each changed by up
to 2 %, and normalised). Both are measured in this process, in turns, and the least of the runs counts. A loop of `solve` also narrows the ranges
of prices; `--plain` measures a loop that does not, and is otherwise the same.
"""

import argparse
import gc
import sys
import time

import numpy as np

import painless
from benchmarks.families import KINDS, instance
from painless.common.arrays import one_thread
from painless.solving import many

CHANGE = 0.02  # of a price or a probability
LIMITS = 0.05  # of a limit
STEPS = 0.8, 1.25  # of 1 − γ
SEED = 0


def changed(problem, **parts):
    """Return a problem with other parts; it shares the others."""
    given = {
        "transition": problem.transition,
        "reward": problem.reward,
        "initial": problem.initial,
        "discount": problem.discount,
        "constraint_reward": problem.constraint_reward,
        "threshold": problem.threshold,
    } | parts
    return painless.CMDP(given.pop("transition"), given.pop("reward"), copy=False, **given)


def limits(problem, count, rng):
    """Return a model at limits from tight to loose."""
    del rng
    parts = np.linspace(LIMITS, -LIMITS, count)
    return [problem.with_limits(problem.threshold + part * np.abs(problem.threshold)) for part in parts]


def prices(problem, count, rng):
    """Return a model whose rewards and costs all change a little."""
    made = []
    for _ in range(count):
        utility = problem.utility * rng.uniform(1 - CHANGE, 1 + CHANGE, problem.utility.shape)
        made.append(changed(problem, reward=utility[0], constraint_reward=utility[1:]))
    return made


def discounts(problem, count, rng):
    """Return a model with discounts from small to large, and limits in proportion to 1/(1−γ)."""
    del rng
    steps = (1 - problem.discount) * np.geomspace(STEPS[1], STEPS[0], count)
    return [
        changed(
            problem, discount=1 - step, threshold=problem.threshold * float((1 - problem.discount) / step)
        )
        for step in steps
    ]


def probabilities(problem, count, rng):
    """Return a model whose probabilities all change a little."""
    made = []
    for _ in range(count):
        kernel = problem.transition.copy()
        if isinstance(kernel, np.ndarray):
            kernel *= rng.uniform(1 - CHANGE, 1 + CHANGE, kernel.shape)
            kernel /= kernel.sum(-1, keepdims=True)
        else:
            kernel.data = kernel.data * rng.uniform(1 - CHANGE, 1 + CHANGE, len(kernel.data))
            kernel.data /= np.repeat(kernel.sum(1), np.diff(kernel.indptr))
        made.append(changed(problem, transition=kernel))
    return made


VARIANTS = {
    "limits": limits,
    "prices": prices,
    "discounts": discounts,
    "probabilities": probabilities,
}


def model(kind, states, constraints, seed, discount):
    """Return a model of a family; "dense" is a Garnet with a dense table."""
    if kind != "dense":
        return instance(kind, states, constraints, seed, discount)
    return painless.garnet(states, 4, 5, constraints=constraints, seed=seed, discount=discount, dense=True)


def cold(variants, tolerance):
    """Solve each by itself."""
    return [painless.solve(variant, tolerance=tolerance) for variant in variants]


def plain(variants, tolerance):
    """Solve each by itself, without narrowing ranges of prices."""
    return [many._solved(variant, tolerance, None)[0] for variant in variants]


def warm(variants, tolerance):
    """Solve all together."""
    return painless.solve_many(variants, tolerance=tolerance)


def seconds(solver, variants, tolerance):
    """Return CPU seconds, and the solutions."""
    gc.collect()
    begin = time.process_time()
    found = solver(variants, tolerance)
    return time.process_time() - begin, found


def contradictions(ones, others):
    """Return the number of pairs of solutions that contradict each other."""
    return sum(
        one.status.kind != other.status.kind
        or (one.feasible and abs(one.reward_value - other.reward_value) > one.gap + other.gap + 1e-9)
        for one, other in zip(ones, others, strict=True)
    )


def measure(variants, beside, given):
    """Return a line: CPU seconds of both, their ratio, best responses to each variant, and how many are solved and contradict each other."""
    solvers = (beside, warm)
    for solver in solvers:
        solver(variants[:2], given.tolerance)  # compiles
    runs = [[seconds(solver, variants, given.tolerance) for solver in solvers] for _ in range(given.runs)]
    loop, together = (min(run[n][0] for run in runs) for n in range(2))
    (_, alone), (_, found) = runs[-1]
    responses = (np.mean([one.best_responses for one in side]) for side in (alone, found))
    solved = sum(one.status.kind.value == "solved" for one in found)
    return (
        f"{loop:.2f} | {together:.2f} | {loop / together:.1f} | {' / '.join(f'{one:.1f}' for one in responses)} | "
        f"{solved} | {contradictions(alone, found)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=["garnet", "dense", "grid"], choices=[*KINDS, "dense"])
    parser.add_argument("--variants", nargs="+", default=[*VARIANTS], choices=VARIANTS)
    parser.add_argument("--states", type=int, default=600)
    parser.add_argument("--constraints", type=int, default=1)
    parser.add_argument("--discount", type=float, default=0.95)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args()
    print(
        "model | variants | loop | solve_many | ratio | best responses | solved | contradictions", flush=True
    )
    for kind in given.kinds:
        problem = model(kind, given.states, given.constraints, given.seed, given.discount)
        named = f"{kind} {problem.shape[0]} K={given.constraints} γ={given.discount} {given.tolerance:g}"
        for name in given.variants:
            variants = VARIANTS[name](problem, given.count, np.random.default_rng(given.seed))
            print(
                f"{named} | {name} | {measure(variants, plain if given.plain else cold, given)}", flush=True
            )


if __name__ == "__main__":
    with one_thread():
        sys.exit(main())
