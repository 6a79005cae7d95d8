"""`painless sweep`: many runs from a file, in parallel and resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from painless.cli.backend_options import report_failures, unit_progress, with_backend
from painless.cli.common import STOPPED, check_file, check_folder, fail, say, say_table

if TYPE_CHECKING:
    from painless.backends import Backend
    from painless.study import Store, Sweep


@with_backend
def sweep(
    file: Annotated[Path, typer.Argument(help="TOML file: problems × algorithms × settings × seeds.")],
    backend: Backend | None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for results; stored results are reused.")
    ] = Path("out/sweep"),
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write all iterates in long form: problem, algorithm, setting, seed, t, …"
        ),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the printed tables for LaTeX.")
    ] = None,
) -> None:
    """Run a sweep and print the averages of every setting."""
    from painless.study import Store, Sweep, load_sweep, run_sweep

    check_folder(out)
    check_file(csv, (".csv",))
    check_file(latex, (".tex",))
    plan, store = load_sweep(file), Store(out)
    try:
        with unit_progress() as progress:
            failures = run_sweep(plan, store, backend=backend, progress=progress)
    except KeyboardInterrupt:
        fail(f"interrupted; finished units are in {out}. Run the same command to continue", STOPPED)
    say(f"Averages over all iterations, with 95 % intervals over the seeds; the results are in {out}")
    finished = Sweep(tuple(unit for unit in plan.units if store.holds(unit.settings)))
    _print_tables(finished, store, latex)
    if csv is not None:
        from painless.storage.files import write_text
        from painless.study.summary import to_csv

        write_text(csv, finished.to_frame(store, to_csv))
    report_failures(failures)


def _print_tables(plan: Sweep, store: Store, latex: Path | None) -> None:
    from painless.common.render import text_table
    from painless.common.tables import latex_table
    from painless.storage.files import write_text
    from painless.study.summary import HEADER, cells, summarise

    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in summarise(plan, store):
        groups.setdefault(f"{row.problem}, {row.evaluator} evaluation", []).append(cells(row))
    for title, rows in groups.items():
        say()
        say_table(title, text_table(HEADER, rows))
    if latex is not None:
        parts = [f"% {title}\n{latex_table(HEADER, rows)}" for title, rows in groups.items()]
        write_text(latex, "\n".join(parts))
