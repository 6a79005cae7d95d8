"""Numbers, names, tables and small HTML pieces that solutions, the command line and reports share.

Names are text that others wrote: whatever shows one to a person shows it through `visible`, as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import category

import numpy as np

HIDDEN = {
    "Cc",
    "Cs",
    "Zl",
    "Zp",
}  # control characters, halves of characters, separators of lines and paragraphs
TURNING = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # these reorder the text that follows


def visible(text: object, keep: str = "") -> str:
    r"""Return text in which nothing acts on a terminal or hides: control characters as escapes, but for those in `keep`.

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


def number(value: float) -> str:
    """Return a number with six significant digits; a dash where there is none.

    >>> number(1.6527218430), number(float("nan")), number(-0.0)
    ('1.65272', '–', '0')
    """
    return "–" if np.isnan(value) else f"{value + 0.0:.6g}"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in plain text; all columns but the first are aligned to the right."""
    table = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in HTML, with everything escaped."""
    head = "".join(f"<th>{escape(visible(cell))}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(visible(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
