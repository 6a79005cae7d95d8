"""The backend options, which `sweep`, `reproduce` and `train` share."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from painless.backends import BACKENDS
from painless.cli.common import INCOMPLETE, fail, progress_bar, say_aside
from painless.common.errors import InputError, either
from painless.common.registry import find, settings_of

if TYPE_CHECKING:
    from painless.backends import Backend
    from painless.study import Failure

LINE_EVERY = 30.0  # seconds between two lines of progress without a terminal
SHOWN = 20  # failed units that are printed
GROUP = "Backend"
DEFAULT = "local"


def _option(text: str, **more: Any) -> Any:
    return typer.Option(help=text, rich_help_panel=GROUP, **more)


def choose_backend(
    backend: Annotated[
        str, _option(f"Where the work is done: {either(BACKENDS)}.", metavar="NAME")
    ] = DEFAULT,
    workers: Annotated[int | None, _option("Number of processes; default: 1.", min=1)] = None,
    scheduler: Annotated[
        str | None, _option("dask: address of a running scheduler.", metavar="ADDRESS")
    ] = None,
    host: Annotated[
        str | None, _option("dask: address that a local scheduler listens on; default: loopback.")
    ] = None,
    slurm_file: Annotated[
        Path | None, _option("slurm: a TOML file with a table named slurm.", metavar="FILE")
    ] = None,
    partition: Annotated[str | None, _option("slurm: partition.")] = None,
    account: Annotated[str | None, _option("slurm: account.")] = None,
    cores: Annotated[int | None, _option("slurm: cores per job.", min=1)] = None,
    memory: Annotated[str | None, _option("slurm: memory per job, such as 8GB.")] = None,
    job_time: Annotated[
        str | None, typer.Option("--time", help="slurm: time limit per job.", rich_help_panel=GROUP)
    ] = None,
    interface: Annotated[
        str | None, _option("slurm: network interface to the nodes, such as ib0; default: loopback.")
    ] = None,
    tls_ca_file: Annotated[str | None, _option("TLS certificate authority (PEM).", metavar="FILE")] = None,
    tls_cert: Annotated[str | None, _option("TLS certificate (PEM).", metavar="FILE")] = None,
    tls_key: Annotated[str | None, _option("TLS key (PEM).", metavar="FILE")] = None,
) -> Backend | None:
    """Return the backend that the options ask for; None without any."""
    options = {
        "workers": workers,
        "scheduler": scheduler,
        "host": host,
        "slurm_file": slurm_file,
        "partition": partition,
        "account": account,
        "cores": cores,
        "memory": memory,
        "time": job_time,
        "interface": interface,
        "tls_ca_file": tls_ca_file,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    given = {name: value for name, value in options.items() if value is not None}
    make = find("backend", backend, BACKENDS)
    for name in given:
        if name not in settings_of(make):
            option, takers = (
                name.replace("_", "-"),
                [k for k, v in BACKENDS.items() if name in settings_of(v)],
            )
            raise InputError(f"--{option} needs --backend {either(takers)}; add that or remove --{option}")
    return None if backend == DEFAULT and not given else make(**given)


def with_backend(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `backend`, a backend or None, by the options of `choose_backend`."""
    own = inspect.signature(command).parameters
    chosen = inspect.signature(choose_backend).parameters

    @wraps(command)
    def wrapped(**given: Any) -> None:
        options = {name: given.pop(name) for name in chosen}
        command(**given, backend=choose_backend(**options))

    merged = [one for name, one in own.items() if name != "backend"] + list(chosen.values())
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in merged]
    hints = {**_hints(command), **_hints(choose_backend)}
    wrapped.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(annotation=hints[one.name]) for one in keyword]
    )
    wrapped.__annotations__ = {one.name: hints[one.name] for one in keyword}
    return wrapped


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function; `Backend` is imported for type checkers only."""
    return get_type_hints(function, localns={"Backend": object}, include_extras=True)


@contextmanager
def unit_progress() -> Iterator[Callable[[int, int], None]]:
    """Show how many units are done and the time left: a bar on a terminal, else a line every 30 seconds."""
    with progress_bar(True) as report:
        if report is None:
            yield Lines()
        else:
            yield lambda done, total: report(f"{done} of {total} units", done, total)


class Lines:
    """Progress as lines on standard error, for the logs of batch systems."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()
        self.before: int | None = None  # units that were done at the start

    def __call__(self, done: int, total: int) -> None:
        """Print a line if the last one is old enough."""
        now = time.monotonic()
        if self.before is None:
            self.before = done
        if now - self.last < LINE_EVERY or done == self.before:
            return
        self.last = now
        left = (now - self.start) / (done - self.before) * (total - done)
        say_aside(f"{done} of {total} units, about {time_left(left)} left")


def time_left(seconds: float) -> str:
    """Return seconds in a readable unit.

    >>> time_left(59), time_left(3599), time_left(7300)
    ('59 s', '60 min', '2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def report_failures(failures: list[Failure]) -> None:
    """If units failed, name them and exit."""
    if not failures:
        return
    for failure in failures[:SHOWN]:
        say_aside(f"Failed: {dict(failure.settings)}")
        say_aside(f"        {failure.error}")
    if len(failures) > SHOWN:
        say_aside(f"... and {len(failures) - SHOWN} more")
    fail(
        f"{len(failures)} unit(s) failed; the others are stored. Run the same command to retry",
        INCOMPLETE,
    )
