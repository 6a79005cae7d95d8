"""The checker of certificates: it believes the model and whole numbers, and nothing of any solver. It needs NumPy alone.

Everything is maximised, and every limit is V_j ≥ b_j. A certificate holds a policy π, and weights w ≥ 0 of the utilities u_0, the reward, and
u_j, that of limit j. What is checked are inequalities of one kind:

    own(s) ≥ Σ_j w_j u_j(s, a) + γ Σ P(s'|s, a) value(s')

at every pair, for an upper bound B on Σ_j w_j V_j of all policies; on average over the actions of π, for one on what π collects. Of −u_j, the
latter is a lower bound on V_j(π). By criterion, with ρ the initial distribution:

    discounted, or H steps     V ≥ w·u + γPV                                                         B = ρ·V
    total until an end         V ≥ w·u + PV,  Z ≥ z·u + PZ,  and Z ≥ 1 + z·u + PZ or V ≥ 0           B = ρ·V
    average per step           g ≥ Pg,  N ≥ PN,  and g + h ≥ w·u + Ph or N ≥ 1 + PN                  B = ρ·g

With w_0 = 1 no policy that meets all limits exceeds B − Σ_j w_j b_j; with w_0 = 0 and B < Σ_j w_j b_j none meets them.

Nothing is rounded: a double is a whole number times a power of two, and so are sums and products of them. Probabilities are the quotients
p/Σp, ρ/Σρ and π/Σπ of what is stored. The documentation's page on certificates says why the inequalities prove what they prove, and what the files hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FORMAT, VERSION = "painless-certificate", 1
ARRAYS, HEAD = "certificate.npz", "certificate.json"
CLAIMS = ("lower_bound", "upper_bound", "violation", "infeasible")
DISCOUNTED, HORIZON, TOTAL, AVERAGE = "discounted", "finite horizon", "total reward", "long-run average"
_STEPWISE = {
    **{"policy": "SA", "weight": "J", "upper_constant": "2", "upper_value": "S"},
    **{"lower_constant": "J2", "lower_value": "JS"},
}
_DRAWN = {"policy": "MSA", "share": "M", "weight": "J"}
_ENDING = {"upper_value": "S", "stop_weight": "J", "stop_value": "S"}
_LASTING = {"upper_gain": "S", "upper_value": "S", "upper_steps": "S", "lower_gain": "MJS"}
SHAPES = {  # of the arrays, by criterion: S states, A actions, J utilities, M policies
    **{DISCOUNTED: _STEPWISE, HORIZON: _STEPWISE},
    TOTAL: {**_DRAWN, **_ENDING, "lower_value": "MJS", "lower_steps": "MS"},
    AVERAGE: {**_DRAWN, **_LASTING, "lower_value": "MJS", "lower_steps": "MS"},
}
POSITIVE = ("policy", "share", "weight", "stop_weight", "upper_steps", "lower_steps")
NOTHING = np.empty(0)
OFF = 1e-6  # by which the sum of a distribution may differ from 1
BLOCK = 2**16  # successors that are looked at together


class Refused(ValueError):
    """The certificate does not prove what it claims; the message says where it fails."""


# ------------------------------------------------------------ exact numbers


@dataclass(frozen=True, eq=False)
class Exact:
    """Numbers whole·2^−places, in arrays of Python's integers."""

    whole: Any
    places: int

    @classmethod
    def of(cls, numbers: Any) -> Exact:
        """Return doubles as what they are."""
        part, power = np.frexp(np.asarray(numbers, dtype=np.float64))
        whole = np.ldexp(part, 53).astype(np.int64)
        last = np.where(whole == 0, 1, whole & -whole)  # the lowest bit that is set
        power = np.where(whole == 0, 0, power - 54 + np.frexp(last.astype(np.float64))[1])
        places = max(0, -int(power.min(initial=0)))
        return cls((whole // last).astype(object) << (power + places).astype(object), places)

    def __add__(self, other: Exact) -> Exact:
        places = max(self.places, other.places)
        return Exact(self.with_places(places) + other.with_places(places), places)

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.whole * other.whole, self.places + other.places)

    def at(self, index: Any) -> Exact:
        """Return some of the numbers."""
        return Exact(self.whole[index], self.places)

    def sums(self, starts: Indices) -> Exact:
        """Return the sums of rows that begin at `starts`."""
        return Exact(np.add.reduceat(self.whole, starts), self.places)

    def with_places(self, places: int) -> Any:
        """Return the whole numbers of so many places, no fewer than there are."""
        return self.whole << (places - self.places) if places > self.places else self.whole


# ------------------------------------------------------------ the problem


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
            return AVERAGE
        if self.horizon is not None:
            return HORIZON
        return TOTAL if self.discount == 1 else DISCOUNTED

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
        begin, length = self.pointer[pairs if self.row is None else self.row[pairs]], self.lengths(pairs)
        pointer = np.concatenate([[0], np.cumsum(length)])
        entries = np.repeat(begin - pointer[:-1], length) + np.arange(pointer[-1])
        successor = self.successor[entries]
        if self.horizon is not None:
            successor = successor + np.repeat((1 + states // self.width) * self.width, length)
        return self.probability[entries], successor, pointer

    def with_end(self, value: Array) -> Array:
        """Return values (S,) together with those at the end, which are 0."""
        if self.criterion in (DISCOUNTED, AVERAGE):
            return value
        return np.concatenate([value, np.zeros(1 if self.horizon is None else self.width)])


def allowed_pairs(model: Model) -> Indices:
    """Return the pairs that a policy within the limits may take in states that it comes to; all of them if there is no such policy.

    Where b_j = unit·max u_j exactly, only pairs with u_j = max u_j may be taken, hence, if γ > 0, none that lead to a state without such a pair.
    In a total reward this needs max u_j = 0, and of a long-run average it is not true.
    """
    allowed = np.ones(model.utility.shape[1], dtype=bool)
    for utility, threshold in zip(model.utility[1:], model.threshold, strict=True):
        top = utility.max()
        if model.average or (model.criterion == TOTAL and top != 0) or not np.isfinite(threshold):
            continue
        if Fraction(float(threshold)) == Fraction(float(top)) * model.unit:
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
    row = np.arange(pairs) if model.row is None else model.row
    sound = (
        model.actions.any(1).all()
        and model.utility.shape == (1 + len(model.threshold), pairs)
        and len(model.sense) == len(model.threshold)
        and model.initial.shape == (states,)
        and (model.horizon is None or (model.horizon > 0 and model.width * model.horizon == states))
        and row.shape == (pairs,)
        and (row.min() >= 0 and row.max() < len(model.pointer) - 1)
        and (np.diff(model.pointer) > 0).all()
        and (model.pointer[0], model.pointer[-1]) == (0, len(model.successor))
        and (model.successor.min() >= 0 and model.successor.max() < model.width + (model.criterion == TOTAL))
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
    doubles = (model.probability[kept], model.utility, model.threshold, model.initial)
    for values in (*doubles, np.array([model.discount])):
        total.update((np.asarray(values, dtype="<f8") + 0.0).data)  # −0 is 0
    return total.hexdigest()


# ------------------------------------------------------------ the certificate and its files


class Certificate(NamedTuple):
    """A proof, and what it claims."""

    problem: str  # hash of the model
    policy: Array  # (S, A); with a horizon, S is H·S everywhere; of a total or an average, (M, S, A)
    weight: Array  # (J,)
    upper_value: Array  # (S,)
    lower_value: Array  # (J, S), or (M, J, S)
    upper_constant: Array = NOTHING  # (2,) whose sum counts
    lower_constant: Array = NOTHING  # (J, 2)
    share: Array = NOTHING  # (M,) with which each policy is drawn at the start
    upper_gain: Array = NOTHING  # (S,)
    lower_gain: Array = NOTHING  # (M, J, S)
    upper_steps: Array = NOTHING  # (S,)
    lower_steps: Array = NOTHING  # (M, S)
    stop_weight: Array = NOTHING  # (J,)
    stop_value: Array = NOTHING  # (S,)
    criterion: str = DISCOUNTED  # how the utilities of the steps are added up
    lower_bound: float | None = None  # of the optimal value, in the user's terms
    upper_bound: float | None = None
    violation: tuple[float, ...] = ()  # of each limit by the policy, at most
    infeasible: bool = False  # whether no policy meets all limits

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays of the criterion, by name."""
        return {name: getattr(self, name) for name in SHAPES[self.criterion]}


def read(folder: Path) -> Certificate:
    """Read a certificate; raise `Refused` for anything that is none. Nothing in it is executed."""
    try:
        said = json.loads((folder / HEAD).read_text(encoding="utf-8"))
        about = (said.get("format"), said.get("version")) if isinstance(said, dict) else None
        if about != (FORMAT, VERSION):
            raise Refused(f"{folder / HEAD} is not a certificate of version {VERSION}")
        names = SHAPES.get(str(said.get("criterion")))
        if names is None:
            raise Refused(
                f"its criterion is {said.get('criterion')!r}; this version checks {', '.join(SHAPES)}"
            )
        with (folder / ARRAYS).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            if missing := [name for name in names if name not in stored.files]:
                raise Refused(f"{folder / ARRAYS} lacks {', '.join(missing)}")
            arrays: dict[str, Any] = {name: np.asarray(stored[name]) for name in names}
    except Refused:
        raise
    except Exception as error:  # whatever damaged files make NumPy and its libraries raise
        raise Refused(
            f"{folder} holds no certificate that can be read ({type(error).__name__}: {error})"
        ) from error
    found: dict[str, Any] = {key: str(said.get(key)) for key in ("problem", "criterion")}
    return Certificate(**found, **arrays, **_claimed(folder, said))


def _claimed(folder: Path, said: dict[str, Any]) -> dict[str, Any]:
    """Return what is claimed, if it consists of numbers."""
    bounds = {key: said.get(key) for key in CLAIMS[:2]}
    missed, infeasible = said.get("violation"), said.get("infeasible")
    missed = missed if isinstance(missed, list) else [None]
    numbers = [bound for bound in bounds.values() if bound is not None] + missed
    if type(infeasible) is not bool or not all(type(one) is float and np.isfinite(one) for one in numbers):
        raise Refused(f"{folder / HEAD} claims what is no number")
    return {**bounds, "violation": tuple(missed), "infeasible": infeasible}


def head(certificate: Certificate) -> dict[str, Any]:
    """Return what stands in the JSON file of a certificate."""
    about = {"format": FORMAT, "version": VERSION, "criterion": certificate.criterion}
    return {**about, **{name: getattr(certificate, name) for name in ("problem", *CLAIMS)}}


def require_arrays(certificate: Certificate, model: Model) -> None:
    """Refuse arrays that do not fit the model, policies that are none, and weights that prove nothing."""
    if certificate.criterion != model.criterion:
        raise Refused(
            f"its criterion is '{certificate.criterion}', and that of the problem '{model.criterion}'"
        )
    (states, actions), utilities = model.actions.shape, len(model.utility)
    policies = len(certificate.policy) if certificate.policy.ndim else 0
    sizes = {"S": states, "A": actions, "J": utilities, "M": policies, "2": 2}
    for name, letters in SHAPES[model.criterion].items():
        array, shape = getattr(certificate, name), tuple(sizes[letter] for letter in letters)
        if array.shape != shape or array.dtype != np.float64:
            raise Refused(f"{name} has shape {array.shape} and type {array.dtype}, not {shape} and float64")
        if not np.isfinite(array).all():
            raise Refused(f"{name} has an entry that is not finite")
        if name in POSITIVE and (array < 0).any():
            raise Refused(f"{name} has an entry below 0")
    if len(certificate.violation) != len(model.threshold):
        raise Refused(
            f"it claims something of {len(certificate.violation)} limits, not of {len(model.threshold)}"
        )
    policy, share, limited = certificate.policy, certificate.share, np.isfinite(model.threshold)
    if policy[..., ~model.actions].any() or not (abs(policy.sum(-1) - 1) <= OFF).all():
        raise Refused("its policy is not a distribution over the available actions of every state")
    if "share" in SHAPES[model.criterion] and not abs(share.sum() - 1) <= OFF:
        raise Refused("its shares are not a distribution over its policies")
    if certificate.weight[0] not in (0.0, 1.0) or certificate.weight[1:][~limited].any():
        raise Refused(
            "its weights are not those of a bound: 1 or 0 for the reward, and 0 for limits that are none"
        )
    if model.criterion == TOTAL and certificate.stop_weight[1:][~limited].any():
        raise Refused("its stop values rest on limits that are none")
    if model.criterion == TOTAL and certificate.stop_weight[0] > 0 == certificate.weight[0]:
        raise Refused("its stop values rest on the reward, which no limit bounds")


# ------------------------------------------------------------ the inequalities


class Side:
    """Where inequalities must hold: at all pairs that may be taken, or in every state, on average over the actions of a policy."""

    def __init__(self, model: Model, policy: Array | None = None, utility: int = 0) -> None:
        self.model, self.policy = model, policy
        bound, of = (
            ("upper", "")
            if policy is None
            else ("lower", f" of limit {utility}" if utility else " of the objective")
        )
        self.says = {
            what: f"the {bound} {what}{of} is too {'large' if of else 'small'}" for what in ("value", "gain")
        }
        pairs = allowed_pairs(model) if policy is None else np.flatnonzero(policy[model.actions] > 0)
        states = model.states()
        if model.criterion == TOTAL:
            pairs = pairs[_reached(model, pairs, states[pairs])[states[pairs]]]
        first = (
            np.arange(len(pairs)) if policy is None else np.flatnonzero(np.diff(states[pairs], prepend=-1))
        )
        self.pairs, self.owner, self.first = pairs, states[pairs], np.append(first, len(pairs))
        self.share = Exact.of(0.0 if policy is None else policy[model.actions][pairs])
        self.states = self.owner[first]  # of every place

    def require(self, what: str, weight: Array, own: Exact, value: Exact, least: Any = 0) -> NDArray[np.int8]:
        """Return ⌊own − w·u − γP value⌋ at every place, cut off at ±1; refuse a certificate if one is below the `least`."""
        found = np.concatenate(
            [_floors(*self._surplus(weight, own, value, block)) for block in self._blocks()]
        )
        if (found < least).any():
            place = int(np.argmax(found < least))
            above, below = self._surplus(weight, own, value, slice(place, place + 1))
            wanted = int(np.broadcast_to(least, found.shape)[place])
            raise Refused(f"{what} {self._place(place)}, by {_shown(wanted - Fraction(above[0], below[0]))}")
        return found

    def _blocks(self) -> Iterator[slice]:
        """Cut the places into blocks with about `BLOCK` successors."""
        ends = np.cumsum(np.add.reduceat(self.model.lengths(self.pairs), self.first[:-1]))
        cuts = np.searchsorted(ends, np.arange(BLOCK, ends[-1], BLOCK))
        cuts = np.unique([0, *cuts, len(ends)])
        return map(slice, cuts[:-1], cuts[1:])

    def _surplus(self, weight: Array, own: Exact, value: Exact, block: slice) -> tuple[Any, Any]:
        """Return own − w·u − γP value at some places, as numerators and positive denominators."""
        model, first = self.model, self.first[block.start : block.stop + 1]
        pairs, states = (part[first[0] : first[-1]] for part in (self.pairs, self.owner))
        chances, successor, pointer = model.rows(pairs, states)
        probability = Exact.of(chances)
        whole, ahead = (part.sums(pointer[:-1]) for part in (probability, probability * value.at(successor)))
        left = own.at(states)
        for share, utility in zip(weight, model.utility, strict=True):
            if share:
                left = left + Exact.of(-share) * Exact.of(utility[pairs])
        left = left * whole + Exact.of(-model.discount) * ahead
        return _averaged(self.share, left.whole, whole.with_places(left.places), first)

    def _place(self, place: int) -> str:
        model, state = self.model, int(self.states[place])
        step = "" if model.horizon is None else f" at step {state // model.width}"
        taker = "the policy"
        if self.policy is None:
            among = self.pairs[place] - model.actions[:state].sum()
            taker = f"action {np.flatnonzero(model.actions[state])[among]}"
        return f"in state {state % model.width}{step} for {taker}"


def _reached(model: Model, pairs: Indices, states: Indices) -> NDArray[np.bool_]:
    """Return the states that a process may come to which takes some pairs, given their states, only, (S,)."""
    found = np.append(model.initial > 0, True)  # the end is no state
    new = np.flatnonzero(found[:-1])
    while len(new):
        first, count = np.searchsorted(states, new), np.searchsorted(states, new, "right")
        count = count - first
        taken = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        probability, successor, _ = model.rows(pairs[taken], states[taken])
        after = np.unique(successor[probability > 0])
        new = after[~found[after]]
        found[new] = True
    return found[:-1]


def _averaged(share: Exact, above: Any, below: Any, first: Indices) -> tuple[Any, Any]:
    """Return Σ share·above/below / Σ share over every place, whose pairs begin at `first`."""
    count = np.diff(first)
    if count.max() == 1:
        return above, below
    shares = share.whole[first[0] : first[-1]]
    total, product = 0 * count.astype(object), 0 * count.astype(object) + 1
    for rank in range(int(count.max())):
        has = np.flatnonzero(count > rank)
        pair = first[has] - first[0] + rank
        total[has] = total[has] * below[pair] + product[has] * shares[pair] * above[pair]
        product[has] = product[has] * below[pair]
    return total, product * np.add.reduceat(shares, first[:-1] - first[0])


def _floors(above: Any, below: Any) -> NDArray[np.int8]:
    return np.asarray((above >= 0).astype(np.int8) + (above >= below) - 1, dtype=np.int8)


def _at_start(model: Model, value: Exact) -> Fraction:
    """ρ·value, of the exact quotients of ρ."""
    initial = Exact.of(model.initial).whole
    return Fraction(int((initial * value.whole[: len(initial)]).sum()), int(initial.sum()) << value.places)


# ------------------------------------------------------------ the criteria


def stepwise(side: Side, weight: Array, constant: Array, value: Array) -> Fraction:
    """Discounted problems and finite horizons: V ≥ w·u + γPV, with V = constant·(unit of the steps to come) + value."""
    own = Exact.of(constant[0]) + Exact.of(constant[1]) + Exact.of(value)
    side.require(side.says["value"], weight, own, Exact.of(side.model.with_end(value)))
    return _at_start(side.model, Exact.of(value)) + sum(map(Fraction, constant.tolist())) * side.model.unit


def ending(side: Side, weight: Array, value: Array, stop_weight: Array, stop_value: Array) -> Fraction:
    """Totals: V ≥ w·u + PV, Z ≥ z·u + PZ, and Z ≥ 1 + z·u + PZ, or V ≥ 0 and, unless the policy is known, nothing is paid."""
    model, ahead, stop = (
        side.model,
        Exact.of(side.model.with_end(value)),
        Exact.of(side.model.with_end(stop_value)),
    )
    side.require(side.says["value"], weight, ahead, ahead)
    rests = value[side.states] >= 0
    if side.policy is None:
        rests &= ~model.utility[:, side.pairs].any(0)
    shown = "the stop value is too small" if side.policy is None else "the number of steps is too small"
    side.require(shown, stop_weight, stop, stop, np.where(rests, 0, 1))
    return _at_start(model, ahead)


def lasting(side: Side, weight: Array, gain: Array, value: Array, steps: Array) -> Fraction:
    """Averages: g ≥ Pg, N ≥ PN, and g + h ≥ w·u + Ph or N ≥ 1 + PN."""
    g, h, n = map(Exact.of, (gain, value, steps))
    rare = side.require("the number of steps is too small", 0 * weight, n, n)
    side.require(side.says["gain"], 0 * weight, g, g)
    side.require(side.says["gain"], weight, g + h, h, np.where(rare >= 1, -1, 0))
    return _at_start(side.model, g)


def _most(proof: Certificate, model: Model) -> Fraction:
    """Return what any policy collects of the weighted sum of the utilities, at most."""
    side = Side(model)
    if model.criterion == AVERAGE:
        return lasting(side, proof.weight, proof.upper_gain, proof.upper_value, proof.upper_steps)
    if model.criterion == TOTAL:
        return ending(side, proof.weight, proof.upper_value, proof.stop_weight, proof.stop_value)
    return stepwise(side, proof.weight, proof.upper_constant, proof.upper_value)


def _least(proof: Certificate, model: Model, j: int) -> Fraction:
    """Return what the policies of a certificate collect of a utility, at least, on average over the draw."""
    each = -np.eye(len(model.utility))[j]
    if model.criterion not in (TOTAL, AVERAGE):
        side = Side(model, proof.policy, j)
        return -stepwise(side, each, -proof.lower_constant[j], -proof.lower_value[j])
    found = []
    for m, policy in enumerate(proof.policy):
        side, value, steps = (
            Side(model, policy, j),
            -proof.lower_value[m, j],
            proof.lower_steps[m],
        )
        if model.criterion == TOTAL:
            found.append(-ending(side, each, value, 0 * each, steps))
        else:
            found.append(-lasting(side, each, -proof.lower_gain[m, j], value, steps))
    share = [Fraction(one) for one in proof.share.tolist()]
    return sum((part * one for part, one in zip(share, found, strict=True)), Fraction(0)) / sum(share)


class Proved(NamedTuple):
    """What a certificate proves, in exact numbers: V_j(π) ≥ `value`, and Σ w_j (V_j − b_j) ≤ `bound` for every policy."""

    value: list[Fraction]  # (J,)
    bound: Fraction | None  # None: no policy meets the limits


def prove(certificate: Certificate, model: Model) -> Proved:
    """Return what the arrays of a certificate prove; raise `Refused` at the first inequality that fails."""
    require_model(model)
    require_arrays(certificate, model)
    value = [_least(certificate, model, j) for j in range(len(model.utility))]
    bound, weight = _most(certificate, model), certificate.weight
    for i in np.flatnonzero(weight[1:]):
        bound -= Fraction(float(weight[1 + i])) * Fraction(float(model.threshold[i]))
    if not weight[0] and bound >= 0:
        raise Refused("its weights do not prove that no policy meets all limits")
    return Proved(value, bound if weight[0] else None)


# ------------------------------------------------------------ the verdict


class Verdict(NamedTuple):
    """What was proved, in the user's terms; if it is not what the certificate claims, `sentence` says why."""

    verified: bool
    sentence: str
    lower_bound: float | None = None
    upper_bound: float | None = None
    violation: tuple[float, ...] = ()
    infeasible: bool = False


def verify(certificate: Certificate, model: Model) -> Verdict:
    """Check a certificate."""
    try:
        if certificate.problem != content_hash(model):
            raise Refused("it was written for another problem")
        with np.errstate(all="ignore"):  # sums that overflow are no distributions
            return _compared(certificate, model, prove(certificate, model))
    except Refused as refused:
        return Verdict(False, f"Not verified: {refused}.")


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
    bounds = {"lower_bound": _outward(low, up=False), "upper_bound": _outward(high, up=True)}
    return {**bounds, "violation": tuple(missed), "infeasible": False}


def _outward(number: Fraction, up: bool) -> float:
    """Return the nearest double above or below."""
    try:
        near = float(number)
    except OverflowError as error:
        raise Refused("its bounds are beyond the range of doubles") from error
    if Fraction(near) < number if up else Fraction(near) > number:
        near = float(np.nextafter(near, np.inf if up else -np.inf))
    return near


def _shown(number: Fraction) -> str:
    try:
        return f"{float(number):.3g}"
    except OverflowError:
        return "more than any double"


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
    kept = {key: getattr(certificate, key) for key in CLAIMS}
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
