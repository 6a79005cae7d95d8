"""The command-line application: all commands, how errors are reported, orderly exit on signals, and no warnings of libraries."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Annotated, Any

import typer

from painless import __version__
from painless.cli.common import (
    BAD_INPUT,
    FAILED,
    STOPPED,
    UNREAD,
    drop_output,
    fail,
    prepare_streams,
    say_aside,
)
from painless.cli.evaluate import evaluate
from painless.cli.frontier import frontier
from painless.cli.inspect import check, problems
from painless.cli.plot import plot
from painless.cli.questions import compare, sensitivity
from painless.cli.report import report
from painless.cli.reproduce import reproduce
from painless.cli.score import score
from painless.cli.solve import solve
from painless.cli.sweep import sweep
from painless.cli.train import train
from painless.cli.verify import verify
from painless.common import compiling
from painless.common.errors import InputError
from painless.loop.algorithms import ALGORITHMS, algorithms_and_planners

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
COMPILING = "Compiling for this machine, once; this takes a few seconds …"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Solve constrained Markov decision processes, without tuning and with a proof of the gap.",
)
COMMANDS = (
    solve,
    verify,
    frontier,
    compare,
    sensitivity,
    train,
    evaluate,
    sweep,
    reproduce,
    score,
    problems,
    check,
    report,
    plot,
)
EPILOGS: dict[Any, str] = {  # below the options, where long names have room
    solve: f"Algorithms and planners: {', '.join(algorithms_and_planners())}, or your own module:factory.",
    train: f"Algorithms: {', '.join(ALGORITHMS)}, deep, or your own module:factory.",
}
for command in COMMANDS:
    app.command(epilog=EPILOGS.get(command))(command)


def main() -> None:
    """Run the command line; an error ends with one line and an exit code, never with a traceback."""
    prepare_streams()
    with quiet_libraries():
        try:
            try:
                code = _command()
            except SystemExit as end:
                if isinstance(end.__context__, BrokenPipeError):  # libraries turn it into exit code 1
                    raise end.__context__ from None
                code = end.code
            sys.stdout.flush()  # while an error can still be reported
        except OSError as error:
            code = _lost(error)
    sys.exit(code)


def _lost(error: OSError) -> int:
    """Report what cannot be written; a closed pipe (`painless … | head`) is not an error."""
    drop_output()
    if isinstance(error, BrokenPipeError):
        return UNREAD
    if error.filename is None:
        say_aside(f"Error: cannot write the output: {error.strerror or error}")
        return FAILED
    say_aside(f"Error: cannot use {error.filename}: {error.strerror or error}; check the path")
    return BAD_INPUT


def _command() -> Any:
    """Run a command; on an error, print one line and exit."""
    try:
        with ending_in_order():
            return app(standalone_mode=False)
    except InputError as error:
        fail(str(error), BAD_INPUT)
    except MemoryError:
        fail("not enough memory for this problem; store its transitions as a sparse matrix", BAD_INPUT)
    except Terminated as end:
        fail(end.sentence, end.code)
    except SystemError as error:  # compiled code turns Ctrl-C into this
        _end_by_interrupt(error)
        raise
    except RuntimeError as error:
        fail(str(error), FAILED)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        _refuse_usage(error)


def _end_by_interrupt(error: BaseException | None) -> None:
    """Exit if Ctrl-C caused the error; after other signals, `ending_in_order` has replaced it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            fail("interrupted before the first result", STOPPED)
        error = error.__cause__ or error.__context__


def _refuse_usage(error: Any) -> None:
    """Report wrong arguments in one line; without any arguments, the help has been shown already."""
    if type(error).__name__ == "NoArgsIsHelpError":
        raise SystemExit(error.exit_code)
    place = getattr(error, "ctx", None)
    hint = f"; see {place.command_path} --help" if place is not None else ""
    fail(f"{error.format_message().rstrip('.')}{hint}", error.exit_code)


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


class Terminated(SystemExit):
    """A signal asked the process to end: files are closed, checkpoints written and workers stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.sentence = f"ended by {signal.Signals(number).name}"

    code: int


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise `Terminated` on the first such signal; the second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ended: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(number)
        for one in SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        # Threads of a pool that is torn down may fail, which is of no interest to anybody now.
        threading.excepthook = lambda failure: None
        raise Terminated(number)

    try:
        for number in SIGNALS:
            if before[number] == signal.SIG_DFL:  # not ignored, as with nohup, nor handled elsewhere
                signal.signal(number, end)
        yield
    except BaseException as error:
        if ended and not isinstance(error, Terminated):  # what failed while a pool was torn down
            raise Terminated(ended[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if ended:  # a pool that the signal met half-made does not end its workers
            from multiprocessing import active_children

            for child in active_children():
                with suppress(AttributeError, OSError):  # it has ended by itself, or was never started
                    child.terminate()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Hide warnings of libraries, also in their processes, unless Python was started with -W; announce compilation."""
    shown: Any = warnings.showwarning
    quiet = not sys.warnoptions and "PYTHONWARNINGS" not in os.environ
    if quiet:
        warnings.showwarning = lambda *ignored, **named: None
        os.environ["PYTHONWARNINGS"] = "ignore::UserWarning"
    try:
        compiling.LISTENERS.append(_announce)
        yield
    finally:
        compiling.LISTENERS.clear()
        warnings.showwarning = shown
        if quiet:
            del os.environ["PYTHONWARNINGS"]


def _announce() -> None:
    if "--json" not in sys.argv:
        say_aside(COMPILING)
