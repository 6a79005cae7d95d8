"""Tests of what every claim from a log rests on: that it is stationary, and that its states are Markov.

Stationary: for each pair, do successors and utilities of the second half of the log differ from those of the first? Markov: does the
previous state help to predict them? Both ask whether two labels of the same rows are independent, pair by pair. Pearson's X² of a pair has, if all orders of
its labels are equally likely, for an r × c table of n rows

    E X² = (r−1)(c−1) n/(n−1),    Var X² = 2n/(n−3)·(v_r−w_r)(v_c−w_c) + n²/(n−1)·w_r w_c
    v_r = (r−1)(n−r)/(n−1),       w_r = (n Σ 1/n_i − r²)/(n−2)

(Haldane 1940; Dawson 1954), however few rows there are. The sums over all pairs are compared with a scaled χ² distribution of this mean and variance. Means of
utilities are compared by the share of their squares between labels, whose distribution is a beta distribution for normal utilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, summed_by

if TYPE_CHECKING:
    from painless.logs.logged_model import LoggedModel

LEVEL = 0.01  # of a p-value below which an assumption is doubtful
FEWEST = 5  # rows of a pair that are tested
SUSPECTS = 3  # pairs that are named

Codes = NDArray[np.int64]


class Tested(NamedTuple):
    """A sum of statistics over groups."""

    p_value: float
    strength: float  # from 0, independent, to 1
    by_group: Array  # (G,) by how many standard deviations each group stands out


@dataclass(frozen=True)
class Assumption:
    """One assumption, as far as a log tells."""

    name: str
    p_value: float  # 1 if there was nothing to test
    strength: float  # of the dependence: 0 is none, 1 is complete
    tested: bool
    suspects: tuple[str, ...]  # where it stands out most
    sentence: str

    @property
    def holds(self) -> bool:
        """Whether the log is compatible with it."""
        return self.p_value >= LEVEL


NOTHING = Tested(1.0, 0.0, np.zeros(0))


def dependence(group: Codes, row: Codes, column: Codes, count: Array, groups: int) -> Tested:
    """Test whether rows and columns are independent within groups; counts (m,) of group, row and column."""
    n = summed_by(group, count, groups)
    rows, row_of = _margins(group, row, count)
    columns, column_of = _margins(group, column, count)
    cell, where = np.unique(np.stack([group, row_of, column_of]), axis=1, return_inverse=True)
    seen = summed_by(where.ravel(), count, cell.shape[1])
    of_cells = seen**2 / (rows.total[cell[1]] * columns.total[cell[2]])
    statistic = n * (summed_by(cell[0], of_cells, groups) - 1)
    r, c = (np.bincount(part.group, minlength=groups).astype(float) for part in (rows, columns))
    used = (r > 1) & (c > 1) & (n >= FEWEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (r - 1) * (c - 1) * n / (n - 1)
        (vr, wr), (vc, wc) = (_moments(part, n, k) for part, k in ((rows, r), (columns, c)))
        variance = 2 * n / (n - 3) * (vr - wr) * (vc - wc) + n**2 / (n - 1) * wr * wc
    return _compared(statistic, mean, variance, n * np.minimum(r - 1, c - 1), used)


def mean_dependence(
    group: Codes, row: Codes, count: Array, total: Array, square: Array, groups: int
) -> Tested:
    """Test whether means differ between rows within groups; entries (m,) have a count, a sum and a sum of squares."""
    rows, row_of = _margins(group, row, count)
    sums = summed_by(row_of, total, len(rows.total))
    n, whole = summed_by(group, count, groups), summed_by(group, total, groups)
    r = np.bincount(rows.group, minlength=groups).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        all_squares = summed_by(group, square, groups) - whole**2 / n
        between = summed_by(rows.group, sums**2 / rows.total, groups) - whole**2 / n
        size = summed_by(group, square, groups)
        used = (r > 1) & (n >= FEWEST) & (all_squares > 1e-9 * size) & (n > r)
        statistic = (n - 1) * between / all_squares
        variance = 2 * (r - 1) * (n - r) / (n + 1)
    return _compared(statistic, r - 1, variance, n, used)


class _Margin(NamedTuple):
    group: Codes  # (m,)
    total: Array  # (m,)


def _margins(group: Codes, label: Codes, count: Array) -> tuple[_Margin, Codes]:
    """Return the totals of each label within its group, and which of them each entry belongs to."""
    used, place = np.unique(np.stack([group, label]), axis=1, return_inverse=True)
    place = place.ravel()
    return _Margin(used[0], summed_by(place, count, used.shape[1])), place


def _moments(margin: _Margin, n: Array, k: Array) -> tuple[Array, Array]:
    inverse = summed_by(margin.group, 1 / margin.total, len(n))
    return (k - 1) * (n - k) / (n - 1), (n * inverse - k**2) / (n - 2)


def _compared(statistic: Array, mean: Array, variance: Array, most: Array, used: NDArray[np.bool_]) -> Tested:
    """Compare a sum of statistics with the scaled χ² distribution that has its mean and variance."""
    from scipy.special import gammaincc

    used = used & (variance > 1e-9)
    if not used.any():
        return NOTHING
    total, expected, spread = (float(part[used].sum()) for part in (statistic, mean, variance))
    p_value = float(gammaincc(expected**2 / spread, total * expected / spread))
    strength = np.sqrt(max(total - expected, 0.0) / max(float(most[used].sum()), 1.0))
    by_group = np.zeros(len(statistic))
    by_group[used] = (statistic[used] - mean[used]) / np.sqrt(variance[used])
    return Tested(p_value, float(min(strength, 1.0)), by_group)


def stationary(log: LoggedModel) -> Assumption:
    """Test whether the second half of the log is like the first."""
    memory = log.memory
    entries = len(memory.keys)
    half, entry = np.divmod(np.arange(2 * entries), max(entries, 1))
    count = memory.counts.ravel()
    seen = count > 0
    half, entry, count = half[seen], entry[seen], count[seen]
    pair = memory.pairs[entry]
    tests = [dependence(pair, half, memory.successors[entry], count, memory.states * memory.actions)]
    sums, squares = (part.reshape(-1, memory.utilities)[seen] for part in (memory.sums, memory.squares))
    moved = [
        mean_dependence(entry, half, count, sums[:, j], squares[:, j], entries)
        for j in range(memory.utilities)
    ]
    return _assumption(
        log,
        "stationary",
        [*tests, *(_by_pair(log, one) for one in moved)],
        "The second half of the log is like the first",
        "The second half of the log differs from the first: what was learned may no longer be true. Plan on the newer rows alone",
    )


def markov(log: LoggedModel) -> Assumption:
    """Test whether the previous state helps to predict what follows."""
    pair, successor, before, count, sums, squares = log.previous
    size = log.memory.states * log.memory.actions
    after = np.where(successor < 0, log.memory.states, successor)
    tests = [dependence(pair, before, after, count, size)] if len(pair) else []
    if len(pair):
        entry = np.unique((pair << 32) | after, return_inverse=True)[1]
        for j in range(log.memory.utilities):
            found = mean_dependence(entry, before, count, sums[:, j], squares[:, j], int(entry.max()) + 1)
            tests.append(_of_pairs(found, entry, pair, size))
    return _assumption(
        log,
        "Markov",
        tests,
        "The previous state does not help to predict what follows",
        "The previous state helps to predict what follows, so that the states leave something out. Add to the state what they forget",
    )


def _by_pair(log: LoggedModel, tested: Tested) -> Tested:
    """Return a test by transitions as one by pairs."""
    return _of_pairs(
        tested, np.arange(len(log.memory.keys)), log.memory.pairs, log.memory.states * log.memory.actions
    )


def _of_pairs(tested: Tested, group: Codes, pair: Codes, size: int) -> Tested:
    largest = np.zeros(size)
    if len(tested.by_group):
        np.maximum.at(largest, pair, tested.by_group[group])
    return tested._replace(by_group=largest)


def _assumption(log: LoggedModel, name: str, tests: list[Tested], good: str, bad: str) -> Assumption:
    """Put tests of one assumption together: the least p-value counts as often as there are tests."""
    tested = [one for one in tests if one.by_group.any() or one.p_value < 1]
    if not tested:
        return Assumption(
            name, 1.0, 0.0, False, (), f"The log has too few rows to test whether it is {name}."
        )
    worst = min(tested, key=lambda one: one.p_value)
    p_value = min(1.0, worst.p_value * len(tested))
    places = np.argsort(-worst.by_group)[:SUSPECTS]
    places = places[worst.by_group[places] > 0]
    actions = len(log.actions)
    suspects = tuple(
        f"{log.actions.texts[k % actions]} in {log.states.texts[k // actions]}" for k in places.tolist()
    )
    if p_value >= LEVEL:
        return Assumption(name, p_value, worst.strength, True, suspects, f"{good} (p = {p_value:.2g}).")
    shown = "p < 1e-6" if p_value < 1e-6 else f"p = {p_value:.1g}"
    where = f", most for {', '.join(suspects)}" if suspects else ""
    return Assumption(
        name,
        p_value,
        worst.strength,
        True,
        suspects,
        f"{bad} ({shown}, strength {worst.strength:.2g} of 1{where}).",
    )
