"""The checker of certificates: it believes the model and its own arithmetic, and nothing of any solver.

A certificate of a discounted problem holds a policy π, weights w ≥ 0 of the utilities u_0 = r, u_j = c_j, and

    W_j(s) ≤ Σ_a π(a|s) [u_j(s, a) + γ Σ P(s'|s, a) W_j(s')]      so that V_j(π) ≥ ρ·W_j
    V(s)   ≥ Σ_j w_j u_j(s, a) + γ Σ P(s'|s, a) V(s')             so that Σ_j w_j V_j(π') ≤ ρ·V for every policy π'

With w_0 = 1 no policy that meets all limits V_j ≥ b_j exceeds ρ·V − Σ_j w_j b_j; with w_0 = 0 and ρ·V < Σ_j w_j b_j none meets them.
Every policy has V_j ≥ min u_j/(1−γ), so that a limit below that counts as that. W and V are stored as values and a constant for each
step, which is the sum of two doubles, so that nothing is lost where utilities are large and vary little:

    W(s) = constant/(1−γ) + value(s),     constant + value(s) ≤ u + γ P value

Probabilities are the exact quotients p/Σp, ρ/Σρ and π/Σπ of the stored doubles. Every expression is computed as an unevaluated sum of
two doubles with a bound on the error (Dekker 1971; Rump, Ogita and Oishi 2008), or in rational numbers. This file needs NumPy alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FORMAT, VERSION, CRITERION = "painless-certificate", 1, "discounted"
ARRAYS, HEAD = "certificate.npz", "certificate.json"
NAMES = (
    "policy",
    "weight",
    "upper_constant",
    "upper_value",
    "lower_constant",
    "lower_value",
)  # of the arrays
CLAIMS = ("lower_bound", "upper_bound", "violation", "infeasible")
UNIT_ROUNDOFF = 2.0**-53
SPLITTER = 2.0**27 + 1
BLOCK = 2**17  # successors that are looked at together
LARGEST = 1e150  # no product of two such numbers overflows
TINY = 2.0**-200  # products of three larger numbers do not underflow, nor do their errors
UNDERFLOW = 2.0**-1000  # more than all that underflow can change in one inequality
SAFE = 1 + 1e-6  # for the rounding of error bounds themselves
OFF = 1e-6  # by which the sum of a distribution may differ from 1


class Refused(ValueError):
    """The certificate does not prove what it claims; the message says where it fails."""


class Model(NamedTuple):
    """A constrained Markov decision process by its N available pairs, in the order of states and actions; all limits are V_j ≥ b_j."""

    actions: NDArray[np.bool_]  # (S, A)
    pointer: Indices  # (N + 1,) successors of pair n are at pointer[n]..pointer[n + 1] − 1
    successor: Indices  # (nnz,)
    probability: Array  # (nnz,)
    utility: Array  # (J, N) the reward first; costs are negative
    threshold: Array  # (K,)
    initial: Array  # (S,)
    discount: float
    minimise: bool  # whether the user reads the reward as a cost
    sense: tuple[str, ...]  # ">=" or "<=" for each limit, as the user reads it


class Certificate(NamedTuple):
    """A proof, and what it claims."""

    problem: str  # hash of the model
    policy: Array  # (S, A)
    weight: Array  # (J,)
    upper_constant: Array  # (2,) whose sum counts
    upper_value: Array  # (S,)
    lower_constant: Array  # (J, 2)
    lower_value: Array  # (J, S)
    lower_bound: float | None = None  # of the optimal value, in the user's terms
    upper_bound: float | None = None
    violation: tuple[float, ...] = ()  # of each limit by the policy, at most
    infeasible: bool = False  # whether no policy meets all limits


class Verdict(NamedTuple):
    """What was proved, in the user's terms; if it is not what the certificate claims, `sentence` says why."""

    verified: bool
    sentence: str
    lower_bound: float | None = None
    upper_bound: float | None = None
    violation: tuple[float, ...] = ()
    infeasible: bool = False


class Proved(NamedTuple):
    """What a certificate proves, in exact numbers: V_j(π) ≥ `value`, and Σ w_j (V_j − b_j) ≤ `bound` for every policy."""

    value: list[Fraction]  # (J,)
    bound: Fraction | None  # None: no policy meets the limits


# ------------------------------------------------------------ arithmetic


@dataclass(frozen=True, eq=False)
class Pair:
    """Numbers high + low, each known to within `error`."""

    high: Array
    low: Array
    error: Array

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.high[index], self.low[index], self.error[index])

    def __neg__(self) -> Pair:
        return Pair(-self.high, -self.low, self.error)

    def __add__(self, other: Pair) -> Pair:
        high, rest = two_sum(self.high, other.high)
        small = self.low + other.low
        low = small + rest
        return Pair(high, low, self.error + other.error + UNIT_ROUNDOFF * (abs(small) + abs(low)))

    def __mul__(self, other: Pair) -> Pair:
        high, rest = two_product(self.high, other.high)
        one, two, three = self.high * other.low, self.low * other.high, self.low * other.low
        size = abs(one) + abs(two) + abs(three)
        roundings = np.where(size == 0, 0.0, 6 * UNIT_ROUNDOFF * (size + abs(rest)))
        mine, others = abs(self.high) + abs(self.low), abs(other.high) + abs(other.low) + other.error
        error = roundings + mine * other.error + others * self.error
        return Pair(high, (one + two) + (three + rest), error)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b rounded, and its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a·b rounded, and its error, exactly where nothing underflows (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> tuple[Array, Array]:
    """Return two numbers of 26 bits with the sum a."""
    far = SPLITTER * a
    high = far - (far - a)
    return high, a - high


def row_sums(large: Array, small: Array, pointer: Indices) -> Pair:
    """Return the sum of large + small over every row; |small| ≤ 2⁻⁵³ max |large|, and no row is empty.

    What is above some power of two is summed without any rounding, in whatever order; what is below twice of them is tiny.
    """
    starts, longest = pointer[:-1], int(np.diff(pointer).max())
    top = float(abs(large).max())
    if top < TINY**3:
        nothing = np.zeros(len(starts))
        return Pair(nothing, nothing, nothing + 4 * longest * top)
    bits = int(2 * longest + 2).bit_length()
    size = 2.0 ** (int(np.frexp(top)[1]) + bits)
    first = (size + large) - size
    rest = large - first
    size *= UNIT_ROUNDOFF * 2.0**bits
    second, third = (size + rest) - size, (size + small) - size
    rest = (rest - second) + (small - third)
    high, low = two_sum(np.add.reduceat(first, starts), np.add.reduceat(second + third, starts))
    tail, spread = np.add.reduceat(rest, starts), np.add.reduceat(abs(rest), starts)
    total = low + tail
    error = 2 * (longest + 2) * UNIT_ROUNDOFF * spread
    return Pair(high, total, error + np.where(tail == 0, 0.0, UNIT_ROUNDOFF * abs(total)))


class Arithmetic(Protocol):
    """How expressions are computed: outwards or exactly."""

    def of(self, numbers: Any) -> Any:
        """Return doubles as numbers of this arithmetic."""

    def average(self, probability: Array, value: Array, pointer: Indices) -> Any:
        """Σ p·v / Σ p over every row."""

    def least(self, numbers: Any) -> Any:
        """Return what the numbers are at least."""

    def fraction(self, number: Any) -> Fraction:
        """Return what a single number is at least, in an array of one."""


class Outward:
    """Sums of two doubles, with bounds on their errors."""

    def __init__(self, *used: Array) -> None:
        """Remember whether the numbers that will be `used` are so small that products underflow."""
        sizes = [np.abs(numbers) for numbers in used]
        large = max(float(size.max(initial=0.0)) for size in sizes)
        small = min(float(size.min(initial=1.0, where=size > 0)) for size in sizes)
        if not large <= LARGEST:
            raise Refused(f"it has a number beyond ±{LARGEST:g}, or one that is not finite")
        self.underflow = UNDERFLOW if small < TINY else 0.0

    def of(self, numbers: Any) -> Pair:
        """Return doubles as pairs."""
        high = np.asarray(numbers, dtype=np.float64)
        return Pair(high, np.zeros_like(high), np.zeros_like(high))

    def average(self, probability: Array, value: Array, pointer: Indices) -> Pair:
        """Σ p·v / Σ p over every row."""
        total = row_sums(probability, np.zeros_like(probability), pointer)
        off = (total.high - 1.0) + total.low
        # 1/(1 + t) = 1 − t + t²/(1 + t)
        error = 1.01 * off * off + 1.01 * total.error + UNIT_ROUNDOFF * abs(off)
        inverse = Pair(np.ones_like(off), -off, error)
        return row_sums(*two_product(probability, value), pointer) * inverse

    def least(self, numbers: Pair) -> Array:
        """Return what the numbers are at least; exact numbers keep their sign."""
        middle, error = numbers.high + numbers.low, self._error(numbers)
        return np.where(error == 0, middle, middle - SAFE * (error + 4 * UNIT_ROUNDOFF * abs(middle)))

    def fraction(self, number: Pair) -> Fraction:
        """Return what a single number is at least, in an array of one."""
        high, low, error = (float(part[0]) for part in (number.high, number.low, self._error(number)))
        if not np.isfinite(high + low + error):
            raise Refused("its bounds are beyond the range of doubles")
        return Fraction(high) + Fraction(low) - Fraction(error)

    def _error(self, numbers: Pair) -> Array:
        return numbers.error * SAFE + np.where(numbers.error > 0, UNDERFLOW, self.underflow)


class Rational:
    """Rational numbers, in arrays of objects."""

    def of(self, numbers: Any) -> Any:
        """Return doubles as fractions."""
        return np.vectorize(lambda number: Fraction(float(number)), otypes=[object])(numbers)

    def average(self, probability: Array, value: Array, pointer: Indices) -> Any:
        """Σ p·v / Σ p over every row."""
        shares, starts = self.of(probability), pointer[:-1]
        return np.add.reduceat(shares * self.of(value), starts) / np.add.reduceat(shares, starts)

    def least(self, numbers: Any) -> Any:
        """Return the numbers."""
        return numbers

    def fraction(self, number: Any) -> Fraction:
        """Return the number in an array of one."""
        return Fraction(number[0])


# ------------------------------------------------------------ inequalities


def _rows(model: Model, pairs: Indices) -> tuple[Array, Indices, Indices]:
    """Return the probabilities and successors of some pairs, and the pointer to their rows."""
    begin, end = model.pointer[pairs], model.pointer[pairs + 1]
    pointer = np.concatenate([[0], np.cumsum(end - begin)])
    entries = np.repeat(begin - pointer[:-1], end - begin) + np.arange(pointer[-1])
    return model.probability[entries], model.successor[entries], pointer


def _surplus(
    model: Model,
    arithmetic: Arithmetic,
    pairs: Indices,
    weight: Array,
    constant: Array,
    own: Array,
    value: Array,
) -> Any:
    """Return constant + value(s) − Σ_j w_j u_j(s, a) − γ Σ P(s'|s, a) value(s') of some pairs, given their own value(s)."""
    probability, successor, pointer = _rows(model, pairs)
    ahead = arithmetic.average(probability, value[successor], pointer)
    total = arithmetic.of(constant[0]) + arithmetic.of(constant[1]) + arithmetic.of(own)
    for share, utility in zip(weight, model.utility, strict=True):
        if share:
            gained = arithmetic.of(utility[pairs])
            total = total + -(gained if share == 1 else arithmetic.of(share) * gained)
    return total + -(arithmetic.of(model.discount) * ahead)


def _states(model: Model) -> Indices:
    """Return the state of every pair, (N,)."""
    return np.repeat(np.arange(len(model.actions)), model.actions.sum(1))


def _blocks(sizes: Indices) -> Iterator[slice]:
    """Cut a sequence of things of some sizes into blocks of about `BLOCK`."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + BLOCK, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def upper_surplus(
    model: Model, arithmetic: Arithmetic, weight: Array, constant: Array, value: Array, taken: Indices
) -> Any:
    """Return what V − Σ_j w_j u_j − γPV is at least, for the pairs `taken`."""
    own = value[_states(model)[taken]]
    parts = [
        arithmetic.least(_surplus(model, arithmetic, taken[block], weight, constant, own[block], value))
        for block in _blocks((model.pointer[1:] - model.pointer[:-1])[taken])
    ]
    return np.concatenate(parts)


def lower_surplus(
    model: Model, arithmetic: Arithmetic, policy: Array, weight: Array, constant: Array, value: Array
) -> Any:
    """Return what Σ_a π(a|s) [Σ_j w_j u_j + γPW − W] is at least, (S,)."""
    share = policy[model.actions]
    chosen = np.flatnonzero(share > 0)
    length = (model.pointer[1:] - model.pointer[:-1])[chosen]
    states = _states(model)[chosen]
    count = np.bincount(states, minlength=len(policy))
    first = np.concatenate([[0], np.cumsum(count)])
    parts = []
    for block in _blocks(np.add.reduceat(length, first[:-1])):
        begin, end = first[block.start], first[block.stop]
        pairs, own = chosen[begin:end], value[states[begin:end]]
        each = _surplus(model, arithmetic, pairs, weight, constant, own, value)
        total = arithmetic.of(np.zeros(block.stop - block.start))
        for rank in range(int(count[block].max())):
            has = rank < count[block]
            place = np.where(has, first[block] - begin + rank, 0)
            total = total + -(arithmetic.of(np.where(has, share[pairs[place]], 0.0)) * each[place])
        parts.append(arithmetic.least(total))
    return np.concatenate(parts)


def at_start(model: Model, arithmetic: Arithmetic, constant: Array, value: Array, up: bool) -> Fraction:
    """ρ·value + constant/(1−γ), rounded up or down by as much as it is uncertain."""
    starts = np.flatnonzero(model.initial > 0)
    average = arithmetic.average(model.initial[starts], value[starts], np.array([0, len(starts)]))
    near = arithmetic.fraction(-average if up else average)
    return (-near if up else near) + sum(map(Fraction, constant.tolist())) / (1 - Fraction(model.discount))


def allowed_pairs(model: Model) -> Indices:
    """Return the pairs that a policy within the limits may take in states that it comes to; all of them if there is no such policy.

    Where b_j = max u_j/(1−γ) exactly, only pairs with u_j = max u_j may be taken, hence, if γ > 0, none that lead to a state without such a pair.
    """
    allowed = np.ones(model.utility.shape[1], dtype=bool)
    for utility, threshold in zip(model.utility[1:], model.threshold, strict=True):
        top = utility.max()
        if np.isfinite(threshold) and Fraction(float(threshold)) * (1 - Fraction(model.discount)) == Fraction(
            float(top)
        ):
            allowed &= utility == top
    if allowed.all():
        return np.arange(len(allowed))
    states, positive = _states(model), model.probability > 0
    while True:
        dead = np.bincount(states[allowed], minlength=len(model.actions)) == 0
        lost = allowed & np.logical_or.reduceat(dead[model.successor] & positive, model.pointer[:-1])
        if not lost.any() or model.discount == 0:  # without a future, only the first step counts
            break
        allowed &= ~lost
    return np.flatnonzero(allowed | (model.initial[dead] > 0).any())


# ------------------------------------------------------------ the check


def verify(certificate: Certificate, model: Model, exact: bool = False) -> Verdict:
    """Check a certificate, in rational numbers if `exact`."""
    try:
        if certificate.problem != content_hash(model):
            raise Refused("it was written for another problem")
        with np.errstate(all="ignore"):  # what overflows fails the inequalities
            return _compared(certificate, model, prove(certificate, model, exact))
    except Refused as refused:
        return Verdict(False, f"Not verified: {refused}.")


def prove(certificate: Certificate, model: Model, exact: bool = False) -> Proved:
    """Return what the arrays of a certificate prove; raise `Refused` at the first inequality that fails."""
    _require_model(model)
    _require_arrays(certificate, model)
    used = (*certificate[1:7], *model[3:5], model.initial, np.array([model.discount]))
    arithmetic = Rational() if exact else Outward(*used)
    value, each = [], np.eye(len(model.utility))
    for j, (constant, low) in enumerate(
        zip(certificate.lower_constant, certificate.lower_value, strict=True)
    ):
        surplus = lower_surplus(model, arithmetic, certificate.policy, each[j], constant, low)
        if not (surplus >= 0).all():
            state = int(np.argmin(surplus >= 0))
            raise Refused(
                f"the lower values of {_utility(j)} exceed what the policy collects from state {state}, "
                f"by up to {-float(surplus[state]):.3g} a step"
            )
        value.append(at_start(model, arithmetic, constant, low, up=False))
    taken = allowed_pairs(model)
    weight, constant, high = certificate.weight, certificate.upper_constant, certificate.upper_value
    surplus = upper_surplus(model, arithmetic, weight, constant, high, taken)
    if not (surplus >= 0).all():
        first = int(np.argmin(surplus >= 0))
        state, action = np.argwhere(model.actions)[taken[first]]
        raise Refused(
            f"the upper value of state {state} is below what action {action} collects, "
            f"by up to {-float(surplus[first]):.3g} a step"
        )
    bound = at_start(model, arithmetic, constant, high, up=True)
    for share, threshold, utility in zip(weight[1:], model.threshold, model.utility[1:], strict=True):
        every = Fraction(float(utility.min())) / (
            1 - Fraction(model.discount)
        )  # every policy has at least this
        limit = max(Fraction(float(threshold)), every) if np.isfinite(threshold) else every
        bound -= Fraction(float(share)) * limit
    if not weight[0] and bound >= 0:
        raise Refused("its weights do not prove that no policy meets all limits")
    return Proved(value, bound if weight[0] else None)


def _utility(index: int) -> str:
    return f"limit {index}" if index else "the objective"


def claims(model: Model, proved: Proved) -> dict[str, Any]:
    """Return what is proved as the claims of a certificate: doubles, rounded outwards, in the user's terms."""
    missed = [
        _outward(max(Fraction(float(limit)) - value, Fraction(0)), up=True) if np.isfinite(limit) else 0.0
        for limit, value in zip(model.threshold, proved.value[1:], strict=True)
    ]
    if proved.bound is None:
        return {"lower_bound": None, "upper_bound": None, "violation": tuple(missed), "infeasible": True}
    ends = proved.value[0], proved.bound
    low, high = (-ends[1], -ends[0]) if model.minimise else ends
    return {
        "lower_bound": _outward(low, up=False),
        "upper_bound": _outward(high, up=True),
        "violation": tuple(missed),
        "infeasible": False,
    }


def _outward(number: Fraction, up: bool) -> float:
    """Return the nearest double above or below."""
    try:
        near = float(number)
    except OverflowError as error:
        raise Refused("its bounds are beyond the range of doubles") from error
    if Fraction(near) < number if up else Fraction(near) > number:
        near = float(np.nextafter(near, np.inf if up else -np.inf))
    return near


def _compared(certificate: Certificate, model: Model, proved: Proved) -> Verdict:
    """Compare what is claimed with what is proved."""
    found = claims(model, proved)
    if certificate.infeasible != found["infeasible"]:
        raise Refused(
            "it claims that no policy meets all limits, which its arrays do not prove"
            if certificate.infeasible
            else "its arrays prove that no policy meets all limits, and it claims bounds"
        )
    for key, sign in (("lower_bound", 1.0), ("upper_bound", -1.0)):
        claimed, shown = getattr(certificate, key), found[key]
        if (claimed is None) != (shown is None) or (shown is not None and sign * claimed > sign * shown):
            raise Refused(f"it claims the {key.replace('_', ' ')} {claimed} and proves {shown}")
    for i, (claimed, shown) in enumerate(zip(certificate.violation, found["violation"], strict=True)):
        if claimed < shown:
            raise Refused(f"it claims that limit {1 + i} is missed by at most {claimed} and proves {shown}")
    claim = certificate._asdict()
    kept = {key: claim[key] for key in CLAIMS}
    return Verdict(True, _sentence(model, certificate, proved), **kept)


def _sentence(model: Model, claim: Certificate, proved: Proved) -> str:
    """Say what is proved; numbers are rounded to the side on which the sentence stays true."""
    missed = [
        f"limit {1 + i} missed by at most {short!r}" for i, short in enumerate(claim.violation) if short
    ]
    if claim.infeasible:
        return f"No policy meets all limits{''.join(f'; {one}' for one in missed)}."
    low, high = claim.lower_bound, claim.upper_bound
    if missed:
        value, bound = (high, low) if model.minimise else (low, high)
        beyond = "costs less than" if model.minimise else "exceeds"
        return f"Value {value!r}, {', '.join(missed)}; no policy that meets the limits {beyond} {bound!r}."
    spare = [
        f"limit {1 + i} met with at least {max(_outward(value - Fraction(float(limit)), up=False), 0.0)!r} to spare"
        for i, (limit, value) in enumerate(zip(model.threshold, proved.value[1:], strict=True))
        if np.isfinite(limit)
    ]
    return f"Optimal value in [{low!r}, {high!r}]{''.join(f'; {one}' for one in spare)}."


def _require_model(model: Model) -> None:
    """Refuse a model that is none, so that nothing is proved about it."""
    states, pairs = len(model.actions), int(model.actions.sum())
    length = np.diff(model.pointer)
    sound = (
        model.actions.any(1).all()
        and model.utility.shape == (1 + len(model.threshold), pairs)
        and model.initial.shape == (states,)
        and len(model.pointer) == pairs + 1
        and (length > 0).all()
        and (model.pointer[0], model.pointer[-1]) == (0, len(model.successor))
        and model.successor.min() >= 0
        and model.successor.max() < states
        and np.isfinite(model.utility).all()
        and (model.threshold < np.inf).all()
        and 0 <= model.discount < 1
        and (model.probability >= 0).all()
        and (model.initial >= 0).all()
        and (abs(np.add.reduceat(model.probability, model.pointer[:-1]) - 1) <= OFF).all()
        and abs(model.initial.sum() - 1) <= OFF
    )
    if not sound:
        raise Refused("the model is not a constrained Markov decision process")


def _require_arrays(certificate: Certificate, model: Model) -> None:
    """Refuse arrays that do not fit the model, a policy that is none, and weights that prove nothing."""
    (states, actions), utilities = model.actions.shape, len(model.utility)
    shapes = ((states, actions), (utilities,), (2,), (states,), (utilities, 2), (utilities, states))
    for name, array, shape in zip(NAMES, certificate[1:7], shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64:
            raise Refused(f"{name} has shape {array.shape} and type {array.dtype}, not {shape} and float64")
        if not np.isfinite(array).all():
            raise Refused(f"{name} has an entry that is not finite")
    if len(certificate.violation) != utilities - 1:
        raise Refused(f"it claims something of {len(certificate.violation)} limits, not of {utilities - 1}")
    policy, weight = certificate.policy, certificate.weight
    if (policy < 0).any() or policy[~model.actions].any() or not (abs(policy.sum(1) - 1) <= OFF).all():
        raise Refused("its policy is not a distribution over the available actions of every state")
    if (weight < 0).any() or weight[0] not in (0.0, 1.0):
        raise Refused("its weights are not those of a bound: 1 or 0 for the reward, and none below 0")


def content_hash(model: Model) -> str:
    """Return the SHA-256 of a model: of its shape and of its numbers as little-endian int64 and float64, zero probabilities left out."""
    kept = model.probability != 0
    pointer = np.concatenate([[0], np.cumsum(np.add.reduceat(kept, model.pointer[:-1], dtype=np.int64))])
    total = hashlib.sha256(b"painless-problem-1")
    for numbers in (
        np.array(
            [*model.actions.shape, len(model.threshold), model.minimise, *(s == "<=" for s in model.sense)]
        ),
        *(model.actions, pointer, model.successor[kept]),
    ):
        total.update(np.ascontiguousarray(numbers, dtype="<i8").data)
    for values in (
        *(model.probability[kept], model.utility, model.threshold, model.initial),
        np.array([model.discount]),
    ):
        total.update((np.asarray(values, dtype="<f8") + 0.0).data)  # −0 is 0
    return total.hexdigest()


# ------------------------------------------------------------ files


def read(folder: Path) -> Certificate:
    """Read a certificate; raise `Refused` for anything that is none. Nothing in it is executed."""
    try:
        said = json.loads((folder / HEAD).read_text(encoding="utf-8"))
        with (folder / ARRAYS).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = [np.asarray(stored[name]) for name in NAMES]
    except Exception as error:  # whatever damaged files make NumPy and its libraries raise
        raise Refused(
            f"{folder} holds no certificate that can be read ({type(error).__name__}: {error})"
        ) from error
    if not isinstance(said, dict) or (said.get("format"), said.get("version")) != (FORMAT, VERSION):
        raise Refused(f"{folder / HEAD} is not a certificate of version {VERSION}")
    if said.get("criterion") != CRITERION:
        raise Refused(f"its criterion is {said.get('criterion')!r}; this version checks '{CRITERION}'")
    bounds = {key: said.get(key) for key in CLAIMS[:2]}
    missed, infeasible = said.get("violation"), said.get("infeasible")
    missed = missed if isinstance(missed, list) else [None]
    numbers = [bound for bound in bounds.values() if bound is not None] + missed
    if type(infeasible) is not bool or not all(type(one) is float and np.isfinite(one) for one in numbers):
        raise Refused(f"{folder / HEAD} claims what is no number")
    found: dict[str, Any] = {**dict(zip(NAMES, arrays, strict=True)), **bounds}
    return Certificate(str(said.get("problem")), **found, violation=tuple(missed), infeasible=infeasible)


def head(certificate: Certificate) -> dict[str, Any]:
    """Return what stands in the JSON file of a certificate."""
    about = {"format": FORMAT, "version": VERSION, "criterion": CRITERION, "problem": certificate.problem}
    return {**about, **{name: getattr(certificate, name) for name in CLAIMS}}
