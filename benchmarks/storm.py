"""The same problems by Storm's multi-objective model checking: the Storm column of docs/choose.md.

Storm is no dependency: `pip install stormpy` into an environment of your own first, then
`python -m benchmarks.storm`. CPU seconds of the solve alone; building Storm's model is not counted.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path
from queue import Empty

import numpy as np
from rich.console import Console

import painless
from painless.common.arrays import one_thread

PROPERTY = "// property: "  # the comment of a .drn file that asks Storm for the problem's optimum
LARGEST_PROGRAM = 2000  # states up to which the linear program is tried
CASES = {
    "gridworld": painless.gridworld,
    "gridworld, K = 3": lambda: painless.gridworld(constraints=3),
    "random-cmdp": lambda: painless.make("random-cmdp"),
    "Garnet, S = 100": lambda: painless.garnet(100, seed=1),
    "Garnet, S = 1000": lambda: painless.garnet(1000, seed=1, dense=False),
    "Garnet, S = 1000, K = 3": lambda: painless.garnet(1000, constraints=3, seed=1, dense=False),
}


def by_storm(problem):
    """Return the value and the CPU seconds."""
    import stormpy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.drn"
        problem.save(path)
        model = stormpy.build_model_from_drn(str(path))
        with path.open() as lines:
            question = next(line for line in lines if line.startswith(PROPERTY))
    formula = stormpy.parse_properties(question.removeprefix(PROPERTY).strip())[0]
    start = time.process_time()
    result = stormpy.model_checking(model, formula, only_initial_states=True)
    return result.get_value(model.initial_states[0]), time.process_time() - start


def by_painless(problem, algorithm, tolerance):
    start = time.process_time()
    solution = painless.solve(problem, algorithm, tolerance=tolerance)
    return solution.reward_value, time.process_time() - start


def within(limit, problem):
    """Run Storm in a process of its own, and give up after `limit` seconds."""
    queue = multiprocessing.Queue()
    worker = multiprocessing.Process(target=lambda: queue.put(by_storm(problem)))
    worker.start()
    try:
        return queue.get(timeout=limit)
    except Empty:
        return np.nan, limit
    finally:
        worker.kill()


def main(limit=60.0):
    multiprocessing.set_start_method("fork")
    painless.solve(painless.garnet(20, dense=False), painless.ColumnGeneration())  # compiles
    console = Console(width=120)
    for name, make in CASES.items():
        problem = make()
        with one_thread():
            results = {
                "Storm": within(limit, problem),
                "linear program": by_painless(problem, painless.LinearProgram(), 1e-6)
                if problem.shape[0] <= LARGEST_PROGRAM
                else (np.nan, np.nan),
                "column generation": by_painless(problem, painless.ColumnGeneration(), 1e-6),
            }
        console.print(name, *(f"{who}: {v:.8f} in {s:.3f} s" for who, (v, s) in results.items()), sep=" | ")


if __name__ == "__main__":
    main()
