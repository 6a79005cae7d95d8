"""Two logs as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.errors import InputError
from painless.counting.memory import SUCCESSOR_BITS, Memory
from painless.logs.episode_tally import Starts
from painless.logs.logged_model import LoggedModel
from painless.logs.name_index import sort_key
from painless.logs.tally import KEPT, KeptRows
from painless.problem.names import Names

NOUNS = {"adding": "criterion", "initial_given": "first state"}
LOW = (1 << SUCCESSOR_BITS) - 1


def merged(first: LoggedModel, second: LoggedModel) -> LoggedModel:
    """Return the log of the rows of both: the first half of it are those of the first."""
    for what in ("adding", "columns", "initial_given", "untried"):
        if getattr(first, what) != getattr(second, what):
            raise InputError(
                f"the two logs differ in their {NOUNS.get(what, what)}; read both with the same arguments"
            )
    states, of_states = _joined("state", first.states, second.states)
    actions, of_actions = _joined("action", first.actions, second.actions)
    memory = Memory(len(actions), first.memory.utilities)
    parts = [
        _moved(log.memory, s, a, memory)
        for log, s, a in zip((first, second), of_states, of_actions, strict=True)
    ]
    memory.keys = np.unique(np.concatenate(parts))
    memory.counts = np.zeros((2, len(memory.keys)))
    memory.sums = np.zeros((2, len(memory.keys), memory.utilities))
    memory.squares = np.zeros_like(memory.sums)
    memory.starts = np.zeros((2, len(states)))
    count = np.zeros(len(states))
    for half, (log, keys, place) in enumerate(zip((first, second), parts, of_states, strict=True)):
        where = np.searchsorted(memory.keys, keys)
        memory.counts[half, where] += log.memory.counts.sum(0)
        memory.sums[half, where] += log.memory.sums.sum(0)
        memory.squares[half, where] += log.memory.squares.sum(0)
        if half == 0 or not first.initial_given:
            memory.starts[0, place] += log.memory.starts.sum(0)
        count[place] += log.starts.by_state
    memory.low = np.minimum(first.memory.low, second.memory.low)
    memory.high = np.maximum(first.memory.high, second.memory.high)
    starts = Starts(
        count, first.starts.closed + second.starts.closed, first.starts.broken + second.starts.broken
    )
    kept = _rows(first, second, of_states, of_actions)
    previous = [
        log.previous.renumbered(_pairs(s, a, len(actions)), s)
        for log, s, a in zip((first, second), of_states, of_actions, strict=True)
    ]
    returns = first.returns.joined(second.returns)
    return LoggedModel(
        *(
            memory,
            first.columns,
            states,
            actions,
            first.adding,
            starts,
            returns,
            previous[0].joined(previous[1]),
            kept,
        ),
        initial_given=first.initial_given,
        untried=first.untried,
    )


Places = tuple[NDArray[np.int64], NDArray[np.int64]]


def _joined(noun: str, first: Names, second: Names) -> tuple[Names, Places]:
    """Return the names of both, sorted, and the place of those of each among them."""
    by_text = dict(zip(second.texts, second, strict=True)) | dict(zip(first.texts, first, strict=True))
    names = Names.of(f"the {noun}s of both logs", sorted(by_text.values(), key=sort_key))
    one, other = (
        np.array([names.places[text] for text in part.texts], dtype=np.int64) for part in (first, second)
    )
    return names, (one, other)


def _pairs(state: NDArray[np.int64], action: NDArray[np.int64], actions: int) -> NDArray[np.int64]:
    """Return the number of each pair of a log under the numbers of both, (S·A,)."""
    return np.asarray((state[:, None] * actions + action).ravel())


def _moved(
    memory: Memory, state: NDArray[np.int64], action: NDArray[np.int64], into: Memory
) -> NDArray[np.int64]:
    """Return the keys of transitions under the numbers of both."""
    successor = (memory.keys & LOW) - 1
    successor = np.where(successor < 0, -1, state[np.maximum(successor, 0)])
    pair = state[memory.pairs // memory.actions] * into.actions + action[memory.pairs % memory.actions]
    return np.asarray((pair << SUCCESSOR_BITS) | (successor + 1))


def _rows(first: LoggedModel, second: LoggedModel, of_states: Places, of_actions: Places) -> KeptRows:
    after = int(first.kept.episode.max(initial=-1)) + 1
    parts = [
        log.kept.renumbered(state, action, number)
        for log, state, action, number in zip((first, second), of_states, of_actions, (0, after), strict=True)
    ]
    return KeptRows.joined(parts, whole=first.kept.whole and second.kept.whole).first(KEPT)
