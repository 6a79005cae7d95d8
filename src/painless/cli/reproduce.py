"""`painless reproduce`: run the paper's experiments, draw its figures and check its claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from painless.cli.backend_options import report_failures, unit_progress, with_backend
from painless.cli.common import STOPPED, check_folder, fail, say

if TYPE_CHECKING:
    from painless.backends import Backend


@with_backend
def reproduce(
    backend: Backend,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]…", help="Experiments, such as mb-sensitivity; default: all."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run few seeds and short horizons, in about two minutes.")
    ] = False,
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Results, figures and report; stored results are reused."),
    ] = Path("out/reproduce"),
) -> None:
    """Run the experiments of the paper, draw its figures and tables, and check its claims."""
    from painless.report.reproduction import write_report
    from painless.study.paper.scale import FULL, QUICK
    from painless.study.reproduce import complete, find_experiments, run_experiments
    from painless.study.store import Store

    check_folder(out)
    experiments, scale, store = find_experiments(ids or []), QUICK if quick else FULL, Store(out)
    try:
        with unit_progress() as progress:
            failures = run_experiments(experiments, scale, store, backend=backend, progress=progress)
        written = write_report([one for one in experiments if complete(one, scale, store)], scale, store)
    except KeyboardInterrupt:
        fail(f"interrupted; finished units are in {out}. Run the same command to continue", STOPPED)
    for claim in written.claims:
        say(f"{claim.verdict.value:14}  {claim.id:26}  {claim.claim}")
    summary = ", ".join(f"{count} {verdict}" for verdict, count in written.counts.items() if count)
    if written.claims:
        say()
        say(f"Of {len(written.claims)} claim(s): {summary}")
    say(f"The report is {written.path}")
    if quick:
        say("A quick run shows that everything works; its numbers and verdicts mean nothing.")
    report_failures(failures)
