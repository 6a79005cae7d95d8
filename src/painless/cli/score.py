"""`painless score`: compare the default settings with baselines tuned in hindsight, on the public suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from painless.cli.common import PICTURES, AsJson, Seed, check_file, interruptible, progress_bar, say_json


def score(
    quick: Annotated[bool, typer.Option("--quick", help="Run part of the suite, in a minute.")] = False,
    seed: Seed = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 2,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a figure of the performance profiles.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the default settings with GDA and CRPO tuned in hindsight, problem by problem."""
    from painless.backends import Local
    from painless.study.score import run_score
    from painless.study.score.table import report

    check_file(figure, PICTURES)
    with interruptible(), progress_bar(True) as show:

        def tell(name: str, done: int, total: int) -> None:
            if show is not None:
                show(name, done, total)

        result = run_score(seed, quick=quick, backend=Local(workers), progress=tell)
    if figure is not None:
        from painless.report.score_profiles import draw_profiles

        draw_profiles(result, figure)
    if as_json:
        say_json(result.as_dict())
    else:
        print(report(result))
