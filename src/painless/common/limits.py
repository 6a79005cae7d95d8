"""Limits as people write them: "cost <= 25", "speed ≥ 3"."""

from __future__ import annotations

import re

LIMIT = re.compile(r"\s*([^<>=]*?)\s*(<=|>=)\s*([-+.\deE]+)\s*")
SIGNS = str.maketrans({"≤": "<=", "≥": ">="})


def split_limit(text: str) -> tuple[str, str, float] | None:
    """Return the name, the sense and the bound of a limit; None if the text is none.

    >>> split_limit("waste ≤ 3"), split_limit(">=1e2"), split_limit("waste=3")
    (('waste', '<=', 3.0), ('', '>=', 100.0), None)
    """
    match = LIMIT.fullmatch(text.translate(SIGNS))
    try:
        return None if match is None else (match[1], match[2], float(match[3]))
    except ValueError:  # such as 1e
        return None
