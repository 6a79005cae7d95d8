"""What a log says, added up chunk by chunk: memory grows with the pairs and episodes that are met, and not with the rows.

Transitions are counted in two halves, the first and the second of the log. An episode begins in the state that it leaves once more
often than it enters it, so that the order of its rows does not matter; with a column of steps, in that of the least step. Of the rows
themselves the first `KEPT` stay: for the returns of episodes, for importance weights, and for the test of the Markov property.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, summed_by
from painless.common.errors import InputError
from painless.counting.memory import SUCCESSOR_BITS, Memory
from painless.logs.chunks import Chunk
from painless.logs.log_columns import END, Indices, Rows
from painless.logs.name_index import Codes

KEPT = 2**20  # rows that stay as they are
COLUMNS = ("state", "action", "successor", "utility", "episode", "step")  # of the rows that are kept
LOW = (1 << SUCCESSOR_BITS) - 1  # the bits of a state in a key of two codes


@dataclass(frozen=True)
class KeptRows:
    """The first rows of a log, in its order."""

    state: Codes  # (n,)
    action: Codes  # (n,)
    successor: Codes  # (n,) −1 where the row ends
    utility: Array  # (n, J) in the internal sense
    episode: Codes  # (n,) 0 if the log has no episodes
    step: Array  # (n,) NaN if the log has no steps
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
        return KeptRows(**{name: getattr(self, name)[:count] for name in COLUMNS}, whole=whole)

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


class Starts(NamedTuple):
    """Where episodes begin."""

    by_state: Array  # (S,) episodes by their first state
    closed: int  # episodes that end where they began, of which the rows do not tell where that is
    broken: int  # episodes of which rows are missing


class Tally:
    """Sums over the rows of a log."""

    def __init__(self, utilities: int) -> None:
        self.indices = Indices.empty()
        self.pair_place: dict[int, int] = {}  # state << 32 | action → number of the pair
        self.memory = Memory(actions=1, utilities=utilities)  # of which the states are pairs
        self.kept: list[KeptRows] = []
        self.rows = 0
        self.net_key: Codes = np.empty(0, dtype=np.int64)  # episode << 32 | state
        self.net: NDArray[np.int64] = np.empty(
            0, dtype=np.int64
        )  # how often it is left more often than entered
        self.first_step: dict[int, tuple[float, int]] = {}  # least step and its state, by episode
        self.ended: dict[int, tuple[int, int]] = {}  # row and named next state of the end, by episode
        self.texts = False
        self.has_steps = False

    def add(self, rows: Rows, chunk: Chunk) -> None:
        """Add a chunk."""
        pair = self._pairs(rows)
        low, high = chunk.share
        second = low + (high - low) * np.arange(chunk.rows) / chunk.rows >= 0.5
        nowhere = np.empty(0, dtype=np.int64)
        for half, part in enumerate((~second, second)):
            self.memory.add(
                half, pair[part], np.zeros_like(pair[part]), rows.successor[part], rows.utility[part], nowhere
            )
        self.texts = self.texts or chunk.texts
        if rows.episode is not None:
            self._episodes(rows, chunk)
        self._keep(rows)
        self.rows += chunk.rows

    def _pairs(self, rows: Rows) -> Codes:
        """Return the number of the pair of each row."""
        keys, place = np.unique((rows.state << SUCCESSOR_BITS) | rows.action, return_inverse=True)
        table = [self.pair_place.setdefault(int(key), len(self.pair_place)) for key in keys]
        return np.array(table, dtype=np.int64)[place]

    def _keep(self, rows: Rows) -> None:
        room = KEPT - sum(len(part.state) for part in self.kept)
        count = len(rows.state)
        episode = np.zeros(count, dtype=np.int64) if rows.episode is None else rows.episode
        step = np.full(count, np.nan) if rows.step is None else rows.step
        self.has_steps = rows.step is not None
        if room > 0:
            kept = KeptRows(rows.state, rows.action, rows.successor, rows.utility, episode, step, whole=True)
            self.kept.append(kept.first(room))

    def _episodes(self, rows: Rows, chunk: Chunk) -> None:
        """Note where episodes begin and end."""
        episode = rows.episode
        assert episode is not None
        stays = rows.successor != END
        keys = np.concatenate(
            [
                (episode << SUCCESSOR_BITS) | rows.state,
                (episode[stays] << SUCCESSOR_BITS) | rows.successor[stays],
                self.net_key,
            ]
        )
        change = np.concatenate([np.ones(len(episode)), -np.ones(int(stays.sum())), self.net])
        used, place = np.unique(keys, return_inverse=True)
        net = np.bincount(place, change, len(used)).astype(np.int64)
        self.net_key, self.net = used[net != 0], net[net != 0]
        for k in np.flatnonzero(~stays).tolist():
            one = int(episode[k])
            if one in self.ended:
                raise InputError(
                    f"{chunk.line(k)} ends the episode {self.indices.episode.names[one]!r}, which {self._row(self.ended[one][0], chunk)} "
                    "ended before; give each episode a name of its own"
                )
            self.ended[one] = (chunk.first + k, int(rows.named[k]))
        if rows.step is not None:
            self._steps(episode, rows.step, rows.state, chunk)

    def _steps(self, episode: Codes, step: Array, state: Codes, chunk: Chunk) -> None:
        order = np.lexsort((step, episode))
        same = (np.diff(episode[order]) == 0) & (np.diff(step[order]) == 0)
        if same.any():
            k = int(np.argmax(same))
            one, other = sorted((int(order[k]), int(order[k + 1])))
            raise InputError(
                f"{chunk.line(other)} and {chunk.line(one)} are both step {step[one]:g} of the episode "
                f"{self.indices.episode.names[int(episode[one])]!r}; remove the duplicate"
            )
        first = order[np.append(True, np.diff(episode[order]) != 0)]
        for k in first.tolist():
            one, now = int(episode[k]), (float(step[k]), int(state[k]))
            self.first_step[one] = min(self.first_step.get(one, now), now)

    @staticmethod
    def _row(row: int, chunk: Chunk) -> str:
        return f"line {row + 2}" if chunk.texts else f"row {row}"

    def used_states(self) -> Codes:
        """Return the numbers of the states that are acted in or entered; those that are only named where a row ends are none."""
        left = np.fromiter(self.pair_place, dtype=np.int64, count=len(self.pair_place)) >> SUCCESSOR_BITS
        entered = (self.memory.keys & LOW) - 1
        return np.unique(np.concatenate([left, entered[entered >= 0]]))

    def starts(self) -> Starts:
        """Return where episodes begin, (S,), by the numbers that states have here."""
        states = len(self.indices.state)
        if self.has_steps:
            first = np.array([state for _, state in self.first_step.values()], dtype=np.int64)
            return Starts(np.bincount(first, minlength=states).astype(float), 0, 0)
        episode, state = self.net_key >> SUCCESSOR_BITS, self.net_key & LOW
        total = len(self.indices.episode)
        leaving = summed_by(episode, np.maximum(self.net, 0).astype(float), total)
        self._require_ends(episode, state, leaving)
        sure = leaving[episode] == 1
        chosen = sure & (self.net > 0)
        count = np.bincount(state[chosen], minlength=states).astype(float)
        return Starts(count, int((leaving == 0).sum()), int((leaving > 1).sum()))

    def _require_ends(self, episode: Codes, state: Codes, leaving: Array) -> None:
        """Reject an episode that goes on from the state in which it ended."""
        goes_on = {
            (int(e), int(s))
            for e, s in zip(episode[self.net > 0], state[self.net > 0], strict=True)
            if leaving[e] > 1
        }
        for one, (row, named) in self.ended.items():
            if (one, named) in goes_on:
                where = f"line {row + 2}" if self.texts else f"row {row}"
                raise InputError(
                    f"{where} ends the episode {self.indices.episode.names[one]!r}, but the episode goes on from its next_state "
                    f"{self.indices.state.names[named]!r}; correct done, or give what follows another episode"
                )
