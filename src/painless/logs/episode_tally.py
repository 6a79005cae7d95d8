"""The episodes of a log, added up as they go by: of one that is over, its first state, its return and its length stay in sums.

Rows of an episode come one after the other, and each begins where the one before it ended; then nothing but the episode that is still open, and eight bytes of the name of
each other one, is kept. Otherwise the log is `Scattered`: it is read again and sorted by episode (`from_log`), and every episode comes as a whole.

An episode begins in the state that it leaves once more often than it enters it, so that the order of its rows does not matter; with a column of steps, in
that of the least step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask, summed_by
from painless.common.errors import InputError
from painless.counting.memory import SUCCESSOR_BITS
from painless.logs.adding import Adding
from painless.logs.log_columns import END, Rows
from painless.logs.name_index import Codes
from painless.logs.previous import Previous
from painless.logs.whole_episodes import Returns
from painless.problem.criterion import Criterion

LOW = (1 << SUCCESSOR_BITS) - 1  # the bits of a state in a key of two codes


class Scattered(Exception):
    """Rows of an episode lie apart, or are not in order."""


class Starts(NamedTuple):
    """Where episodes begin."""

    by_state: Array  # (S,) episodes by their first state
    closed: int  # episodes that end where they began, of which the rows do not tell where that is
    broken: int  # episodes of which rows are missing


class Naming(NamedTuple):
    """What rows, episodes and states are called, for errors."""

    place: Callable[[int], int]  # of a row in the log
    row: Callable[[int], str]
    episode: Callable[[int], object]  # of a row
    state: Callable[[int], object]  # by its number


class Runs(NamedTuple):
    """Episodes, or what has been read of them."""

    name: Codes  # (R,)
    start: Codes  # (R,) the state of the first row
    state: Codes  # (R,) that of the latest row
    successor: Codes  # (R,) where it led
    step: Array  # (R,) of the latest row
    length: Codes  # (R,)
    total: Array  # (R, J) the return so far
    broken: Mask  # (R,) whether rows are missing, or not in order

    def part(self, chosen: slice) -> Runs:
        """Return some of them."""
        parts: tuple[Any, ...] = tuple(one[chosen] for one in self)
        return Runs(*parts)


class EpisodeTally:
    """Sums over the episodes of a log.

    Arguments:
        utilities: J.
        named: whether the log says which rows are of one episode; else nothing but what followed what is counted.
        steps: whether it counts the rows of an episode.
        whole: whether every episode comes as a whole, sorted.
    """

    def __init__(self, utilities: int, adding: Adding, *, named: bool, steps: bool, whole: bool) -> None:
        self.adding, self.named, self.steps, self.whole = adding, named, steps, whole
        self.returns = Returns.of(np.zeros((0, utilities)), np.zeros(0))
        self.previous = Previous.empty(utilities)
        self.first: Array = np.zeros(0)  # episodes by their first state
        self.closed = self.broken = self.runs = 0
        self.seen: Codes = np.empty(0, dtype=np.int64)  # names of episodes that are over, sorted
        self.open: Runs | None = None

    def add(self, rows: Rows, pair: Codes, naming: Naming) -> Codes:
        """Add rows, and return the number of the episode of each, (n,); `naming` what things are called."""
        name = np.zeros(len(rows.state), dtype=np.int64) if rows.episode is None else rows.episode
        new = np.append(True, np.diff(name) != 0)
        first, run = np.flatnonzero(new), np.cumsum(new) - 1
        carried = self.open if self.open is not None and self.open.name[0] == name[0] else None
        self._require_together(name[first], carried)
        linked = self._linked(rows, new, carried, naming)
        now = self._runs(rows, name, first, run, linked, carried)
        self._count_previous(rows, pair, linked, carried)
        if self.open is not None and carried is None:
            self._close(self.open)
        number = self.runs - (carried is not None) + run
        self.runs = int(number[-1]) + 1
        if self.whole:
            self._require_ends(rows, run, now, naming)
            self._starts_by_flow(rows, run, len(first))
            self._close(now)
        else:
            self._close(now.part(slice(0, -1)))
            self.open = now.part(slice(-1, None))
        return number

    def complete(self) -> None:
        """Count the last episode."""
        if self.open is not None:
            self._close(self.open)
            self.open = None

    def _require_together(self, names: Codes, carried: Runs | None) -> None:
        """Reject episodes that are met a second time."""
        if not self.named:
            return
        fresh = names if carried is None else names[1:]
        known = np.unique(np.append(self.seen, fresh))
        if len(known) < len(self.seen) + len(fresh):
            raise Scattered
        self.seen = known

    def _linked(self, rows: Rows, new: Mask, carried: Runs | None, naming: Naming) -> Mask:
        """Return which rows begin where the one before, of the same episode, ended, (n,)."""
        same = ~new
        before, step = np.append(END, rows.successor[:-1]), rows.step
        if carried is not None:
            same[0], before[0] = True, carried.successor[0]
        if step is not None:
            last = np.append(-np.inf if carried is None else carried.step[0], step[:-1])
            self._require_steps(rows, same & (step <= last), naming)
        linked = same & (before == rows.state)
        if self.named and not self.whole:
            apart = same & ~linked
            if apart.any() and (step is None or (before[apart] == END).any()):
                raise Scattered
        return linked

    def _require_steps(self, rows: Rows, wrong: Mask, naming: Naming) -> None:
        """Reject steps that do not rise."""
        if not wrong.any():
            return
        if not self.whole:
            raise Scattered
        k = int(np.argmax(wrong))
        one, other = sorted((k - 1, k), key=naming.place)
        assert rows.step is not None
        raise InputError(
            f"{naming.row(other)} and {naming.row(one)} are both step {rows.step[k]:g} of the episode {naming.episode(k)!r}; remove the duplicate"
        )

    def _runs(
        self,
        rows: Rows,
        name: Codes,
        first: NDArray[np.intp],
        run: NDArray[np.intp],
        linked: Mask,
        carried: Runs | None,
    ) -> Runs:
        """Return the episodes of some rows, the first of them with what was read of it before."""
        last = np.append(first[1:], len(name)) - 1
        length = last - first + 1
        time = np.arange(len(name)) - first[run]
        if carried is not None:
            time[run == 0] += int(carried.length[0])
        weighted = rows.utility * self.adding.weight(time)[:, None]
        total = np.stack([summed_by(run, column, len(first)) for column in weighted.T], 1)
        apart = ~linked
        apart[first] = False
        broken = np.bincount(run[apart], minlength=len(first)) > 0
        start, step = rows.state[first], np.full(len(first), np.nan) if rows.step is None else rows.step[last]
        if carried is not None:
            start[0], length[0] = carried.start[0], length[0] + carried.length[0]
            total[0] += carried.total[0]
            broken[0] |= carried.broken[0] | ~linked[0]
        return Runs(name[first], start, rows.state[last], rows.successor[last], step, length, total, broken)

    def _count_previous(self, rows: Rows, pair: Codes, linked: Mask, carried: Runs | None) -> None:
        before = np.append(END, rows.state[:-1])
        if carried is not None:
            before[0] = carried.state[0]
        self.previous = self.previous.added(
            pair[linked], rows.successor[linked], before[linked], rows.utility[linked]
        )

    def _close(self, runs: Runs) -> None:
        """Count episodes that are over."""
        if not self.named or not len(runs.name):
            return
        over = runs.successor == END
        if not self.whole or self.steps:
            known = np.full(len(over), self.steps) | over | (runs.start != runs.successor)
            self._count_starts(runs.start[known])
            self.closed += int((~known).sum())
        horizon = self.adding.horizon
        counts = ~runs.broken
        if self.adding.criterion is Criterion.TOTAL:
            counts &= over
        elif horizon is not None:
            counts &= over | (runs.length >= horizon)
        length = runs.length if horizon is None else np.minimum(runs.length, horizon)
        self.returns = self.returns.joined(Returns.of(runs.total[counts], length[counts].astype(float)))

    def _count_starts(self, states: Codes) -> None:
        size = max(len(self.first), int(states.max(initial=-1)) + 1)
        self.first = np.append(self.first, np.zeros(size - len(self.first))) + np.bincount(
            states, minlength=size
        )

    def _flow(self, rows: Rows, run: NDArray[np.intp], count: int) -> tuple[Codes, Codes, Array, Array]:
        """Return episode, state and how often it is left more often than entered, and the sum of the latter where positive, by episode."""
        stays = rows.successor != END
        keys = np.concatenate(
            [(run << SUCCESSOR_BITS) | rows.state, (run[stays] << SUCCESSOR_BITS) | rows.successor[stays]]
        )
        change = np.append(np.ones(len(run)), -np.ones(int(stays.sum())))
        used, place = np.unique(keys, return_inverse=True)
        net = summed_by(place, change, len(used))
        episode = used >> SUCCESSOR_BITS
        return episode, used & LOW, net, summed_by(episode, np.maximum(net, 0.0), count)

    def _starts_by_flow(self, rows: Rows, run: NDArray[np.intp], count: int) -> None:
        """Count where whole episodes begin, whatever the order of their rows."""
        if not self.named or self.steps:
            return
        episode, state, net, leaving = self._flow(rows, run, count)
        self._count_starts(state[(leaving[episode] == 1) & (net > 0)])
        self.closed += int((leaving == 0).sum())
        self.broken += int((leaving > 1).sum())

    def _require_ends(self, rows: Rows, run: NDArray[np.intp], now: Runs, naming: Naming) -> None:
        """Reject an episode that ends twice, or goes on from the state in which it ended."""
        if not self.named:
            return
        ends = np.flatnonzero(rows.successor == END)
        twice = np.flatnonzero(np.diff(run[ends]) == 0)
        if len(twice):
            one, other = sorted(ends[[twice[0], twice[0] + 1]].tolist(), key=naming.place)
            raise InputError(
                f"{naming.row(other)} ends the episode {naming.episode(other)!r}, which {naming.row(one)} ended before; give each episode a name of its own"
            )
        episode, state, net, leaving = self._flow(rows, run, len(now.name))
        goes_on = (episode[net > 0] << SUCCESSOR_BITS) | state[net > 0]
        broken = leaving[run[ends]] > 1
        wrong = ends[broken & np.isin((run[ends] << SUCCESSOR_BITS) | rows.named[ends], goes_on)]
        if len(wrong):
            k = int(wrong[0])
            raise InputError(
                f"{naming.row(k)} ends the episode {naming.episode(k)!r}, but the episode goes on from its next_state "
                f"{naming.state(int(rows.named[k]))!r}; correct done, or give what follows another episode"
            )

    @property
    def starts(self) -> Starts:
        """Where episodes begin, by the numbers that states have here."""
        return Starts(self.first, self.closed, self.broken)
