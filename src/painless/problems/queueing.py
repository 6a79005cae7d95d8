"""A queue whose arrivals and service are controlled: power against delay (after Altman 1999, ch. 5).

n customers wait, at most `buffer`. In each slot the controller chooses whether to admit an arrival, and the
rate μ of service, which draws power e(μ). With probability μ a customer is served, if one waited as the
slot began; with probability λ one arrives, and joins if admitted. A full queue admits nobody.

    n → n + 1 with λ[admit]·(1 − μ[n > 0]),   n − 1 with (1 − λ[admit])·μ[n > 0],   n otherwise

    minimise  (1 − γ) E Σ γᵗ e(μ)   subject to   (1 − γ) E Σ γᵗ λ[admit] ≥ threshold    (throughput)
                                                 (1 − γ) E Σ γᵗ n ≤ budget              (waiting)

All carry the factor 1 − γ, so that values read per slot. For any prices of the constraints it is optimal to
serve the faster, and to admit the less, the longer the queue; some optimal policy randomises in at most two
states, one for each constraint.

E. Altman, *Constrained Markov Decision Processes*, Chapman & Hall 1999.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from painless.common import arguments
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem import CMDP, validation

SERVICE, POWER = (0.0, 0.3, 0.6, 0.9), (0.0, 1.0, 3.0, 6.0)
DENSE_STATES = 500  # up to which the model is stored dense, by default


def queueing(
    buffer: int = 20,
    *,
    arrival: float = 0.5,
    service: Sequence[float] = SERVICE,
    power: Sequence[float] = POWER,
    discount: float = 0.99,
    threshold: float = 0.45,
    budget: float = 5.0,
    dense: bool | None = None,
) -> CMDP:
    """Return a queue with admission and service control, at first empty; state n is its length.

    `threshold` is the least number of customers admitted and `budget` the largest number waiting, as
    discounted averages over the slots. Up to 500 states are stored dense and more sparse, unless `dense`
    is given.

    >>> queueing()
    CMDP(21 states, 8 actions, 2 constraints, discount 0.99, dense)
    >>> queueing(buffer=10_000)
    CMDP(10001 states, 8 actions, 2 constraints, discount 0.99, sparse)
    """
    gamma = validation.discount(discount)
    rates, powers = _checked(buffer, arrival, service, power)
    waiting = np.arange(buffer + 1)
    admit = np.repeat([False, True], len(rates))  # the first half of the actions reject
    actions = (waiting < buffer)[:, None] | ~admit
    kernel = _transition(arrival * admit, np.tile(rates, 2), actions)
    shape = actions.shape
    dense = len(waiting) <= DENSE_STATES if dense is None else dense
    return CMDP(
        kernel.toarray().reshape(*shape, -1) if dense else kernel,
        cost=np.broadcast_to((1 - gamma) * np.tile(powers, 2), shape),
        initial=waiting == 0,
        discount=gamma,
        constraint_reward=np.broadcast_to((1 - gamma) * arrival * admit, shape),
        threshold=threshold,
        constraint_cost=np.broadcast_to((1 - gamma) * waiting[:, None], shape),
        budget=budget,
        actions=actions,
        names={
            "actions": [f"{do}, serve at {rate}" for do in ("refuse", "admit") for rate in _texts(rates)],
            "constraints": ["throughput", "waiting"],
        },
        copy=False,
    )


def _checked(buffer: int, arrival: float, service: object, power: object) -> tuple[Array, Array]:
    """Return the rates of service and their powers, once all is well with them and the rest."""
    arguments.whole("buffer", buffer, most=arguments.LISTED)
    arguments.probability("arrival", arrival)
    rates, powers = arguments.as_floats("service", service), arguments.as_floats("power", power)
    if rates.ndim != 1 or not rates.size or not ((rates >= 0) & (rates <= 1)).all():
        raise InputError(f"service is {service!r}; give a list of probabilities, each within [0, 1]")
    if powers.shape != rates.shape:
        raise InputError(f"power is {power!r}; give one number for each of the {len(rates)} rates of service")
    return rates, powers


def _transition(join: Array, serve: Array, actions: Mask) -> scipy.sparse.csr_array[np.float64]:
    """P(n − 1, n, n + 1 | n, a), for probabilities (A,) that one joins and that one is served."""
    waiting = np.arange(len(actions), dtype=np.int32)[:, None]
    served = serve * (waiting > 0)
    probability = np.stack(
        [(1 - join) * served, join * served + (1 - join) * (1 - served), join * (1 - served)], -1
    )
    kept = (probability > 0) & actions[:, :, None]
    successor = np.broadcast_to(waiting[:, :, None] + np.array([-1, 0, 1], dtype=np.int32), kept.shape)
    pointer = np.append(0, np.cumsum(kept.sum(-1)))
    pointer = pointer.astype(scipy.sparse.get_index_dtype(maxval=pointer[-1]))
    return scipy.sparse.csr_array(
        (probability[kept], successor[kept], pointer), shape=(actions.size, len(actions))
    )


def _texts(rates: Array) -> list[str]:
    """Return rates as text, numbered if two of them look alike."""
    texts = [f"{rate:g}" for rate in rates]
    return texts if len({*texts}) == len(texts) else [f"{text} ({k})" for k, text in enumerate(texts)]
