"""`painless score`: compare the algorithms of the collection on the public suite, untuned and tuned in hindsight."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from painless.cli.common import (
    PICTURES,
    AsJson,
    Seed,
    check_file,
    check_folder,
    interruptible,
    progress_bar,
    say_json,
)
from painless.cli.parsing import json_or_text, name_and_value
from painless.common.errors import InputError

TABLES = (".md", ".tex", ".csv")


def score(
    quick: Annotated[
        bool, typer.Option("--quick", help="Run part of the suite for one seed, in a minute or two.")
    ] = False,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Your own algorithm, module:factory, beside the others; repeatable."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Setting of your own; a list, such as [0.1,1], is a grid."
        ),
    ] = None,
    family: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Problems of this family alone; repeatable.")
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds, from --seed on; default: 10, with --quick 1.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 2,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for what is finished, which is not run again.")
    ] = Path("out/score"),
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a figure of the performance profiles.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table of all algorithms: .md, .tex or .csv."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all algorithms, untuned and tuned in hindsight, problem by problem.

    Ctrl-C keeps what is finished; the same command goes on.
    """
    from painless.backends import Local
    from painless.study.score import run_score
    from painless.study.score.table import report, write_table

    check_file(figure, PICTURES)
    check_file(table, TABLES)
    check_folder(out)
    own = [{"name": name} for name in algorithm or []]
    if settings:
        if len(own) != 1:
            raise InputError("--set is for your own algorithm; give one --algorithm module:factory with it")
        own[0] |= {key: json_or_text(text) for key, text in map(name_and_value, settings)}
    with (
        interruptible(f"interrupted; what is finished is in {out}. Run the same command to continue"),
        progress_bar(True) as show,
    ):

        def tell(name: str, done: int, total: int) -> None:
            if show is not None:
                show(name, done, total)

        result = run_score(
            seed,
            seeds=seeds or (1 if quick else 10),
            quick=quick,
            families=family or (),
            own=own,
            folder=out,
            backend=Local(workers),
            progress=tell,
        )
    if figure is not None:
        from painless.report.score_profiles import draw_profiles

        draw_profiles(result, figure)
    if table is not None:
        write_table(result, table)
    if as_json:
        say_json(result.as_dict())
    else:
        print(report(result))
