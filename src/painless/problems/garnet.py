"""Garnet: generic random CMDPs with binding thresholds (after Archibald, McKinnon & Thomas 1995).

Each pair (s, a) has `branching` distinct successors with probabilities from a flat Dirichlet distribution;
utilities are uniform on [0, 1]. The thresholds lie between the values of the policy that maximises the
reward alone and the largest joint improvement over them: `tightness` 0 is barely binding, 1 barely feasible.
"""

from __future__ import annotations

import numpy as np
import scipy

from painless import validation
from painless.bellman import policy_value
from painless.errors import InputError
from painless.feasibility import slater_policy
from painless.planners.policy_iteration import policy_iteration
from painless.problem import CMDP
from painless.units import normalise

RANKED = 10**8  # numbers that may be drawn at once: 0.8 GB


def garnet(
    states: int = 50,
    actions: int = 4,
    branching: int = 5,
    constraints: int = 1,
    seed: int = 0,
    *,
    discount: float = 0.9,
    tightness: float = 0.5,
    dense: bool = True,
) -> CMDP:
    """Return a random CMDP whose constraints bind.

    >>> garnet(20, 3, 4, constraints=2, seed=7)
    CMDP(20 states, 3 actions, 2 constraints, discount 0.9, dense)
    """
    for name, number in (("states", states), ("actions", actions), ("branching", branching)):
        validation.whole(name, number)
    validation.whole("constraints", constraints, least=0)
    validation.whole("seed", seed, least=0)
    if branching > states:
        raise InputError(
            f"a Garnet with {states} states cannot have {branching} successors and {actions} actions"
        )
    if not 0 <= tightness <= 1:
        raise InputError(f"tightness is {tightness:g}, outside [0, 1]")
    rng = np.random.default_rng(seed)
    pairs = states * actions
    successors = _successors(rng, pairs, states, branching)
    probabilities = rng.dirichlet(np.ones(branching), pairs)
    pointer = np.arange(0, pairs * branching + 1, branching)
    kernel = scipy.sparse.csr_array(
        (probabilities.ravel(), successors.ravel(), pointer), shape=(pairs, states)
    )
    utility = rng.random((1 + constraints, states, actions))
    loose = CMDP(
        kernel.toarray().reshape(states, actions, states) if dense else kernel,
        utility[0],
        initial=np.full(states, 1 / states),
        discount=discount,
        constraint_reward=utility[1:],
        threshold=np.zeros(constraints),
    )
    return loose.with_limits(_binding(loose, tightness)) if constraints else loose


def _successors(
    rng: np.random.Generator, pairs: int, states: int, branching: int
) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    """Draw distinct successors for each pair, (S·A, branching).

    Small models rank a random number for each state, which is a fair draw; large ones draw indices and draw again the
    rows with a repetition, which is one too and forms nothing of size S·A·S.
    """
    if pairs * states <= RANKED:
        return rng.random((pairs, states)).argpartition(branching - 1, 1)[:, :branching]
    drawn = rng.integers(0, states, (pairs, branching))
    again = np.arange(pairs)
    while len(again):
        ordered = np.sort(drawn[again], 1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(1)]
        drawn[again] = rng.integers(0, states, (len(again), branching))
    return drawn


def _binding(problem: CMDP, tightness: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return thresholds between the reward-optimal values and the best joint improvement on them."""
    plan = policy_iteration(problem, problem.reward)
    greedy = policy_value(problem, plan.policy(problem.shape[1]))[1:]
    normal, units = normalise(problem.with_limits(greedy))
    improvement = slater_policy(normal).slack * units.span[1 + units.kept]
    result = greedy.copy()
    result[units.kept] += tightness * np.maximum(improvement, 0.0)
    return result
