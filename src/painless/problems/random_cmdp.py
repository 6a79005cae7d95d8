"""The random CMDP of the natural policy gradient primal–dual method (Ding et al. 2020).

All numbers are uniform on [0, 1]: the transitions of each pair (s, a), divided by their sum, then the
rewards, then the utilities. The start is uniform.

    maximise E Σ γᵗ r(s, a)   subject to   E Σ γᵗ g(s, a) ≥ threshold

The draws are those of NumPy's legacy generator, so that seed 10 is the published instance.

D. Ding, K. Zhang, T. Başar & M. Jovanović, *Natural Policy Gradient Primal-Dual Method for Constrained
Markov Decision Processes*, NeurIPS 2020.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from painless.common import arguments
from painless.common.errors import InputError
from painless.problem import CMDP


def random_cmdp(
    states: int = 20,
    actions: int = 10,
    seed: int = 10,
    *,
    discount: float = 0.8,
    threshold: float = 3.0,
) -> CMDP:
    """Return the random CMDP of a seed.

    >>> random_cmdp()
    CMDP(20 states, 10 actions, 1 constraint, discount 0.8, dense)
    """
    for name, size in {"states": states, "actions": actions}.items():
        arguments.whole(name, size, most=arguments.LISTED)
    if not isinstance(seed, Integral) or not 0 <= seed < 2**32:
        raise InputError(f"seed is {seed}; the legacy generator takes a whole number from 0 to 2³² − 1")
    rng = np.random.RandomState(seed)
    pairs = states * actions
    transition = rng.uniform(size=(pairs, states))
    transition /= transition.sum(1, keepdims=True)
    reward, utility = rng.uniform(size=pairs), rng.uniform(size=pairs)
    return CMDP(
        transition.reshape(states, actions, states),
        reward.reshape(states, actions),
        initial=np.full(states, 1 / states),
        discount=discount,
        constraint_reward=utility.reshape(states, actions),
        threshold=threshold,
        names={
            "states": [f"state {s}" for s in range(states)],
            "actions": [f"action {a}" for a in range(actions)],
            "constraints": ["utility"],
        },
        copy=False,
    )
