"""Checkpoints of a run that learns by counting: what was counted, the observations, and the state of the generator.

Plans follow from these, so that a run that continues ends with the same policy as one that was never interrupted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.counting.memory import Indices, Memory
from painless.counting.played import Played, Said
from painless.policies.observed import key_of, rows_of
from painless.storage import checked_entries as entries
from painless.storage import results
from painless.training.checkpoint import read_run
from painless.training.episodes import Player

KIND = "counted"


class Between(NamedTuple):
    """What a run knows between two batches beside what was counted."""

    batch: float  # steps of the latest one
    threshold: Array  # (K,) on discounted values
    rehearsed: int  # steps at the latest answer
    batches: int  # that were planned
    rehearsals: int  # that are done, of those after exploration
    value: Array  # (S + 2,) of the latest model, unconstrained; (0,) before there is one
    answerer: Indices  # (n, S + 2) actions of the policies from which the next answer starts
    played: list[Played]  # the latest answers
    trace: list[Said]  # of all answers on the way


def counted_state(player: Player, state: Between, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a run between two batches, to write now or later; `settings` must be the same when it continues."""
    memory = player.memory
    keys = list(player.numbers)
    between = state._asdict()
    played, trace = between.pop("played"), between.pop("trace")
    return {
        "kind": KIND,
        "settings": json.dumps(dict(settings)),
        "rng": json.dumps(player.rng.bit_generator.state),
        "observations": rows_of(keys),
        "single": not isinstance(keys[0], bytes),
        "tries": player.tries,
        "played": player.played,
        "longest": player.longest,
        "cut_off": player.cut_off,
        "left": player.left,
        **between,
        "played_states": np.array([len(one.policy) for one in played], dtype=np.int64),
        "played_policy": np.vstack([np.empty((0, memory.actions)), *(one.policy for one in played)]),
        "played_visits": np.concatenate([np.empty(0), *(one.visits for one in played)]),
        "played_multiplier": _table([one.multiplier for one in played], memory.utilities - 1),
        "said_value": _table([one.value for one in trace], memory.utilities),
        "said_error": _table([one.error for one in trace], memory.utilities),
        "said_multiplier": _table([one.multiplier for one in trace], memory.utilities - 1),
        **{
            name: getattr(memory, name)
            for name in ("keys", "counts", "sums", "squares", "starts", "low", "high")
        },
    }


def save_counted(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write the state of a run."""
    results.write(path, "checkpoint", content)


def load_counted(path: str | os.PathLike[str], player: Player, settings: Mapping[str, Any]) -> Between:
    """Bring a player to the state of a checkpoint; return the rest of the run's state."""
    content = read_run(path, KIND, settings)
    with results.understood(path, "checkpoint"):
        player.rng.bit_generator.state = entries.parsed(content, "rng")
        memory, tries = _memory(content, player.memory), content["tries"]
        rows = entries.floats(content, "observations", (None, None))
        observed = [key_of(int(row[0])) if content["single"] else key_of(row) for row in rows]
        tries = entries.wholes(content, "tries", (len(observed), memory.actions))
        player.numbers, player.places = {key: index for index, key in enumerate(observed)}, {}
        player.tries = tries
        player.played = entries.whole(content, "played")
        if "longest" in content:  # not of earlier versions
            player.longest = entries.whole(content, "longest")
            player.cut_off = bool(content["cut_off"])
        player.left = entries.whole(content, "left") if "left" in content else 0  # not of earlier versions
        player.steps = memory.steps + player.left
        threshold = entries.floats(content, "threshold", (memory.utilities - 1,))
        return Between(
            entries.number(content, "batch", least=0.0),
            threshold,
            entries.whole(content, "rehearsed"),
            entries.whole(content, "batches") if "batches" in content else 0,  # not of earlier versions
            entries.whole(content, "rehearsals") if "rehearsals" in content else 0,  # neither
            entries.floats(content, "value", (None,)),
            _policies(content, "answerer", memory),
            *(_answers(content, memory) if "played_states" in content else ([], [])),  # nor these
        )


def _table(rows: list[Array], columns: int) -> Array:
    return np.array(rows, dtype=float).reshape(-1, columns)


def _answers(content: Mapping[str, Any], memory: Memory) -> tuple[list[Played], list[Said]]:
    """Return the answers on the way: what was played, and what was said."""
    states = entries.wholes(content, "played_states", (None,), below=memory.states + 1)
    count, pairs = int(states.sum()), int(states.sum()) * memory.actions
    policy = entries.floats(content, "played_policy", (count, memory.actions), least=0.0)
    visits = entries.floats(content, "played_visits", (pairs,), least=0.0)
    prices = entries.floats(content, "played_multiplier", (len(states), memory.utilities - 1))
    last = np.cumsum(states)[:-1]
    parts = np.split(policy, last), prices, np.split(visits, last * memory.actions)
    value = entries.floats(content, "said_value", (None, memory.utilities))
    error = entries.floats(content, "said_error", value.shape, least=0.0)
    multiplier = entries.floats(content, "said_multiplier", (len(value), memory.utilities - 1))
    return (
        [Played(*one) for one in zip(*parts, strict=True)] if len(states) else [],
        [Said(*one) for one in zip(value, error, multiplier, strict=True)],
    )


def _policies(content: Mapping[str, Any], name: str, memory: Memory) -> Indices:
    """Return actions (n, S) of some policies, of states that were seen."""
    found = entries.wholes(content, name, (None, None))
    if found.size and (found.min() < 0 or found.max() >= memory.actions):
        raise InputError(f"'{name}' takes actions that there are not")
    return found


def _memory(content: Mapping[str, Any], memory: Memory) -> Memory:
    """Fill a memory with what was counted."""
    entry = len(content["keys"])
    memory.keys = entries.wholes(content, "keys", (entry,))
    memory.counts = _added(entries.floats(content, "counts", (None, entry), least=0.0))
    memory.starts = _added(entries.floats(content, "starts", (None, None), least=0.0))
    for name in ("sums", "squares"):
        setattr(memory, name, _added(entries.floats(content, name, (None, entry, memory.utilities))))
    memory.low = entries.floats(content, "low", (memory.utilities,))
    memory.high = entries.floats(content, "high", (memory.utilities,))
    if (np.diff(memory.keys) <= 0).any() or not (memory.counts.sum(0) > 0).all():
        raise InputError("'keys' is not in order, or an entry was never counted")
    if entry and max(memory.pairs[-1] // memory.actions, (memory.successors).max() - 1) >= memory.states:
        raise InputError("'keys' names states that were not seen")
    return memory


def _added(halves: Array) -> Array:
    """Return data as one half; earlier versions kept two."""
    return halves.sum(0, keepdims=True)
