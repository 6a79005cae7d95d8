"""A model given as functions: successors and utilities of a pair are computed when they are needed, and never stored.

Memory is then that of values and policies alone, a few dozen bytes for each state, so that a model may be larger than its
transitions would be in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.common import arguments
from painless.common.arrays import Array, read_only
from painless.common.errors import InputError, shown
from painless.problem import validation
from painless.problem.callbacks import Callbacks, Checked, checked, compiled
from painless.problem.cmdp import CMDP
from painless.problem.criterion import Criterion

MOST_SUCCESSORS = 32
# What other problems hold
STORED = ("transition", "reward", "constraint_reward", "utility", "initial", "actions")
FIELDS = (
    *("states", "n_actions", "callbacks", "found", "scale", "start", "discount", "threshold", "sense"),
    *("minimise", "names", "horizon", "stages", "criterion", "end", "backend"),
)


class NotStored(InputError, AttributeError):
    """What a model given as functions does not hold."""


class Scale(NamedTuple):
    """How the utilities of a model follow from those of its function: (sign·u − origin)/span + extra·|u|, (J,) each."""

    which: NDArray[np.intp]  # of the utilities that the function returns
    sign: Array
    origin: Array
    span: Array
    extra: Array

    def __call__(self, utility: Array) -> Array:
        """Return them for the function's utilities, (J',), with their signs."""
        u = utility[self.which]
        return (u - self.origin) / self.span + self.extra * np.abs(u)

    def chosen(self, places: Sequence[int] | NDArray[np.intp]) -> Scale:
        """Return that of some of the utilities."""
        picked: list[Any] = [part[list(places)] for part in self]
        return Scale(*picked)


class Start(NamedTuple):
    """The distribution of the first state, on the states that it may be."""

    state: NDArray[np.intp]  # (n,)
    probability: Array  # (n,)


class FunctionModel(CMDP):
    """A problem whose successors and utilities are functions; see `from_function`. `solve` takes it as any problem.

    What needs arrays, such as learning algorithms and files, refuses it.
    """

    states: int
    n_actions: int
    callbacks: Callbacks
    found: Checked
    scale: Scale
    start: Start
    backend: Any  # whose workers keep the values; None for this process

    def __init__(self, **fields: Any) -> None:
        fixed: dict[str, Any] = {
            "horizon": None,
            "stages": None,
            "end": None,
            "criterion": Criterion.DISCOUNTED,
            "sources": (),
        }
        for name, value in {**fields, **fixed}.items():
            object.__setattr__(self, name, value)
        self._derive((self.states, self.n_actions))

    def __getattr__(self, name: str) -> Any:
        if name in STORED:
            raise NotStored(
                f"a model given as functions stores no {name}: painless.solve solves it; for anything else make a CMDP of arrays"
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**{name: getattr(self, name) for name in FIELDS} | changes)

    def rescaled(self, origin: Array, span: Array, kept: NDArray[np.intp], threshold: Array) -> Self:
        """Return the same process with utilities (u − origin)/span, (J,) each, and only some of the constraints."""
        old = self.scale
        new = old._replace(origin=old.origin + origin * old.span, span=old.span * span)
        return self._plain(new.chosen([0, *(1 + kept)]), threshold)

    def loosened(self, whole: CMDP, kept: NDArray[np.intp], share: Array, threshold: Array) -> Self:
        """Return the same process with share·|c|, (K,) each, added to the constraints; c are those of the function."""
        del whole, kept
        return self._plain(self.scale._replace(extra=np.append(0.0, share)), threshold)

    def with_utilities(self, chosen: Sequence[int], threshold: Array) -> Self:
        """Return the same process with some of its utilities, the first of them as the reward."""
        return self._plain(self.scale.chosen(chosen), threshold)

    def _plain(self, scale: Scale, threshold: Array) -> Self:
        return self._replace(
            scale=scale, threshold=threshold, sense=(">=",) * len(threshold), minimise=False, names={}
        )

    def with_discount(self, discount: float) -> Self:
        """Return the same problem with another discount."""
        return self._replace(discount=validation.discount(discount))

    def on(self, backend: Any) -> Self:
        """Return the same problem whose values the workers of a backend keep and sweep: a `Dask` or `Slurm` that has been started."""
        if backend is not None and not hasattr(backend, "keep"):
            raise InputError(
                f"{type(backend).__name__} does not keep values; use painless.backends.Dask or Slurm, or leave it out: threads of this process serve all of its cores"
            )
        return self._replace(backend=backend)

    @property
    def is_sparse(self) -> bool:
        """Whether nothing of size S × S is stored."""
        return True

    @cached_property
    def utility_range(self) -> tuple[Array, Array]:
        """The least and the largest of every utility over the available pairs, (J,) each."""
        return read_only(self.scale(self.found.low)), read_only(self.scale(self.found.high))

    @property
    def most_successors(self) -> int:
        """The largest number of successors that a pair may have."""
        return self.callbacks.most

    def index(self, kind: str, name: Any) -> int:
        """Return the number of a state, an action or a constraint, given by its name or its number."""
        if kind == "states":
            return arguments.whole("state", name, least=0, most=self.states - 1)
        return super().index(kind, name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Refuse: a file holds arrays."""
        raise InputError(
            f"a model given as functions has no arrays to write to {path}; keep the functions, or save the solution"
        )

    def __repr__(self) -> str:
        counts = zip(self.shape, ("state", "action", "constraint"), strict=True)
        size = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        return f"FunctionModel({size}, discount {self.discount:g})"


def from_function(
    states: int,
    actions: int,
    successors: Any,
    utilities: Any,
    *,
    initial: int | Mapping[int, float] | ArrayLike,
    discount: float,
    minimise: bool = False,
    threshold: ArrayLike | None = None,
    budget: ArrayLike | None = None,
    most_successors: int = MOST_SUCCESSORS,
    names: Mapping[str, Iterable[Any]] | None = None,
) -> FunctionModel:
    """Return a model whose transitions are computed and not stored, for models larger than memory.

    Both functions are compiled by Numba, unless they are compiled already; plain Python functions of numbers and arrays serve. All
    pairs are checked here, once, and called again in every sweep: a function must give the same for the same pair.

    Arguments:
        states, actions: their numbers, S and A.
        successors: `successors(s, a, target, probability)` writes the successors of a pair to `target`, their probabilities to
            `probability`, and returns how many there are; 0 if state `s` does not have action `a`.
        utilities: `utilities(s, a)` returns the reward, or the cost, then the constraint rewards, then the constraint costs; a single number
            if there are no constraints.
        initial: the first state, or a dictionary from states to probabilities, or an array (S,) of them.
        discount: γ in [0, 1).
        minimise: whether the first utility is a cost to minimise.
        threshold: what the constraint rewards must reach, (K,) or a number.
        budget: what the constraint costs must stay within, (K',) or a number.
        most_successors: the largest number of successors that a pair may have.
        names: lists of names under "actions" and "constraints".

    >>> def successors(s, a, target, probability):  # a queue: serve at a slow or a fast rate
    ...     fast = 0.4 if a == 0 else 0.7
    ...     target[0], probability[0] = max(s - 1, 0), fast
    ...     target[1], probability[1] = min(s + 1, 99), 1 - fast
    ...     return 2
    >>> def utilities(s, a):
    ...     return s, 1.0 * a  # the length of the queue, and the energy
    >>> model = from_function(100, 2, successors, utilities, initial=0, discount=0.9, minimise=True, budget=5.0)
    >>> model
    FunctionModel(100 states, 2 actions, 1 constraint, discount 0.9)
    """
    count = arguments.whole("states", states)
    n_actions = arguments.whole("actions", actions, most=2**16)
    most = arguments.whole("most_successors", most_successors, most=2**20)
    if not isinstance(minimise, bool | np.bool_):
        raise InputError(f"minimise is {shown(minimise)}; give True if the first utility is a cost")
    lower = np.empty(0) if threshold is None else validation.limits("threshold", threshold)
    upper = np.empty(0) if budget is None else validation.limits("budget", budget, -1.0)
    gamma = validation.discount(discount)
    start = _start(initial, count)
    limits = len(lower) + len(upper)
    known = validation.names(names, (count, n_actions, limits))
    sign = np.array([-1.0 if minimise else 1.0, *(1.0 for _ in lower), *(-1.0 for _ in upper)])
    callbacks = compiled(successors, utilities, 1 + limits, most)
    found = checked(callbacks, count, n_actions, 1 + limits)
    validation.require_representable("utilities", found.low, found.high)
    ends = np.array([found.low * sign, found.high * sign])
    return FunctionModel(
        states=count,
        n_actions=n_actions,
        callbacks=callbacks,
        found=found._replace(low=ends.min(0), high=ends.max(0)),
        scale=Scale(np.arange(1 + limits), sign, 0.0 * sign, np.abs(sign), 0.0 * sign),
        start=start,
        discount=gamma,
        threshold=np.concatenate([lower, -upper]),
        sense=(">=",) * len(lower) + ("<=",) * len(upper),
        minimise=bool(minimise),
        names=known,
        backend=None,
    )


def _start(initial: Any, states: int) -> Start:
    """Return the distribution of the first state."""
    if isinstance(initial, Mapping):
        chosen = [arguments.whole("initial state", s, least=0, most=states - 1) for s in initial]
        if not chosen:
            raise InputError("initial is empty; give a state, or states and their probabilities")
        return Start(np.array(chosen), validation.initial([*initial.values()]))
    if np.ndim(initial) == 0:
        return Start(
            np.array([arguments.whole("initial", initial, least=0, most=states - 1)], dtype=np.intp),
            np.ones(1),
        )
    whole = validation.initial(initial)
    if len(whole) != states:
        raise InputError(
            f"initial has {len(whole)} entries, but there are {states} states; give one for each"
        )
    used = np.flatnonzero(whole)
    return Start(used, whole[used])
