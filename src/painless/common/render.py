"""Numbers, names, tables and small HTML pieces that solutions, the command line and reports share.

Names may come from untrusted files, so they are always shown through `visible`.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from unicodedata import category

import numpy as np

# Control characters, halves of characters, separators of lines and paragraphs
HIDDEN = {"Cc", "Cs", "Zl", "Zp"}
# These reorder the text that follows
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

SIGNS = {">=": "≥", "<=": "≤"}  # of limits
SAME = 1e-9  # relative difference of numbers that are the same but for rounding errors


def visible(text: object, keep: str = "") -> str:
    r"""Return text with control characters escaped, except those in `keep`.

    >>> visible("energy [kwh] \x1b[31m"), visible("two\nlines"), visible("two\nlines", keep="\n")
    ('energy [kwh] \\x1b[31m', 'two\\nlines', 'two\nlines')
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(_escaped(one) if one not in keep and _acts(one) else one for one in text)


def _acts(character: str) -> bool:
    return category(character) in HIDDEN or character in TURNING


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def shortened(text: str, length: int) -> str:
    """Return text of at most `length` characters, with an ellipsis for the rest.

    >>> shortened("a long name", 6), shortened("short", 6)
    ('a lon…', 'short')
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "run"), counted(1500, "run")
    ('1 run', '1,500 runs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float) -> str:
    """Return a number with six significant digits; a dash for NaN.

    >>> number(1.6527218430), number(float("nan")), number(-0.0)
    ('1.65272', '–', '0')
    """
    return "–" if np.isnan(value) else f"{value + 0.0:.6g}"


def distinct_numbers(values: Sequence[float]) -> list[str]:
    """Return numbers with six significant digits, or as many more as it takes to tell each from the next.

    >>> distinct_numbers([0.25, 0.4999999, 0.49999999, 0.5])
    ['0.25', '0.4999999', '0.49999999', '0.5']
    """
    digits = [6] * len(values)
    for i, (one, other) in enumerate(pairwise(values)):
        needed = next((d for d in range(6, 18) if f"{one:.{d}g}" != f"{other:.{d}g}"), 6)
        digits[i : i + 2] = [max(digits[i], needed), max(digits[i + 1], needed)]
    return [
        number(value) if d == 6 else f"{value + 0.0:.{d}g}" for value, d in zip(values, digits, strict=True)
    ]


def number_beyond(value: float, up: bool, digits: int = 6, resolution: float = np.inf) -> str:
    """Return a number with some significant digits, rounded up or down; with more digits if the error would exceed `resolution`.

    >>> number_beyond(2 / 3, up=True), number_beyond(2 / 3, up=False), number_beyond(1.5, up=True)
    ('0.666667', '0.666666', '1.5')
    >>> number_beyond(1000000.123, up=True, resolution=0.01)
    '1000000.13'
    """
    if not np.isfinite(value):
        return number(value)
    mode = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    for count in range(digits, 18):
        shown = float(decimal.Context(prec=count, rounding=mode).plus(decimal.Decimal(value)))
        if abs(shown - value) <= resolution:
            break
    return f"{shown + 0.0:.{count}g}"


def bound(value: float, up: bool) -> str:
    """Return a bound with six significant digits, rounded up or down; to the nearest if that is the same but for rounding errors.

    >>> bound(1.6527218, up=True), bound(7.0000000001, up=True)
    ('1.65273', '7')
    """
    nearest = number(value)
    if not np.isfinite(value) or abs(float(nearest) - value) <= SAME * abs(value):
        return nearest
    return number_beyond(value, up)


def price(low: float, high: float) -> str:
    """Return a price in the digits that both ends of its range share, or the range if they share none.

    >>> price(0.1732302, 0.1732304), price(0.17321, 0.17324), price(0.13, 0.74), price(0.0, 0.0)
    ('0.17323', '0.1732', '0.13 to 0.74', '0')
    >>> price(0.5, np.inf), price(np.nan, np.nan)
    ('0.5 or more', '–')
    """
    if np.isnan(low):
        return "–"
    for digits in range(6, 1, -1):
        shared = f"{low + 0.0:.{digits}g}"
        if shared == f"{high + 0.0:.{digits}g}":
            return shared
    if np.isinf(high):
        return f"{low:.4g} or more"
    return f"{number_beyond(low, up=False, digits=3)} to {number_beyond(high, up=True, digits=3)}"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in plain text; all columns but the first are aligned to the right."""
    table = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def html_summary(status: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a sentence and a table in HTML, for notebooks, with everything escaped."""
    head = "".join(f"<th>{escape(visible(cell))}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(visible(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{escape(visible(status))}</p>{table}"
