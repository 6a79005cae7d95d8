"""The model part of a `.drn` file as arrays: blocks of lines at a time, without a loop over transitions.

    state 0 [0, 1] init            its rewards, one for each reward model, and its labels
        action go [1, 0]           the name of a choice, and its rewards
            0 : 0.25               a successor and its probability
            1 : 0.75

Rewards may be left out, and so may the action line of a state with one choice. `//` begins a comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.problem.formats.choices import Choices
from painless.problem.formats.drn.header import Header, fault, read_header
from painless.problem.formats.drn.lines import CHOICE, KIND, STATE, TRANSITION, Parts, parse_block
from painless.storage.files import open_file

BLOCK = 2**24  # bytes that are read at a time


class ModelText(NamedTuple):
    """The header, and the model below it."""

    header: Header
    choices: Choices


def parse(path: Path) -> ModelText:
    """Read a whole file."""
    with open_file(path) as stream:
        parts = Parts(read_header(stream))
        parts.lines = parts.header.lines
        for block in _blocks(stream):
            parse_block(block, parts)
    return _assembled(parts, path)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Return the rest of a file in blocks of whole lines."""
    rest = b""
    while piece := stream.read(BLOCK):
        rest += piece
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest + b"\n"


def _assembled(parts: Parts, path: Path) -> ModelText:
    header = parts.header
    kinds = np.concatenate([np.empty(0, np.uint8), *parts.kinds])
    states = int((kinds == STATE).sum())
    if states != header.states:
        raise fault(header.lines, f"@nr_states is {header.states}, but {states} states follow; is it whole?")
    if kinds[0] != STATE:
        raise fault(line_of(path, int(kinds[0]), 0), "it comes before the first state")
    alone = np.append((kinds[:-1] == STATE) & (kinds[1:] == TRANSITION), False)  # without an action line
    opens = np.flatnonzero((kinds == CHOICE) | alone)
    explicit = kinds[opens] == CHOICE
    if header.choices not in (None, len(opens)):
        raise fault(header.lines, f"@nr_choices is {header.choices}, but {len(opens)} follow; is it whole?")
    state = np.cumsum(kinds == STATE)[opens] - 1
    name = np.zeros(len(opens), dtype=np.int64)
    name[explicit] = parts.name
    reward = np.concatenate(parts.state_reward)[state]
    reward[explicit] += np.concatenate(parts.choice_reward)
    before = np.cumsum(kinds == TRANSITION)
    model = Choices(
        pointer=np.append(before[opens], before[-1]),
        successor=_joined(parts.successor, np.int64),
        probability=_joined(parts.probability, np.float64),
        state=state,
        name=name,
        names=[name.decode(errors="replace") for name in parts.names],
        reward=reward.T,
        initial=np.array(parts.initial),
        state_names=parts.valuation if parts.valued == [*range(states)] else None,
        labels={
            name.decode(errors="replace"): np.isin(np.arange(states), found)
            for name, found in parts.labelled.items()
        },
    )
    _require_choices(model, path)
    return ModelText(header, model)


def _joined(parts: list[Any], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _require_choices(model: Choices, path: Path) -> None:
    """Reject states without choices, and choices without successors."""
    missing = np.bincount(model.state, minlength=len(model.initial)) == 0
    if missing.any():
        index = int(np.argmax(missing))
        raise fault(line_of(path, STATE, index), f"state {index} has no action; give it one that stays there")
    empty = np.diff(model.pointer) == 0
    if empty.any():  # a choice without an action line has successors
        state = int(model.state[np.argmax(empty)])
        raise fault(line_of(path, STATE, state), f"an action of state {state} has no successors; add them")


def line_of(path: Path, kind: int, index: int) -> int:
    """Return the number of the line that is the `index`-th of its kind."""
    with open_file(path) as stream:
        number = read_header(stream).lines
        for line in stream:
            number += 1
            text = line.lstrip() or b"\n"
            index -= KIND[text[0]] == kind
            if index < 0:
                break
    return number
