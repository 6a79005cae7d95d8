"""Tables of text in the formats of other programs: Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

ESCAPES = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$"}
SYMBOLS = {
    "α_π": r"$\alpha_\pi$",
    "α_λ": r"$\alpha_\lambda$",
    "ε_b": r"$\varepsilon_b$",
    "λ*": r"$\lambda^*$",
    "ζ̂": r"$\hat\zeta$",
    "Q̂": r"$\hat Q$",
    "ε̃": r"$\tilde\varepsilon$",
    "V_r": "$V_r$",
    "V_c": "$V_c$",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "ν": r"$\nu$",
    "η": r"$\eta$",
    "λ": r"$\lambda$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "−": "$-$",
    "→": r"$\to$",
    "√": r"$\sqrt{}$",
    "∈": r"$\in$",
}


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown_table(("a", "b"), [("x", "y")]))
    | a | b |
    | --- | --- |
    | x | y |
    <BLANKLINE>
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table in LaTeX, for the package booktabs.

    >>> print(latex_table(("a", "b"), [("x_1", "5 %")]))
    \begin{tabular}{ll}
    \toprule
    a & b \\
    \midrule
    x\_1 & 5 \% \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """

    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(latex_text, cells)) + r" \\"

    parts = [rf"\begin{{tabular}}{{{'l' * len(header)}}}", r"\toprule", line(header), r"\midrule"]
    return "\n".join([*parts, *map(line, rows), r"\bottomrule", r"\end{tabular}"]) + "\n"


def csv_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""Return a table as CSV.

    >>> csv_table(("a", "b"), [("x", None)])
    'a,b\nx,\n'
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([header, *rows])
    return buffer.getvalue()


def latex_text(text: str) -> str:
    """Return text with its symbols for LaTeX."""
    parts, rest = [], text
    while rest:
        for symbol, command in SYMBOLS.items():
            if rest.startswith(symbol):
                parts.append(command)
                rest = rest[len(symbol) :]
                break
        else:
            parts.append(ESCAPES.get(rest[0], rest[0]))
            rest = rest[1:]
    return "".join(parts)


WRITERS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], str]] = {  # by the endings of files
    ".md": markdown_table,
    ".tex": latex_table,
    ".csv": csv_table,
}
