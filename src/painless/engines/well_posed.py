"""When a total reward is well posed: every loop loses in the reward, or in a constraint with a limit.

A circulation f ≥ 0, Σ_a f = Σ P f, Σ f = 1 is what a policy does in a loop. The problem is well posed if each has some utility with u_j·f < 0, in
the form of rewards; equivalently, some w ≥ 0 and W have

    W ≥ 1 + w·u + P W       at every pair outside rests

Then whoever does not stop almost surely is worth −∞ in some utility of w: in the reward, or in one that has a threshold. Such w and W are found
by cutting planes: policy iteration for 1 + w·u finds W, or loops that w does not make lose, which are cuts for w. If no w is left, some
mixture of loops loses nowhere: it is worth +∞ if it gains reward, and otherwise nothing can be said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import resolvent
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.engines.reduction import DENSE_NODES, Quotient, Reduction
from painless.engines.sweeps.total_pricing import TotalPricer
from painless.engines.total_iteration import Factorise, Ray, improved, largest_excess

SPARE = 0.1  # of a step, by which a swept W exceeds what is asked for, so that its error does not matter
CUTS = 200  # rounds of cutting planes; usually a few suffice
GENEROUS = 2.0  # times the weights that the cuts ask for, so that fewer are needed
LARGEST = 1e9  # weights beyond this cannot be told from none
NAMED = 5  # states that an error lists


class Guard(NamedTuple):
    """The weights w (J,), and W in all states, (S,), 0 where nothing is reached."""

    weight: Array
    value: Array


def guard_of(
    whole: Reduction, limited: Mask, tick: Callable[[], None], factorise: Factorise = resolvent
) -> Guard:
    """Return w and W; `limited` (J,) are the utilities that may bound a loop. Reject problems that are not well posed."""
    everything = np.ones(len(limited), dtype=bool)
    quotient = whole.quotient(everything, whole.pairs, everywhere=True)
    utility = quotient.utility(whole.problem.utility)  # (J, n)
    steps = np.where(quotient.is_stop, 0.0, 1.0)
    weight, choice = _first_weights(whole, limited), quotient.rows.first  # to stop at once
    rays: list[Ray] = []
    for _ in range(CUTS):
        swept = _swept(quotient, steps, weight @ utility, tick)
        if swept is not None:
            require_stops(whole)
            return Guard(weight, np.where(quotient.node >= 0, swept[quotient.node], 0.0))
        size = steps + weight @ np.abs(utility)
        found = improved(quotient, steps + weight @ utility, choice, tick, factorise, size=size)
        if not found.rays:
            require_stops(whole)
            at = np.where(quotient.node >= 0, found.value[quotient.node], 0.0)
            return Guard(weight, at)
        rays += found.rays
        weight = _weights(quotient, utility, rays, limited)
    raise _refusal(quotient, rays, np.ones(len(rays)), unbounded=False)


def _swept(quotient: Quotient, steps: Array, utility: Array, tick: Callable[[], None]) -> Array | None:
    """Return W ≥ steps + utility + PW of a large model, (N,), by sweeps; None if they do not find it."""
    if quotient.count <= DENSE_NODES:
        return None
    known, asked = quotient.sweeps.known, steps + utility
    more = asked + SPARE * steps
    rows = known.sparse._replace(utility=np.ascontiguousarray(more[None, known.kept]))
    first = known.place[quotient.rows.first].astype(np.uint32)
    pricer, error = TotalPricer(rows, quotient.initial, first, tick), 0.5 * SPARE
    value = pricer.longest(more[known.kept], error)
    if value is None or largest_excess(quotient, asked, value) > 0:
        priced = pricer.price(np.ones(1), error, error)
        if priced is None:
            return None
        value = priced.value[:, 0]
    return value if largest_excess(quotient, asked, value) <= 0 else None


def _first_weights(whole: Reduction, limited: Mask) -> Array:
    """Return weights of one utility that loses in every loop, (J,), so that no cut is needed; 0 if there is none."""
    inside, weight = whole.loops, np.zeros(len(limited))
    if whole.always_stops:
        return weight
    most = whole.problem.utility[:, inside].max(1)
    loses = limited & (most < -1 / LARGEST)
    if loses.any():
        size = np.abs(whole.problem.utility[:, inside]).max(1)
        chosen = int(np.argmax(np.where(loses, -most / np.where(size > 0, size, 1.0), 0.0)))
        weight[chosen] = GENEROUS / -most[chosen]
    return weight


def is_evident(whole: Reduction, limited: Mask) -> bool:
    """Whether the pairs alone show that the problem is well posed: there is no loop, or one utility loses with every pair of them."""
    return whole.always_stops or bool(_first_weights(whole, limited).any())


def require_stops(whole: Reduction) -> None:
    """Reject a problem in which no policy stops almost surely."""
    if len(whole.hopeless):
        raise InputError(
            f"no policy stops almost surely from {named(whole.hopeless)}, so that totals have no end; give the states where "
            "the process ends, or actions that lead there"
        ).at([int(whole.hopeless[0])])


def _weights(quotient: Quotient, utility: Array, rays: list[Ray], limited: Mask) -> Array:
    """Return weights that make every loop lose, or reject the problem."""
    from scipy.optimize import linprog

    solve: Any = linprog
    gain = np.array([ray.gain(utility) for ray in rays])[:, limited]  # (m, J')
    scale = np.maximum(np.abs(gain).max(1), 1e-300)
    result = solve(np.ones(gain.shape[1]), A_ub=gain / scale[:, None], b_ub=-1 / scale, bounds=(0, LARGEST))
    if result.status == 0:
        weight = np.zeros(len(limited))
        weight[limited] = GENEROUS * result.x
        return weight
    mixed = solve(
        -gain[:, 0],
        A_ub=-gain.T,
        b_ub=np.full(gain.shape[1], 1e-12),
        A_eq=np.ones((1, len(gain))),
        b_eq=[1.0],
    )
    share = mixed.x if mixed.status == 0 else np.ones(len(rays))
    raise _refusal(quotient, rays, share, mixed.status == 0 and -mixed.fun > 1e-12 * float(scale.max()))


def _refusal(quotient: Quotient, rays: list[Ray], share: Array, unbounded: bool) -> InputError:
    pairs = np.concatenate(
        [quotient.pair[ray.rows] for ray, part in zip(rays, share, strict=True) if part > 1e-9]
    )
    states = np.unique(pairs[pairs >= 0] // quotient.whole.actions)
    where = f"a loop through {named(states)}"
    if unbounded:
        text = (
            f"the total reward is unbounded: {where} gains reward in every round, and no limit stops it; give the states where the "
            "process ends, a budget for what the loop uses, or a discount below 1"
        )
    else:
        text = (
            f"the total reward cannot be judged: {where} can go on for ever and loses nothing by it, neither reward nor what a limit holds, "
            "though not all that it pays is 0; set that to 0, give the states where the process ends, or a discount below 1"
        )
    return InputError(text).at([int(states[0])])


def named(states: NDArray[np.intp]) -> str:
    """Return the numbers of some states as text."""
    listed = ", ".join(str(int(state)) for state in states[:NAMED])
    more = f" and {len(states) - NAMED} more" if len(states) > NAMED else ""
    return f"state{'' if len(states) == 1 else 's'} {listed}{more}"
