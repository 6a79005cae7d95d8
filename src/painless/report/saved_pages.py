"""The page of a folder of saved results. To add a kind of page, write a file and add a line to `PAGES`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from painless.common.errors import InputError
from painless.problem import CMDP, load
from painless.report.html import frontier_page
from painless.report.page_solution import solution_page
from painless.report.page_sweep import sweep_page
from painless.report.page_training import TrainingRecord, training_page
from painless.solving.solution import Solution
from painless.storage import checked_entries as entries
from painless.storage import files, results

FRONTIER = "frontier.json"


def read_frontier(path: Path) -> dict[str, object]:
    """Read the JSON of a frontier."""
    if path.is_dir():
        results.read(path / "arrays.npz", "frontier")  # rejects a folder whose files do not belong together
    content = results.read(path / FRONTIER if path.is_dir() else path, "frontier")
    with results.understood(path, "frontier"):
        entries.whole(content, "constraint", below=len(content["constraints"]))
    return content


def _frontier(folder: Path, title: str) -> str:
    content = read_frontier(folder)
    with results.understood(folder, "frontier"):
        return frontier_page([content], title)


def _solution(folder: Path, title: str) -> str:
    return solution_page(*read_solution(folder), title)


def read_solution(folder: Path) -> tuple[Solution, CMDP | None]:
    """Read a saved solution, and its problem where it was saved, too."""
    solution, path = Solution.load(folder), folder / "problem.npz"
    problem = load(path) if path.exists() else None
    if problem is not None:
        solution.require_fit(problem)
    return solution, problem


def _training(folder: Path, title: str) -> str:
    return training_page(TrainingRecord.load(folder), title)


def _log(folder: Path, title: str) -> str:
    from painless.report.page_log import LogRecord, log_page

    return log_page(LogRecord.load(folder), title)


class Page(NamedTuple):
    """How the page of one kind of saved results is made."""

    mark: str  # the file or folder that shows that a folder holds results of this kind
    make: Callable[[Path, str], str]  # returns the page, from the folder and a title


PAGES: dict[str, Page] = {
    "frontier": Page(FRONTIER, _frontier),
    "solution": Page("solution.json", _solution),
    "training": Page("training.json", _training),
    "log": Page("log.json", _log),
    "sweep": Page("units", sweep_page),
}


def saved_kind(folder: Path) -> str:
    """Return which kind of results was saved into a folder, as `PAGES` names it."""
    if folder.is_file():
        return "frontier"
    if not folder.is_dir():
        raise InputError(f"{folder} does not exist; give a folder that --save or painless sweep wrote")
    for kind, page in PAGES.items():
        if (folder / page.mark).exists():
            return kind
    raise InputError(
        f"{folder} holds no solution, frontier, training run or sweep; make one with "
        "painless solve, frontier or train --save, or painless sweep --out"
    )


def page_of(folder: str | os.PathLike[str], title: str | None = None) -> str:
    """Return the page of whatever was saved into a folder."""
    folder = Path(folder)
    return PAGES[saved_kind(folder)].make(folder, title or _title(folder))


def _title(folder: Path) -> str:
    """Return the name of a simulator where it is known, else that of the folder."""
    about = files.read(folder / "problem.json") if (folder / "problem.json").is_file() else {}
    return str(about.get("simulator") or folder.resolve().name.removesuffix(".json"))
