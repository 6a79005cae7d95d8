"""Blocks of lines of a `.drn` file as arrays, without a loop over transitions."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.problem.formats.drn.header import Header, fault
from painless.storage.memory import require_room

NOTHING, STATE, CHOICE, TRANSITION, WRONG = range(5)  # kinds of lines
SPACE, NEWLINE, SLASH, COLON, BRACKET = b" \n/:["
INDENTED = 32  # blanks before a line that are skipped one by one
UNNAMED = "0"  # the name of a choice without an action line
ONLY = "reward"  # the name of a single reward model that has none
LABEL = re.compile(rb'"([^"]*)"|([^\s"]+)')
BLANK = np.isin(np.arange(256), list(b" \t\r"))
KIND = np.full(256, WRONG, dtype=np.uint8)
for _first, _kind in ((b"0123456789", TRANSITION), (b"s", STATE), (b"a", CHOICE), (b"\n/", NOTHING)):
    KIND[list(_first)] = _kind


@dataclass
class Parts:
    """What the blocks have come to so far."""

    header: Header
    kinds: list[NDArray[np.uint8]] = field(default_factory=list)
    successor: list[NDArray[np.int64]] = field(default_factory=list)
    probability: list[Array] = field(default_factory=list)
    state_reward: list[Array] = field(default_factory=list)  # (n, J) each
    choice_reward: list[Array] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    names: dict[bytes, int] = field(default_factory=lambda: {UNNAMED.encode(): 0})
    initial: list[bool] = field(default_factory=list)
    labelled: dict[bytes, list[int]] = field(default_factory=dict)  # states by their labels
    valuation: list[str] = field(default_factory=list)  # of states, in comments below them
    valued: list[int] = field(default_factory=list)  # their numbers
    lines: int = 0  # that went before


class _Lines(NamedTuple):
    """Lines of one kind: where they begin, without blanks, where they end, and their numbers."""

    block: bytes
    first: NDArray[np.intp]
    end: NDArray[np.intp]
    number: NDArray[np.intp]

    def texts(self) -> list[bytes]:
        return [self.block[i:j] for i, j in zip(self.first.tolist(), self.end.tolist(), strict=True)]

    def require(self, fine: Any, what: str) -> None:
        """Reject the first line that is not fine; {} in `what` is its text."""
        if not np.all(fine):
            k = int(np.argmin(fine))
            text = self.block[self.first[k] : self.end[k]].decode(errors="replace").strip()
            raise fault(int(self.number[k]), what.format(f"'{text[:60]}'"))


def parse_block(block: bytes, parts: Parts) -> None:
    """Read a block of whole lines, and add what it holds to the parts."""
    data = np.frombuffer(block, np.uint8)
    end = np.flatnonzero(data == NEWLINE)
    start = np.append(0, end[:-1] + 1)
    first = _first_words(data, start)
    kind = KIND[data[first]]
    kind[(data[first] == SLASH) & (data[np.minimum(first + 1, len(data) - 1)] != SLASH)] = WRONG
    number = np.arange(parts.lines + 1, parts.lines + 1 + len(end))

    def of(which: int) -> _Lines:
        chosen = kind == which
        return _Lines(block, first[chosen], end[chosen], number[chosen])

    of(WRONG).require(
        [False] * int((kind == WRONG).sum()), "{} is neither a state, an action, a transition nor a comment"
    )
    _parse_valuations(
        of(NOTHING), sum(map(len, parts.state_reward)) + np.cumsum(kind == STATE)[kind == NOTHING], parts
    )
    _parse_states(of(STATE), parts)
    _parse_choices(of(CHOICE), parts)
    lines = np.repeat(kind == TRANSITION, np.diff(end, prepend=-1))
    _parse_transitions(of(TRANSITION), np.where(lines, data, np.uint8(SPACE)), parts)
    parts.kinds.append(kind[kind != NOTHING])
    parts.lines += len(end)


def _first_words(data: NDArray[np.uint8], start: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where lines begin that start at `start`, without blanks."""
    first = start.copy()
    for _ in range(INDENTED):
        blank = BLANK[data[first]]
        if not blank.any():
            return first
        first[blank] += 1
    words = np.flatnonzero(~BLANK[data])
    return words[np.searchsorted(words, first)]


def _parse_states(lines: _Lines, parts: Parts) -> None:
    split = [text.split(None, 2) for text in lines.texts()]
    known = sum(map(len, parts.state_reward))
    expected = range(known, known + len(split))
    fine = [s[0] == b"state" and s[1:2] == [b"%d" % i] for s, i in zip(split, expected, strict=True)]
    lines.require(fine, "{} does not go on with the number of the next state; number them 0, 1, 2, …")
    rewards, labels = [], []
    for pieces in split:
        rest = pieces[2] if len(pieces) > 2 else b""
        if rest.startswith(b"["):
            values, _, rest = rest[1:].partition(b"]")
            rewards.append(values)
        else:
            rewards.append(b"")
        labels.append(rest)
    parts.state_reward.append(_rewards(lines, rewards, parts.header))
    parts.initial += [b"init" in label and b"init" in _words(label) for label in labels]
    for state, label in zip(expected, labels, strict=True):
        for word in _words(label) if label.strip() else ():
            parts.labelled.setdefault(word, []).append(state)


def _words(label: bytes) -> list[bytes]:
    """Return the labels of a state; one with blanks stands in quotes."""
    return [quoted or plain for quoted, plain in LABEL.findall(label.partition(b"//")[0])]


def _parse_valuations(lines: _Lines, states: NDArray[np.intp], parts: Parts) -> None:
    """Read the values of variables that Storm writes below a state: //[x=1 & y=2]; `states` says how many have begun."""
    data = np.frombuffer(lines.block, np.uint8)
    noted = np.flatnonzero(
        (lines.end - lines.first > 3) & (data[np.minimum(lines.first + 2, len(data) - 1)] == BRACKET)
    )
    chosen = lines._replace(first=lines.first[noted], end=lines.end[noted], number=lines.number[noted])
    for text, state in zip(chosen.texts(), (states[noted] - 1).tolist(), strict=True):
        values = text.strip()[3:].removesuffix(b"]").decode(errors="replace").split("&")
        parts.valuation.append(",".join(value.strip() for value in values))
        parts.valued.append(state)


def _parse_choices(lines: _Lines, parts: Parts) -> None:
    texts = lines.texts()
    lines.require([text.startswith((b"action ", b"action\t")) for text in texts], "{} is no action")
    rewards = []
    for text in texts:
        head, _, values = text[7:].partition(b"[")
        parts.name.append(parts.names.setdefault(head.strip(), len(parts.names)))
        rewards.append(values.partition(b"]")[0])
    parts.choice_reward.append(_rewards(lines, rewards, parts.header))


def _rewards(lines: _Lines, texts: list[bytes], header: Header) -> Array:
    """Return the rewards of lines, (n, J); zeros where there are none."""
    given = np.array([bool(text.strip()) for text in texts], dtype=bool)
    counts = np.array([text.count(b",") + 1 for text in texts], dtype=int)
    if not header.rewards and given.any() and (counts == 1).all():
        header.rewards = [ONLY]  # Storm writes a blank for the name of a reward model that has none
    count = len(header.rewards)
    lines.require(
        ~given | (counts == count),
        f"{{}} does not have one reward for each of the {count} reward models under @reward_models",
    )
    require_room("the reward models", 8.0 * len(texts) * count)
    result = np.zeros((len(texts), count))
    if count and given.any():
        values = _numbers(b",".join(text for text in texts if text.strip()).replace(b",", b" "))
        if values is None or len(values) != given.sum() * count:
            words = [piece for text in texts if text.strip() for piece in text.split(b",")]
            values = _one_by_one(lines, words)
        result[given] = values.reshape(-1, count)
    lines.require(np.isfinite(result).all(1), "a reward in {} is not a finite number")
    return result


def _parse_transitions(lines: _Lines, data: NDArray[np.uint8], parts: Parts) -> None:
    """Read lines whose bytes alone are left in `data`; everything else there is blank."""
    intervals = np.flatnonzero(data == BRACKET)
    lines.require(
        np.searchsorted(intervals, lines.end) == np.searchsorted(intervals, lines.first),
        "{} has an interval; fix its probability in the model and export that",
    )
    colon = np.flatnonzero(data == COLON)
    form = "{} is not of the form successor : probability"
    count = len(lines.first)
    inside = np.searchsorted(colon, lines.end) - np.searchsorted(colon, lines.first)
    lines.require(inside == 1, form)
    data[colon] = SPACE
    seen = data > SPACE
    word = np.flatnonzero(seen & ~np.concatenate([[False], seen[:-1]]))
    lines.require(np.searchsorted(word, lines.end) - np.searchsorted(word, lines.first) == 2, form)
    lines.require(word[1::2] > colon, form)
    values = _numbers(data.tobytes())
    if values is None or len(values) != 2 * count:
        values = _one_by_one(lines, data.tobytes().split())
    successor, probability = values.reshape(-1, 2).T
    states = parts.header.states
    lines.require(np.isfinite(probability) & (probability >= 0), "the probability in {} is not a number ≥ 0")
    lines.require(
        (successor == np.floor(successor)) & (successor < states),
        f"the successor in {{}} is no state; they are 0 to {states - 1} (@nr_states)",
    )
    parts.successor.append(successor.astype(np.int64))
    parts.probability.append(np.ascontiguousarray(probability))


def _numbers(text: bytes) -> Array | None:
    """Return the numbers in a text, or None if there is anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _one_by_one(lines: _Lines, words: list[bytes]) -> Array:
    """Return numbers that may be fractions; NaN for what is none. Fractions that no double is are refused."""
    values = [_number(word) for word in words]
    for word, value in zip(words, values, strict=True):
        if isinstance(value, Fraction) and Fraction(float(value)) != value:
            lines.require(
                [word not in text for text in lines.texts()],
                f"{{}} has the fraction {word.decode()}, which no double is; export the model with doubles",
            )
    return np.array(values, dtype=np.float64)


def _number(word: bytes) -> float | Fraction:
    above, slash, below = word.partition(b"/")
    try:
        return Fraction(int(above), int(below)) if slash else float(word)
    except (ValueError, ArithmeticError):
        return np.nan
