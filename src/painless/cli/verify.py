"""`painless verify`: check the certificate of an answer without the solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from painless.cli.common import (
    FAILED,
    AsJson,
    Discount,
    Horizon,
    Parameters,
    Problem,
    Threshold,
    find_problem,
    interruptible,
    say,
    say_json,
)


def verify(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="Folder written by `solve --certificate` or `solve --save`."),
    ],
    problem: Problem,
    parameters: Parameters = None,
    discount: Discount = None,
    horizon: Horizon = None,
    threshold: Threshold = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compute in rational numbers; for up to some 10,000 pairs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the certificate of an answer, without the solver.

    Exit code 0 if it proves what it claims, else 1 with the first inequality that fails.
    """
    from painless.solving.certificate_files import check_certificate

    cmdp = find_problem(problem, parameters, discount, threshold, horizon)
    with interruptible():
        verdict = check_certificate(path, cmdp, exact=exact)
    if as_json:
        say_json(verdict._asdict())
    else:
        say(verdict.sentence)
    if not verdict.verified:
        raise typer.Exit(FAILED)
