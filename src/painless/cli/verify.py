"""`painless verify`: check the certificate of an answer without the solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from painless.cli.common import (
    FAILED,
    AsJson,
    Average,
    Discount,
    Horizon,
    Limit,
    Parameters,
    Problem,
    Threshold,
    interruptible,
    say,
    say_json,
)
from painless.cli.parsing import find_problem


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Folder written by `solve` or `frontier` with --certificate, or by `solve --save`.",
        ),
    ],
    problem: Problem,
    parameters: Parameters = None,
    discount: Discount = None,
    horizon: Horizon = None,
    average: Average = False,
    threshold: Threshold = None,
    limits: Limit = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compute in rational numbers, as every check does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the certificate of an answer, without the solver.

    Exit code 0 if it proves what it claims, else 1 with the first inequality that fails.
    """
    from painless.solving.certificate_frontiers import check_certificates

    del exact  # nothing is ever rounded
    cmdp = find_problem(problem, parameters, discount, threshold, horizon, average, limits)
    with interruptible():
        found = check_certificates(path, cmdp)
    if as_json:
        one, *more = (verdict._asdict() for verdict in found)
        say_json({"verified": all(v.verified for v in found), "vertices": [one, *more]} if more else one)
    else:
        for i, verdict in enumerate(found):
            say(f"Vertex {i}: {verdict.sentence}" if len(found) > 1 else verdict.sentence)
    if not all(verdict.verified for verdict in found):
        raise typer.Exit(FAILED)
