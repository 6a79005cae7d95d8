"""Pairs that are alike: rows of a model that have the same probabilities, whatever they lead to, say more together than each alone.

Ground that is slippery is slippery everywhere: where simulators draw their chance from the same few numbers, the rows of most pairs are one of a few *shapes* θ, vectors of probabilities that
belong to outcomes in some order. Shapes are found by expectation maximisation over all pairs with the same number of outcomes, in every order, beside a Dirichlet distribution for rows that are like no other;
a further shape must raise the evidence by more than it has freedom (Schwarz 1978). The uniform shape is always among them.

That rows are much alike does not make them equal. Those of a shape are drawn from a Dirichlet distribution with mean θ and weight κ, where κ = ∞ says that they are equal. What κ may be, the
scatter of all rows together says, and a row counts as if it had been visited κ times more:

    P = (n + κθ)/(N + κ),     1/N' = E[1/(N + κ)] + the doubt about shape, order and κ

Errors of a shape itself are the same in all of its rows. First states, which may be equally likely, are treated likewise.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.counting.memory import Indices

MOST = 4  # outcomes of a row that is compared with others
SHAPES = 8  # with the same number of outcomes, at most
SEARCHED = 200  # rows among which shapes are looked for
ROWS = 10_000  # that are compared in all orders at a time
FAILURES = 3  # after which no further shape is looked for
ROUNDS = 12  # of expectation maximisation
WEIGHINGS = 6  # of shapes that are known
LEAST = 10.0  # visits of a row that may be a shape
NEW = 0.02  # share of the first states to come that may be new, for the others to be compared
UNLIKELY = 1e-3  # chance of a weight that counts as none
LENT = 5.0  # visits that the likes of a row lend it, for each of its own, at most
EVIDENCE = 5.0  # by which a shape must raise the logarithm of the evidence, beside the price of its freedom
WEIGHTS = np.append(6.25 * 4.0 ** np.arange(9), np.inf)  # κ
LENDING = WEIGHTS > 50  # rows that are less alike lend each other nothing
LIKELY = np.append(np.full(9, 0.5 / 9), 0.5)  # of each, before anything was seen


class Alike(NamedTuple):
    """What rows are by their likes."""

    probability: Array  # (M,)
    visits: Array  # N', (S·A,)
    shape: Indices  # the shape of each pair, (S·A,); −1 without any
    share: Array  # of a row that is its shape's, (S·A,)
    spread: list[float]  # the variance of each shape, over that of one visit, (C,)


class Shapes(NamedTuple):
    """The shapes (C, m) of rows with m outcomes, and how many visits each is known from, (C,); infinite if it is uniform."""

    theta: Array
    visits: Array


class Orders(NamedTuple):
    """How rows (R, m) fit each shape in every order of its probabilities."""

    mean: Array  # (R, C, m) the shape, in the orders that fit
    variance: Array  # (R, C, m) of each probability over these
    likely: Array  # (R, C) the logarithm of the share of all orders that fit
    free: Array  # (R,) the logarithm of the evidence of rows that are like no other


def unlike_rows(frequency: Array, visits: Array) -> Alike:
    """Take every row by itself."""
    return Alike(frequency, visits, np.full(len(visits), -1), np.zeros(len(visits)), [])


def alike_rows(pairs: Indices, count: Array, visits: Array, complete: Array) -> Alike:
    """Compare all rows; transitions are sorted by their pairs. `complete` is the probability that a pair has shown all of its outcomes, (S·A,)."""
    found = unlike_rows(count / visits[pairs], visits.copy())
    outcomes = np.bincount(pairs, minlength=len(visits))
    begin = np.cumsum(outcomes) - outcomes
    groups = [begin[outcomes == m][:, None] + np.arange(m) for m in range(2, MOST + 1)]
    groups = [entries for entries in groups if len(entries) > 1]  # (R, m) transitions
    shapes = [find_shapes(most_visited(count[entries])) for entries in groups]
    scatter = [
        _scatter(most_visited(count[entries]), one) for entries, one in zip(groups, shapes, strict=True)
    ]
    chance = _chance(scatter)
    for entries, one in zip(groups, shapes, strict=True):
        own = pairs[entries[:, 0]]
        blend = _blended(count[entries], one, chance, complete[own])
        better = blend.visits > visits[own]
        found.probability[entries[better]] = blend.row[better]
        found.visits[own[better]] = blend.visits[better]
        found.shape[own[better]] = len(found.spread) + blend.shape[better]
        found.share[own[better]] = blend.share[better]
        found.spread.extend((1 / one.visits).tolist())
    return found


def alike_first(starts: Array) -> tuple[Array, float]:
    """Return the probabilities of first states (S,), which may be equally likely, and how many episodes they are as good as."""
    seen, episodes = np.flatnonzero(starts), float(starts.sum())
    counts, found = starts[seen][None], starts / episodes
    if len(seen) < 2 or (counts == 1).sum() > NEW * episodes:  # Good (1953)
        return found, episodes
    shapes = Shapes(_uniform(len(seen)), np.full(1, np.inf))
    blend = _blended(counts, shapes, _chance([_scatter(counts, shapes)]), np.ones(1), len(seen) - 1)
    if blend.visits[0] <= episodes:
        return found, episodes
    found[seen] = blend.row[0]
    return found, float(blend.visits[0])


def most_visited(counts: Array) -> Array:
    """Return the rows (R, m) among which shapes are looked for."""
    return np.asarray(counts[np.argsort(-counts.sum(1), kind="stable")[:SEARCHED]])


def find_shapes(counts: Array) -> Shapes:
    """Find the shapes of rows (R, m), the uniform one first."""
    m = counts.shape[1]
    best = fitted(counts, _uniform(m))
    tried, failures = np.zeros(len(counts), dtype=bool), 0
    while len(best.shapes) < SHAPES and failures < FAILURES:
        alone = (1 - best.member.sum(1)) * counts.sum(1) * ~tried
        one = int(alone.argmax())
        if alone[one] < LEAST:
            break
        tried[one] = True
        own = np.sort(counts[one] + 0.5)[::-1]
        new = fitted(counts, np.vstack([best.shapes, own / own.sum()]))
        price = 0.5 * (m - 1) * np.log(max(float(counts.sum(1) @ new.member[:, -1]), 1.0))
        better = new.evidence > best.evidence + EVIDENCE + price
        best, failures = (new, 0) if better else (best, failures + 1)
    visits = counts.sum(1) @ best.member
    return Shapes(best.shapes, np.append(np.inf, np.maximum(visits[1:], 1.0)))


class Fit(NamedTuple):
    """What expectation maximisation found."""

    shapes: Array  # (C, m)
    member: Array  # (R, C) the probability that a row has a shape
    evidence: float  # its logarithm


def fitted(counts: Array, shapes: Array) -> Fit:
    """Improve all shapes (C, m) but the first, and their weights; rows may have any order."""
    free, ordered = _alone(counts), counts[:, _orders(counts.shape[1])]  # (R,), (R, P, m)
    weights = np.full(len(shapes) + 1, 1 / (len(shapes) + 1))
    for _ in range(ROUNDS):
        fits = ordered @ np.log(shapes).T + np.log(weights[:-1] / ordered.shape[1])  # (R, P, C)
        whole = np.logaddexp(_log_sum(fits.reshape(len(counts), -1)), free + np.log(weights[-1]))
        member = np.exp(fits - whole[:, None, None])
        known = member.sum((0, 1))
        weights = np.append(known, len(counts) - known.sum()) + 0.5
        weights /= weights.sum()
        moved = np.einsum("rpc,rpm->cm", member, ordered)[1:] + 1e-9
        shapes = np.vstack([shapes[:1], moved / moved.sum(1, keepdims=True)])
    return Fit(shapes, member.sum(1), float(whole.sum()))


def _log_sum(logs: Array) -> Array:
    """Return the logarithm of the sum over the last axis; SciPy's takes ten times as long for a few."""
    top = logs.max(-1)
    return np.asarray(top + np.log(np.exp(logs - top[..., None]).sum(-1)))


def _uniform(m: int) -> Array:
    return np.full((1, m), 1 / m)


def _orders(m: int) -> Indices:
    return np.array(list(permutations(range(m))))


def _alone(counts: Array) -> Array:
    """Return the logarithm of the evidence of rows (R, m) that are like no other, (R,)."""
    from scipy.special import gammaln

    m = counts.shape[1]
    return np.asarray(gammaln(m) - gammaln(counts.sum(1) + m) + gammaln(counts + 1).sum(1))


def _ordered(counts: Array, shapes: Shapes) -> Orders:
    """Compare rows with shapes in all orders, so many rows at a time as memory allows."""
    parts = [_in_orders(rows, shapes) for rows in np.array_split(counts, 1 + len(counts) // ROWS)]
    return Orders(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _in_orders(counts: Array, shapes: Shapes) -> Orders:
    """Compare rows with shapes in all orders; one is enough if all of them are uniform."""
    m = counts.shape[1]
    orders = np.arange(m)[None] if len(shapes.theta) == 1 else _orders(m)
    every = shapes.theta[:, orders]  # (C, P, m)
    fits = np.log(every) @ counts.T  # (C, P, R): rows last, since there are many
    top = fits.max(1)
    share = np.exp(fits - top[:, None])
    total = share.sum(1)
    share /= total[:, None]
    turned = every.transpose(0, 2, 1)
    mean, square = (np.ascontiguousarray((part @ share).transpose(2, 0, 1)) for part in (turned, turned**2))
    share_of_orders = np.log(total).T - np.log(len(orders))
    return Orders(mean, np.maximum(square - mean**2, 0.0), share_of_orders, _alone(counts))


def _members(counts: Array, shapes: Shapes, orders: Orders, weight: float) -> tuple[Array, float]:
    """Return the probability of each shape, (R, C), if rows are drawn about it with a weight κ, and the logarithm of the evidence."""
    from scipy.special import gammaln

    theta, rows, total = np.sort(shapes.theta, 1), np.sort(counts, 1), counts.sum(1)[:, None]
    if np.isinf(weight):
        own = rows @ np.log(theta).T
    else:
        prior = weight * theta
        own = gammaln(weight) - gammaln(total + weight) - gammaln(prior).sum(1)
        for place in range(theta.shape[1]):
            own += gammaln(rows[:, place, None] + prior[:, place])
    own = own + orders.likely
    top = np.maximum(own.max(1), orders.free)
    fits, free = np.exp(own - top[:, None]), np.exp(orders.free - top)
    part = np.full(len(theta) + 1, 1 / (len(theta) + 1))
    for _ in range(WEIGHINGS):
        used, whole = part, fits @ part[:-1] + free * part[-1]
        known = used[:-1] * ((1 / whole) @ fits)
        part = np.append(known, max(len(counts) - known.sum(), 0.0)) + 0.5 / len(part)
        part /= part.sum()
    return fits * used[:-1] / whole[:, None], float((np.log(whole) + top).sum())


def _scatter(counts: Array, shapes: Shapes) -> Array:
    """Return the logarithm of the evidence of rows for each weight κ."""
    orders = _ordered(counts, shapes)
    return np.array([_members(counts, shapes, orders, weight)[1] for weight in WEIGHTS])


def _chance(scatter: list[Array]) -> Array:
    """Return how likely each weight κ is; those that are hardly likely count as impossible."""
    evidence = np.log(LIKELY) + sum(scatter)
    chance = np.exp(evidence - evidence.max())
    chance[chance < UNLIKELY * chance.sum()] = 0.0
    return np.asarray(chance / chance.sum())


class Blend(NamedTuple):
    """What rows are by their likes."""

    row: Array  # (R, m)
    visits: Array  # N', (R,)
    shape: Indices  # (R,) the likeliest
    share: Array  # (R,)


def _blended(counts: Array, shapes: Shapes, chance: Array, complete: Array, directions: int = 1) -> Blend:
    """Average over shapes and weights; a row that may lack an outcome is like others only if it does not.

    Where shapes and weights disagree, values may lie along the difference: plans look for rows with errors that please them. Nobody chooses
    where episodes begin, so that values of first states lie in any of `directions`.
    """
    total, orders = counts.sum(1), _ordered(counts, shapes)
    own = counts / total[:, None]
    # The probability of a shape and a weight, (R, C), and their pull on the row, (R,)
    parts = list[tuple[Array, Array]]()
    for weight, likely, lends in zip(WEIGHTS, chance, LENDING, strict=True):
        if likely and lends:
            pull = np.ones(len(total)) if np.isinf(weight) else weight / (total + weight)
            member = _members(counts, shapes, orders, weight)[0]
            parts.append((likely * complete[:, None] * member, pull))
    share = sum((member * pull[:, None] for member, pull in parts), np.zeros(orders.likely.shape))  # (R, C)
    row = (1 - share.sum(1))[:, None] * own + np.einsum("rc,rcm->rm", share, orders.mean)
    variance = 1 / total - share.sum(1) / total
    away = row - own
    rest = np.ones(len(total))
    for member, pull in parts:
        moved = pull[:, None, None] * (orders.mean - own[:, None]) - away[:, None]  # (R, C, m)
        spread = moved**2 + (pull**2)[:, None, None] * orders.variance
        variance += np.einsum("rc,rcm->r", member, spread / row[:, None]) / directions
        rest -= member.sum(1)
    variance += np.maximum(rest, 0.0) * (away**2 / row).sum(1) / directions
    return Blend(row, np.minimum(1 / variance, (1 + LENT) * total), share.argmax(1), share.sum(1))
