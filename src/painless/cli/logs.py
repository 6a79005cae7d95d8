"""`painless solve --log` and `painless frontier --log`: plan on a log of what was done and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from painless.cli.common import INFEASIBLE, interruptible, print_table, say, say_json
from painless.cli.parsing import name_and_value, named_limits
from painless.common.errors import InputError
from painless.common.registry import require_settings
from painless.problem.formats import parsing

if TYPE_CHECKING:
    from painless.logs.logged_model import LoggedModel
    from painless.logs.solution import LoggedSolution

UNCLEAR = 6  # the exit code if the log does not tell whether the limits are met


def _is_true(text: str) -> bool:
    return text.strip().lower() in ("true", "yes", "1")


# What `from_log` takes, and how each is read from text.
PARAMETERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("state", "action", "next_state"), parsing.name_or_names),
    **dict.fromkeys(("reward", "cost", "episode", "done", "step"), str),
    **dict.fromkeys(("constraint_reward", "constraint_cost"), parsing.mapping_or(parsing.names)),
    "limit": parsing.numbers,
    "initial": parsing.mapping_or(str),
    "discount": parsing.number,
    "horizon": int,
    "average": _is_true,
    "untried": _is_true,
}


def log_arguments(
    parameters: list[str] | None,
    discount: float | None,
    threshold: list[float] | None,
    limits: list[str] | None = None,
    horizon: int | None = None,
    average: bool = False,
) -> dict[str, Any]:
    """Return the arguments of `from_log`.

    >>> log_arguments(["state=stock"], 0.95, None, ["lost<=2"])
    {'state': 'stock', 'constraint_cost': {'lost': 2.0}, 'discount': 0.95}
    """
    from painless.problem.formats.csv import with_limits

    given: dict[str, Any] = {}
    for pair in parameters or []:
        key, text = name_and_value(pair)
        require_settings("a log", [key], PARAMETERS, "parameter")
        try:
            given[key] = PARAMETERS[key](text)
        except ValueError as error:
            raise InputError(f"{key} is '{text}', {error}") from error
    if threshold and limits:
        raise InputError("--threshold and --limit both set limits; give one of them")
    if threshold:
        given["limit"] = threshold
    given |= named_limits(limits) if limits else {}
    found = {key: value for key, value in with_limits(given).items() if value != {}}
    options = {"discount": discount, "horizon": horizon, "average": average or None}
    found |= {key: value for key, value in options.items() if value is not None}
    if not any(key in found for key in options):
        raise InputError(
            "a log does not say how its steps add up; give --discount (0.95), or 1 for the total until the end, --horizon, or --average"
        )
    return found


def refuse_with_log(options: Mapping[str, Any]) -> None:
    """Reject options that are given and mean nothing for a log."""
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} does not go with --log, which plans in one way; remove it")


def read_log(
    path: str,
    parameters: list[str] | None,
    discount: float | None,
    threshold: list[float] | None,
    limits: list[str] | None = None,
    horizon: int | None = None,
    average: bool = False,
) -> LoggedModel:
    """Read a log."""
    from painless.logs.from_log import from_log
    from painless.storage.files import open_file

    open_file(path).close()  # what is missing beside a file that is not there does not matter yet
    return from_log(Path(path), **log_arguments(parameters, discount, threshold, limits, horizon, average))


def answer_log(
    path: str,
    log: LoggedModel,
    confidence: float,
    *,
    as_json: bool,
    save: Path | None,
    report_file: Path | None,
    time_limit: float | None,
) -> NoReturn:
    """Plan on a log, save, print, and exit with the code of the verdict."""
    from painless.logs.solution import solve_log

    with interruptible():
        solution = solve_log(log, confidence=confidence, time_limit=time_limit)
    if save is not None:
        solution.save(save)
    if report_file is not None:
        from painless.report.html import write_page
        from painless.report.page_log import log_page

        write_page(log_page(solution, Path(path).name), report_file)
    if as_json:
        say_json({"problem": path, **solution.as_dict()})
    else:
        show(path, solution)
    raise typer.Exit({True: 0, False: INFEASIBLE, None: UNCLEAR}[solution.feasible])


def answer_frontier(
    path: str,
    log: LoggedModel,
    constraint: str,
    confidence: float,
    *,
    as_json: bool,
    out: Path | None,
    report_file: Path | None,
    time_limit: float | None,
) -> None:
    """Plan for several limits of a log, write, and print."""
    from painless.frontiers.frontier import frontier
    from painless.storage.files import plain, write_atomically

    with interruptible():
        band = frontier(log, constraint, confidence=confidence, time_limit=time_limit)
    if out is not None and out.suffix == ".json":
        text = json.dumps(band.as_dict(), default=plain, indent=2) + "\n"
        write_atomically(out, lambda stream: stream.write(text.encode()))
    elif out is not None:
        from painless.report import save_figure
        from painless.report.log_figure import band_figure

        save_figure(band_figure(band), out)
    if report_file is not None:
        from painless.report.html import write_page
        from painless.report.page_log import band_page

        write_page(band_page(band, log, Path(path).name), report_file)
    if as_json:
        say_json({"problem": path, **band.as_dict()})
        return
    print_table(f"{path}, {log.rows:,} rows, {band.seconds:.2f} s", band.header, band.rows())
    say(band.status)


def fitting(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows of a table as they are if it fits the terminal, else with the intervals below their values."""
    from rich.console import Console

    width = sum(max(map(len, column)) + 3 for column in zip(header, *rows, strict=True)) + 1
    if width <= Console().width:
        return rows
    parts = [[cell.partition(" (") for cell in row] for row in rows]
    return [
        line
        for row in parts
        for line in (
            tuple(value for value, _, _ in row),
            tuple(f"({rest}" if rest else "" for _, _, rest in row),
        )
    ]


def show(path: str, solution: LoggedSolution) -> None:
    """Print a solution of a log."""
    from painless.logs.solution import HEADER

    rows = fitting(HEADER, solution.rows())
    print_table(f"{path}, {solution.rows_used:,} rows, {solution.seconds:.2f} s", HEADER, rows)
    say(solution.status)
    needed = solution.extrapolation.needed[:5]
    if needed and solution.feasible is not True:
        rows = [
            (f"{one.action} in {one.state}", f"{one.rows}", f"{one.time:.1%}", f"{one.worth:.4g}")
            for one in needed
        ]
        print_table(
            "Rows that would help most", ("choice", "rows", "share of time", "worth of 100 more"), rows
        )
    for one in solution.assumptions:
        if one.holds:
            say(one.sentence)
