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
import scipy
from rich.console import Console

import painless
from painless.arrays import one_thread

LARGEST_PROGRAM = 2000  # states up to which the linear program is tried
CASES = {
    "gridworld": painless.gridworld,
    "gridworld, K = 3": lambda: painless.gridworld(constraints=3),
    "random-cmdp": lambda: painless.make("random-cmdp"),
    "Garnet, S = 100": lambda: painless.garnet(100, seed=1),
    "Garnet, S = 1000": lambda: painless.garnet(1000, seed=1, dense=False),
    "Garnet, S = 1000, K = 3": lambda: painless.garnet(1000, constraints=3, seed=1, dense=False),
}


def write_model(problem, path):
    """Write the MDP in Storm's explicit format: an end reached with probability 1 − γ, a first state that draws from ρ."""
    states, actions, constraints = problem.shape
    kernel = problem.transition
    if not problem.is_sparse:
        kernel = scipy.sparse.csr_array(kernel.reshape(states * actions, states))
    end, first = states, states + 1
    nothing = ", ".join(["0"] * (1 + constraints))
    names = " ".join(["reward", *(f"c{i}" for i in range(constraints))])
    lines = ["@type: MDP", "@parameters", "", "@reward_models", names]
    lines += ["@nr_states", f"{states + 2}", "@nr_choices", f"{problem.actions.sum() + 2}", "@model"]
    for state in range(states):
        lines.append(f"state {state} [{nothing}]")
        for action in np.flatnonzero(problem.actions[state]):
            pair = state * actions + action
            part = slice(kernel.indptr[pair], kernel.indptr[pair + 1])
            order = np.argsort(kernel.indices[part])
            lines.append(
                f"\taction {action} [{', '.join(f'{u:.17g}' for u in problem.utility[:, state, action])}]"
            )
            lines += [
                f"\t\t{kernel.indices[part][k]} : {problem.discount * kernel.data[part][k]:.17g}"
                for k in order
            ]
            lines.append(f"\t\t{end} : {1 - problem.discount:.17g}")
    lines += [f"state {end} [{nothing}]", f"\taction 0 [{nothing}]", f"\t\t{end} : 1"]
    lines += [f"state {first} [{nothing}] init", f"\taction 0 [{nothing}]"]
    lines += [f"\t\t{state} : {problem.initial[state]:.17g}" for state in np.flatnonzero(problem.initial)]
    path.write_text("\n".join(lines) + "\n")


def by_storm(problem):
    """Return the value and the CPU seconds."""
    import stormpy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.drn"
        write_model(problem, path)
        model = stormpy.build_model_from_drn(str(path))
    limits = "".join(f', R{{"c{i}"}}>={b:.17g} [C]' for i, b in enumerate(problem.threshold))
    formula = stormpy.parse_properties(f'multi(R{{"reward"}}max=? [C]{limits})')[0]
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
