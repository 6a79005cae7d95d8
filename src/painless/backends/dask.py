"""Dask: a scheduler that is running already, or a cluster started on this machine.

Pieces are submitted to Dask directly, and not through joblib's Dask backend, which stops at the first exception, cannot
handle a lost scheduler, and counts the workers only once. Here Dask itself repeats the pieces of a dead worker, and those
of a dead scheduler are submitted again once it is back.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from painless.backends.base import LIVES, Error, Piece, attempt, lost, single_threads
from painless.backends.tls import Tls
from painless.common.arguments import whole
from painless.common.errors import InputError

AHEAD = 4  # pieces submitted per worker, so that none waits for this process
COUNT_EVERY = 2.0  # seconds between two counts of the workers
CONNECT = 10.0  # seconds for the first connection to a scheduler
LOOPBACK = "127.0.0.1"
LOST = "a worker that kept part of the values was lost, and they are lost with it; solve the problem again"
GONE = object()  # replaces the result of a piece whose workers died one after the other


class Dask:
    """Workers of a Dask cluster.

    Arguments:
        scheduler: its address, such as "tcp://10.0.0.1:8786"; by default a local cluster is started.
        workers: number of processes of the local cluster.
        host: address that its scheduler listens on; loopback, since anyone who can connect to a scheduler can run code.
        tls: certificates.
        patience: seconds to wait for a lost scheduler.
    """

    remote = True

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        workers: int = 1,
        host: str = LOOPBACK,
        tls: Tls | None = None,
        patience: float = 120.0,
    ) -> None:
        installed("distributed", "dask")
        whole("workers", workers)
        self.scheduler, self.host, self.tls, self.patience = scheduler, host, tls, patience
        self.wanted = workers
        self.client: Any = None
        self.cluster: Any = None
        self._depth = 0
        self._counted = (-COUNT_EVERY, workers)

    @property
    def workers(self) -> int:
        """The number of pieces done at once; 1 while there are no workers."""
        if self.client is None or self.cluster is not None:
            return self.wanted
        return self._count()

    def __enter__(self) -> Dask:
        self._depth += 1
        if self._depth == 1:
            try:
                self._start()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *ignored: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            for one in (self.client, self.cluster):
                if one is not None:
                    one.close()
            self.client = self.cluster = None

    def map(self, function: Callable[[Piece], Any], pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Call `function` on every piece; give back each with its result or `Error`, in any order."""
        suspects = []
        for piece, result in self._fly(function, iter(pieces)):
            if result is GONE:  # it may only have been beside a piece that kills workers
                suspects.append(piece)
            else:
                yield piece, result
        for piece in suspects:
            ((_, result),) = self._fly(function, iter([piece]))
            yield piece, lost() if result is GONE else result

    def keep(self, kind: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Kept]:
        """Make an object at a worker for each of the arguments, each at another one as far as there are; they stay until they are forgotten here."""
        if self.client is None:
            raise InputError("the workers are not started; put this into a block: with backend: …")
        places = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        futures = [
            self.client.submit(
                Held, kind, given, actor=True, pure=False, workers=[places[k % len(places)]], retries=0
            )
            for k, given in enumerate(arguments)
        ]
        return [Kept(self.client, future) for future in futures]

    def _fly(self, function: Callable[[Piece], Any], waiting: Iterator[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Keep as many pieces submitted as there is room for; yield those that are finished."""
        from distributed import as_completed

        again: list[Piece] = []
        more = True
        while more:
            flying: dict[Any, Piece] = {}
            landed = as_completed(loop=self.client.loop)
            try:
                more = self._fill(function, again, waiting, flying, landed)
                for future in landed:
                    found = _result(future)
                    if found is None:  # the scheduler is gone, with all its state
                        break
                    piece = flying.pop(future)
                    future.release()
                    yield piece, found[0]
                    self._fill(function, again, waiting, flying, landed)
                again += flying.values()
                if flying:
                    flying.clear()
                    more = True
                    self._connect_again()
                else:
                    more = False
            finally:
                for future in flying:
                    future.release()

    def _fill(
        self,
        function: Callable[[Piece], Any],
        again: list[Piece],
        waiting: Iterator[Piece],
        flying: dict[Any, Piece],
        landed: Any,
    ) -> bool:
        """Submit pieces as long as there is room."""
        room = AHEAD * self._count()
        while len(flying) < room:
            if again:
                piece = again.pop()
            else:
                try:
                    piece = next(waiting)
                except StopIteration:
                    break
            future = self.client.submit(work, function, piece, pure=False)
            flying[future] = piece
            landed.add(future)
        return bool(flying)

    def _count(self) -> int:
        """Return the number of workers, at least 1; the answer is cached briefly."""
        if time.monotonic() - self._counted[0] > COUNT_EVERY:
            count = len(self.client.scheduler_info(n_workers=-1)["workers"])
            self._counted = (time.monotonic(), max(1, count))
        return self._counted[1]

    def _start(self) -> None:
        import dask
        import distributed  # noqa: F401  which has the settings below

        if self.scheduler is None:
            allow_connections()
            # not its pre-spawn-environ, which would stay in this process and take its threads away, too
            environment = dask.config.get("distributed.nanny.environ") | {"NUMBA_NUM_THREADS": "1"}
            settings = {
                "distributed.scheduler.allowed-failures": LIVES - 1,
                "distributed.nanny.environ": environment,
            }
            with dask.config.set(settings):
                self.cluster = self._cluster()
        self.client = self._connect(CONNECT)
        threads = {one["nthreads"] for one in self.client.scheduler_info(n_workers=-1)["workers"].values()}
        if threads - {1}:
            raise InputError(
                f"workers of {self.scheduler} have {max(threads)} threads; start them with --nthreads 1 "
                "and as many --nworkers as there are cores"
            )

    def _cluster(self) -> Any:
        """Start a cluster on this machine."""
        from distributed import LocalCluster

        security = None if self.tls is None else self.tls.security()
        cluster = LocalCluster(
            n_workers=self.wanted,
            threads_per_worker=1,
            processes=True,
            host=self.host,
            dashboard_address="127.0.0.1:0",  # its statistics, for this machine alone
            silence_logs=logging.CRITICAL,
            security=security,
            protocol="tls://" if security else "tcp://",
        )
        # A worker that does not come back is replaced
        cluster.adapt(minimum=self.wanted, maximum=self.wanted)
        return cluster

    def _connect(self, timeout: float) -> Any:
        from distributed import Client

        place = self.cluster or self.scheduler
        security = None if self.tls is None else self.tls.security()
        client = Client.__new__(Client)  # at hand, so that one that cannot connect is closed
        try:
            client.__init__(place, timeout=timeout, set_as_default=False, security=security)
            return client
        except (OSError, ValueError, TypeError, RuntimeError, AssertionError) as error:
            # Distributed asserts that its own thread starts within ten seconds.
            why = str(error) or "its client did not start"
            # Otherwise the garbage collector closes it, and waits for ever if it comes where Distributed holds its lock.
            with suppress(Exception):
                client.close()
            raise InputError(
                f"cannot reach a Dask scheduler at {self.scheduler}: {why}; check the address, and start one "
                "with: dask scheduler --host 127.0.0.1"
            ) from error

    def _connect_again(self) -> None:
        """Wait for a scheduler that was lost."""
        self.client.close(timeout=1)
        try:
            self.client = self._connect(self.patience)
        except InputError as error:
            raise RuntimeError(
                f"the Dask scheduler was lost and did not come back within {self.patience:g} s; finished units are "
                "stored. Run the same command to continue"
            ) from error


class Held:
    """An object at a worker, which has one thread."""

    def __init__(self, kind: Callable[..., Any], arguments: Sequence[Any]) -> None:
        with single_threads():
            self.object = kind(*arguments)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method."""
        return getattr(self.object, method)(*arguments)


class Kept:
    """An object at a worker, as this process sees it."""

    def __init__(self, client: Any, future: Any) -> None:
        self._client, self._future = client, future  # while it is known here, the object stays
        self._actor = _answer(future.result)

    def call(self, method: str, *arguments: Any) -> Reply:
        """Call a method; the reply has its result."""
        with self._client.as_current():  # the actor asks for it
            return Reply(_answer(lambda: self._actor.call(method, *arguments)))


class Reply:
    """What an object at a worker will have replied."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def result(self) -> Any:
        """Wait for the result."""
        return _answer(self._future.result)


def _answer(ask: Callable[[], Any]) -> Any:
    """Ask for something of a kept object, which may be gone."""
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    try:
        return ask()
    except (RuntimeError, OSError, FutureCancelledError, KilledWorker) as error:
        raise RuntimeError(LOST) from error


def allow_connections() -> None:
    """Raise this process's limit of open files as far as allowed: a scheduler needs three per worker."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def work(function: Callable[[Piece], Any], piece: Piece) -> Any:
    """Do a piece on a worker."""
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = "1"
    return attempt(function, piece)


def _result(future: Any) -> tuple[Any] | None:
    """Return the result of a finished piece, `GONE` or an error in its place; None if the scheduler is lost."""
    from asyncio import CancelledError

    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    try:
        return (future.result(),)
    except KilledWorker:
        return (GONE,)
    except (CancelledError, FutureCancelledError, OSError):
        return None
    except (
        Exception
    ) as error:  # the worker could not read the piece, for example because painless is not installed there
        return (Error.of(error),)


def dask_from_options(
    scheduler: str | None = None,
    workers: int | None = None,
    host: str | None = None,
    tls_ca_file: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
) -> Dask:
    """Return the backend for options of the command line."""
    tls = Tls.from_options(tls_ca_file, tls_cert, tls_key)
    if scheduler is not None and (workers is not None or host is not None):
        raise InputError("--scheduler has its own workers; remove --workers and --host")
    return Dask(scheduler, workers=workers or 1, host=host or LOOPBACK, tls=tls)


def installed(module: str, extra: str) -> None:
    """Raise an error if an optional package is missing, with how to install it."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise InputError(f"{module} is not installed; install it with: pip install 'painless-cmdp[{extra}]'")
