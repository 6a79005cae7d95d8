"""The page of a folder of saved results."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from painless.common.errors import InputError
from painless.problem import CMDP, load
from painless.report.build import frontier_page
from painless.report.page_solution import solution_page
from painless.report.page_sweep import sweep_page
from painless.report.page_training import TrainingRecord, training_page
from painless.solving.solution import Solution
from painless.storage import entries, files, results

MARKS = {  # what says that a folder holds a thing
    "frontier": "frontier.json",
    "solution": "solution.json",
    "training": "training.json",
    "sweep": "units",
}


def saved_kind(folder: Path) -> str:
    """Return what was saved into a folder: a frontier, a solution, a training or a sweep."""
    if folder.is_file():
        return "frontier"
    if not folder.is_dir():
        raise InputError(f"{folder} does not exist; give a folder that --save or painless sweep wrote")
    for kind, mark in MARKS.items():
        if (folder / mark).exists():
            return kind
    raise InputError(
        f"{folder} holds no solution, frontier, training run or sweep; make one with "
        "painless solve, frontier or train --save, or painless sweep --out"
    )


def page_of(folder: str | os.PathLike[str], title: str | None = None) -> str:
    """Return the page of whatever was saved into a folder."""
    folder = Path(folder)
    makers: dict[str, Callable[[Path, str], str]] = {
        "frontier": _frontier,
        "solution": _solution,
        "training": _training,
        "sweep": sweep_page,
    }
    kind = saved_kind(folder)
    return makers[kind](folder, title or _title(folder))


def _title(folder: Path) -> str:
    """Return the name of a simulator where it is known, else that of the folder."""
    about = files.read(folder / "problem.json") if (folder / "problem.json").is_file() else {}
    return str(about.get("simulator") or folder.resolve().name.removesuffix(".json"))


def read_frontier(path: Path) -> dict[str, object]:
    """Read the JSON of a frontier."""
    if path.is_dir():
        results.read(path / "arrays.npz", "frontier")  # rejects a folder whose files do not belong together
    content = results.read(path / MARKS["frontier"] if path.is_dir() else path, "frontier")
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


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page as one file, whole or not at all."""
    if Path(path).suffix != ".html":
        raise InputError(f"{path} must end in .html")
    return files.write_atomically(path, lambda stream: stream.write(page.encode()))
