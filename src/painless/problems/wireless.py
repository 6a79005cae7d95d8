"""A wireless transmitter: power against delay over a fading channel (after Berry & Gallager 2002).

n packets wait in a buffer of size N, and the channel is in state k, with gain g_k. In each slot u ≤ n
packets are sent, at the power that Shannon's formula log₂(1 + g·power) = u asks for. Then w packets arrive
with probability p_w, what does not fit is lost, and the channel moves by a Markov chain C:

    n' = min(n − u + w, N),   k' ~ C(k, ·),   power(k, u) = (2ᵘ − 1)/g_k,   lost = (n − u + w − N)₊

    minimise  (1 − γ) E Σ γᵗ power   subject to   (1 − γ) E Σ γᵗ n ≤ budget₁       (waiting)
                                                  (1 − γ) E Σ γᵗ lost ≤ budget₂    (lost)

All carry the factor 1 − γ, so that values read per slot. The default channel is that of Gilbert and Elliott,
with a good and a bad state. Where losses are dear, it is optimal to send the more, the fuller the buffer.

R. A. Berry & R. G. Gallager, *Communication over Fading Channels with Delay Constraints*, IEEE Transactions
on Information Theory 48(5), 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless.common import arguments
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import CMDP, validation

GAIN = (1.0, 0.2)
CHANNEL = ((0.9, 0.1), (0.3, 0.7))
ARRIVALS = (0.5, 0.3, 0.2)  # of 0, 1, … packets
DENSE_STATES = 500  # up to which the model is stored dense, by default
NAMED_STATES = 10_000  # up to which states have names


def wireless(
    buffer: int = 20,
    most: int = 3,
    *,
    gain: Sequence[float] = GAIN,
    channel: ArrayLike = CHANNEL,
    arrivals: Sequence[float] = ARRIVALS,
    discount: float = 0.99,
    budget: Sequence[float] = (4.0, 0.001),
    dense: bool | None = None,
) -> CMDP:
    """Return a transmitter of `most` packets in a slot, its buffer at first empty, in channel state 0.

    `channel[k][l]` is the probability that the channel moves from k to l. `budget` holds the largest
    numbers of packets waiting and lost, as discounted averages over the slots. State n·K + k has n packets
    and channel state k, of K. Up to 500 states are stored dense and more sparse, unless `dense` is given.

    >>> wireless()
    CMDP(42 states, 4 actions, 2 constraints, discount 0.99, dense)
    >>> wireless(buffer=10_000)
    CMDP(20002 states, 4 actions, 2 constraints, discount 0.99, sparse)
    """
    gamma = validation.discount(discount)
    gains, chain, arriving = _checked(buffer, most, gain, channel, arrivals)
    waiting = np.arange(buffer + 1, dtype=np.int32)
    left = np.subtract.outer(waiting, np.arange(most + 1, dtype=np.int32))  # (N + 1, A)
    kernel = _transition(left, chain, arriving)
    lost = np.maximum(left[:, :, None] + np.arange(len(arriving)) - buffer, 0) @ arriving
    power = (2.0 ** np.arange(most + 1) - 1) / gains[:, None]  # (K, A)
    states, shape = len(waiting) * len(gains), (len(waiting), len(gains), most + 1)
    dense = states <= DENSE_STATES if dense is None else dense

    def by_state(values: NDArray[Any]) -> Array:
        return (1 - gamma) * np.broadcast_to(values, shape).reshape(states, -1)

    return CMDP(
        kernel.toarray().reshape(states, -1, states) if dense else kernel,
        cost=by_state(power),
        initial=np.arange(states) == 0,
        discount=gamma,
        constraint_cost=[by_state(waiting[:, None, None]), by_state(lost[:, None])],
        budget=budget,
        actions=np.repeat(left >= 0, len(gains), 0),
        names=_names(shape),
        copy=False,
    )


def _checked(
    buffer: int, most: int, gain: object, channel: object, arrivals: object
) -> tuple[Array, Array, Array]:
    """Return the gains, the channel's transitions and the arrivals, once all is well with them."""
    for name, number in {"buffer": buffer, "most": most}.items():
        arguments.whole(name, number, most=arguments.LISTED)
    gains = arguments.as_floats("gain", gain)
    if gains.ndim != 1 or not gains.size or not ((gains > 0) & np.isfinite(gains)).all():
        raise InputError(f"gain is {gain!r}; give a positive number for each state of the channel")
    chain = arguments.as_floats("channel", channel)
    if chain.shape != (len(gains), len(gains)):
        raise InputError(
            f"channel has shape {chain.shape}, but gain has {len(gains)} state(s); give a row for each, "
            "with the probabilities of all of them"
        )
    arriving = arguments.as_floats("arrivals", arrivals)
    if arriving.ndim != 1 or not arriving.size:
        raise InputError(f"arrivals is {arrivals!r}; give the probabilities of 0, 1, … packets")
    for name, distribution in {"channel": chain, "arrivals": arriving}.items():
        arguments.require_finite(name, distribution)
        arguments.require_not_negative(name, distribution)
        arguments.require_sums(name, distribution.sum(-1), True, False, "divide it by its sum")
    return gains, chain, arriving


def _transition(left: NDArray[np.int32], chain: Array, arriving: Array) -> scipy.sparse.csr_array[np.float64]:
    """P(n', k' | n, k, u) = P(n' | n − u)·C(k, k'), for the packets `left` (N + 1, A) once u are sent."""
    size, states = len(left) - 1, len(left) * len(chain)
    level = left[:, :, None] + np.arange(len(arriving), dtype=np.int32)  # (N + 1, A, W)
    full = arriving[::-1].cumsum()[::-1]  # so many arrive, or more
    into = np.where(level < size, arriving, np.where(level == size, full, 0.0)) * (left >= 0)[:, :, None]
    probability = into[:, None, :, :, None] * chain[:, None, None, :]  # (N + 1, K, A, W, K)
    successor = level[:, None, :, :, None] * len(chain) + np.arange(len(chain), dtype=np.int32)
    kept = probability > 0
    pointer = np.append(0, np.cumsum(kept.sum((-2, -1))))
    pointer = pointer.astype(scipy.sparse.get_index_dtype(maxval=pointer[-1]))
    entries = (probability[kept], np.broadcast_to(successor, kept.shape)[kept], pointer)
    return scipy.sparse.csr_array(entries, shape=(len(pointer) - 1, states))


def _names(shape: tuple[int, int, int]) -> dict[str, list[str]]:
    levels, channels, actions = shape
    names = {"actions": [f"send {u}" for u in range(actions)], "constraints": ["waiting", "lost"]}
    if levels * channels <= NAMED_STATES:
        names["states"] = [f"{n} waiting, channel {k}" for n in range(levels) for k in range(channels)]
    return names
