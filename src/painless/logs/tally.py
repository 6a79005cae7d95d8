"""What a log says, added up chunk by chunk: memory grows with the transitions that are met, and not with the rows.

Transitions are counted in two halves, the first and the second of the log. Episodes are added up as they go by (`episode_tally`). If their rows lie apart or are not in order,
all rows are gathered, sorted by episode, and added up then. The first `KEPT` rows stay for importance weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.counting.memory import SUCCESSOR_BITS, Memory
from painless.logs.adding import Adding
from painless.logs.chunks import CHUNK, Chunk
from painless.logs.episode_tally import LOW, EpisodeTally, Naming
from painless.logs.log_columns import END, Indices, LogColumns, Rows
from painless.logs.name_index import Codes

KEPT = 2**17  # rows that stay as they are
COLUMNS = ("state", "action", "successor", "utility", "episode")  # of the rows that are kept


@dataclass(frozen=True)
class KeptRows:
    """The first rows of a log, episode by episode."""

    state: Codes  # (n,)
    action: Codes  # (n,)
    successor: Codes  # (n,) −1 where the row ends
    utility: Array  # (n, J) in the internal sense
    episode: Codes  # (n,) its number; 0 if the log has no episodes
    whole: bool  # whether these are all rows

    @classmethod
    def joined(cls, parts: Sequence[KeptRows], *, whole: bool) -> KeptRows:
        """Return rows one below the other."""
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}, whole=whole
        )

    def first(self, count: int) -> KeptRows:
        """Return the first rows."""
        whole = self.whole and len(self.state) <= count
        return KeptRows(**{name: getattr(self, name)[:count].copy() for name in COLUMNS}, whole=whole)

    def renumbered(self, state: Codes, action: Codes, episodes: int = 0) -> KeptRows:
        """Return the rows with other numbers for states and actions, and with episodes numbered from another one on."""
        successor = np.where(self.successor < 0, END, state[np.maximum(self.successor, 0)])
        return replace(
            self,
            state=state[self.state],
            action=action[self.action],
            successor=successor,
            episode=self.episode + episodes,
        )


class Tally:
    """Sums over the rows of a log.

    Arguments:
        scattered: whether rows of an episode lie apart, so that they must be gathered.
    """

    def __init__(self, columns: LogColumns, adding: Adding, *, scattered: bool = False) -> None:
        self.columns, self.scattered = columns, scattered
        self.indices = Indices.empty()
        self.memory = Memory(1, len(columns.utilities))  # whose states are pairs
        self.pair_place: dict[int, int] = {}  # of a state and an action
        self.episodes = EpisodeTally(
            len(columns.utilities),
            adding,
            named=columns.episode is not None,
            steps=columns.step is not None,
            whole=scattered,
        )
        self.kept: list[KeptRows] = []
        self.gathered: list[tuple[Rows, Codes]] = []
        self.names: dict[int, Any] = {}  # of episodes, if rows are gathered
        self.rows = 0
        self.texts = False

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        rows = self.columns.rows(chunk, self.indices)
        pair = self._pairs(rows)
        low, high = chunk.share
        second = low + (high - low) * np.arange(chunk.rows) / chunk.rows >= 0.5
        nowhere = np.empty(0, dtype=np.int64)
        for half, part in enumerate((~second, second)):
            self.memory.add(
                half, pair[part], np.zeros_like(pair[part]), rows.successor[part], rows.utility[part], nowhere
            )
        self.texts = self.texts or chunk.texts
        if self.scattered:
            self._gather(rows, pair, chunk)
        else:
            self._follow(rows, pair, np.arange(self.rows, self.rows + chunk.rows))
        self.rows += chunk.rows

    def _pairs(self, rows: Rows) -> Codes:
        """Return the number of the pair of each row."""
        keys, place = np.unique((rows.state << SUCCESSOR_BITS) | rows.action, return_inverse=True)
        table = [self.pair_place.setdefault(int(key), len(self.pair_place)) for key in keys]
        return np.array(table, dtype=np.int64)[place]

    def _follow(self, rows: Rows, pair: Codes, places: Codes) -> None:
        """Add rows of episodes that follow each other; `places` (n,) are theirs in the log."""
        naming = Naming(
            lambda k: int(places[k]),
            lambda k: f"line {places[k] + 2}" if self.texts else f"row {places[k]}",
            lambda k: None if rows.episode is None else self.names.get(int(rows.episode[k])),
            lambda code: self.indices.state.names[code],
        )
        number = self.episodes.add(rows, pair, naming)
        room = KEPT - sum(len(part.state) for part in self.kept)
        if room > 0:
            kept = KeptRows(rows.state, rows.action, rows.successor, rows.utility, number, whole=True)
            self.kept.append(kept.first(room))

    def _gather(self, rows: Rows, pair: Codes, chunk: Chunk) -> None:
        labels = self.columns.labels(chunk, "episode")
        first = np.unique(labels.codes, return_index=True)
        assert rows.episode is not None
        for code, place in zip(*first, strict=True):
            self.names.setdefault(int(rows.episode[place]), labels.names[code])
        self.gathered.append((rows, pair))

    def complete(self) -> None:
        """Add up what was gathered, and the last episode."""
        if self.gathered:
            self._follow_sorted()
        self.episodes.complete()

    def _follow_sorted(self) -> None:
        """Add gathered rows episode by episode, in the order in which these are first met."""
        columns = zip(*(one for one, _ in self.gathered), strict=True)
        rows = _rows(None if part[0] is None else np.concatenate(part) for part in columns)
        pair = np.concatenate([one for _, one in self.gathered])
        self.gathered = []
        assert rows.episode is not None
        _, first, place = np.unique(rows.episode, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))[place]
        order = np.argsort(rank, kind="stable") if rows.step is None else np.lexsort((rows.step, rank))
        ends = np.flatnonzero(np.append(np.diff(rank[order]) != 0, True)) + 1
        done = 0
        while done < len(order):
            stop = int(ends[np.searchsorted(ends, min(done + CHUNK, len(order)))])
            part = order[done:stop]
            self._follow(_rows(None if one is None else one[part] for one in rows), pair[part], part)
            done = stop

    def used_states(self) -> Codes:
        """Return the numbers of the states that are acted in or entered; those that are only named where a row ends are none."""
        left = np.fromiter(self.pair_place, dtype=np.int64, count=len(self.pair_place)) >> SUCCESSOR_BITS
        entered = (self.memory.keys & LOW) - 1
        return np.unique(np.concatenate([left, entered[entered >= 0]]))


def _rows(parts: Iterable[Any]) -> Rows:
    return Rows(*parts)
