"""A user's functions of states and actions, compiled by Numba and checked on all pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.common.threads import Threads, cores
from painless.problem import _callback_kernels as kernels

PIECES = 64  # of all states, whatever the number of cores
MODELS = 64  # functions whose compiled forms are kept


class Callbacks(NamedTuple):
    """Compiled functions of a state and an action."""

    successors: Any  # (s, a, target, probability) → count
    write: Any  # (s, a, utility) writes all utilities
    most: int  # successors of a pair

    @property
    def room(self) -> int:
        """The length of `target` and `probability`."""
        return self.most + kernels.GUARD


class Checked(NamedTuple):
    """What a pass over all pairs has found."""

    low: Array  # (J,) of every utility
    high: Array  # (J,)
    first: NDArray[np.unsignedinteger]  # (S,) the first action of each state


def compiled(successors: Any, utilities: Any, count: int, most: int) -> Callbacks:
    """Compile both functions, unless they are compiled already; `count` utilities are expected."""
    room = most + kernels.GUARD
    ready = _compiled("successors", successors)
    found = _called(
        "successors", ready, (0, 0, np.empty(room, np.int64), np.empty(room)), "(s, a, target, probability)"
    )
    if isinstance(found, bool) or not isinstance(found, int | np.integer):
        raise InputError(
            f"successors(0, 0, target, probability) returns {shown(found)}; write the successors to target and their probabilities "
            "to probability, and return how many there are"
        )
    ready_utilities = _compiled("utilities", utilities)
    values = _called("utilities", ready_utilities, (0, 0), "(s, a)")
    given = len(values) if isinstance(values, tuple) else 1
    if given != count:
        raise InputError(
            f"utilities(0, 0) returns {given} number{'' if given == 1 else 's'}, but there are {count - 1} limits; return the reward or "
            "cost, then a number for each threshold, then one for each budget"
        )
    return Callbacks(ready, _writer(ready_utilities, count, isinstance(values, tuple)), most)


@lru_cache(MODELS)
def _jitted(function: Callable[..., Any]) -> Any:
    import numba

    decorate: Any = numba.njit
    return decorate(error_model="numpy", nogil=True)(function)


def _compiled(name: str, function: Any) -> Any:
    """Return a function as Numba's compiled object."""
    if not callable(function):
        raise InputError(f"{name} is {shown(function)}; give a function")
    return function if hasattr(function, "py_func") else _jitted(function)


def _called(name: str, function: Any, arguments: tuple[Any, ...], signature: str) -> Any:
    """Call a function for the first time, which compiles it."""
    from numba.core.errors import NumbaError

    try:
        return function(*arguments)
    except (NumbaError, TypeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        why = next((line for line in lines if not line.startswith("Failed in")), type(error).__name__)
        raise InputError(
            f"{name} does not compile: {why}; write a function {signature} with numbers and NumPy arrays, as Numba compiles it"
        ) from error
    except Exception as error:
        raise _raised(name, error) from error


def _raised(name: str, error: Exception) -> InputError:
    return InputError(
        f"{name} raises {type(error).__name__}: {error}; return 0 successors for an action that a state does not have"
    )


@lru_cache(MODELS)
def _writer(utilities: Any, count: int, several: bool) -> Any:
    """Return a compiled function that writes what `utilities` returns into an array."""
    import numba

    decorate: Any = numba.njit(error_model="numpy", nogil=True)

    def single(s: int, a: int, utility: Array) -> None:
        utility[0] = utilities(s, a)

    if not several:
        return decorate(single)
    fill: Any = None
    for j in range(count):
        fill = decorate(_also(fill, j))

    def write(s: int, a: int, utility: Array) -> None:
        fill(utilities(s, a), utility)

    return decorate(write)


def _also(before: Any, j: int) -> Callable[[Any, Array], None]:
    """Write one more entry of a tuple; its index is a constant, so that entries may have different types."""

    def first(values: Any, utility: Array) -> None:
        utility[j] = values[j]

    def fill(values: Any, utility: Array) -> None:
        before(values, utility)
        utility[j] = values[j]

    return first if before is None else fill


def checked(callbacks: Callbacks, states: int, actions: int, count: int) -> Checked:
    """Check every pair, and return the ranges of the utilities; raise an error that names the first pair that is wrong."""
    first = np.zeros(states, np.min_scalar_type(actions - 1))
    most = callbacks.most

    def part(begin: int, end: int) -> tuple[tuple[int, int, int, int, float], Array, Array]:
        low, high = np.empty(count), np.empty(count)
        wrong = kernels.check(
            *(callbacks.successors, callbacks.write, states, actions, most, low, high, first, begin, end)
        )
        return wrong, low, high

    try:
        found = Threads(cores()).share(part, states, PIECES)
    except Exception as error:
        raise _raised("successors or utilities", error) from error
    for wrong, _, _ in found:
        if wrong[0]:
            raise _wrong(*wrong, states, most)
    low, high = (np.array([one[side] for one in found]) for side in (1, 2))
    return Checked(low.min(0), high.max(0), first)


def _wrong(what: int, s: int, a: int, count: int, number: float, states: int, most: int) -> InputError:
    """Return what is wrong with a pair."""
    pair = f"successors({s}, {a})"
    sentences = {
        kernels.COUNT: f"{pair} returns {count}; give at most most_successors={most}, or a larger most_successors",
        kernels.TARGET: f"{pair} gives state {number:.0f}; states are 0 to {states - 1}",
        kernels.PROBABILITY: f"{pair} gives the probability {number:g}; give numbers of at least 0",
        kernels.SUM: f"the probabilities of {pair} sum to {_sum(number)}, not 1; divide them by their sum",
        kernels.UTILITY: f"utilities({s}, {a})[{count}] is {number}; every utility must be finite",
        kernels.ACTIONLESS: f"state {s} has no action: successors({s}, a) returns 0 for every a; give it one, such as to stay",
    }
    return InputError(sentences[what])


def _sum(total: float) -> str:
    return f"{total:.6f}" if not abs(total - 1) <= 1e-6 else f"{total:.10f}"
