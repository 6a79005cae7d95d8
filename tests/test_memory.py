"""The memory that a solve takes beside the arrays of the model."""

import tracemalloc

import pytest
from benchmarks.families import instance

import painless

STATES = 40_000


def array_bytes(problem):
    rows = problem.transition
    arrays = (rows.data, rows.indices, rows.indptr, problem.reward, problem.constraint_reward)
    return problem.initial.nbytes + sum(array.nbytes for array in arrays)


@pytest.mark.parametrize("constraints", [0, 1])
@pytest.mark.parametrize(
    ("kind", "most"), [("chain", (1.2, 1.35)), ("corridors", (1.05, 1.2)), ("grid", (1.1, 1.15))]
)
def test_a_solve_takes_little_more_than_the_model(kind, most, constraints):
    """All arrays together; the rest of what the process holds are two vectors inside of kernels, and what the allocator keeps."""
    painless.solve(
        instance(kind, STATES, constraints, seed=2)
    )  # what is compiled and imported does not count
    problem = instance(kind, STATES, constraints, seed=3)
    tracemalloc.start()
    try:
        solution = painless.solve(problem)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert solution.status.kind.value == "solved"
    assert peak <= most[constraints] * array_bytes(problem)
