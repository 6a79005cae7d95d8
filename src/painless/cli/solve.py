"""`painless solve`: solve a table, with a proof of the gap."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import typer

from painless.cli.common import (
    BEFORE_THE_FIRST,
    INFEASIBLE,
    PAGE,
    STOPPED,
    AsJson,
    Average,
    Discount,
    Horizon,
    Limit,
    Parameters,
    Problem,
    Seed,
    Settings,
    Threshold,
    check_file,
    check_folder,
    fail,
    print_table,
    progress_bar,
    say,
    say_json,
)
from painless.cli.parsing import find_problem, make_algorithm
from painless.cli.report import Report
from painless.common.errors import InputError
from painless.common.registry import find
from painless.loop.algorithms import algorithms_and_planners

if TYPE_CHECKING:
    from painless.planning.planner import Progress
    from painless.problem import CMDP
    from painless.solving.optimum import Optimum
    from painless.solving.solution import Solution


DEFAULT = "prm"  # the algorithm that --set configures if none is named


class Start(StrEnum):
    """The initial policy of a run."""

    UNIFORM = "uniform"
    DIRICHLET = "dirichlet"


def solve(
    problem: Problem,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm or planner, see below; default: chosen for the model, or prm with --iterations.",
        ),
    ] = None,
    settings: Settings = None,
    parameters: Parameters = None,
    iterations: Annotated[int | None, typer.Option(help="Run exactly this many iterations.")] = None,
    tolerance: Annotated[float, typer.Option(help="Relative gap to prove, without --iterations.")] = 1e-3,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds; then return the best result so far.")
    ] = None,
    discount: Discount = None,
    horizon: Horizon = None,
    average: Average = False,
    threshold: Threshold = None,
    limits: Limit = None,
    initial: Annotated[Start, typer.Option(help="Initial policy.")] = Start.UNIFORM,
    seed: Seed = 0,
    as_json: AsJson = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the solution, policy and problem.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save what `painless verify` needs to check the answer."),
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
    """Find the best feasible policy and its shadow prices, and prove the gap.

    With --log, plan on a log of what was done, and say how far the plan can be trusted.

    Ctrl-C returns the best result so far.
    """
    check_file(report_file, PAGE)
    check_folder(save)
    check_folder(certificate)
    if log:
        from painless.cli.logs import answer_log, read_log, refuse_with_log

        refuse_with_log(
            {
                "--algorithm": algorithm,
                "--set": settings,
                "--iterations": iterations,
                "--certificate": certificate,
            }
        )
        answer_log(
            problem,
            read_log(problem, parameters, discount, threshold, limits, horizon, average),
            0.95 if confidence is None else confidence,
            as_json=as_json,
            save=save,
            report_file=report_file,
            time_limit=time_limit,
        )
    if confidence is not None:
        raise InputError("--confidence goes with --log; the values of a problem are exact")
    cmdp = find_problem(problem, parameters, discount, threshold, horizon, average, limits)
    method = None  # lets `painless.solve` choose
    if algorithm is not None or settings:
        name = algorithm or DEFAULT
        method = make_algorithm(name, find("algorithm", name, algorithms_and_planners()), settings)
    answer(
        problem,
        cmdp,
        method,
        as_json=as_json,
        save=save,
        certificate=certificate,
        report_file=report_file,
        iterations=iterations,
        tolerance=tolerance,
        time_limit=time_limit,
        initial_policy=first_policy(cmdp, seed) if initial is Start.DIRICHLET else None,
        seed=seed,
    )


def answer(
    problem: str,
    cmdp: CMDP,
    algorithm: Any,
    *,
    as_json: bool,
    save: Path | None,
    report_file: Path | None,
    certificate: Path | None = None,
    note: str = "",
    **options: Any,
) -> NoReturn:
    """Solve, save, print, and exit with the code of the status; `options` go to `painless.solve`."""
    from painless.solving.solve import solve as run
    from painless.solving.status import Kind

    try:
        with progress_bar(not as_json) as report:
            solution = run(cmdp, algorithm, progress=None if report is None else describe(report), **options)
    except KeyboardInterrupt:
        fail(BEFORE_THE_FIRST, STOPPED)
    if save is not None:
        solution.save(save, cmdp)
    if certificate is not None:
        from painless.solving.certificate_files import write_certificate

        write_certificate(certificate, solution, cmdp)
    if report_file is not None:
        from painless.report.html import write_page
        from painless.report.page_solution import solution_page

        title = Path(problem).name  # others read it: a file without its folders
        write_page(solution_page(solution, cmdp, title), report_file)
    if as_json:
        from painless.solving.optimum import known_optimum

        say_json(_as_json(problem, solution, known_optimum(solution, cmdp)))
    else:
        if note:
            say(note)
        _show(problem, solution, cmdp)
    raise typer.Exit({Kind.INFEASIBLE: INFEASIBLE, Kind.STOPPED: STOPPED}.get(solution.status.kind, 0))


def first_policy(problem: CMDP, seed: int) -> Any:
    """Return a random initial policy, drawn from a Dirichlet distribution at every state."""
    from painless.policies.table import dirichlet_policy

    return dirichlet_policy(problem.actions, np.random.default_rng(seed))


def describe(report: Any) -> Any:
    """Turn a solve's progress into a line for the terminal."""
    from painless.common.render import number

    def shown(now: Progress) -> None:
        known = (
            "" if np.isnan(now.upper_bound) else f", {number(now.reward_value)} of {number(now.upper_bound)}"
        )
        report(f"iteration {now.iteration}{known}", now.iteration, now.iterations)

    return shown


def _as_json(problem: str, solution: Solution, optimum: Optimum | None) -> dict[str, Any]:
    content = solution.as_dict()
    average, value = content["average"], None if optimum is None else optimum.value
    if average is not None:
        gap = None if value is None else solution.average_optimality_gap(value)
        content["average"] = {**average, "optimality_gap": gap}
    plain = {key: value for key, value in content.items() if key != "constraint_names"}
    return {"problem": problem, **plain, "optimal_value": value, "reason": getattr(solution, "reason", "")}


def _show(problem: str, solution: Solution, cmdp: CMDP) -> None:
    """Print the solution; after a given number of iterations also their average, which experiments report."""
    from painless.solving.status import Kind

    print_table(
        f"{problem} by {solution.algorithm}, {solution.effort}",
        ("", "value", "bound", "shadow price"),
        solution.rows(),
    )
    average = solution.average if solution.status.kind is Kind.COMPLETED else None
    if average is not None:
        from painless.solving.optimum import known_optimum

        optimum = known_optimum(solution, cmdp)
        gap = None if optimum is None else solution.average_optimality_gap(optimum.value)
        say(about_average(average.reward_value, gap, average.constraint_violation))
    say(solution.status.sentence)
    if reason := getattr(solution, "reason", ""):
        say(reason)


def about_average(value: float, gap: float | None, violation: Any) -> str:
    """Return a sentence about the average iterate, marked as not the returned policy.

    >>> print(about_average(1.5, 0.25, [-0.5]))
    Average of all iterates, not the returned policy: value 1.5, 0.25 worse than the optimum; violation -0.5 (met if negative).
    >>> print(about_average(2.0, -0.25, [0.5]))
    Average of all iterates, not the returned policy: value 2, 0.25 better than the optimum; violation 0.5 (met if negative).
    """
    from painless.common.render import number

    distance = (
        "" if gap is None else f", {number(abs(gap))} {'worse' if gap >= 0 else 'better'} than the optimum"
    )
    missed = ", ".join(number(v) for v in violation)
    end = f"; violation {missed} (met if negative)" if missed else ""
    return f"Average of all iterates, not the returned policy: value {number(value)}{distance}{end}."
