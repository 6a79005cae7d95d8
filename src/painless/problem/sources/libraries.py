"""Problems in the layouts of other libraries: QuantEcon's discrete dynamic programs, and those of pymdptoolbox."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless.common.arguments import as_floats, as_numbers
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import CMDP
from painless.problem.transitions import is_sparse

UTILITIES = ("constraint_reward", "constraint_cost")


def from_quantecon(
    R: Any,
    Q: Any = None,
    beta: float | None = None,
    s_indices: ArrayLike | None = None,
    a_indices: ArrayLike | None = None,
    *,
    initial: ArrayLike,
    **options: Any,
) -> CMDP:
    """Make a problem of what `quantecon.markov.DiscreteDP` takes, or of a `DiscreteDP` itself.

    Arguments:
        R: rewards (S, A), where −∞ marks actions that a state does not have; or (L,) of state–action pairs.
        Q: transitions (S, A, S), or (L, S), dense or sparse.
        beta: the discount.
        s_indices, a_indices: (L,) the state and the action of each pair.
        initial: ρ, the distribution of the first state, (S,).
        options: what `CMDP` takes, such as constraints and names. Constraints of pairs are (L,) or (K, L).

    >>> R, Q = [[5, 10], [-1, -np.inf]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    >>> from_quantecon(R, Q, 0.95, initial=[1.0, 0.0]).actions
    array([[ True,  True],
           [ True, False]])
    """
    if Q is None and all(hasattr(R, name) for name in ("R", "Q", "beta")):
        R, Q, beta, s_indices, a_indices = (
            getattr(R, name, None) for name in ("R", "Q", "beta", "s_indices", "a_indices")
        )
    if Q is None or beta is None:
        raise InputError("give R, Q and beta, or a DiscreteDP of QuantEcon")
    if (s_indices is None) != (a_indices is None):
        raise InputError("give both s_indices and a_indices, or neither")
    if s_indices is not None and a_indices is not None:
        return _from_pairs(R, Q, beta, _indices("s", s_indices), _indices("a", a_indices), initial, options)
    reward = as_floats("R", R)
    if np.ndim(reward) != 2:
        raise InputError(
            f"R has shape {reward.shape}, not (S, A); give s_indices and a_indices for a list of pairs"
        )
    available = ~np.isneginf(reward)
    return CMDP(Q, reward, initial=initial, discount=beta, **({"actions": available} | options))


def _from_pairs(
    R: Any,
    Q: Any,
    beta: float,
    state: NDArray[np.intp],
    action: NDArray[np.intp],
    initial: ArrayLike,
    options: dict[str, Any],
) -> CMDP:
    """Return a problem of state–action pairs."""
    kernel = scipy.sparse.csr_array(Q if is_sparse(Q) else as_floats("Q", Q))
    states = kernel.shape[1]
    lengths = {len(state), len(action), kernel.shape[0], len(as_floats("R", R))}
    if len(lengths) > 1:
        raise InputError(
            f"R, Q, s_indices and a_indices have {sorted(lengths)} entries; give one for each pair"
        )
    wrong = (state < 0) | (state >= states) | (action < 0)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"pair {k} is state {state[k]}, action {action[k]}; Q has {states} states, and numbers begin at 0"
        )
    shape = (states, int(action.max(initial=0)) + 1)
    pair = state * shape[1] + action
    if (np.bincount(pair) > 1).any():
        k = int(np.argmax(np.bincount(pair)[pair] > 1))
        raise InputError(f"state {state[k]}, action {action[k]} is listed twice; list each pair once")
    place = scipy.sparse.csr_array(
        (np.ones(len(pair)), (pair, np.arange(len(pair)))), shape=(states * shape[1], len(pair))
    )
    available = np.zeros(shape, dtype=bool)
    available[state, action] = True
    options = {
        name: _scattered(name, value, place, shape) if name in UTILITIES and value is not None else value
        for name, value in options.items()
    }
    return CMDP(
        scipy.sparse.csr_array(place @ kernel),
        _scattered("R", R, place, shape),
        initial=initial,
        discount=beta,
        **({"actions": available} | options),
    )


def _scattered(name: str, values: Any, place: Any, shape: tuple[int, int]) -> Array:
    """Return utilities of pairs, (L,) or (K, L), as tables, (S, A) or (K, S, A); tables as they are."""
    array = as_floats(name, values)
    if array.shape[-2:] == shape or array.shape[-1:] != (place.shape[1],):
        return array
    return np.asarray((place @ np.nan_to_num(array, neginf=0.0).T).T).reshape(*array.shape[:-1], *shape)


def _indices(name: str, values: ArrayLike) -> NDArray[np.intp]:
    array = as_numbers(f"{name}_indices", values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{name}_indices is not a list of whole numbers; give one for each pair")
    return array.astype(np.intp)


def from_mdptoolbox(
    transitions: Any, reward: Any, discount: float, *, initial: ArrayLike, **options: Any
) -> CMDP:
    """Make a problem of what the solvers of `mdptoolbox.mdp` take.

    Arguments:
        transitions: (A, S, S), or a list of A matrices (S, S), dense or sparse.
        reward: (S,), (S, A), (A, S, S), or a list of A matrices (S, S), dense or sparse; those that depend on the next state are
            averaged over it.
        initial: ρ, the distribution of the first state, (S,).
        options: what `CMDP` takes, such as constraints, (K, S, A), and names.

    >>> P = [[[0.1, 0.9], [0.1, 0.9]], [[1.0, 0.0], [1.0, 0.0]]]  # P[a][s][t]
    >>> from_mdptoolbox(P, [[0, 0], [4, 2]], 0.9, initial=[1.0, 0.0])
    CMDP(2 states, 2 actions, 0 constraints, discount 0.9, dense)
    """
    matrices = _matrices("transitions", transitions)
    states, actions = matrices[0].shape[0], len(matrices)
    average = _averaged(reward, matrices)
    if any(is_sparse(matrix) for matrix in matrices):
        stacked = scipy.sparse.csr_array(scipy.sparse.vstack(matrices))  # row a·S + s
        order = np.arange(actions * states).reshape(actions, states).T.ravel()
        kernel: Any = scipy.sparse.csr_array(stacked[order])
    else:
        kernel = np.stack(matrices, 1)
    return CMDP(kernel, average, initial=initial, discount=discount, **options)


def _matrices(name: str, given: Any) -> list[Any]:
    """Return one matrix (S, S) for each action, dense or sparse."""
    if is_sparse(given):
        raise InputError(f"{name} is one sparse matrix; give a list of them, (S, S) for each action")
    listed = list(given) if isinstance(given, list | tuple | np.ndarray) else None
    if not listed:
        raise InputError(
            f"{name} is a {type(given).__name__}; give an array (A, S, S) or a list of A matrices (S, S)"
        )
    found = [
        scipy.sparse.csr_array(one) if is_sparse(one) else as_floats(f"{name}[{a}]", one)
        for a, one in enumerate(listed)
    ]
    for a, one in enumerate(found):
        if one.ndim != 2 or one.shape[0] != one.shape[1] or one.shape != found[0].shape:
            raise InputError(f"{name}[{a}] has shape {one.shape}; give a matrix (S, S) for each action")
    return found


def _averaged(reward: Any, matrices: list[Any]) -> Array:
    """Return rewards as a table, (S, A)."""
    states, actions = matrices[0].shape[0], len(matrices)
    by_action = isinstance(reward, list | tuple | np.ndarray) and len(reward) and is_sparse(reward[0])
    if not by_action:
        array = as_floats("reward", reward)
        if array.shape == (states,):
            return np.repeat(array[:, None], actions, 1)
        if array.ndim == 2:
            return array
        if array.shape != (actions, states, states):
            raise InputError(
                f"reward has shape {array.shape}; give (S,) = ({states},), (S, A) = ({states}, {actions}), or (A, S, S)"
            )
    rewards = _matrices("reward", reward)
    if len(rewards) != actions or rewards[0].shape != matrices[0].shape:
        raise InputError(
            f"reward has {len(rewards)} matrices of shape {rewards[0].shape}; transitions have {actions} of {matrices[0].shape}"
        )
    columns = [
        np.asarray((scipy.sparse.csr_array(p).multiply(scipy.sparse.csr_array(r))).sum(1)).ravel()
        for p, r in zip(matrices, rewards, strict=True)
    ]
    return np.stack(columns, 1)
