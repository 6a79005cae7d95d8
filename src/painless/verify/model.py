"""The problem that a certificate is about, by its available pairs, and the hash of its numbers."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arithmetic import Array, Indices, Refused

OFF = 1e-6  # by which the sum of a distribution may differ from 1


class Model(NamedTuple):
    """A constrained Markov decision process by its N available pairs, in the order of states and actions; all limits are V_j ≥ b_j.

    With a horizon of H steps the states are the pairs (t, s), numbered t·S + s. A row then leads to states s of the next step, and that of
    the last step to the end, where nothing is collected any more. For a total reward (γ = 1) the end has the number S in rows.
    """

    actions: NDArray[np.bool_]  # (S, A), or (H·S, A)
    pointer: Indices  # successors of row i are at pointer[i]..pointer[i + 1] − 1
    successor: Indices  # (nnz,)
    probability: Array  # (nnz,)
    utility: Array  # (J, N) the reward first; costs are negative
    threshold: Array  # (K,)
    initial: Array  # (S,), or (H·S,)
    discount: float
    minimise: bool  # whether the user reads the reward as a cost
    sense: tuple[str, ...]  # ">=" or "<=" for each limit, as the user reads it
    horizon: int | None = None  # H
    row: Indices | None = None  # (N,) of each pair, since steps may share rows; None: pair n has row n
    average: bool = False  # whether the long-run average per step counts

    @property
    def criterion(self) -> str:
        """How the utilities of the steps are added up."""
        if self.average:
            return "long-run average"
        if self.horizon is not None:
            return "finite horizon"
        return "total reward" if self.discount == 1 else "discounted"

    @property
    def unit(self) -> Fraction:
        """What a utility of 1 in every step is worth: 1/(1−γ), or Σ_{t<H} γ^t; in a total reward, once."""
        gamma = Fraction(self.discount)
        if self.horizon is None:
            return 1 / (1 - gamma) if gamma < 1 else Fraction(1)
        return Fraction(self.horizon) if gamma == 1 else (1 - gamma**self.horizon) / (1 - gamma)

    @property
    def width(self) -> int:
        """The number of states of one step."""
        return len(self.actions) // (self.horizon or 1)

    def states(self) -> Indices:
        """Return the state of every pair, (N,)."""
        return np.repeat(np.arange(len(self.actions)), self.actions.sum(1))

    def lengths(self, pairs: Indices) -> Indices:
        """Return the number of successors of some pairs."""
        rows = pairs if self.row is None else self.row[pairs]
        return self.pointer[rows + 1] - self.pointer[rows]

    def rows(self, pairs: Indices, states: Indices) -> tuple[Array, Indices, Indices]:
        """Return the probabilities and successors of some pairs, given their states, and the pointer to their rows."""
        rows = pairs if self.row is None else self.row[pairs]
        begin, length = self.pointer[rows], self.pointer[rows + 1] - self.pointer[rows]
        pointer = np.concatenate([[0], np.cumsum(length)])
        entries = np.repeat(begin - pointer[:-1], length) + np.arange(pointer[-1])
        successor = self.successor[entries]
        if self.horizon is not None:
            successor = successor + np.repeat((1 + states // self.width) * self.width, length)
        return self.probability[entries], successor, pointer

    def with_end(self, value: Array) -> Array:
        """Return values (S,) together with those at the end, which are 0."""
        if self.criterion in ("discounted", "long-run average"):
            return value
        return np.concatenate([value, np.zeros(1 if self.horizon is None else self.width)])

    def least_value(self, utility: Array) -> Fraction | None:
        """Return what every policy collects of a utility (N,), at least; None if that is unbounded."""
        least = Fraction(float(utility.min()))
        if self.criterion == "total reward":
            return Fraction(0) if least >= 0 else None
        return least * self.unit


def allowed_pairs(model: Model) -> Indices:
    """Return the pairs that a policy within the limits may take in states that it comes to; all of them if there is no such policy.

    Where b_j = unit·max u_j exactly, only pairs with u_j = max u_j may be taken, hence, if γ > 0, none that lead to a state without such a pair.
    In a total reward this needs max u_j = 0, and of a long-run average it is not true.
    """
    allowed = np.ones(model.utility.shape[1], dtype=bool)
    for utility, threshold in zip(model.utility[1:], model.threshold, strict=True):
        top = utility.max()
        if model.average or (model.criterion == "total reward" and top != 0):
            continue
        if np.isfinite(threshold) and Fraction(float(threshold)) == Fraction(float(top)) * model.unit:
            allowed &= utility == top
    if allowed.all():
        return np.arange(len(allowed))
    states = model.states()
    probability, successor, pointer = model.rows(np.arange(len(allowed)), states)
    while True:
        dead = np.bincount(states[allowed], minlength=len(model.actions)) == 0
        leads = (model.with_end(dead.astype(np.float64))[successor] > 0) & (probability > 0)
        lost = allowed & np.logical_or.reduceat(leads, pointer[:-1])
        if not lost.any() or model.discount == 0:  # without a future, only the first step counts
            break
        allowed &= ~lost
    return np.flatnonzero(allowed | (model.initial[dead] > 0).any())


def require_model(model: Model) -> None:
    """Refuse a model that is none, so that nothing is proved about it."""
    states, pairs = len(model.actions), int(model.actions.sum())
    rows, ends = len(model.pointer) - 1, model.criterion == "total reward"
    row = np.arange(pairs) if model.row is None else model.row
    sound = (
        model.actions.any(1).all()
        and model.utility.shape == (1 + len(model.threshold), pairs)
        and len(model.sense) == len(model.threshold)
        and model.initial.shape == (states,)
        and (model.horizon is None or (model.horizon > 0 and model.width * model.horizon == states))
        and row.shape == (pairs,)
        and (row.min() >= 0 and row.max() < rows)
        and (np.diff(model.pointer) > 0).all()
        and (model.pointer[0], model.pointer[-1]) == (0, len(model.successor))
        and (model.successor.min() >= 0 and model.successor.max() < model.width + ends)
        and np.isfinite(model.utility).all()
        and (model.threshold < np.inf).all()
        and 0 <= model.discount <= 1
        and not (model.average and (model.horizon is not None or model.discount < 1))
        and (model.probability >= 0).all()
        and (model.initial >= 0).all()
        and not model.initial[model.width :].any()
        and (abs(np.add.reduceat(model.probability, model.pointer[:-1]) - 1) <= OFF).all()
        and abs(model.initial.sum() - 1) <= OFF
    )
    if not sound:
        raise Refused("the model is not a constrained Markov decision process")


def content_hash(model: Model) -> str:
    """Return the SHA-256 of a model: of its shape and of its numbers as little-endian int64 and float64, zero probabilities left out."""
    kept = model.probability != 0
    pointer = np.concatenate([[0], np.cumsum(np.add.reduceat(kept, model.pointer[:-1], dtype=np.int64))])
    total = hashlib.sha256(b"painless-problem-1" + (b"-average" if model.average else b""))
    shape = [*model.actions.shape, len(model.threshold), model.minimise, *(s == "<=" for s in model.sense)]
    wholes = [np.array(shape), model.actions, pointer, model.successor[kept]]
    if model.horizon is not None:
        row = np.arange(model.utility.shape[1]) if model.row is None else model.row
        wholes = [np.array([model.horizon]), *wholes, row]
    for numbers in wholes:
        total.update(np.ascontiguousarray(numbers, dtype="<i8").data)
    for values in (
        *(model.probability[kept], model.utility, model.threshold, model.initial),
        np.array([model.discount]),
    ):
        total.update((np.asarray(values, dtype="<f8") + 0.0).data)  # −0 is 0
    return total.hexdigest()
