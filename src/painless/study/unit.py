"""A unit of work: one run of one algorithm on one problem, described by plain data."""

from __future__ import annotations

import platform
import time
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from painless.bellman import policy_value
from painless.common import plugins
from painless.common.arguments import whole
from painless.common.arrays import Array
from painless.common.errors import InputError, unknown
from painless.common.registry import build, find
from painless.evaluators.registry import EVALUATORS, find_evaluator, state_tiles
from painless.loop.algorithms import ALGORITHMS, find_algorithm, require_algorithm
from painless.loop.batch import solve_batch
from painless.loop.framework import Trace
from painless.policies.table import dirichlet_policy
from painless.problem import CMDP, require_problem
from painless.problems import REGISTRY, SIMULATORS, find_problem, is_file, require_name
from painless.solving.solve import solve
from painless.storage import files
from painless.training.politex import coin_betting_politex, errors_afterwards, table_policy
from painless.training.train import train

DEFAULT_SIMULATED = "anchored-lstdq"
FEW = 2  # episodes to evaluate the policy that a unit ends with: what is stored is the trace
STARTS = ("uniform", "dirichlet")
ESTIMATED = "estimated"  # the multiplier bound of a table whose unit is Algorithm 1: from samples alone
OWNED: Mapping[str, Collection[str]] = {  # the names of the library itself
    "algorithm": ALGORITHMS,
    "evaluator": EVALUATORS,
    "problem": ChainMap[str, Any](REGISTRY, SIMULATORS),
}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {"td": {"levelled": False}}  # the paper's TD(0), from zero


@dataclass(frozen=True)
class Unit:
    """The settings of one run; everything in it is text, a number or a mapping of such."""

    problem: Mapping[str, Any]  # name and parameters
    algorithm: Mapping[str, Any]  # name and settings
    iterations: int
    seed: int
    start: str = "uniform"
    evaluator: Mapping[str, Any] = field(default_factory=lambda: {"name": "exact"})
    multiplier_bound: float | str | None = (
        None  # U for simulators, in place of a feasibility phase; ESTIMATED
    )

    def __post_init__(self) -> None:
        find_algorithm(self.algorithm.get("name"))
        whole("iterations", self.iterations)
        whole("seed", self.seed, least=0)
        if self.start not in STARTS:
            raise unknown("start", self.start, STARTS)
        if isinstance(self.multiplier_bound, str) and self.multiplier_bound != ESTIMATED:
            raise unknown("multiplier_bound", self.multiplier_bound, [ESTIMATED])
        name = str(self.problem.get("name"))
        require_name(name)
        if is_file(name) and "digest" not in self.problem:
            object.__setattr__(self, "problem", {**self.problem, "digest": files.digest(name)})
        if name in SIMULATORS and self.evaluator.get("name") == "exact":
            object.__setattr__(self, "evaluator", {"name": DEFAULT_SIMULATED})
        find_evaluator(str(self.evaluator.get("name")), name, name in SIMULATORS)
        for kind in plugins.GROUPS:
            object.__setattr__(self, kind, with_digest(kind, getattr(self, kind)))

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


def with_digest(kind: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings; those of a user's own code with the digest of its sources."""
    name = settings.get("name")
    if "digest" in settings or name in OWNED[kind] or (kind == "problem" and is_file(str(name))):
        return settings
    found = plugins.digest(kind, str(name))
    return settings if found is None else {**settings, "digest": found}


def require_own(unit: Unit) -> None:
    """Make what a unit takes from a user's code, so that an error shows before anything runs."""
    if "digest" in unit.algorithm:
        require_algorithm(make_algorithm(unit.algorithm))
    if "digest" in unit.problem and plugins.is_reference(unit.problem["name"]):
        require_problem(make_problem(unit.problem))


def is_current(settings: Mapping[str, Any]) -> bool:
    """Whether a unit's problem is registered, or a file or a user's code that still holds what it held."""
    name, known = str(settings["name"]), settings.get("digest")
    if is_file(name):
        return Path(name).is_file() and files.digest(name) == known
    return known is None or plugins.digest("problem", name) == known


def make_from_settings(make: Callable[..., Any], settings: Mapping[str, Any], word: str = "setting") -> Any:
    """Make something from plain data: its name and its settings."""
    given = {key: value for key, value in settings.items() if key not in ("name", "digest")}
    return build(str(settings["name"]), make, given, word)


def make_problem(settings: Mapping[str, Any]) -> CMDP:
    """Return the table of a unit; raise an error if its file or code has changed since the unit was made."""
    given = {key: value for key, value in settings.items() if key not in ("name", "digest")}
    name = str(settings["name"])
    problem = find_problem(name, **given)
    if not is_current(settings):
        raise InputError(f"{name} was changed since this sweep was planned; run the sweep again")
    return problem


def make_algorithm(settings: Mapping[str, Any]) -> Any:
    """Return the algorithm of a unit."""
    _require_current("algorithm", settings)
    return make_from_settings(find_algorithm(settings["name"]), settings)


def _require_current(kind: str, settings: Mapping[str, Any]) -> None:
    """Raise an error if a user's code is not what it was when the unit was made."""
    known, name = settings.get("digest"), str(settings["name"])
    if known is not None and plugins.digest(kind, name) != known:
        raise InputError(
            f"{name} on {platform.node()} is not what it was when this sweep was planned; run the sweep again, and "
            "install the same version on all machines"
        )


def make_evaluator(settings: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return the evaluator factory of a unit, for a table or for a simulator and features; None for exact evaluation."""
    name = str(settings["name"])
    if name == "exact":
        return None
    _require_current("evaluator", settings)
    complete, make = {**DEFAULTS.get(name, {}), **settings}, find("evaluator", name, EVALUATORS)
    return lambda *source: make_from_settings(partial(make, *source), complete)


def first_policy(unit: Unit, problem: CMDP) -> Array | None:
    """Return the initial policy of a run."""
    if unit.start == "uniform":
        return None
    return dirichlet_policy(problem.actions, np.random.default_rng(unit.seed))


def run_units(units: Sequence[Unit]) -> list[dict[str, Any]]:
    """Run units of one batch together, or a single one alone; return their results in order.

    `seconds` among the results is the processor time that the unit took, or its share of the batch.
    """
    begin = time.process_time()
    found = [result if isinstance(result, dict) else _arrays(result) for result in _results(units)]
    seconds = (time.process_time() - begin) / len(units)
    return [{**result, "seconds": seconds} for result in found]


def _arrays(trace: Trace) -> dict[str, Any]:
    return {name: getattr(trace, name) for name in ("reward_value", "constraint_value", "multiplier")}


def _results(units: Sequence[Unit]) -> Sequence[Trace | dict[str, Any]]:
    first = units[0]
    if first.problem["name"] in SIMULATORS:
        return [_train(unit) for unit in units]
    problem = make_problem(first.problem)
    if first.multiplier_bound == ESTIMATED:
        return [_politex(unit, problem) for unit in units]
    if first.evaluator["name"] == "exact":
        return solve_batch(
            problem,
            [make_algorithm(unit.algorithm) for unit in units],
            iterations=first.iterations,
            initial_policies=[first_policy(unit, problem) for unit in units],
        )
    return [_solve(unit, problem) for unit in units]


def _politex(unit: Unit, problem: CMDP) -> dict[str, Any]:
    """Run Algorithm 1; beside the trace return ζ̂ with the true slack of its policy, and ε_b with the largest |Q̂ − Q|."""
    features = state_tiles(problem, unit.evaluator.get("tiles"))
    found = coin_betting_politex(
        problem,
        make_algorithm(unit.algorithm),
        features=features,
        rollouts=int(unit.evaluator["rollouts"]),
        iterations=unit.iterations,
        seed=unit.seed,
    )
    if not found.found:
        raise InputError(f"{unit.problem}: {found.status}")
    value = policy_value(problem, table_policy(found.slater_policy, problem))[1:]
    slack = np.stack([found.slater_gap, value - problem.threshold])
    errors = np.array(errors_afterwards(found, problem, features))
    return {**_arrays(found.trace), "slack": slack, "errors": errors}


def _solve(unit: Unit, problem: CMDP) -> Trace:
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
    return solution.trace


def _train(unit: Unit) -> Trace | dict[str, Any]:
    simulator = make_from_settings(SIMULATORS[str(unit.problem["name"])], unit.problem, "parameter")
    evaluator = make_evaluator(unit.evaluator)
    assert evaluator is not None
    found = train(
        simulator,
        make_algorithm(unit.algorithm),
        evaluator=evaluator,
        iterations=unit.iterations,
        multiplier_bound=unit.multiplier_bound,
        seed=unit.seed,
        episodes=FEW,
    )
    if not len(found.trace):
        raise InputError(f"{unit.problem}: {found.status}")
    if unit.multiplier_bound is not None:
        return found.trace
    span = simulator.specification.span
    slack = 2 * span[0] / ((1 - simulator.specification.discount) * found.multiplier_bound)
    return {**_arrays(found.trace), "slack": slack[None]}
