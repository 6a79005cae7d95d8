"""Validation of a model's arrays other than its transitions. Every error says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import (
    as_floats,
    as_numbers,
    first,
    is_single,
    number,
    require_finite,
    require_not_negative,
    require_sums,
)
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, shown, unknown
from painless.problem.names import Names, as_objects
from painless.problem.transitions import is_sparse, normalised, owned, without_strays

LARGEST = 1e100  # size of a utility, so that no sum or product of values overflows
KINDS = ("states", "actions", "constraints")  # of names
SHORTEST = 1e-8  # 1 − γ, below which rounding leaves little to prove, and HiGHS takes 1 − γ for 0


def discount(value: Any, largest: float | None = None) -> float:
    """Check 0 ≤ γ < 1, and that γ is not so close to 1 that rounding outweighs what can be proved; or γ ≤ `largest`."""
    if value is None:
        raise InputError("discount is missing; give one such as 0.9, or a horizon, or an end")
    gamma = number("discount", value, "give one such as 0.9")
    if largest is not None:
        if not 0 <= gamma <= largest:
            raise InputError(f"discount is {value}, outside [0, {largest:g}]")
        return gamma
    if not 0 <= gamma < 1:
        raise InputError(
            f"discount is {value}, outside [0, 1); for the total reward of a process that ends, give a CMDP the "
            "discount 1, and its end"
        )
    if gamma > 1 - SHORTEST:
        raise InputError(
            f"discount is {gamma!r}, so close to 1 that rounding outweighs what can be proved of sums over "
            f"1/(1 − discount) steps; give one of at most 1 − {SHORTEST:g}, or 1 if the process ends"
        )
    return gamma


def initial(values: ArrayLike) -> Array:
    """Check that ρ is a distribution over the states, and return a copy."""
    array = as_floats("initial", values)
    if array.ndim != 1 or not array.size:
        raise InputError(f"initial has shape {array.shape}, not (S,); give one probability for each state")
    require_finite("initial", array)
    require_not_negative("initial", array)
    require_sums("initial", np.asarray(array.sum()), True, is_single(values), "divide it by its sum")
    return owned(normalised(array), array)


def actions(values: ArrayLike | None, shape: tuple[int, int]) -> Mask:
    """Check the mask of available actions, and return a copy."""
    if values is None:
        return np.ones(shape, dtype=bool)
    given = as_numbers("actions", values)
    if given.shape != shape:
        raise InputError(f"actions has shape {given.shape}, not (S, A) = {shape}")
    wrong = np.zeros(0, dtype=bool) if given.dtype == np.bool_ else ~np.isin(given, (0, 1))
    if wrong.any():
        raise InputError(f"actions{first(wrong)} is {given[wrong][0]}; give true or false for each action")
    mask = given.astype(bool)
    if not mask.any(1).all():
        state = int(np.argmin(mask.any(1)))
        raise InputError(f"state {state} has no actions; give it one that stays there, with reward 0").at(
            [state]
        )
    return mask


def utility(name: str, values: object, kernel: Any, available: Mask, copy: bool = True) -> Array:
    """Check one utility, (S, A), and average one of shape (S, A, S) over the successor."""
    given = as_numbers(name, values)
    array = as_floats(name, given)
    states, n_actions = available.shape
    if array.shape == (n_actions, states, states) and n_actions != states:
        raise InputError(
            f"{name} has shape {array.shape}, which looks like (A, S, S); transpose it to (S, A, S): {name}.transpose(1, 0, 2)"
        )
    if array.shape not in (available.shape, (states, n_actions, states)):
        raise InputError(f"{name} has shape {array.shape}, not (S, A) = {available.shape} or (S, A, S)")
    pairs = available if array.ndim == 2 else available[:, :, None]
    if array.ndim == 2 and (np.isneginf(array) & pairs).any():
        wrong = np.isneginf(array) & pairs
        raise InputError(
            f"{name}{first(wrong)} is -inf; if that marks an action that the state does not have, give "
            f"actions=np.isfinite({name})"
        ).at(np.argwhere(wrong)[0])
    require_finite(name, array, pairs)
    largest = float(np.abs(array).max(initial=0.0, where=pairs))
    if largest > LARGEST:  # values would overflow
        wrong = (np.abs(array) > LARGEST) & pairs
        raise InputError(
            f"{name}{first(wrong)} is {float(array[wrong][0])!r}, beyond ±{LARGEST:g}, so that values would "
            "overflow; give it in larger units"
        ).at(np.argwhere(wrong)[0])
    array = without_strays(array, available, largest)
    return owned(array if array.ndim == 2 else _over_successors(array, kernel), given, copy)


def require_representable(name: str, low: Array, high: Array) -> None:
    """Reject utilities (J,) of which some values are so large that sums would overflow."""
    largest = np.maximum(np.abs(low), np.abs(high))
    if (largest > LARGEST).any():
        raise InputError(
            f"{name}{first(largest > LARGEST)} is up to {largest.max():g}, beyond ±{LARGEST:g}, so that values would overflow; give it "
            "in larger units"
        )


def _over_successors(array: Array, kernel: Any) -> Array:
    """u(s, a) = Σ_s' P(s'|s, a) u(s, a, s')."""
    if is_sparse(kernel):
        flat = array.reshape(kernel.shape)
        return np.asarray(kernel.multiply(flat).sum(1)).reshape(array.shape[:2])
    return np.einsum("sat,sat->sa", kernel, array)


def constraints(
    name: str,
    values: object,
    limit_name: str,
    limit: ArrayLike | None,
    kernel: Any,
    available: Mask,
    copy: bool = True,
) -> tuple[Array, Array]:
    """Check constraints (K, S, A) and their limits (K,); K = 1 may drop its axis."""
    require_both(name, values, limit_name, limit)
    if values is None or limit is None:
        return np.empty((0, *available.shape)), np.empty(0)
    bound = limits(limit_name, limit, -1.0 if limit_name == "budget" else 1.0)
    given = as_numbers(name, values)
    array = as_floats(name, given)
    states, n_actions = available.shape
    full = (len(bound), states, n_actions)
    if not array.size and not len(bound):
        return np.empty(full), bound
    alone = array.ndim < 3 or (array.shape == (states, n_actions, states) and array.shape != full)
    count = 1 if alone else len(array)
    if count != len(bound):
        raise InputError(
            f"{limit_name} has {len(bound)} entries but {name} has shape {array.shape}, "
            f"that is {count} constraint(s); give (K, S, A) = {full} or as many limits as constraints"
        )
    if alone:
        return owned(utility(name, array, kernel, available, False)[None], given, copy), bound
    checked = [utility(f"{name}[{i}]", one, kernel, available, False) for i, one in enumerate(array)]
    untouched = all(np.shares_memory(one, array) for one in checked)
    return (owned(array, given, copy) if untouched else np.array(checked)), bound


def require_both(name: str, values: object, limit_name: str, limit: object) -> None:
    """Reject constraints without limits, and limits without constraints."""
    if (values is None) != (limit is None):
        missing, present = (limit_name, name) if limit is None else (name, limit_name)
        raise InputError(f"{present} is given without {missing}; give both")


def limits(name: str, values: ArrayLike, sign: Array | float = 1.0) -> Array:
    """Check thresholds (sign +1) or budgets (−1), (K,) or one number, and return a copy.

    A threshold of −∞ or a budget of ∞ is no limit.
    """
    given = as_numbers(name, values)
    bound = np.atleast_1d(as_floats(name, given))
    if bound.ndim != 1:
        raise InputError(f"{name} has shape {bound.shape}, not (K,); give one number for each constraint")
    if np.isnan(bound).any():
        raise InputError(
            f"{name}{first(np.isnan(bound))} is nan; give a number, or an infinite one for no limit"
        )
    if isinstance(sign, np.ndarray) and len(bound) != len(sign):
        raise InputError(
            f"{len(bound)} limit(s) given for {len(sign)} constraint(s); "
            "give one number for each, in the order of the constraints"
        )
    never = bound * sign == np.inf
    if never.any():
        shown, none = bound[never][0], -bound[never][0]
        raise InputError(f"{name}{first(never)} is {shown}, which no policy meets; {none} is no limit")
    return owned(bound, given)


def names(given: Mapping[str, Iterable[object]] | None, shape: tuple[int, int, int]) -> dict[str, Names]:
    """Check that there is one name for each state, action or constraint that has any, and no two are the same."""
    counts = dict(zip(KINDS, shape, strict=True))
    if not isinstance(given, Mapping | None):
        raise InputError(f"names is {shown(given)}; give lists of names under {', '.join(counts)}")
    checked = {}
    for kind, values in (given or {}).items():
        if kind not in counts:
            raise unknown("kind of names", str(kind), counts)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"names['{kind}'] is {shown(values)}; give a list of {counts[kind]} names")
        checked[kind] = (
            values if isinstance(values, Names) else Names.of(f"names['{kind}']", as_objects(values))
        )
        if len(checked[kind]) != counts[kind]:
            raise InputError(
                f"names['{kind}'] has {len(checked[kind])} entries, not {counts[kind]}; name every one"
            )
    return checked


def is_average(given: object) -> bool:
    """Check whether the long-run average is asked for."""
    value = given.item() if isinstance(given, np.ndarray | np.generic) and not given.ndim else given
    if not isinstance(value, bool) and value not in (0, 1):
        raise InputError(f"average is {given!r}; give True for the long-run average, or leave it out")
    return bool(value)


def refuse_beside_average(**others: object) -> None:
    """Reject what a long-run average has no use for."""
    for name, given in others.items():
        if given is not None:
            raise InputError(
                f"{name} has no meaning beside average=True, which counts every step alike for ever; leave one of them out"
            )


def is_one(discount: object) -> bool:
    """Whether a discount is given as exactly 1, which is the total reward until the end."""
    value = discount.item() if isinstance(discount, np.ndarray) and not discount.ndim else discount
    return isinstance(value, Real) and not isinstance(value, bool) and value == 1
