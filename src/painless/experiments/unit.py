"""A unit of work: one run of one algorithm on one problem, described by plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from painless.algorithms import CBP, CRPO, GDA
from painless.arrays import Array
from painless.batch import solve_batch
from painless.errors import InputError, unknown
from painless.evaluators import LSTDQ, MonteCarlo, TemporalDifference
from painless.features import OneHot, TileCoding
from painless.framework import Trace
from painless.policy import dirichlet_policy
from painless.problem import CMDP, load
from painless.problems import REGISTRY, SIMULATORS, make
from painless.solve import solve
from painless.train import train
from painless.validation import whole

ALGORITHMS: Mapping[str, Any] = {
    "cbp": CBP,
    "cbp-theory": CBP.theoretical,
    "gda": GDA,
    "gda-theory": GDA.theoretical,
    "crpo": CRPO,
}
EVALUATORS = ("exact", "td", "monte-carlo", "lstdq")
STARTS = ("uniform", "dirichlet")


@dataclass(frozen=True)
class Unit:
    """The settings of one run; everything in it is text, a number or a mapping of such."""

    problem: Mapping[str, Any]  # name and parameters
    algorithm: Mapping[str, Any]  # name and settings
    iterations: int
    seed: int
    start: str = "uniform"
    evaluator: Mapping[str, Any] = field(default_factory=lambda: {"name": "exact"})

    def __post_init__(self) -> None:
        if self.algorithm.get("name") not in ALGORITHMS:
            raise unknown("algorithm", str(self.algorithm.get("name")), ALGORITHMS)
        if self.evaluator.get("name") not in EVALUATORS:
            raise unknown("evaluator", str(self.evaluator.get("name")), EVALUATORS)
        whole("iterations", self.iterations)
        whole("seed", self.seed, least=0)
        if self.start not in STARTS:
            raise unknown("start", self.start, STARTS)
        name = str(self.problem.get("name"))
        if name not in REGISTRY and name not in SIMULATORS and not name.endswith((".npz", ".json")):
            raise unknown("problem", name, [*REGISTRY, *SIMULATORS])
        if name in SIMULATORS and self.evaluator["name"] != "exact":
            raise InputError(
                f"{name} is a simulator, which is evaluated from trajectories; leave [evaluator] out"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """The unit as plain data, for its hash."""
        return asdict(self)

    @property
    def batch(self) -> tuple[str, ...] | None:
        """A key that is equal for units which run faster together; None for those that run alone."""
        if self.evaluator["name"] != "exact" or self.problem["name"] in SIMULATORS:
            return None
        return (repr(sorted(self.problem.items())), str(self.iterations))


def call(make_it: Any, settings: Mapping[str, Any], what: str) -> Any:
    """Call something by its settings, with an error that names what is wrong with them."""
    arguments = {key: value for key, value in settings.items() if key != "name"}
    try:
        return make_it(**arguments)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} {settings.get('name')}: {error}") from error


def make_problem(settings: Mapping[str, Any]) -> CMDP:
    """Return the table of a unit."""
    name = str(settings["name"])
    if name.endswith((".npz", ".json")):
        return load(name)
    return call(lambda **parameters: make(name, **parameters), settings, "problem")


def make_algorithm(settings: Mapping[str, Any]) -> Any:
    """Return the algorithm of a unit."""
    return call(ALGORITHMS[str(settings["name"])], settings, "algorithm")


def make_evaluator(settings: Mapping[str, Any]) -> Any:
    """Return what makes the evaluator of a unit from a table; None for exact evaluation."""
    kind = settings["name"]
    options = {key: value for key, value in settings.items() if key not in ("name", "tiles")}
    if kind == "exact":
        return None
    if kind == "td":
        return lambda table: call(lambda **o: TemporalDifference(table, **o), options, "evaluator td")
    if kind == "monte-carlo":
        return lambda table: call(lambda **o: MonteCarlo(table, **o), options, "evaluator monte-carlo")
    return lambda table: call(
        lambda **o: LSTDQ(table, _tiles(table, settings), **o), options, "evaluator lstdq"
    )


def _tiles(table: CMDP, settings: Mapping[str, Any]) -> Any:
    """Tile coding of the state's index with one tiling, as in the paper; one-hot without `tiles`."""
    states, actions, _ = table.shape
    if "tiles" not in settings:
        return OneHot(states, actions)
    return TileCoding(0, states, int(settings["tiles"]), 1, actions)


def first_policy(unit: Unit, problem: CMDP) -> Array | None:
    """Return where a run starts."""
    if unit.start == "uniform":
        return None
    return dirichlet_policy(problem.actions, np.random.default_rng(unit.seed))


def run_units(units: Sequence[Unit]) -> list[dict[str, Array]]:
    """Run units of one batch together, or a single one alone; return their results in order."""
    first = units[0]
    if first.problem["name"] in SIMULATORS:
        return [_train(unit) for unit in units]
    problem = make_problem(first.problem)
    if first.evaluator["name"] == "exact":
        traces = solve_batch(
            problem,
            [make_algorithm(unit.algorithm) for unit in units],
            iterations=first.iterations,
            initial_policies=[first_policy(unit, problem) for unit in units],
        )
        return [_results(trace) for trace in traces]
    return [_solve(unit, problem) for unit in units]


def _solve(unit: Unit, problem: CMDP) -> dict[str, Array]:
    solution = solve(
        problem,
        make_algorithm(unit.algorithm),
        iterations=unit.iterations,
        initial_policy=first_policy(unit, problem),
        evaluator=make_evaluator(unit.evaluator),
        seed=unit.seed,
    )
    if solution.trace is None:
        raise InputError(f"{unit.problem}: {solution.status}")
    return _results(solution.trace)


def _train(unit: Unit) -> dict[str, Array]:
    simulator = call(SIMULATORS[str(unit.problem["name"])], unit.problem, "problem")
    training = train(
        simulator, make_algorithm(unit.algorithm), iterations=unit.iterations, seed=unit.seed, episodes=100
    )
    return _results(training.trace)


def _results(trace: Trace) -> dict[str, Array]:
    return {
        "reward_value": trace.reward_value,
        "constraint_value": trace.constraint_value,
        "multiplier": trace.multiplier,
    }
