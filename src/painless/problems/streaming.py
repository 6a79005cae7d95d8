"""Media streaming over a fast or a slow link (the DOPE benchmark, Bura et al. 2022).

A player keeps `buffer` packets at most. In each step a packet arrives, with probability α_fast or α_slow
according to the link in use, and independently one is played with probability β:

    s → s + 1 with α(1 − β),   s − 1 with (1 − α)β,   s otherwise; a full buffer drops, an empty one stalls

    minimise E Σ γᵗ [s = 0]   subject to   E Σ γᵗ [link = fast] ≤ budget

A. Bura, A. HasanzadeZonuzy, D. Kalathil, S. Shakkottai & J.-F. Chamberland, *DOPE: Doubly Optimistic and
Pessimistic Exploration for Safe Reinforcement Learning*, NeurIPS 2022.
"""

from __future__ import annotations

import numpy as np

from painless.common import arguments
from painless.problem import CMDP

LINKS = ("fast", "slow")


def streaming(
    buffer: int = 9,
    *,
    fast: float = 0.9,
    slow: float = 0.1,
    playback: float = 0.8,
    discount: float = 0.9,
    budget: float = 5.0,
) -> CMDP:
    """Return the streaming problem from an empty buffer; `budget` limits the discounted use of the fast link.

    >>> streaming()
    CMDP(10 states, 2 actions, 1 constraint, discount 0.9, dense)
    """
    arguments.whole("buffer", buffer, most=arguments.LISTED)
    for name, probability in {"fast": fast, "slow": slow, "playback": playback}.items():
        arguments.probability(name, probability)
    packets = np.arange(buffer + 1)
    transition = np.zeros((len(packets), len(LINKS), len(packets)))
    for link, arrival in enumerate((fast, slow)):
        rise, fall = arrival * (1 - playback), (1 - arrival) * playback
        transition[packets, link, np.minimum(packets + 1, buffer)] += rise
        transition[packets, link, np.maximum(packets - 1, 0)] += fall
        transition[packets, link, packets] += 1 - rise - fall
    return CMDP(
        transition,
        cost=np.stack([packets == 0] * len(LINKS), 1),
        initial=np.eye(len(packets))[0],
        discount=discount,
        constraint_cost=np.tile([1.0, 0.0], (len(packets), 1)),
        budget=budget,
        names={
            "states": [f"{n} packet{'' if n == 1 else 's'}" for n in packets],
            "actions": LINKS,
            "constraints": ["use of the fast link"],
        },
        copy=False,
    )
