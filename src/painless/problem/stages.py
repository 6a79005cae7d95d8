"""Finite horizons: the steps of a problem, without a copy of the transitions for each of them.

The states of a problem with H steps are the pairs (t, s), numbered t·S + s, t = 0..H − 1. Step t leads from (t, s) to
(t + 1, s'), and the last one to the end. A last utility F(s_H) is part of the last step:

    u_{H−1}(s, a) + γ Σ_s' P(s'|s, a) F(s')

so that a problem is its transitions, a utility for each of the H·S·A pairs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arguments import LISTED, as_floats, as_numbers, require_finite, whole
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem import transitions, validation

Kernel = Any  # of one step: (S, A, S), or sparse (S·A, S)


class Stages(NamedTuple):
    """The transitions of H steps: one kernel for all of them, or one for each."""

    kernels: tuple[Kernel, ...]
    steps: int
    states: int
    actions: int

    @property
    def most_successors(self) -> int:
        """The largest number of successors that a pair has."""
        return max(int(np.diff(self.rows(t).indptr).max(initial=1)) for t in range(len(self.kernels)))

    def kernel(self, step: int) -> Kernel:
        """Return the kernel of a step."""
        return self.kernels[step if len(self.kernels) > 1 else 0]

    def rows(self, step: int) -> scipy.sparse.csr_array[np.float64]:
        """Return the kernel of a step as a sparse matrix, (S·A, S)."""
        kernel = self.kernel(step)
        dense = isinstance(kernel, np.ndarray)
        return scipy.sparse.csr_array(kernel.reshape(-1, self.states) if dense else kernel)

    def ahead(self, step: int, value: Array) -> Array:
        """Σ_s' P(s'|s, a) V(s') for values (..., S) of the next step: (..., S, A)."""
        kernel = self.kernel(step)
        flat = kernel.reshape(-1, self.states) if isinstance(kernel, np.ndarray) else kernel
        found = np.asarray(flat @ value.reshape(-1, self.states).T).T
        return found.reshape(*value.shape[:-1], self.states, self.actions)

    def flow(self, step: int, occupancy: Array) -> Array:
        """Σ_{s,a} d(s, a) P(s'|s, a) for the occupancy (S, A) of a step: what arrives at the next one, (S,)."""
        kernel = self.kernel(step)
        flat = kernel.reshape(-1, self.states) if isinstance(kernel, np.ndarray) else kernel
        return np.asarray(flat.T @ occupancy.reshape(-1))

    def stacked(self) -> Kernel:
        """Return the kernels for a file: one as it is; of several, dense ones (H, S, A, S), or sparse ones below each other."""
        if len(self.kernels) == 1:
            return self.kernels[0]
        if all(isinstance(kernel, np.ndarray) for kernel in self.kernels):
            return np.array(self.kernels)
        return scipy.sparse.csr_array(
            scipy.sparse.vstack([self.rows(t) for t in range(self.steps)], format="csr")
        )

    def matrix(self) -> scipy.sparse.csr_array[np.float64]:
        """Return all steps as one sparse matrix, (H·S·A, H·S), whose last rows are 0: for linear programs only."""
        last = scipy.sparse.csr_array((self.states * self.actions, self.states))
        blocks: list[list[Any]] = [[None] * self.steps for _ in range(self.steps)]
        for t in range(self.steps - 1):
            blocks[t][t + 1] = self.rows(t)
        blocks[-1][-1] = last
        blocks[0][0] = last if self.steps > 1 else blocks[0][0]
        return scipy.sparse.csr_array(scipy.sparse.block_array(blocks, format="csr"))


def stages(transition: Any, steps: int, actions: Any, states: int, copy: bool) -> tuple[Stages, Mask]:
    """Check the transitions of all steps, and the actions (S, A) or (H, S, A); return them and the mask (H, S, A)."""
    kernels = _kernels(transition, steps)
    n_actions = transitions.action_count(kernels[0], states)
    given = None if actions is None else as_numbers("actions", actions)
    if given is None or given.ndim < 3:
        mask = np.broadcast_to(validation.actions(given, (states, n_actions)), (steps, states, n_actions))
    elif given.shape == (steps, states, n_actions):
        mask = np.array([validation.actions(one, (states, n_actions)) for one in given])
    else:
        raise InputError(
            f"actions has shape {given.shape}, not (S, A) = {(states, n_actions)} or (H, S, A) = {(steps, states, n_actions)}"
        )
    allowed: list[Any] = [_ever(mask)] if len(kernels) == 1 else list(mask)
    for kernel in kernels:
        if transitions.action_count(kernel, states) != n_actions:
            raise InputError(
                "the transitions of the steps have different numbers of actions; pad and mask them"
            )
    checked = tuple(transitions.checked_transition(k, m, copy) for k, m in zip(kernels, allowed, strict=True))
    return Stages(checked, steps, states, n_actions), mask


def _kernels(transition: Any, steps: int) -> list[Any]:
    """Return the kernels that are given: one, or one for each step."""
    several = isinstance(transition, Sequence) and any(transitions.is_sparse(one) for one in transition)
    if not several and not transitions.is_sparse(transition):
        transition = as_numbers("transition", transition)
        several = transition.ndim == 4
    kernels = list(transition) if several else [transition]
    if several and len(kernels) != steps:
        raise InputError(
            f"transition has {len(kernels)} steps, but horizon is {steps}; give one kernel, or one for each step"
        )
    return kernels


def utility(name: str, values: Any, process: Stages, mask: Mask, copy: bool) -> Array:
    """Check a utility (S, A), (S, A, S), (H, S, A) or (H, S, A, S); return it for every step, (H, S, A), or (S, A) if it is the same in all."""
    array = as_floats(name, values)
    shape = (process.steps, process.states, process.actions)
    if array.shape[:3] == shape and array.ndim in (3, 4):
        steps = [
            validation.utility(f"{name}[{t}]", one, process.kernel(t), mask[t], copy)
            for t, one in enumerate(array)
        ]
        return np.array(steps)
    if array.ndim == 3 and len(process.kernels) > 1:  # averaged over the successors of each step
        return np.array(
            [validation.utility(name, array, process.kernel(t), mask[t], copy) for t in range(process.steps)]
        )
    if array.ndim not in (2, 3):
        raise InputError(f"{name} has shape {array.shape}, not (S, A) = {shape[1:]} or (H, S, A) = {shape}")
    return validation.utility(name, array, process.kernel(0), _ever(mask), copy)


def _ever(mask: Mask) -> Mask:
    """Return the actions that a state has in some step, (S, A)."""
    return np.asarray(mask[0] if is_repeated(mask) else mask.any(0))


def is_repeated(mask: Mask) -> bool:
    """Whether a mask (H, S, A) is one (S, A) in all steps, and takes no more memory."""
    return mask.strides[0] == 0


def constraints(
    name: str, values: Any, limit_name: str, limit: Any, process: Stages, mask: Mask, copy: bool
) -> tuple[list[Array], Array]:
    """Check constraints (K, S, A) or (K, H, S, A) and their limits (K,); K = 1 may drop its axis. Return each as `utility` does."""
    validation.require_both(name, values, limit_name, limit)
    shape = (process.steps, process.states, process.actions)
    if values is None or limit is None:
        return [], np.empty(0)
    bound = validation.limits(limit_name, limit, -1.0 if limit_name == "budget" else 1.0)
    array = as_floats(name, values)
    several = array.ndim > 2 and len(array) == len(bound) and (len(bound) > 1 or array.shape != shape)
    if not several and len(bound) != 1:
        raise InputError(
            f"{limit_name} has {len(bound)} entries but {name} has shape {array.shape}; "
            f"give (K, S, A) = {(len(bound), *shape[1:])} or (K, H, S, A) = {(len(bound), *shape)}"
        )
    each = array if several else array[None]
    found = [
        utility(f"{name}[{i}]" if several else name, one, process, mask, copy) for i, one in enumerate(each)
    ]
    return found, bound


def last_utility(name: str, values: Any, count: int, states: int) -> Array:
    """Check the last utilities, (S,) or (count, S); return (count, S)."""
    if values is None:
        return np.zeros((count, states))
    array = as_floats(name, values)
    if array.shape not in ((count, states), (states,) if count == 1 else ()):
        raise InputError(
            f"{name} has shape {array.shape}, not {(states,) if count == 1 else (count, states)}"
        )
    require_finite(name, array)
    return array.reshape(count, states)


def with_last(
    utilities: Sequence[Array], final: Array, process: Stages, discount: float, mask: Mask, horizon: int
) -> Array:
    """Return the utilities, (S, A) or (H, S, A) each, in all steps, (J, H, S, A), with the last utilities (J, S) in the last one.

    With no step at all they are all there is.
    """
    result = np.empty((len(utilities), *mask.shape))
    for every, one in zip(result, utilities, strict=True):
        every[:] = one
    if not horizon:
        result[:, 0] = final[:, :, None]
    elif final.any():
        result[:, -1] += discount * process.ahead(process.steps - 1, final)
    if not mask.all():
        result[:, ~mask] = 0.0
    return result


def flattened(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array (..., H, S, A) over the states (t, s), (..., H·S, A)."""
    return np.ascontiguousarray(array.reshape(*array.shape[:-3], -1, array.shape[-1]))


def repeated(utility: Array, actions: Mask) -> Array:
    """Return the utilities (J, S, A) of one step in all H steps, (J, H·S, A), 0 where there is no action, (H·S, A)."""
    states, choices = utility.shape[1:]
    steps = len(actions) // states
    whole = np.broadcast_to(utility[:, None], (len(utility), steps, states, choices))
    result = np.array(whole).reshape(len(utility), -1, choices)
    if not actions.all():
        result[:, ~actions] = 0.0
    return result


class Checked(NamedTuple):
    """The arrays of a problem with a horizon, over the states (t, s), in the user's terms."""

    initial: Array  # (H·S,) ρ in the first step
    transition: Stages
    actions: Mask  # (H·S, A)
    objective: Array  # (H·S, A); (S, A) if all utilities are the same in every step
    gained: Array  # (K, H·S, A) constraint rewards; (K, S, A)
    lower: Array  # (K,) their thresholds
    paid: Array  # (K, H·S, A) constraint costs; (K, S, A)
    upper: Array  # (K,) their budgets
    discount: float
    is_repeated: bool  # whether they are


def checked(
    transition: Any,
    horizon: Any,
    actions: Any,
    start: Array,
    discount: Any,
    utilities: Mapping[str, Any],
    ends: tuple[Any, Any],
    copy: bool,
) -> Checked:
    """Check all that a problem with a horizon is given; the first of `utilities` is the objective."""
    (name, objective), (_, gained), (_, threshold), (_, paid), (_, budget) = utilities.items()
    final, constraint_final = ends
    given = horizon.item() if isinstance(horizon, np.ndarray) and not horizon.ndim else horizon  # from a file
    count = whole("horizon", given, least=0, most=LISTED)
    steps, states = max(count, 1), len(start)
    gamma = validation.discount(1.0 if discount is None else discount, largest=1.0)
    process, mask = stages(transition, steps, actions, states, copy)
    low, lower = constraints("constraint_reward", gained, "threshold", threshold, process, mask, copy)
    high, upper = constraints("constraint_cost", paid, "budget", budget, process, mask, copy)
    first = utility(name, objective, process, mask, copy)
    last = np.concatenate(
        [
            last_utility("final", final, 1, states),
            last_utility("constraint_final", constraint_final, len(lower) + len(upper), states),
        ]
    )
    given_utilities = [first, *low, *high]
    if not count:  # no step: one action, after which the last utilities are all there is
        mask = np.zeros_like(mask)
        mask[:, :, 0] = True
    same = bool(count) and not last.any() and all(one.ndim == 2 for one in given_utilities)
    same = same and is_repeated(mask)
    if same:
        everything = np.where(mask[0], given_utilities, 0.0)
    else:
        everything = flattened(with_last(given_utilities, last, process, gamma, mask, count))
    begin = np.zeros(steps * states)
    begin[:states] = start
    split = 1 + len(lower)
    return Checked(
        *(
            begin,
            process,
            flattened(mask),
            everything[0],
            everything[1:split],
            lower,
            everything[split:],
            upper,
            gamma,
            same,
        )
    )


def content(
    process: Stages, horizon: int | None, utilities: Mapping[str, Any], rest: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries of a problem file over states (t, s) as those of a horizon, (H, S, A)."""
    shape = (process.steps, process.states, process.actions)

    def steps(array: Any) -> Any:
        return None if array is None else array.reshape(*array.shape[:-2], *shape)

    found = {
        key: value if key in ("threshold", "budget") else steps(value) for key, value in utilities.items()
    }
    other = {**rest, "horizon": horizon, "initial": rest["initial"][: process.states]}
    if horizon:
        return found, {**other, "actions": steps(rest["actions"])}
    # Without a step, the last utilities are all there is.
    name = "cost" if "cost" in found else "reward"
    each = [
        found[key][:, 0, :, 0] for key in ("constraint_reward", "constraint_cost") if found[key] is not None
    ]
    last = {"final": found[name][0, :, 0], "constraint_final": np.concatenate(each) if each else None}
    plain = {
        key: value if key in ("threshold", "budget") or value is None else 0 * value[..., 0, :, :]
        for key, value in found.items()
    }
    return plain, {**other, **last, "actions": None}
