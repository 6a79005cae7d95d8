"""Models of model checkers as the entries of a problem file: states, choices by state, named reward models.

Such a model has neither a discount nor constraints: the user says what they are, with the words of `CMDP` and the names of reward
models in the places of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arguments import SINGLE_TOLERANCE, SUM_TOLERANCE
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, unknown
from painless.problem.ending import end_mask
from painless.problem.formats import parsing
from painless.problem.names import limit_names
from painless.problem.reaching import Reach, labelled, reaching_of
from painless.storage.memory import require_room

OBJECTIVES, CONSTRAINTS = ("reward", "cost"), ("constraint_reward", "constraint_cost")
LIMITS = ("threshold", "budget")
CRITERIA = ("discount", "horizon", "end", "average")  # that say how the utilities of the steps add up
UNLABELLED = ("__NOLABEL__", "")  # what Storm calls a choice that has no name, in `.drn` and `.umb` files
NAMELESS = "unlabelled"  # what it is called here, beside others that have names
ABSENT = 10_000  # no problem of ours has more pairs for each choice that there is
DIGITS = 9  # of a number that is the name of an action, at most
SPARE = 10  # how many times as large as its choices a table of named actions may be


class Choices(NamedTuple):
    """S states and N choices, those of a state in a row, with J reward models."""

    pointer: NDArray[np.int64]  # (N + 1,) where the successors of each choice begin
    successor: NDArray[np.int64]  # (nnz,)
    probability: Array  # (nnz,)
    state: NDArray[np.int64]  # (N,) to which each choice belongs
    name: NDArray[np.int64]  # (N,) of each choice, in `names`
    names: list[str]
    reward: Array  # (J, N) of states and choices together
    initial: Mask  # (S,) which states are first ones, all equally likely
    state_names: list[str] | None = None
    labels: Mapping[str, Mask] = MappingProxyType({})  # (S,) each: which states have it


def process_of(
    model: Choices, place: Callable[[int], str] = lambda _: "", actions: int | None = None
) -> dict[str, Any]:
    """Return transitions, mask, initial distribution and names of a model, and its rewards as `utility`, (J, S, A).

    `place` says where a state stands in its file, for messages. With a number of `actions`, `name` is the action of each choice, and
    probabilities are what they are.
    """
    column, names = _columns(model) if actions is None else (model.name, [str(i) for i in range(actions)])
    shape = (len(model.initial), len(names))
    require_table(shape, len(model.reward))
    probability = _normalised(model, place) if actions is None else model.probability
    parts = table(model.state * shape[1] + column, shape, model.pointer, model.successor, probability)
    return {
        **parts,
        **utilities(model.state, column, shape, model.reward),
        "initial": model.initial / model.initial.sum(),
        "action_names": np.array(names),
        "state_names": None if model.state_names is None else np.array(model.state_names),
    }


def _columns(model: Choices) -> tuple[NDArray[np.int64], list[str]]:
    """Return the action that each choice is: by its name, or else by its place among the choices of its state."""
    states = len(model.initial)
    place = np.arange(len(model.state)) - np.searchsorted(model.state, model.state)
    used, column = np.unique(model.name, return_inverse=True)
    names = [NAMELESS if model.names[i] in UNLABELLED else model.names[i] for i in used]
    numbered = all(name.isdecimal() and len(name) < DIGITS for name in names)
    order = np.argsort([int(name) if numbered else name == NAMELESS for name in names], kind="stable")
    names, column = [names[i] for i in order], np.argsort(order)[column]
    size = states * len(names)
    usable = names != [NAMELESS] and len({*names}) == len(names) and size <= SPARE * len(model.state)
    if usable and np.bincount(model.state * len(names) + column).max() == 1:
        return column, names
    return place, [str(i) for i in range(int(place.max()) + 1)]


def _normalised(model: Choices, place: Callable[[int], str]) -> Array:
    """Return probabilities whose rows sum to 1, if they did but for the digits that were written."""
    sums = np.add.reduceat(model.probability, model.pointer[:-1])
    error = np.abs(sums - 1)
    if error.max() > SINGLE_TOLERANCE:
        choice = int(np.argmax(error > SINGLE_TOLERANCE))
        state = int(model.state[choice])
        raise InputError(
            f"{place(state)}the probabilities of action '{model.names[model.name[choice]]}' "
            f"in state {state} sum to {sums[choice]:.6f}, not 1; correct them"
        )
    if error.max() <= SUM_TOLERANCE:
        return model.probability
    return model.probability / np.repeat(np.where(error > SUM_TOLERANCE, sums, 1.0), np.diff(model.pointer))


def start_at(model: Choices, given: Mapping[str, Any]) -> Choices:
    """Return a model whose first states are those that the user gives, by labels or numbers; else its own."""
    if "initial" not in given:
        return model
    first = _states(given["initial"], model.labels)
    return model._replace(initial=end_mask(first, len(model.initial), None, "initial"))


def without(model: Choices, added: int) -> Choices:
    """Return a model without its last states, and without what leads there."""
    if not added:
        return model
    states = len(model.initial) - added
    choices = int(np.searchsorted(model.state, states))
    stop = model.pointer[choices]
    kept = model.successor[:stop] < states
    return model._replace(
        pointer=np.append(0, np.cumsum(kept))[model.pointer[: choices + 1]],
        successor=model.successor[:stop][kept],
        probability=model.probability[:stop][kept],
        state=model.state[:choices],
        name=model.name[:choices],
        reward=model.reward[:, :choices],
        initial=model.initial[:states],
        labels={label: mask[:states] for label, mask in model.labels.items()},
    )


def require_table(shape: tuple[int, int], numbers: int) -> None:
    """Reject tables that take more memory than there is: so many numbers for each pair, and an index or two."""
    require_room("the table", 8.0 * shape[0] * shape[1] * (numbers + 2))


def table(
    pair: NDArray[np.int64],
    shape: tuple[int, int],
    pointer: NDArray[np.int64],
    successor: NDArray[np.int64],
    probability: Array,
) -> dict[str, Any]:
    """Return the CSR parts of the (S·A, S) matrix whose row pair[i] is the i-th choice."""
    if np.bincount(pair).max() > 1:
        raise ValueError("an action twice")
    rows = scipy.sparse.csr_array((probability, successor, pointer), shape=(len(pair), shape[0]))
    if (np.diff(pair) < 0).any():
        order = np.argsort(pair)
        rows, pair = rows[order], pair[order]
    count = np.zeros(shape[0] * shape[1], dtype=np.int64)
    count[pair] = np.diff(rows.indptr)
    return {
        "transition_data": rows.data,
        "transition_indices": rows.indices,
        "transition_indptr": np.append(0, np.cumsum(count)),
    }


def dense(parts: dict[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    """Return the dense transitions, (S, A, S), of CSR parts."""
    arrays = tuple(parts[f"transition_{name}"] for name in ("data", "indices", "indptr"))
    kernel = scipy.sparse.csr_array(arrays, shape=(shape[0] * shape[1], shape[0]))
    return {"transition": kernel.toarray().reshape(*shape, shape[0])}


def utilities(
    state: NDArray[np.int64], column: NDArray[np.int64], shape: tuple[int, int], reward: Array
) -> dict[str, Any]:
    """Return the rewards as a table, (J, S, A), and which actions there are."""
    utility = np.zeros((len(reward), *shape))
    utility[:, state, column] = reward
    actions: Mask = np.zeros(shape, dtype=bool)
    actions[state, column] = True
    return {"utility": utility, "actions": None if actions.all() else actions}


def settings_of(note: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said about a model: by the user, and in the rest by our own note."""
    roles = (*OBJECTIVES, *CONSTRAINTS)
    told = any(role in given for role in roles)
    dropped = (*roles, "limit", "constraint_names") if told else ()
    if given.get("average") or "horizon" in given or "end" in given:
        dropped = (*dropped, *CRITERIA)
    elif "discount" in given:
        dropped = (*dropped, "average")
    kept = {"constraint_names": None, **note} if note else {}
    return {key: value for key, value in kept.items() if key not in dropped} | dict(given)


def terms(
    known: Sequence[str],
    utility: Array,
    settings: Mapping[str, Any],
    ending: str,
    labels: Mapping[str, Mask] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the criterion, objective and constraints under the names of problem files.

    In the place of a reward model may stand `reach(label)`, the probability of ever coming to the states with a label.
    """
    settings = dict(settings) | {
        role: reaching_of(settings[role], labels) for role in (*OBJECTIVES, *CONSTRAINTS) if role in settings
    }
    told = {name: settings.get(name) for name in CRITERIA}
    criterion = {name: value for name, value in told.items() if value is not None and value is not False}
    reaches = [one for role in (*OBJECTIVES, *CONSTRAINTS) for one in _as_list(settings.get(role, []))]
    if not criterion and any(isinstance(one, Reach) for one in reaches):
        criterion = {"discount": 1.0}  # the probability of ever coming there
    if not criterion:
        raise InputError(
            f"a {ending} file has no discount; give one: load(path, discount=0.99), --discount 0.99 on the command line; "
            "or a number of steps: horizon=100, --horizon 100; or the label of the states where it ends: end='goal', "
            "-p end=goal; or average=True, --average"
        )
    if "end" in criterion:
        criterion["end"] = _states(criterion["end"], labels)
    if not known and not all(isinstance(one, Reach) for one in reaches or [None]):
        raise InputError("the model has no reward models; add one to what is exported")
    chosen: dict[str, list[Any]] = {
        role: _as_list(settings[role]) for role in (*OBJECTIVES, *CONSTRAINTS) if role in settings
    }
    for role in OBJECTIVES:
        if len(chosen.get(role, "1")) != 1:
            raise InputError(f"{role} is {settings[role]!r}; give the name of one reward model")
    limit = settings.get("limit")
    objective = next((role for role in OBJECTIVES if role in chosen), None)
    if objective is None:
        objective, rest = "reward", list(known[1:])
        chosen["reward"] = [known[0]]
        if rest and limit is None and not any(role in chosen for role in CONSTRAINTS):
            raise InputError(
                f"the model has {len(known)} reward models ({', '.join(known)}); say which to maximise (reward) or "
                "minimise (cost), and which are constrained (constraint_reward, constraint_cost), with limits"
            )
    if limit is not None and not any(role in chosen for role in CONSTRAINTS):
        chosen["constraint_reward"] = [name for name in known if name not in chosen[objective]]
    arrays = {role: _table([_one(name, known, utility) for name in names]) for role, names in chosen.items()}
    chosen = {role: [str(name) for name in names] for role, names in chosen.items()}
    result = {role: arrays[role][0] for role in OBJECTIVES if role in chosen}
    return result | _constraints(chosen, arrays, limit, settings) | criterion


def _constraints(
    chosen: Mapping[str, list[str]], arrays: Mapping[str, Any], limit: Any, settings: Mapping[str, Any]
) -> dict[str, Any]:
    names = [name for role in CONSTRAINTS for name in chosen.get(role, [])]
    limits = list(np.atleast_1d([] if limit is None else limit))
    if len(limits) != len(names):
        raise InputError(
            f"{len(limits)} limit(s) given for {len(names)} constraint(s) ({', '.join(names) or 'none'}); "
            "give one for each, constraint rewards first: load(path, limit=[…]), or --threshold (-p limit=…)"
        )
    result: dict[str, Any] = {}
    for role, bound in zip(CONSTRAINTS, LIMITS, strict=True):
        if chosen.get(role):
            result |= {role: arrays[role], bound: limits[: len(arrays[role])]}
            limits = limits[len(arrays[role]) :]
    shown = limit_names(*(chosen.get(role, []) for role in CONSTRAINTS))
    return result | {"constraint_names": settings.get("constraint_names", shown) if names else None}


# What `load` takes for these files, and how each is read from text on the command line.
PARAMETERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(OBJECTIVES, str),
    **dict.fromkeys(CONSTRAINTS, parsing.names),
    "discount": parsing.number,
    "horizon": parsing.whole,
    "end": parsing.name_or_names,
    "average": parsing.yes_or_no,
    "limit": parsing.numbers,
    "initial": parsing.states,
}


def _states(given: Any, labels: Mapping[str, Mask]) -> Any:
    """Return the states with one of some labels, (S,), or without it (`!label`); what is no text stands for states themselves."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return given
    if not labels or not names:
        return given
    return np.logical_or.reduce([labelled(name, labels) for name in names])


def _as_list(names: Any) -> list[Any]:
    return [names] if isinstance(names, str | Reach) else list(names)


def _table(parts: list[Any]) -> Any:
    """Return utilities as one array, (K, S, A), or as a list if there are sets to reach among them."""
    return parts if any(isinstance(one, Reach) for one in parts) else np.array(parts)


def _one(name: Any, known: Sequence[str], utility: Array) -> Any:
    if isinstance(name, Reach):
        return name
    if name not in known:
        raise unknown("reward model", str(name), known)
    return utility[list(known).index(name)]
