"""Learn a policy over features from a simulator, by the paper's algorithms."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from painless.backends import Backend
from painless.common import arguments
from painless.common.arguments import as_floats, function, number, share, whole
from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.evaluators.base import Evaluator
from painless.evaluators.trajectories import AnchoredLSTDQ
from painless.features.base import FeatureMap
from painless.loop.algorithm_case import INITIAL_MULTIPLIER
from painless.loop.algorithms import CBP, Algorithm, Situation, require_algorithm, require_single
from painless.loop.framework import Position, Trace, take_step
from painless.policies import MixturePolicy, start_policy
from painless.simulation.distributed_rollouts import CHUNK, DistributedSimulator
from painless.simulation.normalised_simulator import NormalisedSimulator
from painless.simulation.simulator import Simulator, Specification
from painless.solving.status import Kind, Status
from painless.storage import files, memory
from painless.training.checkpoint import Checkpoint, TrainingState, save_checkpoint
from painless.training.evaluate import Estimate, evaluate
from painless.training.iterate_mixture import training_mixture
from painless.training.result import Training
from painless.training.sampled_feasibility import sampled_slack

KEPT_ITERATES = 64  # at most, equally spaced iterates of a run, from which the returned mixture is made

EvaluatorMaker = Callable[[Simulator, FeatureMap], Evaluator[Any]]


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of a training run: the latest estimates, in the user's terms, the reward first."""

    iteration: int
    iterations: int
    value: Array  # (J,)


def train_linear(
    simulator: Simulator,
    algorithm: Algorithm | None = None,
    *,
    features: FeatureMap | None = None,
    evaluator: EvaluatorMaker | None = None,
    iterations: int = 200,
    multiplier_bound: ArrayLike | None = None,
    feasibility_iterations: int = 200,
    episodes: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    save_every: float = 5.0,
    resume: bool = False,
    backend: Backend | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
    stop: Callable[[int], bool] = lambda steps: False,
) -> Training:
    """Learn a policy over features that meets the constraints, from episodes of a simulator.

    Arguments:
        algorithm: `CBP()` by default.
        features: φ(s, a); by default those that the simulator suggests.
        evaluator: a function from a simulator and features to an evaluator; by default `AnchoredLSTDQ`, with the exploration
            that the simulator suggests: 0.2 for Gymnasium environments, else none.
        iterations: the number of iterations T.
        multiplier_bound: U, one for each constraint; by default a feasibility phase finds it.
        feasibility_iterations: the maximum number of iterations of that phase.
        episodes: the number of episodes to evaluate the returned policy.
        confidence: the probability that all of its intervals hold together.
        checkpoint: a file to save the run into regularly, so that `resume` can continue from it.
        save_every: seconds between two checkpoints.
        backend: workers that roll out the episodes, for a slow simulator. The result depends on the seed and not on the
            number of workers, but differs from the result without a backend.
        progress: called after every iteration with a `TrainingProgress`.
        stop: asked after every iteration with the steps so far; the run ends if it says True.

    Ctrl-C returns the best result so far, and keeps the checkpoint.
    """
    if algorithm is not None:
        require_single(require_algorithm(algorithm))
    if backend is not None and not (hasattr(backend, "workers") and hasattr(backend, "__enter__")):
        raise InputError(f"backend is {backend!r}; give one such as painless.backends.Local(4)")
    whole("iterations", iterations)
    whole("feasibility_iterations", feasibility_iterations)
    whole("episodes", episodes, least=2)
    share("confidence", confidence)
    seed = arguments.seed(seed)
    if not number("save_every", save_every, "give seconds") >= 0:
        raise InputError(f"save_every is {save_every}; give seconds, at least 0")
    for name, given in (("evaluator", evaluator), ("progress", progress)):
        function(name, given)
    suggest = getattr(simulator, "features", None)
    chosen = features if features is not None else suggest() if callable(suggest) else None
    if chosen is None:
        raise InputError("this simulator suggests no features; give features, such as a TileCoding")
    if (
        isinstance(chosen, type)
        or not callable(getattr(chosen, "at", None))
        or not hasattr(chosen, "actions")
    ):
        raise InputError(f"features is {chosen!r}; give a feature map, such as a TileCoding")
    if chosen.actions != simulator.specification.actions:
        raise InputError(
            f"the features have {chosen.actions} actions and the simulator {simulator.specification.actions}"
        )
    _require_room(chosen)
    with one_thread(), backend or nullcontext():
        return _Train(
            simulator if backend is None else DistributedSimulator(simulator, backend),
            algorithm or CBP(),
            chosen,
            evaluator or partial(AnchoredLSTDQ, exploration=getattr(simulator, "exploration", 0.0)),
            iterations,
            feasibility_iterations,
            episodes,
            confidence,
            seed,
            checkpoint,
            save_every,
            progress,
            stop,
        ).run(multiplier_bound, resume=resume)


def _require_room(features: FeatureMap) -> None:
    """Reject features whose equations do not fit into memory: a matrix, its factors and a copy."""
    needed = 3 * 8.0 * features.dimension**2
    if needed > memory.limit():
        raise InputError(
            f"{features.dimension:,} features make equations of up to {needed / 1e9:.2g} GB, more memory than there is; "
            "give fewer, such as painless.features.Fourier(lower, upper, 2, actions)"
        )


class _Train:
    """One training run."""

    def __init__(
        self,
        simulator: Simulator,
        algorithm: Algorithm,
        features: FeatureMap,
        evaluator: EvaluatorMaker,
        iterations: int,
        feasibility_iterations: int,
        episodes: int,
        confidence: float,
        seed: int,
        checkpoint: str | os.PathLike[str] | None,
        save_every: float,
        progress: Callable[[TrainingProgress], None] | None,
        stop: Callable[[int], bool],
    ) -> None:
        self.start = time.perf_counter()
        self.simulator, self.algorithm, self.features = simulator, algorithm, features
        self.iterations, self.episodes, self.confidence = iterations, episodes, confidence
        self.save_every, self.feasibility_iterations = save_every, feasibility_iterations
        self.checkpoint = None if checkpoint is None else files.as_path(checkpoint)
        self.progress, self.stop = progress, stop
        self.scaled = NormalisedSimulator(simulator)
        self.evaluator = evaluator(self.scaled, features)
        self.seeds = np.random.SeedSequence(seed).spawn(3)
        self.settings = {
            "algorithm": repr(algorithm),
            "features": repr(features),
            "evaluator": type(self.evaluator).__name__,
            "rollouts": getattr(self.evaluator, "rollouts", None),
            "iterations": iterations,
            "seed": seed,
            "threshold": self.specification.threshold.tolist(),
            "discount": self.specification.discount,
            "spread": CHUNK if isinstance(simulator, DistributedSimulator) else None,
        }

    @property
    def specification(self) -> Specification:
        """The specification of the simulator, in the user's units."""
        return self.simulator.specification

    def run(self, multiplier_bound: ArrayLike | None, *, resume: bool) -> Training:
        """Find U, train, and evaluate the result."""
        stored = self._found_checkpoint() if resume else None
        bound = self._bound(multiplier_bound) if stored is None else stored.bound()
        if bound.get("policy") is not None:
            return self._not_found(bound)
        learner, dual = self.algorithm.build(self._situation(bound["multiplier_bound"]))
        policy = start_policy(learner, self.features)
        if stored is not None:
            run = stored.state(policy, dual)
        else:
            multiplier = np.full((1, len(self.specification.threshold)), INITIAL_MULTIPLIER)
            position = Position(policy, dual.init(multiplier))
            run = TrainingState(position, np.random.default_rng(self.seeds[1]), [], [], [], [])
        status = self._iterate(run, dual, bound)
        return self._verified_training(run, bound, status)

    def _bound(self, given: ArrayLike | None) -> dict[str, Any]:
        """Return U in normalised units, as given or from the feasibility phase."""
        count, span = len(self.specification.threshold), self.specification.span
        if given is not None:
            upper = np.atleast_1d(as_floats("multiplier_bound", given))
            if upper.shape not in ((1,), (count,)) or not (np.isfinite(upper) & (upper > 0)).all():
                raise InputError(
                    f"multiplier_bound is {given}; give a positive number for each of {count} constraint(s)"
                )
            return {"multiplier_bound": upper * span[1:] / span[0], "steps": 0}
        if not count:
            return {"multiplier_bound": np.empty(0), "steps": 0}
        rng = np.random.default_rng(self.seeds[0])
        found = sampled_slack(
            self.scaled, self.features, self.evaluator, rng, self.confidence, self.feasibility_iterations
        )
        missing = None if found.found else found.policy
        return {
            "multiplier_bound": found.multiplier_bound,
            "steps": found.steps,
            "policy": missing,
            "interrupted": found.interrupted,
        }

    def _found_checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint to continue from, if there is one."""
        if self.checkpoint is None:
            return None
        files.remove_leftovers(self.checkpoint)
        if not self.checkpoint.exists():
            return None
        constraints = len(self.specification.threshold)
        return Checkpoint(self.checkpoint, self.settings, constraints, self.iterations)

    def _situation(self, bound: Array) -> Situation:
        scaled = self.scaled.specification
        return Situation(
            1 - scaled.discount, scaled.actions, scaled.threshold, bound, self.iterations, simulated=True
        )

    def _iterate(self, run: TrainingState, dual: Any, bound: dict[str, Any]) -> Status:
        """Run to the horizon, and save checkpoints."""
        scaled = self.scaled.specification
        saved = time.perf_counter()
        try:
            while len(run.values) < self.iterations:
                step, run.position = take_step(scaled, self.evaluator, dual, run.position, [run.rng])
                run.keep(step.policy, KEPT_ITERATES)
                error = step.evaluation.standard_error
                run.errors.append(np.zeros(len(scaled.low)) if error is None else error[0])
                run.weights.append(step.weight[0])
                run.steps += step.evaluation.steps
                run.values.append(step.evaluation.value[0])
                run.mark()
                self._report(run)
                if self.checkpoint is not None and time.perf_counter() - saved > self.save_every:
                    self._save(run, bound)
                    saved = time.perf_counter()
                if self.stop(run.steps):
                    break
        except KeyboardInterrupt:
            run.rewind()
            self._save(run, bound)
            return Status(Kind.STOPPED, "Stopped: interrupted; resume from the checkpoint to continue.")
        except SystemExit:  # a signal asks to end, and there is no time to evaluate a policy
            run.rewind()
            self._save(run, bound)
            raise
        self._save(run, bound)
        return Status(Kind.COMPLETED, f"Completed: {len(run.values)} iterations done.")

    def _save(self, run: TrainingState, bound: dict[str, Any]) -> None:
        if self.checkpoint is not None and run.values:
            kept = {"multiplier_bound": bound["multiplier_bound"], "steps": bound["steps"]}
            save_checkpoint(self.checkpoint, run, self.settings, kept)

    def _report(self, run: TrainingState) -> None:
        if self.progress is not None:
            value = run.values[-1] * self.specification.span * self.specification.sign
            self.progress(TrainingProgress(len(run.values), self.iterations, value))

    def _verified_training(self, run: TrainingState, bound: dict[str, Any], status: Status) -> Training:
        mixture = training_mixture(run, self.scaled.specification.threshold)
        estimate = self._estimate(mixture)
        verdict = _verdicts(estimate, self.specification)
        steps = {"feasibility": int(bound["steps"]), "training": run.steps, "evaluation": estimate.steps}
        return self._training(
            mixture, estimate, run, bound, Status(status.kind, f"{status} {verdict}".rstrip()), steps
        )

    def _estimate(self, policy: Any) -> Estimate:
        seed = int(np.random.default_rng(self.seeds[2]).integers(2**63))
        return evaluate(policy, self.simulator, episodes=self.episodes, confidence=self.confidence, seed=seed)

    def _not_found(self, bound: dict[str, Any]) -> Training:
        """Return the policy that came closest; without a model, infeasibility cannot be proved."""
        mixture = MixturePolicy.uniform((bound["policy"],))
        estimate = self._estimate(mixture)
        why = (
            "interrupted in the feasibility phase; run it again."
            if bound["interrupted"]
            else "no feasible policy found. Loosen the limits, add rollouts or features, or give multiplier_bound to train anyway."
        )
        status = Status(Kind.STOPPED, f"Stopped: {why} {_verdicts(estimate, self.specification)}")
        empty = TrainingState(Position(bound["policy"], None), np.random.default_rng(), [], [], [], [])
        steps = {"feasibility": int(bound["steps"]), "training": 0, "evaluation": estimate.steps}
        return self._training(mixture, estimate, empty, bound, status, steps)

    def _training(
        self,
        mixture: MixturePolicy,
        estimate: Estimate,
        run: TrainingState,
        bound: dict[str, Any],
        status: Status,
        steps: dict[str, int],
    ) -> Training:
        specification = self.specification
        span, utilities = specification.span, len(specification.low)
        values = np.array(run.values).reshape(-1, utilities) * span * specification.sign
        weights = np.array(run.weights).reshape(-1, utilities)[:, 1:] * span[0] / span[1:]
        return Training(
            policy=mixture,
            estimate=estimate,
            trace=Trace(values[:, 0], values[:, 1:], weights, exact=False),
            multiplier=weights.mean(0) if len(weights) else np.full(utilities - 1, np.nan),
            multiplier_bound=np.asarray(bound["multiplier_bound"]) * span[0] / span[1:],
            status=status,
            constraint_names=specification.constraint_names,
            minimise=specification.minimise,
            algorithm=self.algorithm.name,
            seconds=time.perf_counter() - self.start,
            steps=steps,
            standard_error=np.array(run.errors).reshape(-1, utilities) * span,
            interface=getattr(self.simulator, "interface", None),
            source=described(self.simulator),
        )


def _verdicts(estimate: Estimate, specification: Specification) -> str:
    """Return a sentence on whether each constraint is met."""
    parts = [
        f"{name} {word} {'at' if word == 'unclear' else 'with'} {estimate.certainty}"
        for name, word in zip(specification.constraint_names, estimate.verdict, strict=True)
    ]
    return _sentence(", ".join(parts)) if parts else ""


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def described(simulator: Any) -> dict[str, Any] | None:
    """Return how to make a simulator of an environment again, if there is a way."""
    describe = getattr(simulator, "described", None)
    found: dict[str, Any] | None = describe() if callable(describe) else None
    return found
