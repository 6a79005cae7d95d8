"""The report of a reproduction: every figure, table and claim in one HTML file, with the data behind them, and the claims as JSON."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from painless.report.figures import save_figure
from painless.report.html import embedded, render
from painless.report.paper_data import picture_csv, to_latex
from painless.report.paper_figures import draw
from painless.storage import files
from painless.storage.files import write_atomically
from painless.study.paper.claims import Claim, Verdict
from painless.study.paper.experiment import Analysis, Experiment, Table
from painless.study.paper.scale import FULL, Scale
from painless.study.paper.yardstick import STATED
from painless.study.reproduce import analyse, cost
from painless.study.store import Store
from painless.study.summary import label

COLOURS = 128  # of a picture in the page
POINTS = 40  # iterations of a curve in the page's own data; the file beside the figure has all that are drawn
MARKS = {
    Verdict.HOLDS: "holds",
    Verdict.PARTLY: "partly",
    Verdict.FAILS: "fails",
    Verdict.VACUOUS: "open",
    Verdict.OPEN: "open",
}


@dataclass(frozen=True)
class Written:
    """Where the report is, and what it says of the paper's claims."""

    path: Path
    claims: tuple[Claim, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        found = Counter(claim.verdict for claim in self.claims)
        return {verdict.value: found[verdict] for verdict in Verdict}


def write_report(
    experiments: Sequence[Experiment],
    scale: Scale,
    store: Store,
) -> Written:
    """Write figures, claims and the page beside the stored results; nothing is run."""
    sections: list[dict[str, Any]] = []
    claims: list[Claim] = []
    for experiment in experiments:
        analysis = analyse(experiment, scale, store)
        sections.append(_section(experiment, analysis, scale, store))
        claims += analysis.claims
    files.write_json(store.folder / "claims.json", [claim.to_json() for claim in claims])
    written = Written(store.folder / "report.html", tuple(claims))
    page = render(
        "reproduction.html",
        title="The paper's experiments, reproduced",
        subtitle="Towards Painless Policy Optimization for Constrained MDPs (Jain et al., UAI 2022)",
        sections=sections,
        claims=[_claim(claim) for claim in claims],
        counts=written.counts,
        costs=[(one["id"], one["title"], one["units"], one["seconds"]) for one in sections],
        total=cost(experiments, scale, store),
        quick=scale != FULL,
        yardstick=STATED,
        manifest=json.loads((store.folder / "manifest.json").read_text(encoding="utf-8")),
    )
    write_atomically(written.path, lambda stream: stream.write(page.encode()))
    return written


def _section(experiment: Experiment, analysis: Analysis, scale: Scale, store: Store) -> dict[str, Any]:
    units, seconds = cost([experiment], scale, store)
    figures = []
    for picture in analysis.pictures:
        figure = draw(picture)
        for ending in ("png", "pdf"):
            save_figure(figure, store.folder / "figures" / f"{picture.name}.{ending}")
        content = _small(store.folder / "figures" / f"{picture.name}.png")
        data = picture_csv(experiment.id, picture)
        if data:
            _write(store.folder / "figures" / f"{picture.name}.csv", data)
        figures.append(
            {
                "image": embedded(content, "image/png"),
                "caption": picture.caption,
                "file": f"{picture.name}.csv.gz",
                "data": data
                and embedded(_packed(picture_csv(experiment.id, picture, POINTS)), "application/gzip"),
            }
        )
    return {
        "id": experiment.id,
        "title": experiment.title,
        "about": experiment.about,
        "units": units,
        "seconds": seconds,
        "figures": figures,
        "tables": [_table(experiment.id, k, one, store) for k, one in enumerate(analysis.tables, start=1)],
        "claims": [_claim(claim) for claim in analysis.claims],
        "settings": _settings(experiment, scale),
    }


def _table(experiment: str, number: int, table: Table, store: Store) -> dict[str, Any]:
    """Write a table for LaTeX; return it with what to download."""
    name, text = f"{experiment}-{number}.tex", to_latex(table)
    _write(store.folder / "tables" / name, text + "\n")
    return {"table": table, "file": name, "data": embedded(text.encode(), "application/x-tex")}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda stream: stream.write(text.encode()))


def _packed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def _small(path: Path) -> bytes:
    """Return a picture with as few colours as the eye needs, which is a third of its size."""
    from PIL import Image  # matplotlib has it

    stream = io.BytesIO()
    with Image.open(path) as image:
        image.convert("RGB").quantize(COLOURS).save(stream, "png", optimize=True)
    return stream.getvalue()


def _settings(experiment: Experiment, scale: Scale) -> list[tuple[str, str]]:
    """Return what was run, as rows of names and values."""
    units = experiment.sweep(scale).units
    if not units:
        return []
    found: dict[str, dict[str, None]] = {
        "problem": {},
        "evaluation": {},
        "iterations": {},
        "seeds": {},
        "starts": {},
    }
    for unit in units:
        found["problem"][label(unit.problem)] = None
        found["evaluation"][label(unit.evaluator)] = None
        found["iterations"][str(unit.iterations)] = None
        found["seeds"][str(unit.seed)] = None
        found["starts"][unit.start] = None
        name = str(unit.algorithm["name"])
        for key, value in unit.algorithm.items():
            if key != "name":
                found.setdefault(f"{name} {key}", {})[f"{value:g}"] = None
        found.setdefault(name, {})
    return [(name, ", ".join(values)) for name, values in found.items() if values]


def _claim(claim: Claim) -> dict[str, str]:
    return {"why": "", **claim.to_json(), "mark": MARKS[claim.verdict]}
