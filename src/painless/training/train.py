"""`train`: learn a policy from an environment or a simulator, by the way that fits its observations.

Observations that repeat are counted: a model is learned, and planned on (see `counted`). Others get networks where torch is installed
(see `deep`), else features, and the paper's algorithms (see `linear`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from painless.backends import Backend
from painless.common import arguments, extras
from painless.common.arguments import function, number, share, whole
from painless.common.arrays import one_thread
from painless.common.errors import InputError, shown
from painless.counting.safe_plan import Limits
from painless.evaluators.trajectories import AnchoredLSTDQ
from painless.features.base import FeatureMap
from painless.loop.algorithms import Algorithm
from painless.problem import CMDP
from painless.simulation.simulator import Simulator, TableSimulator, require_simulator
from painless.storage import files
from painless.training.counted import Budget, Checkpointing, CountedRun
from painless.training.counted_answer import training_of_counts
from painless.training.deep.settings import Deep
from painless.training.episodes import Episodes, SimulatedEpisodes
from painless.training.linear import EvaluatorMaker, train_linear
from painless.training.progress_log import Progress, ProgressLog
from painless.training.result import Training

STEPS = 200_000  # the default budget
DISCOUNT = 0.99  # of an environment, unless given
ITERATIONS = 200  # of the paper's algorithms, unless given
FEWEST = 10  # iterations for which the budget of an environment is divided
AIMED = 40  # iterations that a budget should allow
FEW_ROLLOUTS, ROLLOUTS = 5, 50  # episodes of one iteration, without those that explore
VERIFYING = 100  # fresh episodes, at least
BOUND = 20.0  # of multipliers in normalised units, without a search for a feasible policy: a slack of a tenth of the range
PILOT = 0.1  # share of a budget in seconds that random episodes before the training may take


def train(
    environment: Any,
    algorithm: Algorithm | Deep | None = None,
    *,
    constraints: Any = (),
    discount: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    objective: int | None = None,
    reward: Callable[..., float] | None = None,
    time_limit: int | None = None,
    features: FeatureMap | None = None,
    evaluator: EvaluatorMaker | None = None,
    iterations: int | None = None,
    multiplier_bound: ArrayLike | None = None,
    feasibility_iterations: int = 200,
    episodes: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    save_every: float = 5.0,
    resume: bool = False,
    backend: Backend | None = None,
    progress: Progress | None = None,
    log: str | os.PathLike[str] | None = None,
) -> Training:
    """Learn a policy that meets the constraints, and verify it on fresh episodes.

    Arguments:
        environment: a Gymnasium environment, its id, a vector environment, a function that makes one of them, or a simulator.
        algorithm: `Deep(…)` for networks, or one of the paper's, over features. By default observations that repeat are counted, and
            others get networks where torch is installed, else `CBP()` if it can serve.
        constraints: of an environment: "cost<=25" is a limit on the discounted sum of `info["cost"]`, "episode cost<=25" on the
            undiscounted sum over an episode, "reward[1]>=-8" on an entry of a vector reward, and (function, "<=25") on what a
            function of (observation, action, next_observation, reward, terminated, info) returns.
        discount: γ of an environment, 0.99 by default.
        steps: the budget in steps of the environment, verification and resets without a step included; 200,000 by default. Networks train for so many, and
            spend up to half as many more on fresh episodes to select and to verify.
        seconds: the budget in time, in place of `steps` or beside it.
        objective: the entry of a vector reward to maximise.
        reward: a function of the same arguments to maximise instead of the reward.
        time_limit: steps of an episode; the environment's own by default, or 1000.
        features, evaluator, iterations, multiplier_bound, feasibility_iterations, episodes, backend: of the paper's
            algorithms, see `train_linear`; giving the first four, an algorithm or a backend chooses them. With `steps`, at most a
            quarter of the episodes that they allow verify the answer.
        confidence: the probability that all verdicts hold together.
        seed: random seed.
        checkpoint, save_every, resume: a file that keeps the state of the run, the seconds between two writes, and whether to
            continue from it; a run that learns a model or networks may continue with a larger budget.
        progress: called with a `CountedProgress`, a `DeepProgress` or a `TrainingProgress` as the run goes on.
        log: a CSV file that gets a line for each of these.

    Ctrl-C, the end of the budget and an exception of the environment return the best answer so far.

    >>> training = train("FrozenLake-v1", discount=0.9, steps=3000, time_limit=50)
    >>> training.algorithm, training.model.shape[1]
    ('counted', 4)
    """
    budget = _budget(steps, seconds)
    share("confidence", confidence)
    seed = arguments.seed(seed)
    function("progress", progress)
    _require_archive(checkpoint)
    chosen = [
        one
        for one in (algorithm, features, evaluator, iterations, multiplier_bound, backend)
        if one is not None
    ]
    simulator, ours = _simulator(
        environment,
        constraints=constraints,
        discount=discount,
        objective=objective,
        reward=reward,
        time_limit=time_limit,
        seed=seed,
        seconds=seconds,
        chosen=bool(chosen),
    )
    budgeted = steps is not None or seconds is not None
    episodic = getattr(simulator, "episodic", np.zeros(len(simulator.specification.threshold), dtype=bool))
    report = ProgressLog(log, progress, simulator) if log is not None else progress
    if not chosen and _countable(simulator, budgeted):
        limits = Limits(
            simulator.specification.threshold, episodic, simulator.specification.time_limit or 0, confidence
        )
        with one_thread():
            rng, point = (
                np.random.default_rng(seed),
                _checkpointing(simulator, seed, checkpoint, save_every, resume),
            )
            run = CountedRun(_episodes(simulator), limits, budget, rng, report, point)
            return training_of_counts(run.run(), simulator, confidence, budget)
    of_gymnasium = hasattr(simulator, "interface")
    if isinstance(algorithm, Deep) or (not chosen and of_gymnasium and extras.torch_is_installed()):
        settings = algorithm if isinstance(algorithm, Deep) else Deep()
        settings = settings.beside(getattr(simulator, "copies", None))
        point = _checkpointing(simulator, seed, checkpoint, save_every, resume, settings)
        return _deep(simulator, settings, budget, seed, confidence, episodes, report, point)
    if episodic.any():
        raise InputError(
            "a limit on whole episodes needs observations that repeat, or networks: write the limit for the discounted sum: "
            f"'cost<=…', or {extras.INSTALL_DEEP}"
        )
    if of_gymnasium:
        _require_few(simulator)
    if budgeted or (ours and iterations is None):
        parts = _divided(simulator, budget, episodes)
        iterations = parts.iterations if iterations is None else iterations
        evaluator = evaluator or partial(
            AnchoredLSTDQ, rollouts=parts.rollouts, exploration=getattr(simulator, "exploration", 0.0)
        )
        episodes = parts.episodes
        if multiplier_bound is None and len(simulator.specification.threshold):
            span = simulator.specification.span
            multiplier_bound = BOUND * span[0] / span[1:]
    return train_linear(
        simulator,
        algorithm,
        features=features,
        evaluator=evaluator,
        iterations=ITERATIONS if iterations is None else iterations,
        multiplier_bound=multiplier_bound,
        feasibility_iterations=feasibility_iterations,
        episodes=episodes,
        confidence=confidence,
        seed=seed,
        checkpoint=checkpoint,
        save_every=save_every,
        resume=resume,
        backend=backend,
        progress=report,
        stop=(lambda done: budget.used(done) >= 1) if budgeted or ours else (lambda done: False),
    )


def _budget(steps: float | None, seconds: float | None) -> Budget:
    if seconds is not None and not 0 < number("seconds", seconds, "give a positive number") < np.inf:
        raise InputError(f"seconds is {seconds}; give a positive number")
    if steps is None:
        return Budget(STEPS if seconds is None else None, seconds)
    rounded = int(steps) if isinstance(steps, float) and steps.is_integer() else steps  # such as 1e5
    return Budget(whole("steps", rounded, least=2), seconds)


def _require_archive(checkpoint: str | os.PathLike[str] | None) -> None:
    """Reject a file that could be written, but not be read again."""
    if checkpoint is not None and files.as_path(checkpoint).suffix != ".npz":
        raise InputError(f"checkpoint is {shown(str(checkpoint))}; give it a name that ends in .npz")


def _simulator(
    given: Any, *, seed: int, seconds: float | None, chosen: bool, **settings: Any
) -> tuple[Simulator, bool]:
    """Return a simulator, and whether it was made here of an environment; counting needs no more than one random episode before it."""
    if isinstance(given, CMDP):
        raise InputError(
            "a table is solved, not trained: solve(problem); or give a simulator, TableSimulator(problem)"
        )
    simulated = hasattr(given, "step") and not hasattr(given, "action_space")
    if not isinstance(given, type) and (hasattr(given, "specification") or simulated):
        named = [name for name, value in settings.items() if value is not None and value != ()]
        if named:
            raise InputError(f"{named[0]} is for environments; a simulator has its own: leave it out")
        return require_simulator(given), False
    if not (isinstance(given, str) or callable(given) or hasattr(given, "action_space")):
        raise InputError(
            f"{shown(given)} is no environment; give one, its id, a function that makes one, or a simulator"
        )
    from painless.environments import from_gymnasium

    settings["discount"] = DISCOUNT if settings["discount"] is None else settings["discount"]
    seconds, steps = pilot_seconds(seconds), None if chosen else 1
    return from_gymnasium(given, seed=seed, pilot_seconds=seconds, pilot_steps=steps, **settings), True


def pilot_seconds(seconds: float | None) -> float | None:
    """Return the part of a budget in seconds that random episodes before the training may take."""
    return None if seconds is None else PILOT * seconds


def _countable(simulator: Simulator, budgeted: bool) -> bool:
    """Whether a model is learned by counting: observations repeat, or a table is given with a budget."""
    if isinstance(simulator, TableSimulator):
        return budgeted
    return bool(getattr(simulator, "repeats", False))


def _episodes(simulator: Any) -> Episodes:
    if isinstance(simulator, TableSimulator):
        if not simulator.problem.actions.all():
            raise InputError(
                "some states of this table lack actions, which cannot be learned; use solve(problem)"
            )
        return SimulatedEpisodes(simulator)
    from painless.environments.counted_episodes import GymnasiumEpisodes

    return GymnasiumEpisodes(simulator)


def _deep(
    simulator: Any,
    settings: Deep,
    budget: Budget,
    seed: int,
    confidence: float,
    episodes: int,
    progress: Progress | None,
    checkpoint: Checkpointing | None,
) -> Training:
    """Train networks, and put together what they found."""
    extras.require_torch()
    if not hasattr(simulator, "interface"):
        raise InputError(
            "networks are trained on environments; give a Gymnasium environment, or choose CBP()"
        )
    from painless.training.deep.answer import training_of
    from painless.training.deep.networks import one_torch_thread
    from painless.training.deep.run import DeepRun

    with one_thread(), one_torch_thread():
        run = DeepRun(simulator, settings, budget, seed, episodes, confidence, progress, checkpoint)
        return training_of(run.run(), simulator, confidence, budget)


def _require_few(simulator: Any) -> None:
    """Reject what only networks can be trained on."""
    simulator.interface.require_few(simulator.name)


def _checkpointing(
    simulator: Simulator,
    seed: int,
    path: str | os.PathLike[str] | None,
    save_every: float,
    resume: bool,
    deep: Deep | None = None,
) -> Checkpointing | None:
    if path is None:
        return None
    specification = simulator.specification
    settings = {
        "seed": seed,
        "discount": specification.discount,
        "threshold": specification.threshold.tolist(),
        "constraints": list(specification.constraint_names),
        "actions": specification.actions,
        **({} if deep is None else deep.as_dict()),
    }
    return Checkpointing(files.as_path(path), settings, save_every, resume)


class _Divided(NamedTuple):
    """What a budget allows the paper's algorithms."""

    iterations: int
    rollouts: int  # episodes of an iteration, and as many that explore
    episodes: int  # to verify the answer


def _divided(simulator: Any, budget: Budget, episodes: int) -> _Divided:
    """Divide a budget of steps into iterations, rollouts and at most `episodes` that verify.

    Episodes become shorter or longer as a policy learns: planned is the geometric mean of a random one's length and of the longest.
    """
    if budget.steps is None:
        return _Divided(ITERATIONS, ROLLOUTS, episodes)
    longest = simulator.specification.time_limit or 1
    allowed = budget.steps / np.sqrt((getattr(simulator, "length", None) or longest) * longest)
    rollouts = int(np.clip(allowed / (2 * AIMED), FEW_ROLLOUTS, ROLLOUTS))
    iterations = int(np.clip(allowed / (2 * rollouts), FEWEST, ITERATIONS))
    return _Divided(iterations, rollouts, min(episodes, max(VERIFYING, int(allowed / 4))))
