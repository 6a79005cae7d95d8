"""`python -m benchmarks.by_family`: what each family of large models costs, beside what else solves it; a table and a picture of the growth.

Every measurement is CPU seconds of one call in a process of its own, which ends after `--limit` CPU seconds; it is forked after the model is drawn and the kernels
are compiled. `painless.solve` is measured whole, with validation and prices; visits are counted when they are read. The others get the arrays and return a value; Storm gets a file, and its model is built before
the clock starts. QuantEcon, mdpsolver and stormpy are no dependencies, and are left out where they are not installed.

Results are appended to a file, one line each, and are not measured twice; `--draw` only draws.
"""

import argparse
import contextlib
import ctypes
import importlib.util
import json
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

import painless
from benchmarks.families import KINDS, instance
from benchmarks.policy_iteration import policy_iteration
from painless.common.arrays import one_thread
from painless.problem.units import normalise
from painless.report.figures import COLOURS, DASHES, new_figure, save_figure, styled

STORE, PICTURE = Path("benchmarks/history/families.jsonl"), Path("docs/images/families.png")
TOLERANCES = (1e-3, 1e-6)
SIZES = (3_000, 10_000, 30_000, 100_000)
LARGEST = 1_000_000  # of the families that are drawn within a minute or two
LARGE_KINDS = ("garnet", "grid", "corridors", "network", "chain")
BESIDE = (10_000, 30_000)  # sizes at which others run, without constraints
SMALL = 3_000  # at which a linear program and Storm run, with one constraint; Storm also at the next size
SEED = 11  # with which nothing was chosen


def cases(kinds, sizes, limits=(0, 1, 3)):
    """Yield what is measured for each model, the small ones first: kind, states, constraints, discount, and (solver, tolerance) pairs."""
    if LARGEST in sizes:
        for constraints in (n for n in (0, 1) if n in limits):
            for kind in (kind for kind in LARGE_KINDS if kind in kinds):
                yield kind, LARGEST, constraints, 0.99, [("painless", TOLERANCES[0])]
    for states in (states for states in sizes if states != LARGEST):
        for kind in kinds:
            for discount in (0.9, 0.99, 0.999, 0.9999):
                for constraints in limits:
                    ours = [("painless", tolerance) for tolerance in TOLERANCES]
                    middle = discount in (0.99, 0.999)
                    if not middle and (states != SIZES[1] or constraints == 3):
                        continue
                    if (constraints == 3 and states != SIZES[1]) or (
                        states >= SIZES[-1] and discount != 0.99
                    ):
                        continue
                    if not constraints and middle and states in BESIDE:
                        others = ("bicgstab", "superlu", "quantecon", "mdpsolver")
                        ours += [(solver, TOLERANCES[-1]) for solver in others if available(solver)]
                    if constraints == 1 and discount == 0.99 and states in SIZES[:2]:
                        others = ("highs", "storm") if states == SMALL else ("storm",)
                        ours += [(solver, TOLERANCES[-1]) for solver in others if available(solver)]
                    yield kind, states, constraints, discount, ours


def available(solver):
    """Whether a solver can run here."""
    package = {"quantecon": "quantecon", "mdpsolver": "mdpsolver", "storm": "stormpy"}.get(solver)
    return package is None or importlib.util.find_spec(package) is not None


def run(solver, problem, tolerance):
    """Solve once, and return what is found."""
    if solver == "painless":
        solution = painless.solve(problem, tolerance=tolerance)
        gap = solution.gap / abs(solution.upper_bound)
        return {"value": solution.reward_value, "gap": gap, "status": solution.status.kind.value}
    if solver in ("bicgstab", "superlu"):
        return {"value": policy_iteration(problem, tolerance, solver)}
    if solver == "highs":
        from painless.planning.linear_program import LinearProgram

        normal, _ = normalise(problem)
        return {"value": float((LinearProgram().plan(normal).occupancy * normal.reward).sum())}
    if solver == "storm":
        from benchmarks.storm import by_storm

        value, seconds = by_storm(problem)
        return {"value": value, "cpu": seconds}
    return {"quantecon": quantecon, "mdpsolver": mdpsolver}[solver](problem, tolerance)


def quantecon(problem, tolerance):
    """Solve by QuantEcon's modified policy iteration, to an error of the values of `tolerance`, relative to the largest."""
    from quantecon.markov import DiscreteDP

    states, actions, _ = problem.shape
    pair = np.arange(states * actions)
    model = DiscreteDP(
        problem.reward.ravel(), problem.transition.tocsr(), problem.discount, pair // actions, pair % actions
    )
    size = np.abs(problem.reward).max() / (1 - problem.discount)
    found = model.solve(method="modified_policy_iteration", epsilon=tolerance * size, max_iter=100_000)
    return {"value": float(problem.initial @ found.v)}


def mdpsolver(problem, tolerance):
    """Solve by mdpsolver's modified policy iteration, to an error of the values of `tolerance`, relative to the largest."""
    import mdpsolver as package

    states, actions, _ = problem.shape
    rows = problem.transition.tocsr()
    pieces = np.split(np.arange(rows.nnz), rows.indptr[1:-1])
    nested = lambda values: [  # noqa: E731
        [values[pieces[s * actions + a]].tolist() for a in range(actions)] for s in range(states)
    ]
    size = np.abs(problem.reward).max() / (1 - problem.discount)
    model = package.model()
    model.mdp(
        discount=problem.discount,
        rewards=problem.reward.tolist(),
        tranMatProbs=nested(rows.data),
        tranMatColumns=nested(rows.indices),
    )
    start = time.process_time()
    model.solve(algorithm="mpi", tolerance=tolerance * size)
    seconds = time.process_time() - start
    return {"value": float(problem.initial @ np.array(model.getValueVector())), "cpu": seconds}


def model_bytes(problem):
    """Return how many bytes the arrays of a model take."""
    rows = problem.transition.tocsr()
    arrays = (rows.data, rows.indices, rows.indptr, problem.utility, problem.initial)
    return sum(array.nbytes for array in arrays)


def held(name):
    """Return what Linux counts for this process, in bytes: `RssAnon` and `RssFile` are held now, of its own and of files; `VmHWM` was held at most, of both."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def forget_peak():
    """Give memory that is not used back to the system, and count the peak of this process from now on."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # or the solve would use it, and seem to need less
    Path("/proc/self/clear_refs").write_text("5")


def measure(solver, problem, tolerance, limit):
    """Return what a solver finds, its CPU seconds and the most memory that it held beside the model, relative to the model.

    It runs in a forked process that is ended after `limit` CPU seconds.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def work():
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 2, int(limit) + 3))
        forget_peak()
        before, start = held("RssAnon"), time.process_time()
        try:
            with one_thread():
                found = run(solver, problem, tolerance)
            found = {"cpu": time.process_time() - start} | found
            # A forked process holds no pages of files, such as libraries, before it touches them.
            found["memory"] = (held("VmHWM") - held("RssFile") - before) / model_bytes(problem)
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"[:80]}
        theirs.send(found)

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    theirs.close()
    try:
        if not ours.poll(30 * limit):
            return {"failed": f"more than {limit:g} s"}
        return ours.recv()
    except EOFError:
        return {"failed": f"more than {limit:g} s"}
    finally:
        child.kill()
        child.join()


def known(store):
    """Return what is measured already, by its case."""
    lines = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    return {case_key(line): line for line in lines}


def case_key(line):
    """Return what tells one measurement from another."""
    return tuple(line[name] for name in ("kind", "states", "constraints", "discount", "solver", "tolerance"))


def compile_kernels():
    """Solve small models of every kind, so that nothing is compiled, or looked up, in a measurement; ours last, since other libraries are then known."""
    if available("quantecon"):
        quantecon(instance("grid", 1_000, 0, 0, 0.9), 1e-3)
    for kind in KINDS:
        for constraints in (0, 1):
            for discount in (0.99, 0.999):
                painless.solve(instance(kind, 3_000, constraints, 0, discount))


def measure_all(given):
    """Measure what is not known yet."""
    done = known(given.store)
    hopeless = set()  # kind and solver that failed on a smaller model
    compile_kernels()
    for kind, states, constraints, discount, solvers in cases(given.kinds, given.sizes, given.constraints):
        names = {"kind": kind, "states": states, "constraints": constraints, "discount": discount}
        todo = [
            (solver, tolerance)
            for solver, tolerance in solvers
            if case_key(names | {"solver": solver, "tolerance": tolerance}) not in done
            and (kind, solver, constraints) not in hopeless
            and (given.solvers is None or solver in given.solvers)
        ]
        if not todo:
            continue
        problem = instance(kind, states, constraints, given.seed, discount)
        for solver, tolerance in todo:
            found = measure(solver, problem, tolerance, given.limit)
            if "failed" in found:
                hopeless.add((kind, solver, constraints))
            case = names | {"solver": solver, "tolerance": tolerance, "seed": given.seed}
            line = case | {"actual": problem.shape[0]} | found
            with given.store.open("a") as lines:
                lines.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)


def seconds(done, **case):
    """Return the CPU seconds of a case; NaN if it is not known."""
    line = done.get(
        tuple(case[n] for n in ("kind", "states", "constraints", "discount", "solver", "tolerance"))
    )
    return np.nan if line is None or "failed" in line else line["cpu"]


def draw(done, picture):
    """Draw the growth with the number of states, a panel for each number of constraints and discount."""
    panels = [(0, 0.99), (0, 0.999), (1, 0.99), (1, 0.999)]
    with styled():
        figure, axes = new_figure(10.0, 7.0, columns=2, rows=2)
        for panel, (constraints, discount) in zip(axes, panels, strict=True):
            for n, kind in enumerate(KINDS):
                same = {"kind": kind, "constraints": constraints, "discount": discount}
                time_of = [
                    seconds(done, states=s, solver="painless", tolerance=TOLERANCES[-1], **same)
                    for s in SIZES
                ]
                style = {"color": COLOURS[n % len(COLOURS)], "linestyle": DASHES[n % len(DASHES)]}
                panel.plot(SIZES, time_of, marker="o" if n < len(COLOURS) else "s", label=kind, **style)
            count = "no constraint" if not constraints else "one constraint"
            panel.set(xscale="log", yscale="log", xlabel="states", ylabel="CPU seconds")
            panel.set_title(f"{count}, γ = {discount}")
            panel.set_xticks(SIZES, [f"{states:,}" for states in SIZES])
            panel.set_xticks([], minor=True)
            panel.set_xlim(0.8 * SIZES[0], 1.25 * SIZES[-1])
        axes[0].legend(fontsize=8, ncols=2)
        save_figure(figure, picture)


def table(done):
    """Return a Markdown table: what each family and size costs."""
    rows = [
        "| family | K | γ | " + " | ".join(f"{s:,}" for s in SIZES) + " |",
        "|---" * (3 + len(SIZES)) + "|",
    ]
    for kind in KINDS:
        for constraints, discount in [(0, 0.99), (0, 0.999), (1, 0.99), (1, 0.999), (3, 0.99)]:
            same = {"kind": kind, "constraints": constraints, "discount": discount, "solver": "painless"}
            cells = []
            for states in SIZES:
                pair = [seconds(done, states=states, tolerance=t, **same) for t in TOLERANCES]
                cells.append(
                    "–"
                    if np.isnan(pair).all()
                    else " / ".join("–" if np.isnan(x) else f"{x:.2g}" for x in pair)
                )
            rows.append(f"| {kind} | {constraints} | {discount} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def large_table(done):
    """Return a Markdown table: what a million states cost."""
    rows = [
        f"| family | K | CPU seconds to {TOLERANCES[0]:g} | peak beside the model, relative to it |",
        "|---" * 4 + "|",
    ]
    for constraints in (0, 1):
        for kind in LARGE_KINDS:
            line = done.get((kind, LARGEST, constraints, 0.99, "painless", TOLERANCES[0]), {"failed": ""})
            if "failed" not in line:
                rows.append(f"| {kind} | {constraints} | {line['cpu']:.2g} | {line['memory']:.2f} |")
    return "\n".join(rows)


def beside(done):
    """Return a Markdown table: the others beside `painless`, without constraints."""
    others = ("bicgstab", "superlu", "quantecon", "mdpsolver")
    rows = ["| family | states | γ | painless | " + " | ".join(others) + " | best other / painless |"]
    rows.append("|---" * (5 + len(others)) + "|")
    ratios = []
    for kind in KINDS:
        for states in BESIDE:
            for discount in (0.99, 0.999):
                same = {"kind": kind, "states": states, "constraints": 0, "discount": discount}
                same["tolerance"] = TOLERANCES[-1]
                own = seconds(done, solver="painless", **same)
                found = [seconds(done, solver=other, **same) for other in others]
                if np.isnan(own) or np.isnan(found).all():
                    continue
                ratio = np.nanmin(found) / own
                ratios.append(ratio)
                cells = " | ".join("–" if np.isnan(x) else f"{x:.2g}" for x in found)
                rows.append(f"| {kind} | {states:,} | {discount} | {own:.2g} | {cells} | {ratio:.1f} |")
    if ratios:
        rows.append(f"\nMedian {np.median(ratios):.1f}, least {min(ratios):.1f}, of {len(ratios)} models.")
    return "\n".join(rows)


def with_limit(done):
    """Return a Markdown table: a linear program and Storm beside `painless`, with one constraint."""
    others = ("highs", "storm")
    rows = ["| family | states | painless | " + " | ".join(others) + " |", "|---" * (3 + len(others)) + "|"]
    for kind in KINDS:
        for states in SIZES[:2]:
            same = {"kind": kind, "states": states, "constraints": 1, "discount": 0.99}
            same["tolerance"] = TOLERANCES[-1]
            found = [seconds(done, solver=solver, **same) for solver in ("painless", *others)]
            if not np.isnan(found[1:]).all():
                cells = " | ".join("–" if np.isnan(x) else f"{x:.2g}" for x in found)
                rows.append(f"| {kind} | {states:,} | {cells} |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=list(SIZES), help=f"{LARGEST} for the largest"
    )
    parser.add_argument("--constraints", nargs="+", type=int, default=[0, 1, 3], choices=(0, 1, 3))
    parser.add_argument("--solvers", nargs="+", help="only these, such as: painless bicgstab superlu")
    parser.add_argument("--limit", type=float, default=30.0, help="CPU seconds for one measurement")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if not given.draw:
        with contextlib.suppress(KeyboardInterrupt):
            measure_all(given)
    done = known(given.store)
    draw(done, PICTURE)
    print(table(done), large_table(done), beside(done), with_limit(done), sep="\n\n")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
