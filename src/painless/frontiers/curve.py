"""The result of `frontier`: every vertex of the trade-off between the objective and one limit, in the user's terms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.bellman import occupancy_policy
from painless.common import render
from painless.common.arguments import as_floats, number, whole
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.engines.drawn import as_answer
from painless.engines.engine import EXACT_STATES, FINEST_VISITS, engine_of
from painless.frontiers import json_data, storage
from painless.planning.case import LEAST, allowance
from painless.planning.certificate import NEAR
from painless.policies.table import TabularPolicy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy, policy_of
from painless.problem import CMDP, Criterion

SHOWN = 24  # vertices of a longer frontier that its text shows
DRAWS = " Between vertices, averages are those of a draw at the start where no stationary policy has them."
KEPT = 10_000_000  # numbers of visits that are kept for neighbouring vertices

Mixture = tuple[tuple[int, float], ...]  # rows of `actions`, and their weights


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """An optimum at one limit: the mixture of at most two neighbouring vertices."""

    threshold: float
    reward_value: float
    constraint_value: Array  # (K,)
    multiplier: tuple[float, float]  # the smallest and the largest shadow price; they differ only at vertices
    weights: dict[int, float]  # of the vertices
    policy: TabularPolicy | TimedPolicy | TableMixture  # with exactly these values; a draw for some averages
    occupancy: Array  # (S, A)


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best objective value for every limit of one constraint, the others held; in the user's terms.

    It is piecewise linear. Vertices go from the loosest limit to the tightest. Looser than the first, the constraint is
    slack and costs nothing; tighter than the last, no policy is feasible. Between two neighbours, the mixture of their
    occupancies is an optimum: `at(threshold)`. The policy of a vertex is deterministic when there is one constraint, and
    otherwise a mixture of a few rows of `actions`.
    """

    problem: CMDP
    constraint: int
    reward_value: Array  # (N,)
    constraint_value: Array  # (N, K)
    multiplier: Array  # (N, 2) shadow prices from .. to; 0 at the first vertex, infinite at the last
    gap: Array  # (N − 1,) how much better than the line between two vertices any feasible policy could be
    error: float  # how far from the lines the frontier can lie, relative to its ranges
    actions: NDArray[np.unsignedinteger]  # (M, S) deterministic policies
    mixtures: tuple[Mixture, ...]  # of each vertex
    solves: int  # of unconstrained problems
    seconds: float
    threshold: Array = field(init=False)  # (N,) the limit at each vertex, at which the constraint is tight
    name: str = field(init=False)  # of the constraint whose limit varies
    sense: str = field(init=False)  # whether the limit is a threshold, ">=", or a budget, "<="
    slack_from: float = field(init=False)  # the tightest limit at which the constraint costs nothing
    feasible_to: float = field(init=False)  # the tightest limit that any policy meets

    def __post_init__(self) -> None:
        limits, place = self.constraint_value[:, self.constraint], self.constraint
        self.__dict__.update(
            threshold=limits,
            name=self.problem.constraint_names[place],
            sense=self.problem.sense[place],
            slack_from=float(limits[0]),
            feasible_to=float(limits[-1]),
        )

    def __len__(self) -> int:
        return len(self.reward_value)

    def value(self, threshold: ArrayLike) -> Array:
        """Return the optimal value at each limit; NaN where no policy is feasible."""
        given = as_floats("threshold", threshold) * self._sign
        found = np.interp(given, self.threshold * self._sign, self.reward_value)
        return np.where(given > self._tightest, np.nan, found)

    def at(self, threshold: float) -> FrontierPoint:
        """Return the optimum at a limit, with its shadow price and its policy."""
        weights, price = self._mixture(threshold)
        parts = np.array([*weights.values()])
        visits = self._visits()
        rows = [(row, weight * part) for i, weight in weights.items() for row, part in self.mixtures[i]]
        occupancy = self._mixed(rows, visits)
        heaviest = max(weights, key=lambda i: weights[i])
        table = self.table(heaviest, self._mixed(self.mixtures[heaviest], visits))
        return FrontierPoint(
            threshold=float(threshold),
            reward_value=float(parts @ self.reward_value[[*weights]]),
            constraint_value=parts @ self.constraint_value[[*weights]],
            multiplier=price,
            weights=weights,
            policy=self._policy(rows, occupancy_policy(occupancy, table)),
            occupancy=occupancy,
        )

    def price(self, threshold: float) -> tuple[float, float]:
        """Return the smallest and the largest shadow price at a limit; they differ only at vertices."""
        return self._mixture(threshold)[1]

    def _mixture(self, threshold: float) -> tuple[dict[int, float], tuple[float, float]]:
        """Return the weights of the vertices whose mixture is an optimum at a limit, and the prices there."""
        given = number("threshold", threshold, "give one such as 1.5") * self._sign
        steps = self.threshold * self._sign
        if not given <= self._tightest:
            raise InputError(
                f"no policy has {self.name} {self.sense} {threshold:g}; the tightest limit that any meets is "
                f"{render.number(self.feasible_to)}"
            )
        right = int(np.searchsorted(steps, min(given, steps[-1])))  # the first vertex that is as tight
        low, high = self.multiplier[right]
        if right == 0 or given >= steps[right]:
            return {right: 1.0}, (0.0, 0.0) if given < steps[0] else (float(low), float(high))
        share = float((given - steps[right - 1]) / (steps[right] - steps[right - 1]))
        return {right - 1: 1.0 - share, right: share}, (float(low), float(low))

    def occupancy(self, vertex: int) -> Array:
        """Return the discounted visits of a vertex's policy to each pair, (S, A)."""
        return self._mixed(self.mixtures[self._vertex(vertex)], self._visits())

    def occupancies(self) -> Iterator[Array]:
        """Yield the `occupancy` of every vertex, in order."""
        return (occupancy for _, occupancy in self.tables())

    def tables(self) -> Iterator[tuple[Array, Array]]:
        """Yield the `table` and the `occupancy` of every vertex, in order: neighbours share most of their policies."""
        visits = self._visits()
        for mixture in self.mixtures:
            occupancy = self._mixed(mixture, visits)
            yield self._table(mixture, occupancy), occupancy

    def policy(
        self, vertex: int, occupancy: Array | None = None
    ) -> TabularPolicy | TimedPolicy | TableMixture:
        """Return the policy of a vertex; with one constraint it is deterministic.

        `occupancy` is that of the vertex, if already known.
        """
        return self._policy(self.mixtures[self._vertex(vertex)], self.table(vertex, occupancy))

    def table(self, vertex: int, occupancy: Array | None = None) -> Array:
        """Return the `policy` of a vertex as one table, (S, A); with a horizon, (H·S, A)."""
        mixture = self.mixtures[self._vertex(vertex)]
        known = len(mixture) == 1 or occupancy is not None
        return self._table(mixture, occupancy if known else self.occupancy(vertex))

    def _table(self, mixture: Mixture, occupancy: Array | None) -> Array:
        """Return the table of a mixture of rows of `actions`; of several, the one with their occupancy (S, A)."""
        heaviest = max(mixture, key=lambda part: part[1])[0]
        table = np.eye(self.problem.shape[1])[self.actions[heaviest]]
        return table if len(mixture) == 1 or occupancy is None else occupancy_policy(occupancy, table)

    def _policy(
        self, rows: Sequence[tuple[int, float]], table: Array
    ) -> TabularPolicy | TimedPolicy | TableMixture:
        """Return the policy that mixes rows of `actions`, of which `table` (S, A) has the occupancy."""
        if self.problem.criterion not in (Criterion.AVERAGE, Criterion.TOTAL) or len(rows) == 1:
            return policy_of(self.problem, table)
        policies = [self.actions[row] for row, _ in rows]
        mixed, _ = engine_of(self.problem).mixed(policies, np.array([weight for _, weight in rows]), NEAR)
        return as_answer(self.problem, mixed)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and text, as `save` writes it."""
        return json_data.as_dict(self)

    def to_json(self) -> str:
        """Return `as_dict` as compact JSON, for pages and other programs."""
        return json_data.to_json(self)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `problem.npz`, `frontier.json` and finally `arrays.npz` into a folder."""
        storage.save(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Frontier:
        """Read what `save` wrote."""
        return cls(**storage.load(folder))

    @property
    def _sign(self) -> float:
        return float(self.problem.sign[1 + self.constraint])

    @property
    def _tightest(self) -> float:
        """The tightest limit in the internal sense, with the tolerance of every constraint."""
        end = float(self.threshold[-1]) * self._sign
        utility = self.problem.constraint_reward[self.constraint][self.problem.actions]
        least = LEAST * float(np.ptp(utility)) * self.problem.unit
        return end + allowance(self.problem.unit) * (2 * abs(end) + least)

    def _vertex(self, vertex: int) -> int:
        if whole("vertex", vertex, least=0) >= len(self):
            raise InputError(f"vertex is {vertex}; the frontier has {len(self)}, from 0")
        return int(vertex)

    def _visits(self) -> Callable[[int], Array]:
        """Return a function that gives d(s) of a row of `actions`, (S,), and remembers the latest."""
        engine = engine_of(self.problem, EXACT_STATES)
        return lru_cache(1 + KEPT // self.problem.shape[0])(
            lambda row: np.maximum(engine.visits(self.actions[row], FINEST_VISITS), 0.0)
        )

    def _mixed(self, mixture: Iterable[tuple[int, float]], visits: Callable[[int], Array]) -> Array:
        """Return the occupancy of a mixture of rows of `actions`, (S, A)."""
        total, one = np.zeros(self.problem.actions.shape), np.eye(self.problem.shape[1])
        for row, weight in mixture:
            total += weight * visits(row)[:, None] * one[self.actions[row]]
        return total

    def rows(self) -> list[Sequence[str]]:
        """Return the rows of the printed table, one for each vertex."""
        sign = render.SIGNS[self.sense]
        found: list[Sequence[str]] = []
        limits = render.distinct_numbers(self.threshold.tolist())
        for i, (limit, value, (low, high)) in enumerate(
            zip(limits, self.reward_value, self.multiplier, strict=True)
        ):
            prices = f"{render.number(low)} to {render.number(high) if np.isfinite(high) else '∞'}"
            found.append((str(i), f"{sign} {limit}", render.number(value), prices))
        return found

    @property
    def header(self) -> Sequence[str]:
        """The column headings of `rows`."""
        return ("vertex", self.name, "cost" if self.problem.minimise else "reward", "shadow price")

    @property
    def status(self) -> str:
        """A summary in sentences."""
        looser, tighter = ("below", "above") if self.sense == ">=" else ("above", "below")
        count = f"{len(self.threshold)} {'vertex' if len(self.threshold) == 1 else 'vertices'}"
        up = self.sense == ">="
        return (
            f"A limit on {self.name} costs nothing {looser} {render.bound(self.slack_from, up=not up)}, and no policy "
            f"meets one {tighter} {render.bound(self.feasible_to, up=up)}. {count}, proved to within {self.error:.1e} "
            "of the range." + (DRAWS if self.problem.criterion is Criterion.AVERAGE else "")
        )

    def __repr__(self) -> str:
        rows = self.rows()
        if len(rows) > SHOWN:
            left = len(rows) - SHOWN
            rows = [*rows[: SHOWN // 2], ("…", f"{left} more", "", ""), *rows[-SHOWN // 2 :]]
        table = render.text_table(self.header, rows)
        return f"Frontier ({self.solves} solves, {self.seconds:.2f} s)\n{table}\n{self.status}"

    def _repr_html_(self) -> str:
        # A notebook asks for the page; nothing else here does.
        from painless.report.html import framed_frontier

        table = render.html_summary(self.status, self.header, self.rows())
        return framed_frontier(self.as_dict()) + f"<details><summary>Vertices</summary>{table}</details>"
