"""Rough values and rough visits together prove the values at the start, whatever they are."""

import numpy as np
import pytest

import painless
from painless.engines.sweeps.chain import as_matrix, chain_of
from painless.engines.sweeps.paired_bounds import PairedBounds
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.sparse_rows import sparse_rows

DISCOUNT = 0.95


def system(seed):
    """Return a chain, its start, its values (S, J) and its visits (S,)."""
    problem = painless.garnet(60, 3, 4, constraints=1, seed=seed, discount=DISCOUNT, dense=False)
    rows = sparse_rows(problem)
    chain = chain_of(rows, DISCOUNT, rows.first[:-1])
    matrix = np.eye(60) - as_matrix(chain).toarray()
    return (
        problem,
        chain,
        np.linalg.solve(matrix, chain.gain),
        np.linalg.solve(matrix.T, problem.initial),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wrong", [0.0, 1e-9, 1e-3, 0.3, 10.0])
def test_the_value_at_the_start_is_within_the_error(seed, wrong):
    problem, chain, value, visits = system(seed)
    rng = np.random.default_rng(seed)
    rough = value + wrong * rng.normal(size=value.shape)
    often = visits + wrong * rng.normal(size=visits.shape)
    middle, error = PairedBounds(chain, DISCOUNT, problem.initial, often).around(rough)
    assert (np.abs(middle - problem.initial @ value) <= error).all()


def test_errors_of_values_and_visits_are_multiplied():
    problem, chain, value, visits = system(0)
    rng = np.random.default_rng(0)
    rough, often = (x + 1e-4 * rng.normal(size=x.shape) for x in (value, visits))
    _, error = PairedBounds(chain, DISCOUNT, problem.initial, often).around(rough)
    assert (error < 1e-4).all()  # |q|₁ is 0.01, and the range of r/(1−γ) as large
    _, alone = PairedBounds(chain, DISCOUNT, problem.initial, visits).around(rough)
    assert (alone < 1e-11).all()
    _, none = PairedBounds(chain, DISCOUNT, problem.initial, 0 * visits).around(rough)
    assert (none > 1e-3).all()  # as without visits


@pytest.mark.parametrize("exact", [1e-12, 1e-3])
def test_a_chain_is_evaluated_by_its_visits(exact):
    problem, chain, value, visits = system(1)
    pricer = Pricer(problem)
    pricer.price(np.array([0.5, 0.5]), 1e-3, 1e-3)
    low, error = pricer.value_of(chain, 1e-6, visits + exact * np.sin(np.arange(len(visits))))
    true = problem.initial @ value
    assert (error <= 1e-6).all()
    assert (low <= true).all()
    assert (true <= low + 2 * error).all()
