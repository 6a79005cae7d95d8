"""Shared by all commands: options, output, progress and exit codes. Any encoding works, and closed, full or unread streams are handled."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from painless.common.errors import InputError, either
from painless.common.render import shortened, visible
from painless.problem.formats import registry as formats

FAILED, BAD_INPUT, INFEASIBLE, STOPPED, INCOMPLETE = 1, 2, 3, 4, 5  # exit codes

UNREAD = 141  # exit code of a process whose output pipe was closed, 128 + SIGPIPE
HANDLER = "painless"  # codec error handler for characters that an encoding lacks
SPELLED = {
    "≥": ">=",
    "≤": "<=",
    "∞": "inf",
    "–": "-",
    "−": "-",
    "…": "...",
    "×": "x",
    "±": "+/-",
    "·": "*",
    "’": "'",
}
PICTURES, PAGE = (".png", ".pdf", ".svg"), (".html",)  # endings of files
BEFORE_THE_FIRST = "interrupted before the first result"
WIDEST = 30  # characters of a column heading


Problem = Annotated[
    str,
    typer.Argument(
        help=f"Registered name (see `painless problems`), module:factory or {either(formats.FORMATS)} file."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Setting of the algorithm, such as alpha=8 for cbp."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="Parameter of a registered problem (states=100) or of a "
        f"{either(formats.with_parameters())} file (cost=energy); repeatable.",
    ),
]
Horizon = Annotated[
    int | None,
    typer.Option(help="Sum over this many steps; the discount is then 1 unless --discount is given."),
]
Average = Annotated[
    bool, typer.Option("--average", help="Take the long-run average per step in place of a discounted sum.")
]
Discount = Annotated[float | None, typer.Option(help="Override the problem's discount.")]
Threshold = Annotated[
    list[float] | None,
    typer.Option(help="Override the limits: once for each constraint, in order."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="'NAME<=NUMBER'",
        help="Limit of a constraint by name, 'waste<=3' or 'sold>=10'; of a table, the name of a column or reach(state); repeatable.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print only one JSON object.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that cannot be encoded: signs by ASCII, all others by escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SPELLED.get(one) or _escape(one) for one in missing), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(HANDLER, _spelled)


def prepare_streams() -> None:
    """Reopen closed streams, and replace characters that the encoding lacks."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        with suppress(AttributeError, ValueError):  # a replaced stream
            getattr(sys, name).reconfigure(errors=HANDLER)


def drop_output() -> None:
    """Discard buffered output, which the interpreter would otherwise try to write at exit."""
    with suppress(OSError, ValueError, AttributeError):
        nothing: Any = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def say(line: object = "") -> None:
    """Print a line, with control characters escaped."""
    print(visible(line))


def say_table(title: str, table: str) -> None:
    """Print a line and below it a table from `text_table`, which has escaped its cells."""
    print(f"{visible(title)}\n{table}")


def say_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that are not finite become null."""
    from painless.report.html import plain

    print(json.dumps(plain(dict(content)), allow_nan=False))


def say_aside(line: object) -> None:
    """Print a line to standard error, unless that is closed."""
    with suppress(OSError):
        print(visible(line), file=sys.stderr, flush=True)


def fail(message: str, code: int) -> NoReturn:
    """Print one line to standard error and exit."""
    say_aside(f"Error: {message}")
    raise SystemExit(code)


def check_folder(path: Path | None, file: Path | None = None) -> None:
    """Raise an error for a folder that cannot be written to, or a file in it that is a folder, before anything is computed."""
    if path is None:
        return
    try:
        if file is not None and file.is_dir():
            raise InputError(f"{file} is a folder; give a file")
        place = next(one for one in (path, *path.absolute().parents) if one.exists())
        if not place.is_dir():
            raise InputError(f"{place} is a file; give a folder")
        if not os.access(place, os.W_OK):
            raise InputError(f"cannot write into {place}; choose another folder")
    except OSError as error:  # such as a name of 300 characters
        where = file or path
        raise InputError(f"cannot use {where}: {error.strerror or error}; choose another place") from error


def check_file(path: Path | None, endings: Sequence[str]) -> None:
    """Raise an error for a file that cannot be written or has an unknown ending, before anything is computed."""
    if path is None:
        return
    if path.suffix not in endings:
        raise InputError(f"{path} must end in {either(endings)}")
    check_folder(path.absolute().parent, path)


@contextmanager
def progress_bar(shown: bool) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Show a progress bar if standard error is a terminal; yield a function of description, done and total."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("preparing", total=None)

        def report(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=visible(what), completed=done, total=total)

        yield report


@contextmanager
def interruptible(message: str = BEFORE_THE_FIRST) -> Iterator[None]:
    """Exit with code 4 if Ctrl-C comes before the first result."""
    try:
        yield
    except KeyboardInterrupt:
        fail(message, STOPPED)


def print_table(title: str, header: tuple[str, ...], rows: list[Any]) -> None:
    """Print a table: the first column is left-aligned and may wrap, the others are right-aligned."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = ((title,), [shortened(name, WIDEST) for name in header], *rows)
    # What the encoding lacks is spelled, so that columns stay aligned.
    coding = getattr(sys.stdout, "encoding", None) or "utf-8"
    (head,), names, *cells = [
        [Text(visible(text).encode(coding, HANDLER).decode(coding)) for text in line] for line in lines
    ]
    table = Table(title=head, title_justify="left")
    for index, name in enumerate(names):
        first = index == 0
        table.add_column(name, justify="left" if first else "right", no_wrap=not first, overflow="fold")
    for row in cells:
        table.add_row(*row)
    Console().print(table)
