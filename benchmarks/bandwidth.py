"""`python -m benchmarks.bandwidth`: what a sweep costs beside what memory allows, on one thread.

Side by side: a copy of an array (stream), SciPy's CSR mat-vec of the same rows, and the planner's sweeps. Megabytes count what
a sweep must read and write once: rows, values, results.
"""

import time

import numpy as np
import scipy
from rich.console import Console
from rich.table import Table

from benchmarks.scale_case import instance
from painless.engines.sweeps import _chain_kernels, _improve_kernels
from painless.engines.sweeps.chain import flow_order
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.state_threads import StateThreads
from painless.problem.units import normalise


def best(work, repeats=15):
    """Return the least seconds of several runs."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(kind, states):
    """Yield the name, seconds and megabytes of each."""
    problem, _ = normalise(instance(kind, states, 1, 0))
    pricer = Pricer(problem)
    pricer.price(np.array([0.5, 0.5]), 1.0, 1.0)
    chain, rows, one = pricer.chain(pricer.rows.first[:-1]), pricer.rows, StateThreads(large=1 << 60)
    count = len(chain.stay)
    value, updated = pricer.values.value, np.empty_like(pricer.values.value)
    single, low, high = value[:, 0].copy(), np.empty(2), np.empty(2)
    source = np.empty(1 << 25)
    target = np.empty_like(source)
    yield "stream copy", best(lambda: np.copyto(target, source)), 16 * len(source)

    parts = (rows.probability, rows.successor.view(np.int32), rows.pointer.view(np.int32))
    matrix = scipy.sparse.csr_array(parts, shape=(len(rows.pointer) - 1, count))
    pairs, entries = matrix.shape[0], matrix.nnz
    yield "SciPy's mat-vec, all pairs", best(lambda: matrix @ single), 12 * entries + 12 * pairs + 8 * count

    utility, choice = rows.utility[0].copy(), rows.first[:-1].copy()

    def bellman():
        _improve_kernels.improve(
            *(*rows[:4], utility, 0.99, problem.initial, single, np.inf, choice, 0, count),
        )

    yield "Bellman sweep, all pairs", best(bellman), 12 * entries + 12 * pairs + 24 * count

    taken = int((chain.stop - chain.start).sum())
    bytes_of_policy = 12 * taken + count * (4 + 4 + 8 + 16 + 16 + 16)
    order = flow_order(chain, one)
    yield (
        "even sweep of a policy, J = 2",
        best(lambda: _chain_kernels.even_sweeps(*chain, value, updated, 1, 0, count)),
        bytes_of_policy,
    )
    yield (
        "sweep along the flow, J = 2",
        best(lambda: _chain_kernels.flow_sweep(*chain, order, value, value, low, high, 0, count)),
        bytes_of_policy,
    )


def main():
    table = Table("model", "what", "ms", "MB", "GB/s")
    for kind in ("garnet", "grid"):
        for states in (100_000, 1_000_000):
            for name, took, size in measure(kind, states):
                table.add_row(
                    *(f"{kind} {states}", name, f"{1e3 * took:.2f}"),
                    *(f"{size / 1e6:.0f}", f"{size / took / 1e9:.1f}"),
                )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
