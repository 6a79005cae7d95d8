"""`train`: learn a policy from an environment or a simulator, by the way that fits its observations.

Observations that repeat are counted: a model is learned, and planned on (see `counted`). Others get networks where torch is installed
(see `deep`), else features, and the paper's algorithms (see `linear`).
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from painless.backends import Backend
from painless.common import arguments, extras
from painless.common.arguments import function, number, share, whole
from painless.common.arrays import one_thread
from painless.common.errors import InputError
from painless.common.render import number as rounded
from painless.counting.safe_plan import REST, Limits
from painless.evaluators.trajectories import AnchoredLSTDQ
from painless.features.base import FeatureMap
from painless.loop.algorithms import Algorithm
from painless.loop.framework import Trace
from painless.policies import MixturePolicy
from painless.policies.observed import ObservedPolicy
from painless.problem import CMDP
from painless.simulation.simulator import Simulator, TableSimulator, require_simulator
from painless.solving.status import Kind, Status
from painless.storage import files
from painless.training.counted import Budget, Checkpointing, CountedProgress, CountedRun, Found
from painless.training.deep.progress import DeepProgress
from painless.training.deep.settings import Deep
from painless.training.episodes import Episodes, SimulatedEpisodes
from painless.training.linear import EvaluatorMaker, TrainingProgress, described, train_linear
from painless.training.result import Training
from painless.training.verification import Verified, verified

STEPS = 200_000  # the default budget
DISCOUNT = 0.99  # of an environment, unless given
ITERATIONS = 200  # of the paper's algorithms, unless given
FEWEST = 10  # iterations for which the budget of an environment is divided
AIMED = 40  # iterations that a budget should allow
FEW_ROLLOUTS, ROLLOUTS = 5, 50  # episodes of one iteration, without those that explore
VERIFYING = 100  # fresh episodes, at least
BOUND = 20.0  # of multipliers in normalised units, without a search for a feasible policy: a slack of a tenth of the range
LONGEST = 80  # characters of the name of a state
NOTICED = 0.01  # relative difference between episodes with and without their time limit that is told
PILOT = 0.1  # share of a budget in seconds that random episodes before the training may take

Progress = Callable[[Any], None]


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
        steps: the budget in steps of the environment, verification included; 200,000 by default. Networks train for so many, and
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
    report = _Log(log, progress, simulator) if log is not None else progress
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
            return _training(run.run(), simulator, confidence, budget)
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


def _budget(steps: int | None, seconds: float | None) -> Budget:
    if steps is not None:
        steps = whole("steps", steps, least=2)
    if seconds is not None and not 0 < number("seconds", seconds, "give a positive number") < np.inf:
        raise InputError(f"seconds is {seconds}; give a positive number")
    return Budget(STEPS if steps is None and seconds is None else steps, seconds)


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
        return require_simulator(given), False
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
        run = DeepRun(simulator, settings, budget, seed, episodes, progress, checkpoint)
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


def _names(found: Found, interface: Any) -> list[str]:
    """Return the observations as text."""
    rows = found.observations
    if rows.shape[1] == 1:
        start = 0 if interface is None or not interface.discrete else interface.observation["start"]
        return [f"{value + start:g}" for value in rows[:, 0]]
    return [f"({', '.join(f'{value:g}' for value in row)})"[:LONGEST] for row in rows]


def _training(found: Found, simulator: Any, confidence: float, budget: Budget) -> Training:
    """Put together what a run by counting found, in the user's terms."""
    specification = simulator.specification
    judged = verified(found, specification, confidence)
    interface = getattr(simulator, "interface", None)
    sign, answers = specification.sign, [*found.trace, found.answer]
    values = np.array([one.judged.value * one.scales for one in answers]) * sign
    policy = ObservedPolicy(found.observations, found.answer.judged.policy)
    model = found.nominal
    names = _names(found, interface)
    unique = names if len({*names}) == len(names) else [f"{k}: {name}" for k, name in enumerate(names)]
    return Training(
        policy=MixturePolicy.uniform((policy,)),
        estimate=judged.estimate,
        trace=Trace(values[:, 0], values[:, 1:], np.array([one.multiplier for one in answers]), exact=False),
        multiplier=found.answer.multiplier,
        multiplier_bound=np.full(len(specification.threshold), np.inf),
        status=_status(found, judged, specification, getattr(interface, "left_out", [])),
        constraint_names=specification.constraint_names,
        minimise=specification.minimise,
        algorithm="counted",
        seconds=time.perf_counter() - budget.start,
        steps={
            "feasibility": 0,
            "training": found.training_steps,
            "evaluation": found.verification_steps,
        },
        standard_error=np.array([one.judged.error * one.scales for one in answers]),
        total=judged.total,
        discounted=judged.discounted,
        model=model.table(unique, specification.sense, specification.constraint_names),
        visits=model.memory.visits,
        hoped=float(found.hoped * sign[0]),
        interface=interface,
        source=described(simulator),
    )


def _status(found: Found, judged: Verified, specification: Any, left_out: list[str]) -> Status:
    """Return how the run ended, the verdicts, and what the learned model says."""
    estimate = judged.estimate
    alone = replace(estimate, words=None).verdict  # by the fresh episodes alone
    words = zip(specification.constraint_names, estimate.verdict, alone, strict=True)
    verdicts = ", ".join(
        f"{name} {word}{'' if word == own else ' by the learned model'}" for name, word, own in words
    )
    scale = found.answer.scales
    value, error = judged.judged.value * scale * specification.sign, judged.judged.error * scale
    known = ", ".join(
        f"{name} {rounded(float(mean))} ± {rounded(float(width))}"
        for name, mean, width in zip(("reward", *specification.constraint_names), value, error, strict=True)
    )
    hope = rounded(float(found.hoped * specification.sign[0]))
    start = f"Stopped: {found.stopped}; run it again for longer." if found.stopped else "Completed."
    parts = [
        start,
        f"{verdicts[0].upper()}{verdicts[1:]}, with {estimate.certainty}." if verdicts else "",
        f"The learned model of {found.nominal.states} states says {known}; an optimist could hope for {hope}.",
        _cut_off(found, judged, specification),
        f"Not seen, since it is no number: {', '.join(left_out)}." if left_out else "",
        ""
        if found.answer.safe
        else "No plan keeps a safe margin from the limits: loosen them, or allow more steps.",
    ]
    kind = Kind.STOPPED if found.stopped else Kind.COMPLETED
    return Status(kind, " ".join(part for part in parts if part))


def _cut_off(found: Found, judged: Verified, specification: Any) -> str:
    """Return what episodes collect until they are cut off, if the learned model, which has no time limit, says something else."""
    limit, endless = found.limits.time_limit, judged.judged.value[0]
    if found.pooled.discount**limit <= REST:
        return ""
    _, collected = found.pooled.episode_values(judged.judged.policy, limit)
    if abs(collected[0] - endless) <= max(judged.judged.error[0], NOTICED * abs(endless)):
        return ""
    reward = rounded(float(collected[0] * specification.sign[0]))
    return (
        f"That is without a time limit: cut off after {limit} steps, episodes collect a reward of {reward}."
    )


class _Log:
    """Writes a CSV line for each report of progress, and passes it on."""

    def __init__(self, path: str | os.PathLike[str], progress: Progress | None, simulator: Simulator) -> None:
        self.path, self.progress = files.as_path(path), progress
        names = simulator.specification.constraint_names
        self.names = ["reward", *names]
        self._begun = False

    def __call__(self, now: CountedProgress | DeepProgress | TrainingProgress) -> None:
        """Write one line."""
        plain = {name: value for name, value in vars(now).items() if np.ndim(value) == 0}
        for field in ("value", "error"):
            for name, value in zip(self.names, getattr(now, field, ()), strict=False):
                plain[name if field == "value" else f"{name} {field}"] = value
        for name, value in zip(self.names[1:], getattr(now, "multiplier", ()), strict=False):
            plain[f"{name} multiplier"] = value
        self._write(plain)
        if self.progress is not None:
            self.progress(now)

    def _write(self, row: dict[str, Any]) -> None:
        try:
            with Path(self.path).open("a" if self._begun else "w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                if not self._begun:
                    writer.writerow(row)
                writer.writerow(row.values())
        except OSError as error:
            raise InputError(
                f"cannot write {self.path}: {error.strerror}; choose another file for the log"
            ) from error
        self._begun = True
