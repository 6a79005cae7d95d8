"""The best gain of every end component for one utility, by policy iteration in all of them at once.

Inside a component every state can be reached from every other, so that its best gain is the same everywhere. A policy of a component that has several recurrent
classes is led to its best one; then with g and h its gain and bias, each state takes a pair with the largest u + Ph (Haviv and
Puterman, 1991). Either the gain rises, or the class stays and the bias of other states rises. For any h

    max u + Ph − h    over the pairs of the component

bounds the gain of every policy that stays in it: with the bias of the best policy it is its gain, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import Resolvent
from painless.common.arrays import Array
from painless.engines.chain_gains import STEPS, RecurrentChain
from painless.engines.engine import UNIT_ROUNDOFF
from painless.engines.pair_rows import PairRows, Places
from painless.problem import Transition

ROUNDING = 1e-13  # relative to the largest bias; a smaller improvement is none
PATIENCE = 400  # rounds in a row in which no bound and no gain improves
FEW = 500  # states up to which policy iteration starts with what pays most at once
# Of value iteration before policy iteration on more states, and the part of each step
SWEEPS, DAMPED = 400, 0.95
SETTLED = 20  # sweeps in a row that change no choice
ROUNDS = 1000
RELIABLE = 1e-9  # relative; a gain that exceeds a proved bound by more is an error

Factorise = Callable[[Transition, float], Resolvent]


class Gains(NamedTuple):
    """The best policy in each of C components, and a bound on all."""

    choice: Places  # (S,) the pair of each state
    gain: Array  # (C,) of this policy, as computed
    upper: Array  # (C,) proved for every policy that stays in the component
    bias: Array  # (S,) that proves it
    evaluations: int


def best_gains(
    rows: PairRows,
    utility: Array,
    component: NDArray[np.intp],
    start: Gains | None,
    factorise: Factorise,
    tick: Callable[[], None],
) -> Gains:
    """Maximise the average of a utility (n,) of the pairs in every component, (S,), from where `start` ended if given."""
    count = int(component.max()) + 1
    choice = _first_choice(rows, utility, start, tick)
    best = Gains(choice, np.full(count, -np.inf), np.full(count, np.inf), np.zeros(len(component)), 0)
    idle = 0
    for _ in range(ROUNDS):
        tick()
        choice, gain, bias, evaluations = _evaluated(rows, utility, component, choice, factorise, tick)
        ahead = np.asarray(rows.kernel @ bias)
        q = utility + ahead
        size = np.abs(utility) + np.asarray(rows.kernel @ np.abs(bias)) + np.abs(bias[rows.state])
        over = q - bias[rows.state] + (3 * rows.terms + STEPS) * UNIT_ROUNDOFF * size
        upper = np.full(count, -np.inf)
        np.maximum.at(upper, component[rows.state], over)
        best, improved = _better(best, choice, gain, upper, bias, component, evaluations)
        idle = 0 if improved else idle + 1
        most, place = rows.best(q)
        better = most > q[choice] + ROUNDING * (np.abs(bias).max() + np.abs(utility).max())
        if not better.any() or idle > PATIENCE:
            break
        choice = np.where(better, place, choice)
    return best


def _first_choice(rows: PairRows, utility: Array, start: Gains | None, tick: Callable[[], None]) -> Places:
    """Return the pair of each state to start with, (S,): on many states, after sweeps of value iteration.

    Policy iteration alone may pass policies that hardly ever leave where they are, whose biases are enormous.
    """
    if len(rows.first) <= FEW:
        return rows.best(utility)[1] if start is None else start.choice
    bias, same = np.zeros(len(rows.first)) if start is None else start.bias, 0
    choice = np.full(len(bias), -1)
    for _ in range(SWEEPS):
        tick()
        most, place = rows.best(utility + np.asarray(rows.kernel @ bias))
        rest = most - bias
        bias = bias + DAMPED * (rest - 0.5 * (rest.min() + rest.max()))
        same = same + 1 if np.array_equal(place, choice) else 0
        choice = place
        if same == SETTLED:
            break
    return choice


def _evaluated(
    rows: PairRows,
    utility: Array,
    component: NDArray[np.intp],
    choice: Places,
    factorise: Factorise,
    tick: Callable[[], None],
) -> tuple[Places, Array, Array, int]:
    """Return a policy with one recurrent class in each component, its gains (C,) and its bias (S,), and the evaluations it took."""
    everywhere = np.full(len(component), 1 / len(component))
    chain = RecurrentChain(rows.chain(choice), everywhere, factorise, tick)
    count, evaluations = int(component.max()) + 1, 1
    if chain.classes > count:
        gain = chain.gain_and_bias(utility[choice][None])[0][0]
        best = _best_class(chain, gain, component, count)
        targets = chain.recurrent & np.isin(chain.label, best)
        elsewhere = _may_reach(chain, chain.recurrent & ~targets)
        lead = rows.leading_to(~elsewhere)
        choice = np.where(elsewhere, lead, choice)
        chain = RecurrentChain(rows.chain(choice), everywhere, factorise, tick)
        evaluations += 1
    gain, bias = (part[0] for part in chain.gain_and_bias(utility[choice][None]))
    found = np.zeros(count)
    found[component] = gain
    return choice, found, bias, evaluations


def _best_class(chain: RecurrentChain, gain: Array, component: NDArray[np.intp], count: int) -> Places:
    """Return the class with the largest gain in each component, (C,)."""
    inside = np.flatnonzero(chain.recurrent)
    order = inside[np.lexsort((-gain[inside], component[inside]))]
    return chain.label[order[np.searchsorted(component[order], np.arange(count))]]


def _may_reach(chain: RecurrentChain, targets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the states from which a chain may come to the targets, (S,)."""
    rows = PairRows(chain.chain, np.arange(len(targets)), len(targets))
    return targets | (rows.leading_to(targets) >= 0)


def _better(
    best: Gains,
    choice: Places,
    gain: Array,
    upper: Array,
    bias: Array,
    component: NDArray[np.intp],
    evaluations: int,
) -> tuple[Gains, bool]:
    """Return the better policy and the lower bound of each component, and whether anything improved."""
    falls = upper < best.upper
    proved = np.where(falls, upper, best.upper)
    most = proved + RELIABLE * (np.abs(proved) + np.abs(gain))  # beyond it, a gain is all rounding
    rises = (gain <= most) & ((gain > best.gain) | (best.gain > most))
    found = Gains(
        np.where(rises[component], choice, best.choice),
        np.where(rises, gain, best.gain),
        proved,
        np.where(falls[component], bias, best.bias),
        best.evaluations + evaluations,
    )
    small = ROUNDING * (np.abs(bias).max() + np.abs(gain).max())
    return found, bool((gain > best.gain + small).any() or (upper < best.upper - small).any())
