"""One case: a problem, an algorithm and a tolerance, solved and judged."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

import painless
from tests.fuzz import families
from tests.fuzz.checker import Judge
from tests.fuzz.claims import Wrong, claims
from tests.fuzz.frontiers import frontier_claims, held_can_be_met
from tests.fuzz.model import Model, of_arguments

LIMIT = 20.0  # seconds that a solve may take before it has to answer
SLOW = 2.0  # seconds that no model below twenty states should take

ALGORITHMS = {
    "default": lambda: None,
    "prm": painless.PRM,
    "cbp": painless.CBP,
    "gda": painless.GDA,
    "crpo": painless.CRPO,
    "lp": painless.LinearProgram,
    "column-generation": painless.ColumnGeneration,
}
HORIZONS = {"cbp": 40, "gda": 40, "crpo": 40}  # iterations of algorithms that need not reach a tolerance


@dataclass(frozen=True)
class Case:
    """What to solve, and how."""

    family: str
    seed: int
    algorithm: str
    tolerance: float

    @property
    def command(self) -> str:
        """What reproduces the case."""
        return (
            f"python -m tests.fuzz --family {self.family} --seed {self.seed} --count 1 "
            f"--algorithm {self.algorithm} --tolerance {self.tolerance:g}"
        )


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    case: Case
    wrong: list[Wrong]
    seconds: float
    states: int
    kind: str


def problem(family: str, seed: int) -> tuple[painless.CMDP, Model]:
    """Return a problem, and what the judge makes of its arguments."""
    arguments = families.draw(family, seed)
    stored = arguments.pop("sparse", None)
    given = arguments | ({} if stored is None else {"transition": stored})
    made = painless.CMDP(**given)
    rows = made.transition if isinstance(made.transition, np.ndarray) else made.transition.toarray()
    return made, of_arguments(
        arguments, np.asarray(rows).reshape(arguments["transition"].shape), made.initial
    )


def run(case: Case, judges: dict | None = None) -> Outcome:
    """Solve and judge; an exception is a failure like any other."""
    begin, states, kind = time.process_time(), 0, "error"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made, model = problem(case.family, case.seed)
            states = made.shape[0]
            key = (case.family, case.seed)
            judge = Judge(model) if judges is None else judges.setdefault(key, Judge(model))
            begin = time.process_time()
            if case.algorithm == "frontier":
                try:
                    curve = painless.frontier(made)
                except painless.InputError:
                    if not made.shape[2] or not held_can_be_met(judge):
                        return Outcome(case, [], 0.0, states, "refused")
                    raise
                seconds, kind = time.process_time() - begin, "frontier"
                return Outcome(case, frontier_claims(judge, curve), seconds, states, kind)
            horizon = HORIZONS.get(case.algorithm) if case.seed % 2 else None
            solution = painless.solve(
                made,
                ALGORITHMS[case.algorithm](),
                iterations=horizon,
                tolerance=case.tolerance,
                time_limit=LIMIT,
            )
            seconds, kind = time.process_time() - begin, solution.status.kind.value
    except Exception as error:
        if kind == "frontier":
            raise
        seconds = time.process_time() - begin
        return Outcome(case, [("error", f"{type(error).__name__}: {error}"[:300])], seconds, states, kind)
    return Outcome(case, claims(judge, solution, case.tolerance, horizon), seconds, states, kind)


def cases(
    count: int, seed: int, chosen: list[str], algorithms: list[str], tolerances: list[float], each: int
):
    """Draw cases: families in turn, and for each problem some of the algorithms and one of the tolerances."""
    for number in range(count):
        name = chosen[number % len(chosen)]
        own = seed + number // len(chosen)
        rng = np.random.default_rng([own, *name.encode()])
        for algorithm in rng.permutation(algorithms)[:each]:
            yield Case(name, own, str(algorithm), float(rng.choice(tolerances)))
