"""The command line: arguments to objects, objects to tables; no logic of its own."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from painless import __version__
from painless.errors import InputError, unknown

if TYPE_CHECKING:
    from painless.problem import CMDP
    from painless.solution import Solution
    from painless.solve import Progress

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Solve constrained Markov decision processes, without tuning and with a proof of the gap.",
)

EXACT_PAIRS = 2000  # up to this many pairs (s, a) the exact optimum costs less than a run
BAD_INPUT, INFEASIBLE, STOPPED = 2, 3, 4  # exit codes


class AlgorithmName(StrEnum):
    """The algorithms by the names of the command line."""

    CBP = "cbp"
    CBP_THEORY = "cbp-theory"
    GDA = "gda"
    GDA_THEORY = "gda-theory"
    CRPO = "crpo"
    LP = "lp"


class Start(StrEnum):
    """Where a run starts."""

    UNIFORM = "uniform"
    DIRICHLET = "dirichlet"


def main() -> None:
    """Run the command line; bad input ends with one line and exit code 2, never with a traceback."""
    try:
        app()
    except InputError as error:
        _fail(str(error), BAD_INPUT)
    except MemoryError:
        _fail("not enough memory for this problem; store its transitions as a sparse matrix", BAD_INPUT)
    except RuntimeError as error:
        _fail(str(error), 1)


def _fail(message: str, code: int) -> None:
    print(f"Error: {message}", file=sys.stderr)
    raise SystemExit(code)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"painless {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


@app.command()
def solve(
    problem: Annotated[
        str, typer.Argument(help="A registered name (see `painless problems`) or a .npz or .json file.")
    ],
    algorithm: Annotated[AlgorithmName, typer.Option(help="How to solve it.")] = AlgorithmName.CBP,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the algorithm, such as alpha=8."),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME=VALUE",
            help="A parameter of a registered problem, such as states=100.",
        ),
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Run for exactly this many iterations.")] = None,
    tolerance: Annotated[float, typer.Option(help="Without --iterations: the relative gap to prove.")] = 1e-3,
    time_limit: Annotated[
        float | None, typer.Option(help="In seconds; the best proved answer is returned.")
    ] = None,
    discount: Annotated[float | None, typer.Option(help="Another discount.")] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="Another threshold or budget; once for each constraint, in order."),
    ] = None,
    initial: Annotated[Start, typer.Option(help="The first policy.")] = Start.UNIFORM,
    seed: Annotated[int, typer.Option(min=0, help="Draws the Dirichlet rows.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the solution, policy and problem.")
    ] = None,
) -> None:
    """Solve a problem: the best feasible policy, shadow prices, and the proved gap."""
    from painless.policy import dirichlet_policy
    from painless.solve import solve as run

    cmdp = _problem(problem, parameters or [], discount, threshold)
    chosen = _algorithm(algorithm, settings or [])
    rng = np.random.default_rng(seed)
    start = dirichlet_policy(cmdp.actions, rng) if initial is Start.DIRICHLET else None
    with _interruptible(), _progress(not as_json) as report:
        solution = run(
            cmdp,
            chosen,
            iterations=iterations,
            tolerance=tolerance,
            time_limit=time_limit,
            initial_policy=start,
            seed=seed,
            progress=report,
        )
    if save is not None:
        solution.save(save)
        cmdp.save(save / "problem.npz")
    optimum = _optimal_value(cmdp, solution)
    if as_json:
        print(json.dumps(_as_json(problem, solution, optimum)))
    else:
        _show(problem, solution, optimum)
    raise typer.Exit(_exit_code(solution))


@app.command()
def problems() -> None:
    """List the registered problems and their parameters."""
    from rich.console import Console
    from rich.table import Table

    from painless.problems import REGISTRY

    table = Table("name", "what it is", "parameters (-p name=value)", box=None, padding=(0, 2))
    for name, make in REGISTRY.items():
        text = (inspect.getdoc(getattr(make, "func", make)) or "").removeprefix("Return ")
        defaults = inspect.signature(make).parameters.values()
        shown = ", ".join(f"{p.name}={p.default}" for p in defaults if p.default is not None)
        table.add_row(name, text.splitlines()[0], shown)
    Console().print(table)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="A .npz or .json problem file.")]) -> None:
    """Validate a problem file, and say what is in it."""
    from painless.problem import load
    from painless.render import number, text_table

    problem = load(file)
    print(f"{file}: valid, {problem}")
    rows = []
    labels = [
        "cost" if problem.minimise else "reward",
        *(problem.name("constraints", i) for i in range(problem.shape[2])),
    ]
    limits = ["", *(f"{s} {number(b)}" for s, b in zip(problem.sense, problem.limit, strict=True))]
    for label, utility, sign, limit in zip(labels, problem.utility, problem.sign, limits, strict=True):
        values = sign * utility[problem.actions]
        rows.append((label, number(values.min()), number(values.max()), limit))
    print(text_table(("", "least", "largest", "limit"), rows))


def _problem(name: str, parameters: list[str], discount: float | None, threshold: list[float] | None) -> CMDP:
    from painless.problem import load
    from painless.problems import REGISTRY, make

    if name.endswith((".npz", ".json")) or (name not in REGISTRY and ("/" in name or Path(name).exists())):
        if parameters:
            raise InputError("--parameter is for registered problems; a file has its own numbers")
        problem = load(name)
        problem = problem if discount is None else problem.with_discount(discount)
        return problem if not threshold else problem.with_limits(threshold)
    if name not in REGISTRY:
        raise unknown("problem", name, REGISTRY)
    accepted = inspect.signature(REGISTRY[name]).parameters
    given = _named(parameters, f"parameter of {name}", accepted)
    if discount is not None:
        given["discount"] = discount
    if threshold and "threshold" in accepted:
        given["threshold"] = threshold
        return make(name, **given)
    return make(name, **given) if not threshold else make(name, **given).with_limits(threshold)


def _algorithm(name: AlgorithmName, settings: list[str]) -> Any:
    from painless.algorithms import CBP, CRPO, GDA
    from painless.planners import LinearProgram

    makers: dict[AlgorithmName, Callable[..., Any]] = {
        AlgorithmName.CBP: CBP,
        AlgorithmName.CBP_THEORY: CBP.theoretical,
        AlgorithmName.GDA: GDA,
        AlgorithmName.GDA_THEORY: GDA.theoretical,
        AlgorithmName.CRPO: CRPO,
        AlgorithmName.LP: LinearProgram,
    }
    make = makers[name]
    return make(**_named(settings, f"setting of {name}", inspect.signature(make).parameters))


def _named(pairs: list[str], kind: str, accepted: Any) -> dict[str, Any]:
    """Read "name=value" pairs; a value is a whole number, a number, true or false."""
    if pairs and not accepted:
        raise InputError(f"'{pairs[0]}': there is no {kind}")
    result: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"'{pair}' is not of the form name=value")
        if name not in accepted:
            raise unknown(kind, name, accepted)
        try:
            result[name] = json.loads(text.lower())
        except json.JSONDecodeError:
            result[name] = None
        if not isinstance(result[name], int | float):
            raise InputError(f"{name} is '{text}', not a number")
    return result


def _optimal_value(problem: CMDP, solution: Solution) -> float | None:
    """Return the exact optimum where it is known already, or costs less than the run did."""
    from painless.planners import LinearProgram
    from painless.solve import solve as run

    if solution.infeasibility is not None:
        return None
    if solution.feasible and solution.gap <= 1e-9 * abs(solution.upper_bound):
        return solution.reward_value
    if problem.actions.sum() > EXACT_PAIRS:
        return None
    return run(problem, LinearProgram()).reward_value


def _as_json(problem: str, solution: Solution, optimum: float | None) -> dict[str, Any]:
    content = solution.as_dict()
    average = content["average"]
    if average is not None:
        gap = None if optimum is None else solution.average_optimality_gap(optimum)
        content["average"] = {**average, "optimality_gap": gap}
    hidden = ("kind", "constraint_names")
    plain = {key: value for key, value in content.items() if key not in hidden}
    return {"problem": problem, **plain, "optimal_value": optimum}


def _show(problem: str, solution: Solution, optimum: float | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from painless.render import number

    console = Console()
    heading = f"{problem} by {solution.algorithm}, {solution.iterations} iterations, {solution.seconds:.2f} s"
    table = Table("", "value", "bound", "shadow price", title=heading, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in solution.rows():
        table.add_row(*row)
    console.print(table)
    average = solution.average
    if average is not None:
        og = None if optimum is None else solution.average_optimality_gap(optimum)
        violations = ", ".join(number(v) for v in average.constraint_violation) or "none"
        gap = "" if og is None else f", optimality gap {number(og)}"
        print(
            f"Average iterate: value {number(average.reward_value)}{gap}; violations (signed) {violations}."
        )
    print(solution.status)


@contextmanager
def _progress(shown: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Show where the run stands, on the terminal's error stream, if it is one."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from painless.render import number

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("preparing", total=None)

        def report(now: Progress) -> None:
            known = (
                ""
                if np.isnan(now.upper_bound)
                else f", {number(now.reward_value)} of at most {number(now.upper_bound)}"
            )
            bar.update(
                task,
                description=f"iteration {now.iteration}{known}",
                completed=now.iteration,
                total=now.iterations,
            )

        yield report


@contextmanager
def _interruptible() -> Iterator[None]:
    """End with our own exit code where Ctrl-C comes before there is anything to return."""
    try:
        yield
    except KeyboardInterrupt:
        _fail("interrupted before there was an answer", STOPPED)


def _exit_code(solution: Solution) -> int:
    from painless.solution import Kind

    return {Kind.INFEASIBLE: INFEASIBLE, Kind.STOPPED: STOPPED}.get(solution.status.kind, 0)
