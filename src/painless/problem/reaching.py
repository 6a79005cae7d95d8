"""`reach`: the probability of ever coming to some states, in the place of a utility.

    P(τ < ∞) = Σ_t P(the first visit is at time t),      E[γ^τ] with a discount,      P(τ ≤ H) with a horizon H

Whether a step leads to the states for the first time depends on what came before. Where every state tells, as it does if the states cannot be
left, the probability is a utility of the model as it is:

    u(s, a) = γ·P(F | s, a) if s shows that F was not reached before, else 0

Otherwise each set adds one bit to the state, and the policy sees it: states appear once for each answer that they can have, with names that say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arguments import as_numbers, number
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, unknown
from painless.problem.ending import end_mask, positive_entries
from painless.problem.names import as_objects, text_of
from painless.problem.transitions import action_count, is_sparse

LISTED = 3  # states that name a set
MOST = 8  # sets: each may double the states
KINDS = ("reward", "cost", "constraint_reward", "constraint_cost")


class Reach:
    """What `reach` returns: a set of states, in the place of a utility.

    Attributes:
        states: a mask (S,), numbers or names of states; in a file of a model checker, the name of a label.
    """

    __array_ufunc__ = None  # no utility: it does not add to arrays

    def __init__(self, states: Any, label: str = "") -> None:
        self.states, self.label = states, label

    def __repr__(self) -> str:
        return f"reach({self.label or repr(self.states)})"


def reach(states: Any) -> Reach:
    """Ask for the probability of ever reaching some states, in the place of a reward, a cost or a constraint.

    With a discount it is E[γ^τ], τ the time of the first visit. Where the states can be left, the state gains a bit, which the names show.

    Arguments:
        states: a mask (S,), or a list of numbers or names; with `load`, also the label of a model checker's file.

    >>> import painless
    >>> import numpy as np
    >>> kernel = np.array([[[0.0, 0.5, 0.5], [0.0, 0.9, 0.1]], [[0, 1, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]]])
    >>> safe = painless.CMDP(kernel, painless.reach([1]), initial=[1, 0, 0], discount=1.0,
    ...     constraint_cost=painless.reach([2]), budget=0.3)
    >>> round(painless.solve(safe).reward_value, 6)
    0.9
    """
    return Reach(states)


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else (given,)


def expanded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `CMDP` with utilities in the place of sets to reach."""
    given = dict(arguments)
    if given.get("average"):
        raise InputError(
            "reach is a probability of a whole run, and has no long-run average; use the total reward (discount 1) or a horizon"
        )
    initial = np.asarray(given["initial"], dtype=np.float64)
    actions = action_count(given["transition"], len(initial))
    sets = [one for name in KINDS for one in _listed(given.get(name)) if isinstance(one, Reach)]
    if len(sets) > MOST:
        raise InputError(f"{len(sets)} sets to reach are given; at most {MOST} can be told apart")
    product = _Product(given, initial, actions, sets)
    count = 0
    for name in KINDS:
        value = given.get(name)
        parts = _listed(value)
        if value is None:
            continue
        several = isinstance(value, list | tuple) and any(isinstance(one, Reach) for one in parts)
        if not several and not isinstance(value, Reach):
            given[name] = product.utility(value)
            continue
        tables = []
        for one in parts:
            tables.append(product.chance(count) if isinstance(one, Reach) else product.utility(one))
            count += isinstance(one, Reach)
        given[name] = np.array(tables) if several and name.startswith("constraint") else tables[0]
    return given | product.process()


class _Product:
    """The states together with the sets that have been reached so far, as bits."""

    def __init__(self, given: Mapping[str, Any], initial: Array, actions: int, sets: list[Reach]) -> None:
        self.given, self.start, self.actions = given, initial, actions
        self.states, self.names = len(initial), given.get("names")
        kernel = given["transition"]
        self.dense = not is_sparse(kernel)
        flat: Any = np.asarray(kernel, dtype=np.float64).reshape(-1, self.states) if self.dense else kernel
        self.flat = positive_entries(flat)
        mask = given.get("actions")
        shape = (self.states, actions)
        self.mask = np.ones(shape, dtype=bool) if mask is None else np.asarray(mask).astype(bool)
        if self.mask.shape != shape:
            raise InputError(f"actions has shape {self.mask.shape}, not (S, A) = {shape}")
        end = given.get("end")
        self.end = (
            np.zeros(self.states, dtype=bool) if end is None else end_mask(end, self.states, self.names)
        )
        masks = [end_mask(one.states, self.states, self.names) for one in sets]
        self.member = sum(mask.astype(np.int64) << k for k, mask in enumerate(masks)) + np.zeros(
            self.states, dtype=np.int64
        )
        self.titles = [_title(one, mask, self._base) for one, mask in zip(sets, masks, strict=True)]
        self.width = 1 << len(sets)
        discount = given.get("discount")
        self.discount = 1.0 if discount is None else number("discount", discount, "give one such as 0.9")
        self.code = self._reachable()
        self.state, self.bits = np.divmod(self.code, self.width)

    def _next(self, code: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return which transitions are taken from each (s, bits), as places in `code`, and the (s', bits') they lead to."""
        state, bits = np.divmod(code, self.width)
        rows = (state[:, None] * self.actions + np.arange(self.actions)).reshape(-1)
        first, last = self.flat.indptr[rows].astype(np.intp), self.flat.indptr[rows + 1].astype(np.intp)
        count = last - first
        place = np.repeat(np.arange(len(rows)), count)
        entry = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count) + first[place]
        target = self.flat.indices[entry].astype(np.int64)
        source = place // self.actions
        stays = self.end[state[source]]
        target = np.where(stays, state[source], target)
        had = bits[source] | self.member[state[source]]
        return np.stack([place, entry]), target * self.width + (had | self.member[target])

    def _reachable(self) -> NDArray[np.int64]:
        """Return all (s, bits) that may be reached, and one for each other state, in order."""
        # What holds at the start is not counted yet
        new = np.flatnonzero(self.start > 0).astype(np.int64) * self.width
        found = np.zeros(self.states * self.width, dtype=bool)
        found[new] = True
        last = np.empty(len(found), dtype=np.int64)  # where each of the latest was met last
        available = self.mask.reshape(-1)
        while len(new):
            (place, _), after = self._next(new)
            state = new // self.width
            pair = state[place // self.actions] * self.actions + place % self.actions
            after = after[available[pair]]
            after = after[~found[after]]
            last[after] = np.arange(len(after))
            new = after[last[after] == np.arange(len(after))]  # each of them once
            found[new] = True
        absent = np.flatnonzero(~found.reshape(self.states, self.width).any(1))
        found[absent * self.width + self.member[absent]] = True
        return np.flatnonzero(found)

    @cached_property
    def _steps(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """All transitions, as `_next` returns them."""
        return self._next(self.code)

    @property
    def same(self) -> bool:
        """Whether every state tells what was reached."""
        return len(self.code) == self.states

    def _index(self, code: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the places of (s, bits); of another copy of s where these bits are not possible."""
        place = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
        first = np.searchsorted(self.state, code // self.width)
        return np.where(self.code[place] == code, place, first)

    def utility(self, values: Any) -> Any:
        """Return a utility with the states of the product."""
        if self.same or values is None:
            return values
        array = as_numbers("utility", values)
        axis = {2: 0, 3: 1}.get(array.ndim)
        if axis is None or array.shape[axis] != self.states or (array.ndim == 3 and self._over_next(array)):
            raise InputError(
                f"beside reach, utilities are (S, A) or (K, S, A), not {array.shape}; average those of the next state first"
            )
        taken = np.take(array, self.state, axis)
        pays_not = self.end[self.state]
        return np.where(pays_not[:, None], 0.0, taken)

    def _over_next(self, array: Any) -> bool:
        return bool(array.shape == (self.states, self.actions, self.states) and array.shape[1] != self.states)

    def chance(self, index: int) -> Array:
        """Return the utility of one set, (S', A): the chance that it is reached for the first time."""
        bit = 1 << index
        (place, entry), after = self._steps
        source = place // self.actions
        had = self.bits[source] | self.member[self.state[source]]
        arrives = ((after % self.width) & bit > 0) & (had & bit == 0)
        chance = np.bincount(
            place[arrives], self.flat.data[entry[arrives]], len(self.code) * self.actions
        ).reshape(-1, self.actions)
        at_once = (self.member[self.state] & bit > 0) & (self.bits & bit == 0)
        return self.discount * chance + at_once[:, None]

    def process(self) -> dict[str, Any]:
        """Return transitions, initial distribution, actions, end and names of the product."""
        if self.same:
            return {}
        if self.given.get("horizon") is not None and np.ndim(self.given["transition"]) == 4:
            raise InputError("reach needs the same transitions in every step")
        size = len(self.code)
        (place, entry), after = self._steps
        kernel = scipy.sparse.csr_array(
            (self.flat.data[entry], (place, self._index(after))), (size * self.actions, size)
        )
        kernel.sum_duplicates()
        initial = np.zeros(size)
        first = np.flatnonzero(self.start > 0)
        initial[self._index(first.astype(np.int64) * self.width)] = self.start[first]
        pending = (self.member[self.state] & ~self.bits) > 0
        found: dict[str, Any] = {
            "transition": kernel.toarray().reshape(size, self.actions, size) if self.dense else kernel,
            "initial": initial,
            "names": self._named(),
        }
        if self.given.get("actions") is not None:
            found["actions"] = self.mask[self.state]
        if self.given.get("end") is not None:
            found["end"] = self.end[self.state] & ~pending
        return found

    @cached_property
    def _base(self) -> list[str]:
        """The names of the states."""
        listed = self.names.get("states") if isinstance(self.names, Mapping) else None
        return [str(s) for s in range(self.states)] if listed is None else [*map(text_of, as_objects(listed))]

    def _named(self) -> dict[str, Iterable[Any]]:
        base, texts = self._base, []
        for state, bits in zip(self.state.tolist(), self.bits.tolist(), strict=True):
            had = [title for k, title in enumerate(self.titles) if bits >> k & 1]
            texts.append(base[state] + (f", {' and '.join(had)} reached" if had else ""))
        return {**(self.names or {}), "states": texts}


def _title(one: Reach, mask: Mask, names: Sequence[str]) -> str:
    if one.label:
        return one.label
    listed = [names[state] for state in np.flatnonzero(mask)[: LISTED + 1]]
    return ", ".join(listed[:LISTED]) + (", …" if len(listed) > LISTED else "")


def sought(given: Any) -> Reach | None:
    """Return a set to reach, also as text such as "reach(goal)"; None if it is something else."""
    if isinstance(given, str) and given.startswith("reach(") and given.endswith(")"):
        inside = given.removeprefix("reach(").removesuffix(")").strip()
        return Reach(inside, inside)
    return given if isinstance(given, Reach) else None


def reaching_of(given: Any, labels: Mapping[str, Mask]) -> Any:
    """Return utilities of a file with sets to reach in the place of texts such as "reach(goal)", and the states of labels.

    >>> reaching_of(["time", "reach(goal)"], {"goal": np.array([False, True])})
    ['time', reach(goal)]
    """
    if isinstance(given, list | tuple):
        return [reaching_of(one, labels) for one in given]
    given = sought(given) or given
    if not isinstance(given, Reach) or not isinstance(given.states, str):
        return given
    return Reach(labelled(given.states, labels), given.states)


def labelled(name: str, labels: Mapping[str, Mask]) -> Mask:
    """Return the states with a label, (S,); those without it if the name begins with `!`.

    >>> labelled("!goal", {"goal": np.array([False, True])})
    array([ True, False])
    """
    label = name if name in labels else name.removeprefix("!").strip()
    if label not in labels:
        raise unknown("label", label, labels)
    return labels[label] if name in labels else ~labels[label]
