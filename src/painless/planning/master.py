"""The master program: the best mixture of a few policies, known by their values alone, and the columns that hold them.

    max Σ_k w_k r_k   subject to   Σ_k w_k c_k ≥ b,   w in the simplex            (the reward)
    max t             subject to   Σ_k w_k c_k − b ≥ t,   w in the simplex        (the joint slack)

Both have K + 1 rows, so that their solutions mix at most K + 1 policies. Their multipliers price the next policy
(Dantzig & Wolfe 1960). With one constraint the best pair of policies is looked for; a simplex method for few rows solves the others, and HiGHS
if there are many rows or if rounding defeats it.

The simplex method is done before a general solver has started up. It solves

    max Σ_k x_k r_k   subject to   Σ_k x_k s_k ≥ 0,   Σ_k∈policies x_k = 1,   x ≥ 0

Columns k are policies with reward r_k and slacks s_k (K,), and penalties: columns outside the simplex row, which
make up for missing slack at a price. With one penalty for each constraint the price bounds its multiplier;
with a single one for all, and thresholds raised out of reach, the program is the largest joint slack. So a basis to
start from always exists. The largest reduced gain enters; after many steps without progress the first one does
(Bland 1977), which cannot cycle. The result is recomputed from its basis, and rejected if it does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.engines.engine import Actions
from painless.planning import highs

AMPLE = 1.0  # a slack that is enough where loops may raise it without bound, in normalised units
NOTHING = 1e-290  # a normalised slack that is none: nothing can be divided by it
FEW = 40  # constraints up to which the tiny simplex method is faster than HiGHS
PRECISION = 1e-12  # of reduced gains, in units where the entries are about 1
HOLDS = 1e-9

Basis = NDArray[np.intp]  # (K + 1,) columns


class Column(NamedTuple):
    """A policy in the master."""

    policy: Array | Actions  # (S, A), or (S,) if deterministic
    value: Array  # (J,) estimates
    low: Array  # (J,) proved lower bounds
    weight: Array | None = None  # (J,) of the utilities, to which it is a best response
    visits: Array | None = None  # (S,) if known
    is_loop: bool = (
        False  # whether the values are those of a round in a loop, of which a mixture may have any number
    )

    @property
    def multiplier(self) -> Array | None:
        """The multipliers (K,) that it is a best response to; None if the reward had weight 0."""
        return self.weight[1:] / self.weight[0] if self.weight is not None and self.weight[0] > 0 else None


@dataclass
class Columns:
    """The policies found so far, in bounded memory.

    Arguments:
        memory: maximum number of bytes of the policies.
        most: maximum number of policies.
    """

    memory: float = np.inf
    most: float = np.inf
    known: list[Column] = field(default_factory=list)
    taken: int = 0  # bytes of the policies
    values: Array = field(default_factory=lambda: np.empty((0, 0)))  # (n, J) estimates
    lows: Array = field(default_factory=lambda: np.empty((0, 0)))  # (n, J) what is proved
    loops: Mask = field(default_factory=lambda: np.empty(0, dtype=bool))  # (n,) which are loops
    _place: dict[int, int] = field(default_factory=dict)  # of deterministic policies, by their hash

    def __len__(self) -> int:
        return len(self.known)

    def __getitem__(self, index: int) -> Column:
        return self.known[index]

    def add(self, column: Column) -> int:
        """Add a policy and return its index; a known policy keeps its index and the more precise values."""
        place = len(self.known)
        if column.policy.ndim == 1:
            place = self._place.setdefault(hash(column.policy.tobytes()), place)
        value, low = column.value[None], column.low[None]
        if place == len(self.known):
            self.known.append(column)
            self.taken += column.policy.nbytes
            self.values = np.concatenate([self.values, value]) if place else value
            self.lows = np.concatenate([self.lows, low]) if place else low
            self.loops = np.append(self.loops, column.is_loop)
        elif (value - low).max() < (self.values[place] - self.lows[place]).max():
            self.known[place] = column
            self.values = np.concatenate([self.values[:place], value, self.values[place + 1 :]])
            self.lows = np.concatenate([self.lows[:place], low, self.lows[place + 1 :]])
            self.loops[place] = column.is_loop
        return place

    def drop(self, score: Array) -> None:
        """Keep about half: the first, loops, and those with the largest scores (n,), the newest first."""
        score[0] = np.inf
        score[self.loops] = np.inf
        newest_first = np.arange(len(score))[::-1]
        best_first = newest_first[np.argsort(-score[newest_first], kind="stable")]
        taken = np.cumsum([self.known[k].policy.nbytes for k in best_first])
        kept = np.sort(best_first[taken <= self.memory / 2][: int(min(self.most // 2, len(score)))])
        self.known = [self.known[k] for k in kept]
        self.values, self.lows, self.loops = self.values[kept], self.lows[kept], self.loops[kept]
        self.taken = sum(column.policy.nbytes for column in self.known)
        places = ((hash(c.policy.tobytes()), k) for k, c in enumerate(self.known) if c.policy.ndim == 1)
        self._place = dict(places)


class Mixture(NamedTuple):
    """Weights of the policies (n,), the multipliers of the constraints (K,) and the program's value."""

    weights: Array
    multiplier: Array
    value: float


def best_mixture(
    value: Array, threshold: Array, safe: Array | None = None, loops: Mask | None = None
) -> Mixture | None:
    """Return the mixture with the largest reward that meets the constraints, or None if there is none.

    `value` holds V_r and V_c of each policy, (n, J). `safe` (m,) are the weights of the first policies in
    a mixture that meets them. What are
    `loops` (n,) take no part in the simplex: a mixture may have any number of their rounds.
    """
    count, rows = len(value), len(threshold)
    if loops is not None and loops.any():
        return _best_by_highs(value, threshold, loops)
    if not rows:
        best = int(value[:, 0].argmax())
        return Mixture(np.eye(count)[best], np.empty(0), float(value[best, 0]))
    slack = slack_of(value[:, 1:], threshold)
    if (safe is None or rows == 1) and (slack.max(0) < 0).any():
        return None
    if rows == 1:
        return _best_of_two(value[:, 0], slack[:, 0])
    roomiest = int(slack.min(1).argmax())
    if safe is None and slack[roomiest].min() >= 0:
        safe = np.eye(count)[roomiest]
    if safe is None or rows > FEW:
        return _best_by_highs(value, threshold)
    # The safe mixture joins as one more column, from which the simplex method starts.
    safe = np.append(safe, np.zeros(count - len(safe)))
    table = np.vstack([value, safe @ value])
    reward, slack = table[:, 0] - table[-1, 0], slack_of(table[:, 1:], threshold)
    size, unit = (float(np.abs(part).max()) or 1.0 for part in (reward, slack))
    basis = np.append(count + 1 + np.arange(rows), count)
    found = maximise(reward / size, slack / unit, count + 1, basis)
    if found is None:
        return _best_by_highs(value, threshold)
    weights = found.weights[:-1] + found.weights[-1] * safe
    mixture = Mixture(
        weights / weights.sum(), found.multiplier * (size / unit), found.value * size + float(table[-1, 0])
    )
    if np.count_nonzero(weights) > rows + 1:  # ties leave part of the safe mixture beside other policies
        return _best_by_highs(value, threshold) or mixture
    return mixture


def _best_of_two(reward: Array, slack: Array) -> Mixture:
    """Return the best mixture of policies with one constraint, by their rewards and slacks (n,): one that meets it, or one that does and one that does not.

    >>> _best_of_two(np.array([1.0, 0.0]), np.array([-0.25, 0.75]))
    Mixture(weights=array([0.75, 0.25]), multiplier=array([1.]), value=0.75)
    """
    meets = slack >= 0
    inside, outside = np.flatnonzero(meets), np.flatnonzero(~meets)
    weights, best = np.zeros(len(reward)), int(inside[reward[inside].argmax()])
    outside = outside[reward[outside] > reward[best]]
    if not len(outside):
        weights[best] = 1.0
        return Mixture(weights, np.zeros(1), float(reward[best]))
    room, short = slack[inside, None], -slack[outside]
    gain, width = reward[outside] - reward[inside, None], room + short
    price = gain / width
    value = reward[inside, None] + room * price
    # Where several pairs are as good, as beside a policy without slack, the largest price is that of all.
    tied = np.where(value >= value.max(), price, -np.inf)
    i, j = divmod(int(tied.argmax()), len(outside))
    weights[inside[i]], weights[outside[j]] = short[j] / width[i, j], room[i, 0] / width[i, j]
    return Mixture(weights, np.array([price[i, j]]), float(value[i, j]))


def largest_slack(constraint_value: Array, threshold: Array, loops: Mask | None = None) -> Mixture:
    """Return the mixture with the largest joint slack min_i (V_c − b)_i, and the weights of the constraints.

    `constraint_value` holds V_c of each policy, (n, K). With `loops`, the slack is at most `AMPLE`.
    """
    count, rows = constraint_value.shape
    slack = slack_of(constraint_value, threshold)
    if loops is not None and loops.any():
        slack[loops] = constraint_value[loops]
        return _slack_by_highs(slack, loops)
    if rows == 1 or count == 1:
        best = int(slack.min(1).argmax())
        return Mixture(np.eye(count)[best], np.eye(rows)[slack[best].argmin()], float(slack[best].min()))
    if rows > FEW:
        return _slack_by_highs(slack)
    unit = float(np.abs(slack).max()) or 1.0
    reach = float(slack.max()) / unit + 1.0
    columns = np.concatenate([slack / unit - reach, np.ones((1, rows))])
    surplus = [count + 1 + i for i in range(rows) if i != int(slack[0].argmin())]
    found = maximise(np.append(np.zeros(count), -1.0), columns, count, np.array([*surplus, count, 0]))
    if found is None or not found.multiplier.sum() > 0.5:
        return _slack_by_highs(slack)
    weights, multiplier = found.weights[:count], found.multiplier
    return Mixture(weights / weights.sum(), multiplier / multiplier.sum(), (found.value + reach) * unit)


def slack_of(constraint_value: Array, threshold: Array) -> Array:
    """V_c − b, (..., K), where next to nothing is 0."""
    slack = constraint_value - threshold
    return np.where(np.abs(slack) < NOTHING, 0.0, slack)


def _best_by_highs(value: Array, threshold: Array, loops: Mask | None = None) -> Mixture | None:
    on_simplex = np.ones(len(value)) if loops is None else np.where(loops, 0.0, 1.0)
    result = highs.minimise(
        -value[:, 0], A_ub=-value[:, 1:].T, b_ub=-threshold, A_eq=on_simplex[None], b_eq=[1.0]
    )
    if result.status != 0:
        return None
    multiplier = np.maximum(-result.ineqlin.marginals, 0.0)
    return Mixture(_distribution(result.x, loops), multiplier, -float(result.fun))


def _slack_by_highs(slack: Array, loops: Mask | None = None) -> Mixture:
    count, rows = slack.shape
    on_simplex, most = np.ones(count), None
    if loops is not None:
        on_simplex, most = np.where(loops, 0.0, 1.0), max(AMPLE, float(slack[~loops].min(1).max()))
    result = highs.minimise(
        -np.eye(count + 1)[-1],
        A_ub=np.column_stack([-slack.T, np.ones(rows)]),
        b_ub=np.zeros(rows),
        A_eq=np.append(on_simplex, 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, most)],
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS failed on the joint slack: {result.message}")
    multiplier = np.maximum(-result.ineqlin.marginals, 0.0)
    multiplier = multiplier / multiplier.sum() if multiplier.sum() > 0 else np.full(rows, 1 / rows)
    return Mixture(_distribution(result.x[:-1], loops), multiplier, float(result.x[-1]))


def _distribution(weights: Array, loops: Mask | None = None) -> Array:
    kept = np.maximum(weights, 0.0)
    return kept / (kept.sum() if loops is None else np.where(loops, 1.0, kept[~loops].sum()))


class ProgramSolution(NamedTuple):
    """The weights of all columns, the multipliers (K,) and the value."""

    weights: Array
    multiplier: Array
    value: float


def maximise(reward: Array, slack: Array, policies: int, basis: Basis) -> ProgramSolution | None:
    """Solve the program with columns `reward` (n,) and `slack` (n, K), the first `policies` on the simplex.

    `basis` names K + 1 columns; n + i stands for the surplus of row i. None if rounding spoils the result.

    >>> best = maximise(np.array([1.0, 0.0, -9.0]), np.array([[-0.25], [0.75], [1.0]]), 2, np.array([0, 2]))
    >>> best.weights.round(12), best.multiplier.round(12), round(best.value, 12)
    (array([0.75, 0.25, 0.  ]), array([1.]), 0.75)
    """
    count, rows = slack.shape
    matrix = np.zeros((rows + 1, count + rows + 1))  # the last column is the right-hand side
    matrix[:rows, :count] = slack.T
    matrix[:rows, count:-1] = -np.eye(rows)
    matrix[rows, :policies] = matrix[rows, -1] = 1.0
    gain = np.zeros(count + rows + 1)
    gain[:count] = reward
    try:
        last = _pivoted(matrix, gain, basis)
        if last is None:
            return None
        solution = np.linalg.solve(matrix[:, last], matrix[:, -1])
        price = np.linalg.solve(matrix[:, last].T, gain[last])
    except np.linalg.LinAlgError:
        return None
    most = float((gain - price @ matrix)[:-1].max())
    if not (solution.min() >= -HOLDS and most <= HOLDS * (1.0 + float(np.abs(price).max()))):
        return None
    weights = np.zeros(count + rows)
    weights[last] = np.maximum(solution, 0.0)
    return ProgramSolution(weights[:count], np.maximum(-price[:-1], 0.0), float(price[-1]))


def _pivoted(matrix: Array, gain: Array, start: Basis) -> list[int] | None:
    """Go from basis to basis, from `start` on, to one where no column gains; None if that fails."""
    tableau = np.empty((len(matrix) + 1, len(gain)))  # the last row holds the reduced gains
    tableau[:-1] = np.linalg.solve(matrix[:, start], matrix)
    tableau[-1] = gain - gain[start] @ tableau[:-1]
    reduced, right, basis = tableau[-1, :-1], tableau[:-1, -1], start.tolist()
    size, idle = np.abs(gain).tolist(), 0
    for _ in range(200 * len(gain)):
        least = PRECISION * (1.0 + max([size[k] for k in basis]))
        enter = int((reduced > least).argmax() if idle > 4 * len(basis) else reduced.argmax())
        most = float(reduced[enter])
        if not most > least:
            return basis
        column = tableau[:, enter]
        # The row that falls to 0 first (of ties, the one with the first column), and when.
        leave, step = -1, np.inf
        for i, (fall, held) in enumerate(zip(column[:-1].tolist(), right.tolist(), strict=True)):
            ratio = max(held, 0.0) / fall if fall > PRECISION else np.inf
            if ratio < step or (ratio == step < np.inf and basis[i] < basis[leave]):
                leave, step = i, ratio
        if leave < 0:
            return None
        idle = 0 if step * most > PRECISION else idle + 1
        row = tableau[leave] / column[leave]
        tableau -= column[:, None] * row
        tableau[leave] = row
        basis[leave] = enter
    return None
