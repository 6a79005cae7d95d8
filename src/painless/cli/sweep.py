"""`painless sweep`: many runs from a file, in parallel and resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from painless.cli.backend_options import report_failures, unit_progress, with_backend
from painless.cli.common import STOPPED, check_folder, fail, say, say_table

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
) -> None:
    """Run a sweep and print the averages of every setting."""
    from painless.study import Store, Sweep, load_sweep, run_sweep

    check_folder(out)
    plan, store = load_sweep(file), Store(out)
    try:
        with unit_progress() as progress:
            failures = run_sweep(plan, store, backend=backend, progress=progress)
    except KeyboardInterrupt:
        fail(f"interrupted; finished units are in {out}. Run the same command to continue", STOPPED)
    say(f"Averages over all iterations; the results are in {out}")
    _print_tables(Sweep(tuple(unit for unit in plan.units if store.holds(unit.settings))), store)
    report_failures(failures)


def _print_tables(plan: Sweep, store: Store) -> None:
    from painless.common.render import number, text_table
    from painless.study.summary import summarise

    header = ("algorithm", "seeds", "reward", "optimality gap", "violation (signed)")
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in summarise(plan, store):
        gap = f"{row.optimality_gap:.4g}" + ("" if np.isnan(row.gap_error) else f" ± {row.gap_error:.2g}")
        violations = ", ".join(f"{violation:+.4g}" for violation in row.violation)
        cells = (row.algorithm, str(row.seeds), number(row.reward_value), gap, violations)
        groups.setdefault(f"{row.problem}, {row.evaluator} evaluation", []).append(cells)
    for title, rows in groups.items():
        say()
        say_table(title, text_table(header, rows))
