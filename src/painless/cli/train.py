"""`painless train`: train a policy from samples."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from painless.cli.backend_options import with_backend
from painless.cli.common import (
    PAGE,
    STOPPED,
    AsJson,
    Discount,
    Parameters,
    Seed,
    Settings,
    Threshold,
    check_file,
    check_folder,
    interruptible,
    print_table,
    progress_bar,
    say,
    say_json,
)
from painless.cli.parsing import (
    find_problem,
    import_modules,
    json_or_text,
    make_algorithm,
    make_simulator,
    problem_arguments,
)
from painless.cli.report import Report, report_training
from painless.cli.solve import Start, about_average, answer, first_policy
from painless.common import extras
from painless.common.errors import InputError, either
from painless.common.registry import settings_of
from painless.evaluators.registry import EVALUATORS, find_evaluator
from painless.loop.algorithms import find_algorithm
from painless.training.deep.progress import DeepProgress
from painless.training.deep.settings import Deep

if TYPE_CHECKING:
    from painless.backends import Backend
    from painless.training.counted import CountedProgress
    from painless.training.linear import TrainingProgress
    from painless.training.result import Training

DEEP = "deep"  # the name of networks
VERSIONED = re.compile(r"-v\d+$")  # how ids of Gymnasium end


@with_backend
def train(
    problem: Annotated[
        str,
        typer.Argument(
            help="gym:ID, gym:module:ID or gym:module:Class for a Gymnasium environment, a simulator such as cartpole, or a table."
        ),
    ],
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm, see below; default for gym: a learned model if observations repeat, else deep or cbp.",
        ),
    ] = None,
    settings: Settings = None,
    parameters: Parameters = None,
    evaluator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{either(EVALUATORS)}, or module:factory; default: anchored-lstdq on simulators, td on tables.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            help="Number of iterations T of the algorithm; default: 200, for gym what --steps allow."
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=2, help="Budget in steps, verification included; default for gym: 200,000."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Budget in seconds.")] = None,
    modules: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="MODULE", help="Module that registers environments; repeatable."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV file with a line for each report of progress.")
    ] = None,
    rollouts: Annotated[int, typer.Option(min=1, help="Episodes per evaluation.")] = 50,
    samples: Annotated[
        int, typer.Option(min=1, help="For tables: samples per state-action pair and evaluation.")
    ] = 1000,
    entropy: Annotated[
        float | None, typer.Option(help="Strength ν of entropy regularisation; default: 0. Not for prm.")
    ] = None,
    multiplier_bound: Annotated[
        list[float] | None, typer.Option(help="Bound U of each multiplier; skips the feasibility phase.")
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            "--constraint",
            "--limit",
            metavar="'NAME<=NUMBER'",
            help="For gym: 'cost<=25' or 'reward[1]>=-3' (discounted), 'episode cost<=25' (not); repeatable.",
        ),
    ] = None,
    objective: Annotated[
        int | None, typer.Option(min=0, help="For gym: the entry of a vector reward to maximise.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="For gym: tiles, fourier or one-hot; default: by observation space.")
    ] = None,
    exploration: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of random actions in extra episodes: 0.2 for gym, else 0."),
    ] = None,
    time_limit: Annotated[int | None, typer.Option(min=1, help="For gym: steps per episode.")] = None,
    episodes: Annotated[int, typer.Option(min=2, help="Episodes to evaluate the returned policy.")] = 1000,
    discount: Discount = None,
    threshold: Threshold = None,
    initial: Annotated[Start, typer.Option(help="For tables: initial policy.")] = Start.UNIFORM,
    seed: Seed = 0,
    as_json: AsJson = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save checkpoints, the policy and the trace.")
    ] = None,
    save_every: Annotated[float, typer.Option(min=0, help="Seconds between two checkpoints.")] = 5.0,
    resume: Annotated[bool, typer.Option(help="Continue from the checkpoint in --save.")] = False,
    report_file: Report = None,
    backend: Backend | None = None,
) -> None:
    """Train a policy from samples and evaluate it with confidence intervals.

    Ctrl-C returns the best result so far.
    """
    from painless.problems import SIMULATORS, is_file

    check_file(report_file, PAGE)
    check_folder(save)
    if resume and save is None:
        raise InputError("--resume needs --save FOLDER, where the checkpoint is")
    check_file(log, (".csv",))
    import_modules(modules)
    named = algorithm is not None or bool(settings) or entropy is not None
    name, deep = algorithm or "cbp", algorithm == DEEP
    chosen = make_algorithm(name, Deep if deep else find_algorithm(name), settings, entropy=entropy)
    gym = problem.startswith("gym:")
    if not gym and (":" in problem or VERSIONED.search(problem)) and not is_file(problem):
        raise InputError(
            f"'{problem[:100]}' is no problem here; for a Gymnasium environment write gym:{problem[:50]}"
        )
    if deep and not gym:
        raise InputError("networks are trained on environments, gym:ID; choose another --algorithm")
    if not gym and any(one is not None for one in (constraint or None, objective, features, time_limit)):
        raise InputError("--constraint, --objective, --features and --time-limit are for gym:ID")
    if gym:
        about = _environment(problem, parameters, discount, threshold, constraint)
        about |= {"objective": objective, "time_limit": time_limit, "seed": seed, "imports": modules or []}
    elif problem in SIMULATORS:
        given = problem_arguments(SIMULATORS[problem], problem, parameters, discount, threshold)
        about = {"simulator": problem, **given}
    else:
        if any(one is not None for one in (steps, seconds, log)):
            raise InputError("--steps, --seconds and --log are for simulators; give --iterations for a table")
        if backend is not None:
            raise InputError("--workers and --backend are for simulators; a table is trained in this process")
        cmdp = find_problem(problem, parameters, discount, threshold)
        answer(
            problem,
            cmdp,
            chosen,
            as_json=as_json,
            save=save,
            report_file=report_file,
            note="" if evaluator == "exact" else _about_samples(problem),
            iterations=iterations or 200,
            evaluator=_evaluator(
                evaluator or "td", problem, simulated=False, samples=samples, rollouts=samples
            ),
            initial_policy=first_policy(cmdp, seed) if initial is Start.DIRICHLET else None,
            seed=seed,
        )
    from painless.training.train import pilot_seconds
    from painless.training.train import train as run

    others = [
        one for one in (evaluator, iterations, multiplier_bound, features, exploration) if one is not None
    ]
    plain = not named and not others and backend is None
    begun = time.perf_counter()
    simulator = make_simulator(about, pilot_seconds=pilot_seconds(seconds), pilot_steps=1 if plain else None)
    if seconds is not None and seconds > 0:
        seconds = max(seconds - (time.perf_counter() - begun), 0.5 * seconds)
    share = getattr(simulator, "exploration", 0.0) if exploration is None else exploration
    repeats = bool(getattr(simulator, "repeats", False))
    if gym and not named and not others and not repeats and extras.torch_is_installed():
        chosen, deep = Deep(), True
    linear = not deep and not plain
    options: dict[str, Any] = {}
    if deep:
        if others:
            raise InputError(
                "--evaluator, --iterations, --multiplier-bound, --features and --exploration are not for networks"
            )
        chosen, backend = _with_workers(chosen, backend), None
    elif linear or not repeats:
        options["features"] = _features(simulator, features)
        options["evaluator"] = _evaluator(
            evaluator or "anchored-lstdq", problem, simulated=True, rollouts=rollouts, exploration=share
        )
    budgeted = steps is not None or seconds is not None
    if linear and iterations is None and not budgeted:
        iterations = 200
    with interruptible(), progress_bar(not as_json) as report:
        training = run(
            simulator,
            chosen if deep or linear or options else None,
            **options,
            iterations=iterations,
            steps=200_000 if gym and not budgeted and iterations is None else steps,
            seconds=seconds,
            multiplier_bound=multiplier_bound,
            episodes=episodes,
            seed=seed,
            checkpoint=None if save is None else save / "checkpoint.npz",
            save_every=save_every,
            resume=resume,
            backend=backend,
            progress=_describe(report),
            log=log,
        )
    report_training(report_file, training, str(about["simulator"]))
    _print_and_save(about, training, as_json=as_json, save=save)


def _with_workers(settings: Any, backend: Any) -> Any:
    """Return the settings of networks with the processes that step the environments."""
    from painless.backends import Local

    if backend is not None and not isinstance(backend, Local):
        raise InputError(
            "networks step their environments in processes of this machine; give --workers alone"
        )
    return settings if backend is None else replace(settings, workers=backend.workers)


def _about_samples(problem: str) -> str:
    return f"{problem} is a table and was sampled; painless solve {problem} uses the table itself."


def _environment(
    problem: str,
    parameters: list[str] | None,
    discount: float | None,
    threshold: list[float] | None,
    constraint: list[str] | None,
) -> dict[str, Any]:
    """Describe a Gymnasium environment; only --constraint sets its limits."""
    if threshold:
        raise InputError("--threshold is for registered problems; use --constraint with gym:ID")
    chosen = 0.99 if discount is None else discount
    about = {"simulator": problem, "constraints": constraint or [], "discount": chosen}
    return about | {"options": dict(map(_option, parameters or []))}


def _option(pair: str) -> tuple[str, Any]:
    """Read "name=value" for `gymnasium.make`: a value is JSON, true, false or none in any case, or else text."""
    name, equals, text = pair.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"'{pair}' is not of the form name=value")
    return name, json_or_text(text)


def _features(simulator: Any, kind: str | None) -> Any:
    if kind is None:
        return None
    from painless.environments import suggest_features

    return suggest_features(simulator, kind)


def _evaluator(name: str, problem: str, *, simulated: bool, **options: Any) -> Callable[..., Any]:
    """Return an evaluator's factory with those of the options that it takes."""
    make = find_evaluator(name, problem, simulated)
    return partial(make, **{one: value for one, value in options.items() if one in settings_of(make)})


def _describe(report: Any) -> Any:
    """Turn a training's progress into a line for the terminal."""
    from painless.common.render import number
    from painless.training.linear import TrainingProgress

    def shown(now: CountedProgress | DeepProgress | TrainingProgress) -> None:
        values = ", ".join(number(value) for value in now.value)
        if isinstance(now, TrainingProgress):
            report(f"iteration {now.iteration}: {values}", now.iteration, now.iterations)
        elif isinstance(now, DeepProgress):
            report(f"{now.phase}, {now.steps:,} steps: {values}", round(1000 * now.used), 1000)
        else:
            report(
                f"{now.phase}, {now.steps:,} steps, {now.states:,} states: {values}",
                round(1000 * now.used),
                1000,
            )

    return None if report is None else shown


def _print_and_save(about: dict[str, Any], training: Training, *, as_json: bool, save: Path | None) -> None:
    from painless.solving.status import Kind
    from painless.training.result import BY_STEPS, HEADER

    problem = about["simulator"]
    if save is not None:
        training.save(save, about)
    if as_json:
        say_json({"problem": problem, **training.as_dict()})
    else:
        print_table(f"{problem} by {training.algorithm}, {training.effort}", HEADER, training.rows())
        if training.algorithm not in BY_STEPS and len(training.trace):
            average = float(training.trace.reward_value.mean())
            say(about_average(average, None, training.average_violation))
        say(training.status)
    raise typer.Exit(STOPPED if training.status.kind is Kind.STOPPED else 0)
