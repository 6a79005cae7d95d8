"""The lines of PRISM's explicit files as words and numbers, and the names of these files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.storage import files

STRUCTURE = re.compile(r'#\s*reward structure\b[^"]*"([^"]*)"', re.IGNORECASE)
NOTE = "# painless: "
REWARDS = (".srew", ".trew")
DIGITS = 18  # of a whole number, at most
GROWTH = 12  # bytes of objects for each byte of text, about


class Lines(NamedTuple):
    """The lines of a file, without comments, as words."""

    path: Path
    words: list[list[str]]
    numbers: list[int]  # of the lines
    name: str | None  # of a reward structure
    note: Any = None  # of painless itself

    def fault(self, index: int, what: str) -> InputError:
        """Return the error for a line."""
        return InputError(f"{self.path}: line {self.numbers[index]}: {what}")

    def header(self, count: tuple[int, ...]) -> list[int]:
        """Return the whole numbers of the first line."""
        first = self.words[0] if self.words else []
        if len(first) not in count or not all(word.isdecimal() and len(word) < DIGITS for word in first):
            raise InputError(f"{self.path} does not begin with {max(count)} whole numbers; export it again")
        return [int(word) for word in first]

    def columns(self, whole: int) -> tuple[NDArray[np.int64], Array]:
        """Return the first `whole` columns of all other lines, (n, whole), and the numbers in the next, (n,)."""
        for index, words in enumerate(self.words[1:], 1):
            if len(words) <= whole or not all(
                word.isdecimal() and len(word) < DIGITS for word in words[:whole]
            ):
                raise self.fault(index, f"it does not begin with {whole} whole numbers and a number")
        indices = np.array(
            [[int(word) for word in words[:whole]] for words in self.words[1:]], dtype=np.int64
        )
        numbers = [self._number(index, words[whole]) for index, words in enumerate(self.words[1:], 1)]
        return indices.reshape(-1, whole), np.array(numbers, dtype=np.float64)

    def _number(self, index: int, word: str) -> float:
        try:
            number = float(word)
        except ValueError:
            kinds = {"[": "an interval", "/": "a fraction"}
            kind = next((name for sign, name in kinds.items() if sign in word), "no number")
            raise self.fault(index, f"'{word[:40]}' is {kind}; export decimal numbers") from None
        if not np.isfinite(number):
            raise self.fault(index, f"'{word[:40]}' is not finite")
        return number


def read_lines(path: Path) -> Lines:
    """Read a file."""
    try:
        text = files.read_bytes(path, GROWTH).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text; is it another kind of file?") from error
    words, numbers, name, note = [], [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            found = STRUCTURE.match(line)
            name = found[1] if found else name
            note = json.loads(line.removeprefix(NOTE)) if line.startswith(NOTE) else note
        elif line.strip():
            words.append(line.split())
            numbers.append(number)
    return Lines(path, words, numbers, name, note)


def reward_files(path: Path) -> dict[str, list[Path]]:
    """Return the files of every reward structure beside a `.tra` file, under its number: "" of the only one."""
    found: dict[str, list[Path]] = {}
    for other in sorted(path.parent.iterdir() if path.parent.exists() else ()):
        number = other.name.removeprefix(path.stem).removesuffix(other.suffix)
        if (
            other.suffix in REWARDS
            and other.name.startswith(path.stem)
            and (not number or number.isdecimal())
        ):
            found.setdefault(number, []).append(other)
    return found
