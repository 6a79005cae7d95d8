"""One measurement of `benchmarks.scale`, in this process: draws the model, solves it, prints one line of JSON."""

import contextlib
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy

import painless
from painless.common.arrays import one_thread
from painless.engines.sweeps.pricing import Pricer
from painless.planning.column_generation import ColumnGeneration
from painless.planning.linear_program import LinearProgram
from painless.problem.units import normalise

DISCOUNT, TOLERANCE, SLIP = 0.99, 1e-6, 0.2
PROPERTY = "// property: "  # the comment of a .drn file that asks Storm for the problem's optimum


def garnet_parts(states, rng, actions=4, branching=5):
    """Return kernel (S·A, S) with `branching` random successors for each pair, and uniform utilities' shape."""
    pairs = states * actions
    successor = rng.integers(0, states, (pairs, branching), dtype=np.int32)
    probability = rng.standard_exponential((pairs, branching))
    probability /= probability.sum(1, keepdims=True)
    pointer = np.arange(0, pairs * branching + 1, branching, dtype=np.int32)
    kernel = scipy.sparse.csr_array((probability.ravel(), successor.ravel(), pointer), shape=(pairs, states))
    kernel.sum_duplicates()
    return kernel, lambda: rng.random((states, actions))


def grid_parts(states, rng):
    """Return a square grid with five moves, of which four slip to either side, and rewards in a hundredth of its cells.

    Small grids have them in some four cells.
    """
    side = round(states**0.5)
    row, column = np.divmod(np.arange(side * side, dtype=np.int32), np.int32(side))
    moves = np.array([(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)], dtype=np.int32)
    to = [
        np.clip(row + dy, 0, side - 1) * np.int32(side) + np.clip(column + dx, 0, side - 1)
        for dy, dx in moves
    ]
    sides = ((2, 3), (2, 3), (0, 1), (0, 1), (4, 4))
    successor = np.stack([np.stack([to[a], to[b], to[c]], 1) for a, (b, c) in enumerate(sides)], 1)
    probability = np.broadcast_to([1 - SLIP, SLIP / 2, SLIP / 2], successor.shape).ravel()
    pairs = 5 * side * side
    pointer = np.arange(0, 3 * pairs + 1, 3, dtype=np.int32)
    kernel = scipy.sparse.csr_array((probability, successor.ravel(), pointer), shape=(pairs, side * side))
    kernel.sum_duplicates()

    def cells():
        reward = np.where(rng.random(side * side) < max(0.01, 4 / side**2), rng.random(side * side), 0.0)
        return np.repeat(reward[:, None], 5, 1)

    return kernel, cells


def instance(kind, states, constraints, seed, discount=DISCOUNT):
    """Return a problem whose thresholds lie halfway between the reward's best policy and the constraints' own."""
    rng = np.random.default_rng(seed)
    kernel, draw = {"garnet": garnet_parts, "grid": grid_parts}[kind](states, rng)
    count = kernel.shape[1]
    problem = painless.CMDP(
        kernel,
        draw(),
        initial=np.full(count, 1 / count),
        discount=discount,
        constraint_reward=np.array([draw() for _ in range(constraints)]),
        threshold=np.zeros(constraints),
    )
    del kernel
    return halfway(problem) if constraints else problem


def halfway(problem):
    """Return a problem with limits halfway between the reward's best policy and the constraints' own."""
    pricer, weights = Pricer(problem), np.eye(1 + problem.shape[2])
    best = np.array([pricer.price(w, 1e-4 * problem.unit, 1e-4).value[1:] for w in weights])
    most = problem.utility_range[1][1:] * problem.unit  # beyond which the error of these values may lie
    return problem.with_limits(np.minimum(0.5 * best[0] + 0.5 * best[1:].mean(0), most))


class Clock:
    """CPU and wall seconds since it was made."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self):
        return {"wall": time.perf_counter() - self.wall, "cpu": time.process_time() - self.cpu}


def ours(problem, case):
    clock = Clock()
    planned = ColumnGeneration().plan(problem, case["tolerance"])
    pricer = getattr(planned.certifier.engine, "pricer", None)  # small models are factorised
    return clock.read() | {
        "solves": planned.solves,
        "sweeps": f"{pricer.bellman_sweeps:.0f} + {pricer.sweeps}" if pricer else "",
        "gap": planned.answer.gap / abs(planned.answer.upper_bound),
        "value": float(planned.answer.value[0]),
        "feasible": planned.feasible,
    }


def scipy_highs(method):
    """Solve the program of `LinearProgram` by a method of SciPy's HiGHS, as precisely as it goes by default."""

    def solve(problem, case):
        from unittest.mock import patch

        from scipy import optimize

        def solver(objective, time_limit=None, **program):
            return optimize.linprog(
                objective, **program, method=method, options={"time_limit": case["limit"]}
            )

        clock = Clock()
        with patch("painless.planning.highs.minimise", solver):
            optimum = LinearProgram().plan(problem)
        return clock.read() | {"value": float((optimum.occupancy * problem.reward).sum())}

    return solve


def highspy_by(method):
    """Solve the program of `LinearProgram` by a method that SciPy's HiGHS does not have."""

    def solve(problem, case):
        from unittest.mock import patch

        import highspy

        found = {}

        def solver(objective, *, A_ub=None, b_ub=None, A_eq=None, b_eq=None, **_):
            rows = scipy.sparse.vstack([A_ub, A_eq] if A_ub is not None else [A_eq], format="csr")
            model = highspy.HighsLp()
            model.num_col_, model.num_row_ = rows.shape[1], rows.shape[0]
            model.col_cost_ = np.asarray(objective, dtype=float)
            model.col_lower_, model.col_upper_ = np.zeros(rows.shape[1]), np.full(rows.shape[1], np.inf)
            unequal = 0 if A_ub is None else len(b_ub)
            model.row_lower_ = np.concatenate([np.full(unequal, -np.inf), b_eq])
            model.row_upper_ = np.concatenate([b_ub if unequal else [], b_eq])
            model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
            model.a_matrix_.start_, model.a_matrix_.index_ = rows.indptr, rows.indices
            model.a_matrix_.value_ = rows.data
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("time_limit", float(case["limit"]))
            highs.setOptionValue("threads", 1)
            if highs.setOptionValue("solver", method) != highspy.HighsStatus.kOk:
                raise RuntimeError("not available")
            highs.passModel(model)
            highs.run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                raise RuntimeError("limit")
            found["value"] = -highs.getInfo().objective_function_value
            raise StopIteration

        clock = Clock()
        with patch("painless.planning.highs.minimise", solver), contextlib.suppress(StopIteration):
            LinearProgram().plan(problem)
        return clock.read() | found

    return solve


def storm(problem, case):
    """Ask Storm's multi-objective engine; it returns the value, and no policy."""
    import stormpy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.drn"
        problem.save(path)
        with path.open() as lines:
            question = next(line for line in lines if line.startswith(PROPERTY))
        model = stormpy.build_model_from_drn(str(path))
    formula = stormpy.parse_properties(question.removeprefix(PROPERTY).strip())[0]
    clock = Clock()
    result = stormpy.model_checking(model, formula, only_initial_states=True)
    value = result.get_value(model.initial_states[0])
    del case
    return clock.read() | {"value": float(value)}


def scipy_policies(method):
    """Solve by policy iteration with SciPy; without constraints only."""

    def solve(problem, case):
        from benchmarks.policy_iteration import policy_iteration

        if problem.shape[2]:
            raise RuntimeError("no constraints")
        clock = Clock()
        value = policy_iteration(problem, case["tolerance"], method)
        return clock.read() | {"value": value}

    return solve


SOLVERS = {
    "ours": ours,
    "bicgstab": scipy_policies("bicgstab"),
    "superlu": scipy_policies("superlu"),
    "simplex": scipy_highs("highs-ds"),
    "ipm": scipy_highs("highs-ipm"),
    "pdlp": highspy_by("pdlp"),
    "hipo": highspy_by("hipo"),
    "storm": storm,
}


def main():
    from benchmarks import families

    case = json.loads(sys.argv[1])
    for kind in ("garnet", "grid", "maze"):  # compiles
        ColumnGeneration().plan(normalise(families.instance(kind, 600, 2, 0, case["discount"]))[0])
    drawn = families.instance(
        case["kind"], case["states"], case["constraints"], case["seed"], case["discount"]
    )
    problem, _ = normalise(drawn)
    try:
        with one_thread():  # as `solve` does
            result = SOLVERS[case["solver"]](problem, case)
    except RuntimeError as error:
        result = {"failed": "gave up at the limit" if "imit" in str(error) else str(error)[:40]}
    result["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
