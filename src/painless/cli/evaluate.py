"""`painless evaluate`: evaluate a saved policy on fresh episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from painless.cli.common import AsJson, Seed, interruptible, print_table, say_json
from painless.cli.parsing import make_simulator
from painless.common.errors import InputError


def evaluate(
    folder: Annotated[Path, typer.Argument(help="Folder written by `solve --save` or `train --save`.")],
    episodes: Annotated[int, typer.Option(min=2, help="Number of episodes.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Probability that all intervals hold together.")] = 0.95,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Evaluate a saved policy on fresh episodes, with confidence intervals."""
    from painless.training.evaluate import evaluate as run
    from painless.training.result import HEADER, estimate_rows

    policy, problem, names, minimise = _saved(folder)
    with interruptible():
        found = run(policy, problem, episodes=episodes, confidence=confidence, seed=seed)
    if as_json:
        content = {
            "reward_value": float(found.mean[0]),
            "constraint_value": found.mean[1:].tolist(),
            "reward_interval": [float(found.low[0]), float(found.high[0])],
            "constraint_interval": np.stack([found.low, found.high], 1)[1:].tolist(),
            "threshold": found.threshold.tolist(),
            "sense": list(found.sense),
            "met": list(found.met),
            "confidence": found.confidence,
            "episodes": found.episodes,
            "steps": found.steps,
        }
        say_json(content)
        return
    title = f"{folder}: {found.episodes} episodes, simultaneous {100 * found.confidence:g} % intervals"
    print_table(title, HEADER, estimate_rows(found, names, minimise=minimise))


def _saved(folder: Path) -> tuple[Any, Any, tuple[str, ...], bool]:
    """Return the policy of a folder, its problem, and the names of the constraints."""
    from painless.policies.storage import load_policy
    from painless.problem import load
    from painless.solving.solution import Solution
    from painless.storage import files, results

    if (folder / "solution.json").exists():
        solution = Solution.load(folder)
        table = load(folder / "problem.npz")
        solution.require_fit(table)
        return solution.policy, table, solution.constraint_names, solution.minimise
    if not (folder / "training.json").exists():
        raise InputError(f"{folder} contains no saved solution or training; save one with --save {folder}")
    results.read(folder / "training.json", "training")  # raises if the files do not belong together
    try:
        simulator = make_simulator(files.read(folder / "problem.json"))
    except TypeError as error:  # unknown settings
        raise InputError(f"{folder / 'problem.json'} describes no simulator: {error}; train again") from error
    return load_policy(folder / "policy.npz"), simulator, simulator.specification.constraint_names, False
