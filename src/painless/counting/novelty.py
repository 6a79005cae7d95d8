"""How likely the next visit of a pair shows an outcome that was not seen there before, estimated from all pairs together.

If the N visits of a pair are put in random order, the chance that visit m + 1 shows a successor that none of the m before it did is

    Σ_i n_i/N · C(N − n_i, m) / C(N − 1, m),     n_i the count of successor i

(rarefaction), and the chance that the m before it all showed the same one, and it shows another,

    Σ_i C(n_i, m) / C(N, m) · (N − n_i) / (N − m).

Sums over the pairs with more than m visits say what to expect of a pair with m, one for pairs that showed a single successor so far, and one for the
others. In an environment without chance it falls to 0 after one visit, so that nobody looks twice; where every visit may bring something new it stays high.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from painless.common.arrays import Array
from painless.counting.memory import Indices

TABLE = 1 << 14  # factorials that are kept


def novelty(pairs: Indices, count: Array, visits: Array) -> Array:
    """Return the probability that the next visit of each pair is new, (S·A,); 1 for pairs that were never tried.

    Arguments:
        pairs: of each transition seen, (M,).
        count: how often it was seen, (M,).
        visits: N of each pair, (S·A,).

    One more visit, that was new, is always counted, and 1/(1 + N) is never exceeded: one imaginary visit.

    >>> novelty(np.array([0, 1, 2]), np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0, 0.0])).round(3).tolist()
    [0.25, 0.333, 0.333, 1.0]
    """
    expected = 1 / (1 + visits)
    single = np.bincount(pairs, minlength=len(visits)) <= 1
    level, own, total, size = 1, count, visits[pairs], visits
    while level <= visits.max(initial=0):
        here = (visits >= level) & (visits < 2 * level)
        rich = total > level
        own, total, size = own[rich], total[rich], size[size > level]
        if here.any():
            alike, others = _rates(own, total, len(size), level)
            rate = np.where(single[here], alike, others)
            expected[here] = np.minimum(expected[here], rate)
        level *= 2
    return expected


def incomplete(pairs: Indices, count: Array, visits: Array) -> Array:
    """Return the probability that a pair has outcomes that it did not show yet, (S·A,); 1 for pairs that were never tried.

    Of the pairs with 2m visits and more, some miss an outcome in their first m, in random order, that a later visit shows: that share holds for a pair with
    N visits, m ≤ N < 2m. One more pair, that misses an outcome, is always counted. More visits never miss more.

    >>> incomplete(np.arange(9), np.full(9, 40.0), np.append(np.full(9, 40.0), 1.0)).round(3).tolist()
    [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """
    missing, least, level = np.ones(len(visits)), 1.0, 1
    while level <= visits.max(initial=0):
        rich = visits >= 2 * level
        of_rich = rich[pairs]
        own, total = count[of_rich], visits[pairs[of_rich]]
        missed = np.bincount(pairs[of_rich], _ratio(total - own, total, level), len(visits))
        least = min(least, (np.minimum(missed, 1.0).sum() + 1) / (rich.sum() + 1))
        missing[(visits >= level) & (visits < 2 * level)] = least
        level *= 2
    return missing


def imaginary_rows(pairs: Indices, count: Array, visits: Array) -> Array:
    """Return how many imaginary rows, at most 1, stand for what each pair may still show, (S·A,).

    Visits m + 1 to 2m of all pairs that have them say how often a visit shows a new successor after m others; one more visit, that was new, is always
    counted. A pair with N rows, m ≤ N < 2m, counts as many imaginary rows as make this share.

    >>> imaginary_rows(np.arange(10), np.full(10, 100.0), np.append(np.full(10, 100.0), 0.0)).round(3)[-2:].tolist()
    [0.278, 1.0]
    """
    rows = np.ones(len(visits))
    level = 1
    while level <= visits.max(initial=0):
        rich = visits > level
        of_rich = rich[pairs]
        own, total = count[of_rich], visits[pairs[of_rich]]
        last = np.minimum(total, 2 * level)
        new = (
            _ratio(total - own, total, level)
            - np.where(total > last, _ratio(total - own, total, 2 * level), 0.0)
        ).sum()
        rate = (new + 1) / ((np.minimum(visits[rich], 2 * level) - level).sum() + 1)
        here = (visits >= level) & (visits < 2 * level)
        rows[here] = np.minimum(1.0, visits[here] * rate / max(1 - rate, 1e-12))
        level *= 2
    return rows


def _rates(own: Array, total: Array, pairs: int, level: int) -> tuple[float, float]:
    """Return how often a visit after `level` others was new: where these were all alike, and where they were not.

    Arguments:
        own: how often each transition was seen, of the pairs with more visits than `level`.
        total: the visits of its pair.
        pairs: how many pairs these are.
        level: of the visits.
    """
    new = (own / total * _ratio(total - own, total - 1, level)).sum()
    alike = _ratio(own, total, level)
    different = (alike * (total - own) / (total - level)).sum()
    known = float(pairs) - alike.sum()
    return (different + 1) / (alike.sum() + 1), (max(new - different, 0.0) + 1) / (max(known, 0.0) + 1)


def _ratio(part: Array, whole: Array, drawn: int) -> Array:
    """Return C(part, drawn) / C(whole, drawn), 0 where part < drawn.

    >>> _ratio(np.array([3.0, 1.0]), np.array([4.0, 4.0]), 2).round(3).tolist()
    [0.5, 0.0]
    """
    enough = part >= drawn
    ratio = np.zeros(len(part))
    small, large = part[enough].astype(np.int64), whole[enough].astype(np.int64)
    logs = (
        log_factorial(small)
        - log_factorial(small - drawn)
        - log_factorial(large)
        + log_factorial(large - drawn)
    )
    ratio[enough] = np.exp(logs)
    return ratio


def log_factorial(number: Indices) -> Array:
    """Return log n! of whole numbers.

    >>> log_factorial(np.array([0, 1, 5])).round(3).tolist()
    [0.0, 0.0, 4.787]
    """
    from scipy.special import gammaln

    table = _log_factorials()
    found = np.take(table, number, mode="clip")
    if number.max(initial=0) >= len(table):
        beyond = number >= len(table)
        found[beyond] = gammaln(number[beyond] + 1.0)
    return np.asarray(found)


@cache
def _log_factorials() -> Array:
    from scipy.special import gammaln

    return np.asarray(gammaln(np.arange(1.0, TABLE + 1)))
