"""`painless compare` and `painless sensitivity`: saved policies beside the optimum, and which limit to loosen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from painless.cli.common import (
    PICTURES,
    AsJson,
    Average,
    Discount,
    Horizon,
    Limit,
    Parameters,
    Problem,
    Threshold,
    check_file,
    interruptible,
    print_table,
    say,
    say_json,
)
from painless.cli.parsing import find_problem
from painless.common.errors import InputError

OPTIMAL = "optimal"  # how the answer of `solve` is called beside the others
TOLERANCE = 1e-6  # relative gap of that answer


def compare(
    problem: Problem,
    policies: Annotated[
        list[str],
        typer.Argument(metavar="NAME=POLICY...", help="Saved policies: a .csv or .npz file, or a folder."),
    ],
    parameters: Parameters = None,
    discount: Discount = None,
    horizon: Horizon = None,
    average: Average = False,
    threshold: Threshold = None,
    limits: Limit = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw a picture: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare saved policies with the optimal one, and show the states in which they lose most."""
    from painless.policies.storage import load_policy
    from painless.solving.compare import compare as run
    from painless.solving.solve import solve

    check_file(figure, PICTURES)
    named: dict[str, Any] = {}
    for pair in policies:
        name, equals, path = pair.partition("=")
        if not equals or not name or name == OPTIMAL or name in named:
            raise InputError(
                f"'{pair}' is not of the form NAME=POLICY with a name of its own, other than {OPTIMAL}"
            )
        named[name] = load_policy(path)
    cmdp = find_problem(problem, parameters, discount, threshold, horizon, average, limits)
    with interruptible():
        found = run(cmdp, {**named, OPTIMAL: solve(cmdp, tolerance=TOLERANCE)})
    if figure is not None:
        from painless.report import comparison_figure, save_figure

        save_figure(comparison_figure(found), figure)
    if as_json:
        plain = {name: list(values) for name, values in found.to_frame(dict).items()}
        differences = [one._asdict() | {"state": str(one.state)} for one in found.differences]
        say_json({"reference": found.reference, "policies": plain, "differences": differences})
        return
    print_table(
        f"{problem}: {found.reference} is the best that meets the limits", found.header(), found.rows()
    )
    for section in found.sections():
        print(section)  # with its names escaped


def sensitivity(
    problem: Problem,
    parameters: Parameters = None,
    discount: Discount = None,
    horizon: Horizon = None,
    average: Average = False,
    threshold: Threshold = None,
    limits: Limit = None,
    step: Annotated[float, typer.Option(help="By how much to loosen each limit.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Show which limit to loosen first, what its next unit gains, and how the optimum moves with the discount."""
    from painless.solving.sensitivity import HEADER
    from painless.solving.sensitivity import sensitivity as run

    cmdp = find_problem(problem, parameters, discount, threshold, horizon, average, limits)
    with interruptible():
        found = run(cmdp, step=step)
    if as_json:
        columns = {name: list(values) for name, values in found.to_frame(dict).items()}
        say_json(
            {
                "loosen_first": found.loosen_first,
                "limits": columns,
                "discount": found.discount,
                "step": found.step,
            }
        )
        return
    print_table(f"{problem}: limits loosened by {step:g}", HEADER, found.rows())
    for line in found.sentences():
        say(line)
