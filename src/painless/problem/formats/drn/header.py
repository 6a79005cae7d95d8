"""The header of a `.drn` file: what kind of model it is, and whether it is one that can be read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from painless.common.errors import InputError
from painless.storage.files import require_short_texts

NOTE, ROUNDING = "// painless: ", "// painless-rounding: "
KINDS = ("MDP", "DTMC")
REFUSED = {
    "CTMC": "in continuous time; make it a discrete one, such as by uniformisation, and export that",
    "MA": "in continuous time; make it a discrete one and export that",
    "POMDP": "partially observed; policies here see the state, so export its MDP, if they may",
    "SMG": "a game; fix the other players and export the MDP that is left",
}
ALIASES = {"MARKOV AUTOMATON": "MA", "S2PG": "SMG"}
VALUES = ("double", "rational")
SECTIONS = ("@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")
DIGITS = 18  # of a number of states or choices, at most
LINE = 8  # bytes that a state takes at least: "state 0", and the end of the line


@dataclass
class Header:
    """What stands before `@model`."""

    rewards: list[str] = field(default_factory=list)  # the names of the reward models
    states: int = 0
    choices: int | None = None
    note: dict[str, Any] | None = None  # of painless itself
    rounding: str | None = None
    lines: int = 0  # up to and with `@model`


def fault(line: int, what: str) -> InputError:
    """Return the error for a line of the file."""
    return InputError(f"line {line}: {what}")


def read_header(stream: IO[bytes]) -> Header:
    """Read up to `@model`, and leave the stream there."""
    header = Header()
    size = os.fstat(stream.fileno()).st_size
    lines = _lines(stream)
    kind = None
    for number, line in lines:
        if line == "@model":
            header.lines = number
            return _checked(header, kind, size)
        if line.startswith(NOTE):
            header.note = _note(number, line.removeprefix(NOTE))
        elif line.startswith(ROUNDING):
            header.rounding = line.removeprefix(ROUNDING)
        elif line.startswith("@type:"):
            kind = _kind(number, line.removeprefix("@type:").strip())
        elif line and not line.startswith("//"):
            _section(header, number, line, lines)
    raise InputError(
        "there is no line @model, so that nothing follows; is it a .drn file of Storm (--exportbuild), and whole?"
    )


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(stream, 1):
        try:
            yield number, line.decode().strip()
        except UnicodeDecodeError as error:
            raise fault(number, "it is not UTF-8 text; is it another kind of file?") from error


def _section(header: Header, number: int, line: str, lines: Iterator[tuple[int, str]]) -> None:
    """Read one `@` line, and the line that belongs to it."""
    if line.startswith("@value_type:"):
        values = line.removeprefix("@value_type:").strip()
        if values not in VALUES:
            raise fault(
                number, f"the values are {values}; export numbers, with every parameter or interval fixed"
            )
        return
    if line not in SECTIONS:
        raise fault(
            number,
            f"'{line[:40]}' is no part of the header of a .drn file; before @model stand @type, @value_type, "
            f"{', '.join(SECTIONS)} and comments",
        )
    number, content = next(lines, (number, ""))
    if line in ("@parameters", "@placeholders"):
        if content:
            raise fault(
                number, f"the model has parameters ({content[:40]}); instantiate it in Storm and export that"
            )
    elif line == "@reward_models":
        header.rewards = content.split()
    elif not content.isdecimal() or len(content) > DIGITS:
        raise fault(number, f"'{content[:40]}' after {line} is not a whole number that can be right")
    elif line == "@nr_states":
        header.states = int(content)
    else:
        header.choices = int(content)


def _kind(number: int, given: str) -> str:
    kind = ALIASES.get(given.upper(), given.upper())
    if kind not in KINDS:
        what = REFUSED.get(kind, f"of an unknown type; {' and '.join(KINDS)} can be read")
        raise fault(number, f"the model is of type {given}, {what}")
    return kind


def _note(number: int, text: str) -> dict[str, Any]:
    try:
        note = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise fault(number, f"the note of painless is damaged ({error}); delete the line") from error
    if not isinstance(note, dict):
        raise fault(number, "the note of painless is damaged (it is no object); delete the line")
    for key, value in note.items():
        require_short_texts(f"'{key}' in line {number}", value)
    return note


def _checked(header: Header, kind: str | None, size: int) -> Header:
    if kind is None:
        raise fault(header.lines, "no type is given before @model; add a line such as @type: MDP")
    if header.states < 1:
        raise fault(header.lines, "no number of states is given before @model; add @nr_states and the number")
    if header.states * LINE > size:
        raise fault(
            header.lines, f"@nr_states is {header.states}, but the file has only {size} bytes; is it whole?"
        )
    if len(set(header.rewards)) != len(header.rewards):
        raise InputError(f"two reward models have the same name: {', '.join(header.rewards)}; rename one")
    return header
