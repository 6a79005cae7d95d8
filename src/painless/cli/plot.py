"""`painless plot`: draw figures of saved results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from painless.cli.common import check_folder, say


class PictureFormat(StrEnum):
    """File formats of figures."""

    PNG = "png"
    PDF = "pdf"
    SVG = "svg"


def plot(
    folder: Annotated[Path, typer.Argument(help="Saved solution, frontier, training run or sweep.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Output folder; default: `figures` in the folder."),
    ] = None,
    formats: Annotated[
        list[PictureFormat] | None,
        typer.Option("--format", help="png, pdf or svg; repeatable. Default: png."),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="For a frontier on a grid: limit at which to draw the map.")
    ] = None,
) -> None:
    """Draw the figures of a saved solution, frontier, training run or sweep."""
    from painless.report.figures import save_figure
    from painless.report.saved_figures import figures_of

    where = out or (folder.parent if folder.is_file() else folder) / "figures"
    check_folder(where)
    figures = figures_of(folder, limit)
    if not figures:
        say("There is nothing to draw: no run, no grid and no constraint.")
    for name, figure in figures.items():
        for kind in dict.fromkeys(formats or [PictureFormat.PNG]):
            say(f"Written: {save_figure(figure, where / f'{name}.{kind}')}")
