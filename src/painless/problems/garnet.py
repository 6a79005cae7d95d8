"""Garnet: generic random CMDPs with binding thresholds (after Archibald, McKinnon & Thomas 1995).

Each pair (s, a) has `branching` distinct successors with probabilities from a flat Dirichlet distribution;
utilities are uniform on [0, 1]. The thresholds lie between the values of the policy that maximises the
reward alone and the largest joint improvement over them: `tightness` 0 is barely binding, 1 barely feasible.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common import arguments
from painless.common.errors import InputError
from painless.problem import CMDP
from painless.problems.binding import tighten

Successors = NDArray[np.signedinteger]

RANKED = 10**8  # numbers that may be drawn to rank all states for each pair
DRAWN = 10**6  # numbers that are looked at together
DENSE_STATES = 500  # up to which the model is stored dense, by default


def garnet(
    states: int = 50,
    actions: int = 4,
    branching: int = 5,
    constraints: int = 1,
    seed: int = 0,
    *,
    discount: float = 0.9,
    tightness: float = 0.5,
    dense: bool | None = None,
) -> CMDP:
    """Return a random CMDP whose constraints bind; up to 500 states are stored dense and more sparse, unless `dense` is given.

    >>> garnet(20, 3, 4, constraints=2, seed=7)
    CMDP(20 states, 3 actions, 2 constraints, discount 0.9, dense)
    """
    for name, number in (("states", states), ("actions", actions), ("branching", branching)):
        arguments.whole(name, number)
    arguments.whole("constraints", constraints, least=0)
    arguments.seed(seed)
    if branching > states:
        raise InputError(
            f"a Garnet with {states} states cannot have {branching} successors and {actions} actions"
        )
    if not 0 <= arguments.number("tightness", tightness, "give one in [0, 1]") <= 1:
        raise InputError(f"tightness is {tightness}, outside [0, 1]")
    rng = np.random.default_rng(seed)
    pairs = states * actions
    successors = _successors(rng, pairs, states, branching)
    probabilities = rng.dirichlet(np.ones(branching), pairs)
    pointer = np.arange(0, pairs * branching + 1, branching, dtype=successors.dtype)
    kernel = scipy.sparse.csr_array(
        (probabilities.ravel(), successors.ravel(), pointer), shape=(pairs, states)
    )
    kernel.sort_indices()
    utility = rng.random((1 + constraints, states, actions))
    dense = states <= DENSE_STATES if dense is None else dense
    loose = CMDP(
        kernel.toarray().reshape(states, actions, states) if dense else kernel,
        utility[0],
        initial=np.full(states, 1 / states),
        discount=discount,
        constraint_reward=utility[1:],
        threshold=np.zeros(constraints),
        copy=False,
    )
    return tighten(loose, tightness) if constraints else loose


def _successors(rng: np.random.Generator, pairs: int, states: int, branching: int) -> Successors:
    """Draw distinct successors for each pair, (S·A, branching).

    Small models rank a random number for each state, which is a fair draw; large ones draw indices and draw again the
    rows with a repetition, which is one too. Neither forms anything of size S·A·S.
    """
    short = np.int32 if pairs * branching <= np.iinfo(np.int32).max else np.int64
    drawn = np.empty((pairs, branching), dtype=short)
    ranked = pairs * states <= RANKED
    for part in _parts(np.arange(pairs), states if ranked else branching):
        drawn[part] = (
            rng.random((len(part), states)).argpartition(branching - 1, 1)[:, :branching]
            if ranked
            else rng.integers(0, states, (len(part), branching))
        )
    again = np.arange(0 if ranked else pairs)
    while len(again):
        again = np.concatenate([part[_repeats(drawn[part])] for part in _parts(again, branching)])
        drawn[again] = rng.integers(0, states, (len(again), branching))
    return drawn


def _parts(rows: NDArray[np.intp], width: int) -> list[NDArray[np.intp]]:
    """Split rows of `width` numbers each into parts that are small enough to look at together."""
    size = max(DRAWN // width, 1)
    return [rows[k : k + size] for k in range(0, len(rows), size)]


def _repeats(drawn: Successors) -> NDArray[np.bool_]:
    ordered = np.sort(drawn, 1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(1))
