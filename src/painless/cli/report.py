"""`painless report`: an interactive page of saved results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from painless.cli.common import PAGE, check_file, say

if TYPE_CHECKING:
    from painless.training.result import Training

Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write an interactive report, as one HTML file."),
]


def report(
    folder: Annotated[Path, typer.Argument(help="Saved solution, frontier, training run or sweep.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Output file; default: report.html in the folder."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title; default: the folder's name.")] = None,
) -> None:
    """Write an interactive page of a saved solution, frontier, training run or sweep: one file that needs no network."""
    from painless.report.html import write_page
    from painless.report.saved_pages import page_of

    check_file(out, PAGE)
    page = page_of(folder, title)
    default = folder.with_suffix(".html") if folder.is_file() else folder / "report.html"
    say(f"Written: {write_page(page, out or default)}")


def report_training(path: Path | None, training: Training, title: str) -> None:
    """Write the page of a training run, if one is wanted."""
    if path is not None:
        from painless.report.html import write_page
        from painless.report.page_training import TrainingRecord, training_page

        write_page(training_page(TrainingRecord.of(training), title), path)


def report_frontier(path: Path | None, frontier: Any, name: str) -> None:
    """Write the page of a frontier, if one is wanted."""
    if path is not None:
        from painless.report.html import frontier_page, write_page

        write_page(frontier_page([frontier.as_dict()], Path(name).name), path)
