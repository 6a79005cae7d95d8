"""`painless frontier`: the best value for every limit of one constraint, with shadow prices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from painless.cli.common import (
    INFEASIBLE,
    PAGE,
    PICTURES,
    STOPPED,
    AsJson,
    Average,
    Discount,
    Horizon,
    Limit,
    Parameters,
    Problem,
    Threshold,
    check_file,
    check_folder,
    fail,
    interruptible,
    print_table,
    progress_bar,
    say,
    say_json,
)
from painless.cli.parsing import find_problem
from painless.cli.report import Report, report_frontier
from painless.common.errors import InputError

if TYPE_CHECKING:
    from painless.frontiers import Frontier


def frontier(
    problem: Problem,
    constraint: Annotated[
        str,
        typer.Option(
            metavar="NAME_OR_NUMBER", help="Constraint whose limit varies: its name, or its number from 0."
        ),
    ] = "0",
    parameters: Parameters = None,
    discount: Discount = None,
    horizon: Horizon = None,
    average: Average = False,
    threshold: Threshold = None,
    limits: Limit = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Relative error of the frontier; default: 1e-12, or 1e-4 for more than 2000 states."
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds; then return the vertices so far.")
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the frontier as .json, or draw it as .png, .pdf or .svg."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the frontier and problem.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save what `painless verify` needs to check every vertex."),
    ] = None,
    log: Annotated[
        bool,
        typer.Option(
            "--log", help="Read a .csv or .parquet log of steps; -p names its columns (state=stock)."
        ),
    ] = False,
    confidence: Annotated[float | None, typer.Option(help="Confidence of what a log claims (0.95).")] = None,
    report_file: Report = None,
) -> None:
    """Find the best value for every limit of one constraint, with shadow prices.

    With --log, plan on a log of what was done for several limits, and show a band.
    """
    from painless.frontiers.frontier import Infeasible
    from painless.frontiers.frontier import frontier as run
    from painless.solving.status import Kind

    check_file(out, (".json", *PICTURES))
    check_folder(save)
    check_folder(certificate)
    check_file(report_file, PAGE)
    if log:
        from painless.cli.logs import answer_frontier, read_log, refuse_with_log

        refuse_with_log({"--tolerance": tolerance, "--save": save, "--certificate": certificate})
        answer_frontier(
            problem,
            read_log(problem, parameters, discount, threshold, limits, horizon, average),
            constraint,
            0.95 if confidence is None else confidence,
            as_json=as_json,
            out=out,
            report_file=report_file,
            time_limit=time_limit,
        )
        return
    if confidence is not None:
        raise InputError("--confidence goes with --log; the frontier of a problem is exact")
    cmdp = find_problem(problem, parameters, discount, threshold, horizon, average, limits)
    with interruptible(), progress_bar(not as_json) as report:
        try:
            found = run(
                cmdp, constraint, tolerance=tolerance, time_limit=time_limit, progress=describe(report)
            )
        except Infeasible as error:
            if as_json:
                say_json({"problem": problem, "status": str(error), "kind": Kind.INFEASIBLE})
            fail(str(error), INFEASIBLE)
        except TimeoutError as error:
            fail(str(error), STOPPED)
    if out is not None:
        write(found, out)
    if save is not None:
        found.save(save)
    if certificate is not None:
        from painless.solving.certificate_frontiers import write_certificates

        with interruptible():
            write_certificates(certificate, found)
    report_frontier(report_file, found, problem)
    if as_json:
        say_json({"problem": problem, **found.as_dict()})
        return
    heading = f"{problem}, {found.solves} solves, {found.seconds:.2f} s"
    print_table(heading, tuple(found.header), found.rows())
    say(found.status)


def describe(report: Any) -> Any:
    """Turn the search's progress into a line for the terminal."""

    def shown(proved: int, waiting: int) -> None:
        report(f"{proved} edges proved", proved, proved + waiting)

    return None if report is None else shown


def write(frontier: Frontier, path: Path) -> None:
    """Write a frontier as JSON or as a figure, by the ending of the path."""
    if path.suffix == ".json":
        from painless.storage.files import write_atomically

        text = frontier.to_json() + "\n"
        write_atomically(path, lambda stream: stream.write(text.encode()))
    else:
        from painless.report import frontier_figure, save_figure

        save_figure(frontier_figure(frontier), path)
