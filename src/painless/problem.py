"""The problem: maximise V_r(ρ) subject to V_{c_i}(ρ) ≥ b_i, i = 1..K, discounted with γ ∈ [0, 1).

The user may minimise a cost and bound constraint costs from above. Inside there is only maximise and ≥:
a cost is the negative of a reward. `sense` and `minimise` remember the user's terms, and everything that
is read back (solutions, files, tables) is in those terms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless import drn, files, mapped, validation
from painless.arrays import Array, Mask, frozen, read_only
from painless.errors import InputError, unknown

Transition: TypeAlias = "Array | scipy.sparse.csr_array[np.float64]"  # text, so that importing loads no SciPy

NAME_KEYS = {"states": "state_names", "actions": "action_names", "constraints": "constraint_names"}
LIMIT_KEYS = ("threshold", "budget")
SPARSE_KEYS = ("transition_data", "transition_indices", "transition_indptr")
FILE_KEYS = (
    *("transition", *SPARSE_KEYS, "reward", "cost", "constraint_reward", "threshold"),
    *("constraint_cost", "budget", "initial", "discount", "actions", *NAME_KEYS.values()),
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CMDP:
    """A constrained Markov decision process with finitely many states and actions; immutable.

    Arguments:
        transition: P(s'|s, a), dense (S, A, S), or SciPy sparse (S·A, S) with row s·A + a.
        reward: (S, A) to maximise; an (S, A, S) reward is averaged over the successor.
        cost: in place of `reward`: (S, A) to minimise.
        initial: ρ, the distribution of the first state, (S,).
        discount: γ in [0, 1).
        constraint_reward: (K, S, A), whose values must reach `threshold` (K,). K = 1 may drop its axis.
        constraint_cost: (K, S, A), whose values must stay within `budget` (K,). Rewards come first.
        actions: (S, A), which actions each state has; all of them by default.
        names: lists of names under "states", "actions" and "constraints".
        copy: whether the problem copies what it is given. With False it shares transitions and utilities that need no
            conversion, which halves the memory of a large model: leave them alone as long as the problem is in use.

    A row of probabilities is divided by its sum where that is off by up to 1e-8; one whose sum is 1 to rounding
    is kept bit for bit. A threshold of −∞ or a budget of ∞ is no limit.

    Attributes in the internal sense: `reward` (S, A), `constraint_reward` (K, S, A) and `threshold` (K,).

    >>> problem = CMDP(
    ...     transition=[[[1.0], [1.0]]], reward=[[0.0, 1.0]], initial=[1.0], discount=0.5,
    ...     constraint_cost=[[0.0, 1.0]], budget=1.5,
    ... )
    >>> problem
    CMDP(1 state, 2 actions, 1 constraint, discount 0.5, dense)
    """

    transition: Transition
    reward: Array  # (S, A)
    constraint_reward: Array  # (K, S, A)
    threshold: Array  # (K,)
    initial: Array  # (S,)
    discount: float
    actions: Mask  # (S, A)
    sense: tuple[str, ...]  # ">=" or "<=" for each constraint, as the user has it
    minimise: bool  # whether the user gave a cost
    names: Mapping[str, tuple[str, ...]]

    def __init__(
        self,
        transition: Any,
        reward: ArrayLike | None = None,
        *,
        cost: ArrayLike | None = None,
        initial: ArrayLike,
        discount: float,
        constraint_reward: ArrayLike | None = None,
        threshold: ArrayLike | None = None,
        constraint_cost: ArrayLike | None = None,
        budget: ArrayLike | None = None,
        actions: ArrayLike | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        copy: bool = True,
    ) -> None:
        start = validation.initial(initial)
        gamma = validation.discount(discount)
        n_actions = validation.action_count(transition, len(start))
        available = validation.actions(actions, (len(start), n_actions))
        kernel = validation.transition(transition, available, copy)
        if (reward is None) == (cost is None):
            given = "neither is" if reward is None else "both are"
            raise InputError(f"give either reward (to maximise) or cost (to minimise); {given} given")
        name, objective = ("cost", cost) if reward is None else ("reward", reward)
        gained, lower = validation.constraints(
            "constraint_reward", constraint_reward, "threshold", threshold, kernel, available, copy
        )
        paid, upper = validation.constraints(
            "constraint_cost", constraint_cost, "budget", budget, kernel, available, copy
        )
        utility = validation.utility(name, objective, kernel, available, copy)
        self._set(
            frozen if copy else read_only,
            transition=kernel,
            reward=utility if cost is None else -utility,
            constraint_reward=np.concatenate([gained, -paid]) if len(paid) else gained,
            threshold=frozen(np.concatenate([lower, -upper])),
            initial=frozen(start),
            discount=gamma,
            actions=frozen(available),
            sense=(">=",) * len(lower) + ("<=",) * len(upper),
            minimise=cost is not None,
            names=validation.names(names, (len(start), n_actions, len(lower) + len(upper))),
        )

    def _set(self, protect: Callable[[NDArray[Any]], NDArray[Any]] = read_only, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, _protected(value, protect))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the numbers of a pickled problem, which nobody else holds."""
        self._set(frozen, **state)

    def with_constraints(self, reward: Array, constraint_reward: Array, threshold: Array) -> CMDP:
        """Return the same process with other utilities, in the internal sense and taken as they are."""
        problem = object.__new__(CMDP)
        kept = {name: getattr(self, name) for name in ("transition", "initial", "discount", "actions")}
        problem._set(
            **kept,
            reward=reward,
            constraint_reward=constraint_reward,
            threshold=threshold,
            sense=(">=",) * len(threshold),
            minimise=False,
            names={},
        )
        return problem

    def with_limits(self, limit: Sequence[float] | ArrayLike) -> CMDP:
        """Return the same problem with other thresholds and budgets, in the user's terms, in order."""
        limits = validation.limits("limit", limit, self.sign[1:])
        return self._replace(threshold=frozen(limits * self.sign[1:]))

    def with_discount(self, discount: float) -> CMDP:
        """Return the same problem with another discount."""
        return self._replace(discount=validation.discount(discount))

    def _replace(self, **changes: Any) -> CMDP:
        problem = object.__new__(CMDP)
        problem._set(**{name: getattr(self, name) for name in self.__dataclass_fields__} | changes)
        return problem

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of states, actions and constraints, (S, A, K)."""
        return (*self.actions.shape, len(self.threshold))

    @property
    def is_sparse(self) -> bool:
        """Whether the transitions are stored as a sparse matrix."""
        return not isinstance(self.transition, np.ndarray)

    @cached_property
    def utility(self) -> Array:
        """The reward and the constraint rewards in one array, (J, S, A)."""
        return read_only(np.concatenate([self.reward[None], self.constraint_reward]))

    @cached_property
    def most_successors(self) -> int:
        """The largest number of successors that a pair has."""
        if isinstance(self.transition, np.ndarray):
            return max(int(np.count_nonzero(self.transition, axis=2).max()), 1)
        return max(int(np.diff(self.transition.indptr).max(initial=1)), 1)

    @cached_property
    def sign(self) -> Array:
        """+1 or −1 for each utility, (J,): the user's value is sign times the internal one."""
        senses = ("<=" if self.minimise else ">=", *self.sense)
        return read_only(np.array([1.0 if sense == ">=" else -1.0 for sense in senses]))

    @property
    def limit(self) -> Array:
        """Thresholds and budgets in the user's terms, (K,)."""
        return self.threshold * self.sign[1:]

    def name(self, kind: str, index: int) -> str:
        """Return the name of a state, an action or a constraint; its number where it has none."""
        if not isinstance(kind, str) or kind not in NAME_KEYS:
            raise unknown("kind of names", str(kind), NAME_KEYS)
        count = self.shape[[*NAME_KEYS].index(kind)]
        if validation.whole("index", index, least=0) >= count:
            raise InputError(f"index is {index}; the problem has {count} {kind}")
        given = self.names.get(kind)
        return given[index] if given else f"constraint {index + 1}" if kind == "constraints" else str(index)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a `.npz`, `.json` or `.drn` file, in the user's terms; see docs/problem-files.md."""
        ending = files.as_path(path).suffix
        validation.require_sound(self.transition)
        content = {key: value for key, value in self._content().items() if value is not None}
        writers = {".json": files.write_json, ".npz": mapped.write_npz, ".drn": drn.write}
        if ending == ".json":
            content |= {key: _limit_texts(content[key]) for key in LIMIT_KEYS if key in content}
        if ending not in writers:
            raise InputError(f"{path} must end in .npz, .json or .drn; rename it")
        writers[ending](path, content)

    def _content(self) -> dict[str, Any]:
        gained = self.sense.count(">=")
        utilities = {
            "cost" if self.minimise else "reward": self.reward * self.sign[0],
            "constraint_reward": self.constraint_reward[:gained] if gained else None,
            "threshold": self.threshold[:gained] if gained else None,
            "constraint_cost": -self.constraint_reward[gained:] if gained < len(self.sense) else None,
            "budget": -self.threshold[gained:] if gained < len(self.sense) else None,
        }
        kernel = self.transition
        process = (
            {"transition": kernel}
            if isinstance(kernel, np.ndarray)
            else dict(zip(SPARSE_KEYS, (kernel.data, kernel.indices, kernel.indptr), strict=True))
        )
        rest = {
            "initial": self.initial,
            "discount": self.discount,
            "actions": None if self.actions.all() else self.actions,
        }
        names = {NAME_KEYS[kind]: np.array(given) for kind, given in self.names.items()}
        return process | utilities | rest | names

    def __repr__(self) -> str:
        counts = zip(self.shape, ("state", "action", "constraint"), strict=True)
        size = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        kind = "sparse" if self.is_sparse else "dense"
        return f"CMDP({size}, discount {self.discount:g}, {kind})"


def require_problem(given: Any) -> CMDP:
    """Refuse what is no problem."""
    if isinstance(given, CMDP):
        return given
    if isinstance(given, str | os.PathLike):
        name = os.fspath(given)
        raise InputError(
            f"problem is {name!r}; give the problem itself: painless.make({name!r}), or painless.load({name!r}) for a file"
        )
    raise InputError(f"problem is a {type(given).__name__}; give a CMDP, such as painless.make('gridworld')")


def _protected(value: Any, protect: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return an array, or a sparse matrix, that cannot be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        return protect(value)
    if hasattr(value, "indptr"):
        parts = tuple(protect(part) for part in (value.data, value.indices, value.indptr))
        return scipy.sparse.csr_array(parts, shape=value.shape)
    return value


def load(
    path: str | os.PathLike[str],
    *,
    discount: float | None = None,
    limit: ArrayLike | None = None,
    reward: str | None = None,
    cost: str | None = None,
    constraint_reward: str | Sequence[str] | None = None,
    constraint_cost: str | Sequence[str] | None = None,
) -> CMDP:
    """Read a problem file, `.npz`, `.json` or `.drn`, as written by `CMDP.save`; nothing in it is executed.

    `discount` and `limit` (thresholds and budgets, in order) take the place of those in the file. The rest is
    for models that Storm wrote, which have none: the names of reward models, in the places where `CMDP` takes arrays.
    """
    given = {
        "discount": discount,
        "limit": limit,
        "reward": reward,
        "cost": cost,
        "constraint_reward": constraint_reward,
        "constraint_cost": constraint_cost,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if files.as_path(path).suffix == ".drn":
        return _problem(path, lambda: drn.read(path, given))
    for name in given:
        if name not in ("discount", "limit"):
            raise InputError(
                f"{path}: {name} is for .drn files, whose reward models have names; leave it out"
            )
    problem = _problem(path, lambda: mapped.read(path, FILE_KEYS))
    problem = problem if discount is None else problem.with_discount(discount)
    return problem if limit is None else problem.with_limits(limit)


def _problem(path: str | os.PathLike[str], read: Callable[[], dict[str, Any]]) -> CMDP:
    content = read()
    for key in content:
        if key not in FILE_KEYS:
            raise InputError(f"{path}: {unknown('entry', key, FILE_KEYS)}")
    try:
        return CMDP(**_arguments(content), copy=False)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    content = {key: value for key, value in given.items() if value is not None}
    for key in ("initial", "discount"):
        if key not in content:
            raise InputError(f"'{key}' is missing; docs/problem-files.md lists what a file needs")
    names = {kind: _names(key, content.pop(key)) for kind, key in NAME_KEYS.items() if key in content}
    content |= {key: _limit_numbers(content[key]) for key in LIMIT_KEYS if key in content}
    parts = [content.pop(key, None) for key in SPARSE_KEYS]
    if any(part is not None for part in parts):
        if "transition" in content:
            raise InputError("give transition or transition_data/_indices/_indptr, not both")
        content["transition"] = _sparse(parts, len(validation.initial(content["initial"])))
    if "transition" not in content:
        raise InputError("'transition' is missing; docs/problem-files.md lists what a file needs")
    return content | {"names": names}


def _limit_texts(limits: Array) -> list[float | str]:
    """Return limits for JSON, which has no infinite numbers: "inf" or "-inf" in their place."""
    return [limit if np.isfinite(limit) else str(limit) for limit in limits.tolist()]


def _limit_numbers(limits: Any) -> Any:
    """Return limits of a file with "inf" and "-inf" as numbers."""
    numbers = {"inf": np.inf, "-inf": -np.inf}
    if isinstance(limits, list):
        return [numbers.get(limit, limit) if isinstance(limit, str) else limit for limit in limits]
    return numbers.get(limits, limits) if isinstance(limits, str) else limits


def _names(key: str, values: Any) -> list[str]:
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "USiuf":
            raise ValueError(f"an array of shape {array.shape} and type {array.dtype}")
        return [str(name) for name in array.astype(str)]
    except ValueError as error:
        raise InputError(f"'{key}' is not a list of names ({error}); give one text for each") from error


def _sparse(parts: Sequence[Any], states: int) -> scipy.sparse.csr_array[np.float64]:
    for key, part in zip(SPARSE_KEYS, parts, strict=True):
        if part is None:
            raise InputError(f"'{key}' is missing; a sparse transition needs all of {', '.join(SPARSE_KEYS)}")
    data = validation.as_numbers(SPARSE_KEYS[0], parts[0])
    indices, indptr = (_whole(key, part) for key, part in zip(SPARSE_KEYS[1:], parts[1:], strict=True))
    try:
        return scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, states))
    except ValueError as error:
        raise InputError(f"the sparse transition is not a valid CSR matrix: {error}; save it anew") from error


def _whole(key: str, values: Any) -> NDArray[np.signedinteger]:
    array = validation.as_numbers(key, values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{key} is not a list of whole numbers; see docs/problem-files.md")
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
