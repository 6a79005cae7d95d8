"""Policy iteration for a total reward: the best way to stop, or a loop that is worth more than nothing.

From a policy that stops almost surely, an improvement leads to another one, or to a recurrent class whose weighted utilities have a positive
average: a *ray*, along which the value has no bound. Otherwise the values rise until none does.

    V(x) = max over the rows of node x of   u + P V,        stopping is worth 0

**Upper bound.** Any V with V ≥ u + PV at every row bounds every policy that stops almost surely, whatever made V. What rounding or
an early end leaves, at most δ, is covered by V + δW with W ≥ 1 + PW at the rows that matter; every row is checked, rounding outwards.
Successive differences prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import Resolvent, resolvent
from painless.common.arrays import Array, Mask
from painless.engines.iterated import OneClass, fills
from painless.engines.pair_rows import COMPILED, Places
from painless.engines.reduction import DENSE_NODES, Quotient
from painless.engines.sweeps._proof_kernels import largest_excess as compiled_excess

UNIT_ROUNDOFF = 2.0**-53
STEPS = 8  # roundings of a sum beside those of its terms
ROUNDING = 1e-14  # relative; a smaller improvement is none
ROUNDS = 10_000
NEAR = 1e-6  # relative distance from the best row of its node up to which a row may matter to the proof
SPARE = 2.0  # times what the check found missing
RAISES = 3  # attempts, each with ten times as much
COARSE = 1e-7  # change of a value that the first sweeps follow, relative to the largest
FAINT = 1e-9  # relative to the largest utility
FINEST = 3  # turns in which sweeps become finer
STRETCH = 60  # the work of so many sweeps, at most, in the first turn
SETTLING = 0.5  # if more of the nodes that changed change again, sweeps of value iteration are faster
GAIN = 1e-8  # an average below this, relative to that of absolute utilities, is within the precision of the prices

Factorise = Callable[[Any, float], Resolvent]


class Ray(NamedTuple):
    """A recurrent class that pays: its rows, and how often each is taken in a step."""

    rows: Places
    share: Array

    def gain(self, utility: Array) -> Array:
        """Return what a step earns, (J,), from the utilities of all rows, (J, n)."""
        return np.asarray(utility[:, self.rows] @ self.share)


class Improved(NamedTuple):
    """Where policy iteration ended."""

    choice: Places  # (N,) the row of each node
    value: Array  # (N,)
    inverse: Resolvent
    evaluations: int
    rays: list[Ray]  # loops that pay; then the policy is not the best


def improved(
    quotient: Quotient,
    utility: Array,
    start: Places,
    tick: Callable[[], None],
    factorise: Factorise = resolvent,
    rows: Mask | None = None,
    size: Array | None = None,
) -> Improved:
    """Maximise the total of one utility (n,) from the rows `start` (N,), which stop almost surely; among some rows only if given.

    `size` (n,) is the sum of the absolute terms of which the utility is made; less is rounding.
    """
    size = np.abs(utility) if size is None else size

    def evaluated(choice: Places, evaluations: int) -> Improved:
        tick()
        inverse = factorise(quotient.rows.chain(choice), 1.0)
        value = inverse.state_value(utility[choice][None])[0]
        return Improved(choice, value, inverse, evaluations, [])

    best, evaluations, changed = evaluated(start, 1), 1, np.inf
    faint = FAINT * float(size.max(initial=0.0))
    for turn in range(ROUNDS):
        choice, value = best.choice, best.value
        q = utility + np.asarray(quotient.rows.kernel @ value)
        if rows is not None:
            q = np.where(rows, q, -np.inf)
        most, place = quotient.rows.best(q)
        own = q[choice]
        # A smaller gain may be an error of the values
        unsolved = 2 * float(np.abs(own - value).max(initial=0.0))
        better = most > own + ROUNDING * (np.abs(own) + np.abs(value) + size[choice]) + unsolved
        last, changed = changed, float(np.count_nonzero(better))
        if rows is None and quotient.count > DENSE_NODES and changed > SETTLING * last:
            swept = _swept(quotient, utility, best, faint, turn, tick)
            if swept is not None:
                found = evaluated(swept, evaluations := evaluations + 1)
                if found.value.sum() > best.value.sum():
                    best = found
                    continue
        candidate = np.where(better, place, choice)
        while better.any() and not (sure := quotient.stops_surely(candidate)).all():
            rays = _rays(quotient, candidate, ~sure)
            paying = [ray for ray in rays if _pays(ray, utility, size)]
            if paying:
                return best._replace(rays=paying)
            for ray in rays:  # it only seemed to pay
                better[quotient.rows.state[ray.rows]] = False
            candidate = np.where(better, place, choice)
        if not better.any():
            break
        found = evaluated(candidate, evaluations := evaluations + 1)
        if not found.value.sum() > best.value.sum():
            break
        best = found
    return best._replace(evaluations=evaluations)


def _swept(
    quotient: Quotient,
    utility: Array,
    found: Improved,
    faint: float,
    turn: int,
    tick: Callable[[], None],
) -> Places | None:
    """Return better rows (N,) than those of a policy, by sweeps of value iteration; None if they do not stop almost surely, or are the same.

    Changes below `faint` are not followed: where one may wait for the last chance to pay nothing, there is no end of them.
    """
    fine = min(turn, FINEST)
    least = max(COARSE * 10.0 ** (-2 * fine) * float(np.abs(found.value).max(initial=0.0)), faint)
    choice = quotient.sweeps.improved(utility, found.value, found.choice, least, STRETCH << fine, tick)
    same = np.array_equal(choice, found.choice)
    return None if same or not quotient.stops_surely(choice).all() else choice


def _pays(ray: Ray, utility: Array, size: Array) -> bool:
    return bool(utility[ray.rows] @ ray.share > GAIN * (size[ray.rows] @ ray.share))


def _rays(quotient: Quotient, choice: Places, stuck: Mask) -> list[Ray]:
    """Return the recurrent classes of the nodes from which a policy cannot stop."""
    nodes = np.flatnonzero(stuck)
    chain = scipy.sparse.csr_array(quotient.rows.chain(choice))[nodes][:, nodes]
    number, label = scipy.sparse.csgraph.connected_components(chain, connection="strong")
    inside = scipy.sparse.coo_array(chain)
    source, target = (label[part[inside.data > 0]] for part in inside.coords)
    closed = np.ones(number, dtype=bool)
    closed[source[source != target]] = False
    return [
        Ray(
            choice[nodes[members]],
            np.ones(1) if len(members) == 1 else stationary(chain[members][:, members]),
        )
        for members in grouped(label, closed)
    ]


def grouped(label: NDArray[np.integer], wanted: Mask) -> list[Places]:
    """Return the places of each label (n,) that is `wanted` (m,), in ascending order.

    >>> grouped(np.array([1, 0, 1, 2]), np.array([False, True, True]))
    [array([0, 2]), array([3])]
    """
    at = np.flatnonzero(wanted[label])
    at = at[np.argsort(label[at], kind="stable")]
    return np.split(at, np.flatnonzero(np.diff(label[at])) + 1) if len(at) else []


def stationary(chain: Any) -> Array:
    """Return the stationary distribution of an irreducible chain, (n,).

    >>> stationary(scipy.sparse.csr_array(np.array([[0.0, 1.0], [0.5, 0.5]]))).round(12)
    array([0.33333333, 0.66666667])
    """
    count = chain.shape[0]
    if count == 1:
        return np.ones(1)
    if fills(chain):
        share = np.maximum(OneClass(chain).shares(), 0.0)
        return share / share.sum()
    # x_0 = 1, and x_N (I − P_NN) = P_0N for the others
    rest = chain[1:][:, 1:]
    dense = rest.toarray() if count <= 500 else scipy.sparse.csr_array(rest)
    others = resolvent(dense, 1.0).state_occupancy(np.asarray(chain[[0]][:, 1:].toarray())[0])
    share = np.append(1.0, np.maximum(others, 0.0))
    return share / share.sum()


def excess(quotient: Quotient, utility: Array, value: Array) -> Array:
    """Return by how much at most each row may exceed the value of its node, (n,), rounded up."""
    rows = quotient.rows
    ahead, size = (np.asarray(rows.kernel @ one) for one in (value, np.abs(value)))
    here = value[rows.state]
    rounding = (3 * rows.terms + STEPS) * UNIT_ROUNDOFF * (size + np.abs(here) + np.abs(utility))
    return np.where(quotient.is_stop, -here, utility + ahead - here + rounding)


def largest_excess(quotient: Quotient, utility: Array, value: Array) -> float:
    """Return the largest of `excess`, in one compiled pass if there are many nodes."""
    rows = quotient.rows
    if quotient.count <= COMPILED or isinstance(rows.kernel, np.ndarray):
        return float(excess(quotient, utility, value).max(initial=-np.inf))
    rounding = (3 * rows.terms + STEPS) * UNIT_ROUNDOFF
    return float(compiled_excess(*rows.arrays, rows.state, quotient.is_stop, utility, value, rounding))


def at_start(quotient: Quotient, value: Array) -> float:
    """ρ·V, rounded up."""
    size = float(np.abs(value) @ quotient.initial)
    return float(value @ quotient.initial) + 3 * (len(value) + STEPS) * UNIT_ROUNDOFF * size


def upper_bound(
    quotient: Quotient,
    utility: Array,
    found: Improved,
    tick: Callable[[], None],
    factorise: Factorise = resolvent,
    longest: Callable[[Array], Array | None] = lambda steps: None,
) -> float:
    """Return a proved bound at ρ on every policy that stops almost surely; ∞ if near the best rows there are loops.

    `longest` may know the largest totals of steps (n,) that any policy makes, (N,); rows that it need not make are worth −∞.
    """
    value = found.value
    missing = max(largest_excess(quotient, utility, value), 0.0)
    if missing <= 0:
        return at_start(quotient, value)
    time = found.inverse.state_value(np.ones((1, quotient.count)))[0]  # W of the policy itself
    for attempt in range(1 + RAISES):
        raised = value + SPARE * 10.0 ** max(attempt - 1, 0) * missing * time
        if np.isfinite(raised).all() and largest_excess(quotient, utility, raised) <= 0:
            return at_start(quotient, raised)
        if attempt == 0:  # W of all rows that are nearly as good
            scale = np.abs(value)[quotient.rows.state]
            near = excess(quotient, utility, value) > -np.maximum(
                NEAR * (scale + np.abs(value).mean()), 1e3 * missing
            )
            near[found.choice] = True
            steps = np.where(quotient.is_stop, 0.0, 1.0)
            known = longest(np.where(near, steps, -np.inf))
            if known is None:
                slowest = improved(quotient, steps, found.choice, tick, factorise, near)
                if slowest.rays:
                    break
                known = slowest.value
            time = known
    return np.inf
