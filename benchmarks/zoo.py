"""`python -m benchmarks.zoo`: environments with limits, learned with default settings, beside what is known of their optimum.

The first group are finite environments of Gymnasium, MO-Gymnasium and MiniGrid, and inventories (see `zoo_finite`), those that constants were
chosen on and others. The policy is evaluated exactly on the true model: its endless values, and, where a time limit matters, those of episodes as
they are cut off. A limit is broken if either misses it by more than 1 %, and a run is good if it keeps its limits and has 95 % of
the optimum; "false" is a limit said to be met that is broken. The second group are tables of painless, learned from their episodes
alone, and judged likewise. The third are environments that are not finite, which get networks (see `zoo_networks`); the answer is played on
1,000 further episodes: "kept" if their mean is within two standard errors of the limits, "denied" if it misses one clearly that was said to be
met, and else "missed". `--store` appends a line of JSON for each of these runs.
"""

import argparse
import time
import warnings
from functools import cache

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from benchmarks.zoo_finite import FINITE, HELD_OUT
from benchmarks.zoo_models import Model, ModelEnv
from benchmarks.zoo_networks import NETWORKS, measured, stored
from painless.bellman import policy_value
from painless.problem import CMDP
from painless.simulation.simulator import TableSimulator

NETWORK_STEPS = 200_000
STEPPING = 20_000  # steps in which the environment's own CPU time is measured
TABLES = {
    **dict.fromkeys(("gridworld", "gridworld-3", "garnet", "random-cmdp", "streaming"), 60_000),
    **dict.fromkeys(("deep-sea-treasure", "slippery-grid"), 200_000),
}
GOOD = 0.05  # of the optimum that may be missed


@cache
def model_of(name: str) -> Model:
    """Return the true model of a finite environment."""
    return (FINITE | HELD_OUT)[name].model()


def learned(name: str, share: float, seed: int, *, listed: bool):
    """Return the training on a finite environment; `listed` plays the true model in its place, which is faster."""
    entry, model = (FINITE | HELD_OUT)[name], model_of(name)
    environment, constraints, options = entry.environment, entry.constraints, dict(entry.options)
    if listed:
        environment = lambda: ModelEnv(model)  # noqa: E731
        constraints = [f"c{k + 1}{sense}{limit:g}" for k, (sense, limit) in enumerate(model.limits)]
        options = {"time_limit": model.time_limit}
    return painless.train(
        environment,
        constraints=constraints,
        discount=model.discount,
        steps=int(share * entry.steps),
        seed=seed,
        **options,
    )


def judged(name: str, training) -> tuple[bool, float, float]:
    """Return whether a policy keeps its limits, and the exact endless reward of it and of the optimum."""
    model = model_of(name)
    value, cut = model.value(training), model.episode_value(training)[0]
    return not (model.missed(value) or model.missed(cut)), float(value[0]), model.optimum


def stepping(environment, steps: int) -> float:
    """Return the CPU seconds of `steps` random steps of an environment, by itself."""
    one = gymnasium.make(environment) if isinstance(environment, str) else environment()
    rng = np.random.default_rng(0)
    actions = rng.integers(one.action_space.n, size=STEPPING).tolist()
    one.reset(seed=0)
    start = time.process_time()
    for action in actions:
        _, _, ended, cut, _ = one.step(action)
        if ended or cut:
            one.reset()
    return (time.process_time() - start) * steps / STEPPING


def learned_table(name: str, steps: int, seed: int):
    """Return the training on a table's episodes, the exact values of its policy, and the optimum."""
    problem: CMDP = painless.make(name)
    training = painless.train(TableSimulator(problem), steps=steps, seed=seed)
    table = training.policy.policies[0].at(np.arange(problem.shape[0]))[0]
    value = policy_value(problem, table) * problem.sign
    return training, value, painless.solve(problem, tolerance=1e-5).reward_value


def broken(problem: CMDP, value) -> bool:
    """Whether some limit is missed by more than 1 %."""
    shortfall = problem.threshold - value[1:] * problem.sign[1:]
    return bool((shortfall > 0.01 * np.abs(problem.threshold)).any())


def word_of(training, *, kept: bool, value: float, optimum: float) -> str:
    """Say how good an answer is."""
    if not kept:
        return "false" if all(word == "met" for word in training.verdict) else "broken"
    loss = (optimum - value) / abs(optimum)
    return f"{'good' if loss <= GOOD else 'poor'}, {-100 * loss:+.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="environments and tables; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--share", type=float, default=1.0, help="of the steps")
    parser.add_argument(
        "--listed", action="store_true", help="play the true models, which are faster than some environments"
    )
    parser.add_argument("--store", help="a file that gets a line of JSON for each run of networks")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    table = Table(
        "environment",
        "seed",
        "steps",
        "CPU s",
        "of stepping",
        "reward",
        "optimum",
        "limits",
        "verdict",
        "true",
    )
    console = Console(width=150)
    seeds = range(given.first, given.first + given.seeds)
    for name, entry in (FINITE | HELD_OUT).items():
        words = []
        for seed in seeds if not given.names or name in given.names else ():
            start = time.process_time()
            try:
                model_of(name).problem()
                start = time.process_time()
                training = learned(name, given.share, seed, listed=given.listed)
            except (painless.InputError, ImportError) as error:  # a package that is not installed
                table.add_row(name, str(seed), "", "", "", "", "", str(error)[:60])
                break
            seconds = time.process_time() - start
            kept, value, optimum = judged(name, training)
            words.append(word_of(training, kept=kept, value=value, optimum=optimum))
            own = (
                ""
                if given.listed
                else f"{seconds / stepping(entry.environment, sum(training.steps.values())):.1f}"
            )
            row(table, name, seed, training, seconds, training.estimate.mean, optimum, words[-1], own)
            print(
                name, seed, f"{seconds:.1f} s", own, f"{value:.4g}", training.verdict, words[-1], flush=True
            )
        summarise(name, words)
    for name, steps in TABLES.items():
        words = []
        for seed in seeds if not given.names or name in given.names else ():
            start = time.process_time()
            training, value, optimum = learned_table(name, int(given.share * steps), seed)
            seconds = time.process_time() - start
            kept = not broken(painless.make(name), value)
            words.append(word_of(training, kept=kept, value=value[0], optimum=optimum))
            row(table, name, seed, training, seconds, value, optimum, words[-1])
            print(name, seed, f"{seconds:.1f} s", f"{value[0]:.4g}", training.verdict, words[-1], flush=True)
        summarise(name, words)
    for seed in seeds:
        for name in NETWORKS if not given.names else [one for one in NETWORKS if one in given.names]:
            try:
                training, record = measured(name, seed, int(given.share * NETWORK_STEPS))
            except (painless.InputError, ImportError) as error:  # a package that is not installed
                table.add_row(name, str(seed), "", "", "", "", "", str(error)[:60])
                continue
            stored(record, given.store)
            row(
                table,
                name,
                seed,
                training,
                record["seconds"],
                training.estimate.mean,
                record["known"],
                record["word"],
            )
            print(name, seed, record["mean"], training.verdict, record["word"], flush=True)
    console.print(table)


def summarise(name: str, words: list[str]) -> None:
    """Print how many runs were good, and how many claims were false."""
    if words:
        good, false = (sum(word.startswith(kind) for word in words) for kind in ("good", "false"))
        print(f"{name}: {good} of {len(words)} good, {false} false", flush=True)


def row(table, name, seed, training, seconds, value, optimum, word, own=""):
    """Add a line to the table."""
    signs = {">=": "≥", "<=": "≤"}
    limits = zip(value[1:], training.estimate.sense, training.estimate.threshold, strict=True)
    table.add_row(
        *(name, str(seed), f"{sum(training.steps.values()):,}", f"{seconds:.1f}", own),
        *(f"{value[0]:.4g}", f"{optimum:.4g}"),
        ", ".join(f"{mean:.3g} {signs[sense]} {limit:g}" for mean, sense, limit in limits),
        *(", ".join(training.verdict), word),
    )


if __name__ == "__main__":
    main()
