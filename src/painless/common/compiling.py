"""Numba kernels, compiled once per machine and cached on disk if possible; a missing cache is never an error.

Numba caches compiled functions beside the sources or in the user's cache folder. If neither is writable, as with a system
package and no home folder, they go to a temporary folder that only the user can access: anyone who could write to it could
run code here.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache as once
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# Each is called once, before the first kernel that has to be compiled.
LISTENERS: list[Callable[[], None]] = []


class Kernel:
    """A function that Numba compiles on its first call, which also imports Numba."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options

    def __call__(self, *arguments: Any) -> Any:
        """Run it, compiled."""
        return self.compiled(*arguments)

    @cached_property
    def compiled(self) -> Any:
        """Numba's compiled object, cached on disk if possible; the function itself if Numba is disabled."""
        import numba

        # Nothing is called from C, and a division by 0 is NumPy's: code for either would only take time to compile.
        decorate: Any = numba.njit
        options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **self._options}
        cached = options.pop("cache", True)
        plain = decorate(**options)(self._function)
        return _with_cache(plain) if cached and hasattr(plain, "enable_caching") else plain

    @property
    def _numba_type_(self) -> Any:
        """The type that Numba needs if one kernel calls another."""
        return self.compiled._numba_type_


def njit(function: Function) -> Function:
    """Compile a function with Numba, lazily, with a cache that falls back to a temporary folder and never raises.

    It releases the GIL, so that threads can work at the same time.
    """
    return cast(Function, Kernel(function, {}))


def inner(function: Function) -> Function:
    """Compile a function that only kernels call; without a Python wrapper this is faster."""
    return cast(Function, Kernel(function, {"no_cpython_wrapper": True}))


def specialised(function: Function) -> Function:
    """Compile a function that takes compiled functions, for each of them anew: no cache on disk can hold that."""
    return cast(Function, Kernel(function, {"cache": False}))


def _with_cache(kernel: Any) -> Any:
    try:
        kernel.enable_caching()
    except (RuntimeError, OSError):  # no place that Numba knows can be written to
        try:
            with _cache_in(temporary_cache()):
                kernel.enable_caching()
        except (RuntimeError, OSError):
            return kernel  # it is compiled in every process
    kept = kernel._cache
    kept.load_overload, kept.save_overload = _announced(kept), _kept(kept.save_overload)
    return kernel


def _announced(cache: Any) -> Callable[..., Any]:
    """Load a compiled function; if none can be read, announce that it is compiled next."""
    load = cache.load_overload

    def guarded(*arguments: Any) -> Any:
        try:
            found = load(*arguments)
        except (
            Exception
        ):  # a damaged index, or one of another version of this package, makes pickle raise anything
            found = None
            with suppress(OSError):
                cache.flush()
        if found is None:
            while LISTENERS:
                LISTENERS.pop()()
        return found

    return guarded


def _kept(save: Callable[..., Any]) -> Callable[..., Any]:
    """Store a compiled function, unless the disk is full or the folder gone."""

    def guarded(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:
            return

    return guarded


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    import numba

    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


@once
def temporary_cache() -> Path:
    """Return a folder for compiled code that only this user can write to: the user's own, or one for this process."""
    user = getattr(os, "getuid", lambda: "cache")()
    folder = Path(tempfile.gettempdir()) / f"painless-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if is_private(folder):
            return folder
    except OSError:
        pass
    own = Path(tempfile.mkdtemp(prefix="painless-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def is_private(folder: Path) -> bool:
    """Whether a path is a folder, not a link, that belongs to this user and that nobody else can open."""
    found = folder.lstat()
    mine = found.st_uid == getattr(os, "getuid", lambda: found.st_uid)()
    alone = os.name == "nt" or not found.st_mode & 0o077
    return stat.S_ISDIR(found.st_mode) and mine and alone
