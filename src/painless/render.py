"""Numbers, tables and small HTML pieces that solutions, the command line and reports share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np


def number(value: float) -> str:
    """Return a number with six significant digits; a dash where there is none.

    >>> number(1.6527218430), number(float("nan")), number(-0.0)
    ('1.65272', '–', '0')
    """
    return "–" if np.isnan(value) else f"{value + 0.0:.6g}"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in plain text; all columns but the first are aligned to the right."""
    table = [header, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in HTML, with everything escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
