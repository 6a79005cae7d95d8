"""The commands together, and how errors end."""

from __future__ import annotations

from typing import Annotated

import typer

from painless import __version__
from painless.cli.common import BAD_INPUT, fail
from painless.cli.evaluate import evaluate
from painless.cli.frontier import frontier
from painless.cli.inspect import check, problems
from painless.cli.plot import plot
from painless.cli.report import report
from painless.cli.reproduce import reproduce
from painless.cli.score import score
from painless.cli.solve import solve
from painless.cli.sweep import sweep
from painless.cli.train import train
from painless.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Solve constrained Markov decision processes, without tuning and with a proof of the gap.",
)
for command in (solve, frontier, train, evaluate, sweep, reproduce, score, problems, check, report, plot):
    app.command()(command)


def main() -> None:
    """Run the command line; bad input ends with one line and exit code 2, never with a traceback."""
    try:
        app()
    except InputError as error:
        fail(str(error), BAD_INPUT)
    except MemoryError:
        fail("not enough memory for this problem; store its transitions as a sparse matrix", BAD_INPUT)
    except RuntimeError as error:
        fail(str(error), 1)


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
