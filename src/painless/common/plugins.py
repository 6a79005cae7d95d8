"""Code of users behind names in sweep files and on the command line.

A name is `module:factory`, searched in the current folder first, or the name of an entry point that an installed package has in
one of `GROUPS`. Results depend on such code, so that it has a digest: of the module and of everything it imports from the same
folder, or of all modules of an installed package. Sources from a folder travel with the work (`carried`): a worker may run in
another folder, on another machine, or have an older version in memory. Files that the code itself reads are not followed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from inspect import Parameter, Signature, signature
from operator import attrgetter
from pathlib import Path
from typing import Any

from painless.common.errors import InputError, shown

GROUPS = {kind: f"painless.{kind}s" for kind in ("algorithm", "evaluator", "problem")}
REFERENCE = re.compile(r"(?!gym:|python:)[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
NEEDED = {  # what the things of each kind have, one of these
    "algorithm": ("build", "answer"),
    "evaluator": ("evaluate",),
    "problem": ("with_limits",),
}
PERMANENT = {*sys.stdlib_module_names, "painless"}  # never taken from a folder

Files = Mapping[str, bytes]  # sources by their paths below a folder

_loaded: dict[str, str] = {}  # the digest of the sources that each module was imported from
_folders: list[Path] = []  # with sources that came with the work, the latest last


@dataclass(frozen=True)
class OwnFactory:
    """A factory of a user. Whatever it raises becomes an `InputError` that says where."""

    kind: str
    name: str
    make: Callable[..., Any]

    @property
    def __signature__(self) -> Signature:
        try:
            return signature(self.make)
        except (TypeError, ValueError):  # some that are written in C have none
            return Signature([Parameter("settings", Parameter.VAR_KEYWORD)])

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Make what the factory makes."""
        try:
            made = self.make(*arguments, **settings)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.name} failed{_place(error)}: {_said(error)}; mend it") from error
        if isinstance(made, type) or not any(callable(getattr(made, one, None)) for one in NEEDED[self.kind]):
            raise InputError(
                f"{self.name} gives {shown(made)}, which is no {self.kind}: it has no method {NEEDED[self.kind][0]}; return one"
            )
        return made


def is_reference(name: object) -> bool:
    """Whether a name has the form `module:factory`.

    >>> is_reference("my.module:factory"), is_reference("gym:CartPole"), is_reference("C:/model.npz")
    (True, False, False)
    """
    return isinstance(name, str) and REFERENCE.fullmatch(name) is not None


def find(kind: str, name: str) -> OwnFactory | None:
    """Return the factory of `module:factory` or of an entry point; None for any other name."""
    target = _target(kind, name)
    if target is None:
        return None
    module, _, attribute = target.partition(":")
    found = _imported(module, name)
    try:
        made = attrgetter(attribute)(found)
    except AttributeError as error:
        where = getattr(found, "__file__", None) or "no file"
        raise InputError(f"{module} ({where}) has no {attribute}; check the name {name}") from error
    return OwnFactory(kind, name, made if callable(made) else lambda: made)


def names(kind: str) -> list[str]:
    """Return the names of the entry points of installed packages."""
    return [one.name for one in _entry_points(kind)]


def digest(kind: str, name: str) -> str | None:
    """Return a hash of the sources behind a name; None if it is no name of a user's code."""
    target = _target(kind, name)
    if target is None:
        return None
    module = target.partition(":")[0]
    return _hash(sources(module) or _installed(module, name))


def carriable(kind: str, name: str) -> Files:
    """Return the sources that go along with the work; none for what is installed."""
    target = _target(kind, name)
    return {} if target is None else sources(target.partition(":")[0])


def sources(module: str) -> dict[str, bytes]:
    """Return the sources of a module of the current folder, and of what it imports from there."""
    root, waiting, found = _root(), [module], dict[str, bytes]()
    while waiting:
        parts = waiting.pop().split(".")
        if parts[0] in PERMANENT:
            continue
        for length in range(1, len(parts) + 1):
            path = _file(root, parts[:length])
            if path is None:
                break
            key = path.relative_to(root).as_posix()
            if key not in found:
                found[key] = path.read_bytes()
                waiting += _imports(found[key], parts[:length], path.name == "__init__.py")
    return found


@contextmanager
def carried(files: Files) -> Iterator[None]:
    """Search these sources in place of those of the current folder."""
    if not files:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="painless-") as folder:
        root = Path(folder).resolve()
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        _folders.append(root)
        try:
            with _searched(root):
                yield
        finally:
            _folders.pop()


def _target(kind: str, name: object) -> str | None:
    if kind not in GROUPS or not isinstance(name, str):
        return None
    if is_reference(name):
        return name
    return next((one.value for one in _entry_points(kind) if one.name == name), None)


def _entry_points(kind: str) -> Any:
    from importlib.metadata import entry_points

    return entry_points(group=GROUPS[kind]) if kind in GROUPS else ()


def _root() -> Path:
    return _folders[-1] if _folders else Path.cwd()


def _file(root: Path, parts: list[str]) -> Path | None:
    stem = root.joinpath(*parts)
    return next(
        (one for one in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if one.is_file()), None
    )


def _imports(source: bytes, parts: list[str], package: bool) -> list[str]:
    """Return the modules that a source may import, by full names."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            kept = len(parts) - node.level + package
            base = [*(parts[:kept] if node.level else []), *(node.module or "").split(".")]
            stem = ".".join(filter(None, base))
            found += [stem, *(f"{stem}.{one.name}" for one in node.names)] if stem else []
    return found


def _installed(module: str, name: str) -> Files:
    """Return the sources of the package, or the single file, that an installed module is in."""
    top = module.partition(".")[0]
    spec = PathFinder.find_spec(top)
    if spec is None:
        raise InputError(_missing(module, name))
    folders = [Path(one) for one in spec.submodule_search_locations or ()]
    found = [(path, folder.parent) for folder in folders for path in folder.rglob("*.py")]
    if not folders and spec.origin is not None:
        found = [(Path(spec.origin), Path(spec.origin).parent)]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path, root in found if path.is_file()}


def _missing(module: str, name: str) -> str:
    return f"cannot import {module} for {name}: there is no such module in {_root()} or among the installed ones; check the name"


def _hash(files: Files) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(name.encode() + b"\0" + files[name] + b"\0")
    return whole.hexdigest()[:24]


@contextmanager
def _searched(root: Path) -> Iterator[None]:
    """Search a folder for modules first, and leave no compiled copies there: they count seconds, and edits are faster."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(root))


def _imported(module: str, name: str) -> Any:
    """Import a module, anew if its sources have changed since it was imported here."""
    files = sources(module)
    version = _hash(files) if files else ""
    if files and _loaded.get(module) != version:
        for path in files:
            sys.modules.pop(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), None)
        importlib.invalidate_caches()
    try:
        with _searched(_root()):
            found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise InputError(
                f"cannot import {module} for {name}{_place(error)}: {error}; install it"
            ) from error
        raise InputError(_missing(module, name)) from error
    except (Exception, SystemExit) as error:
        raise InputError(
            f"cannot import {module} for {name}{_place(error)}: {_said(error)}; mend it"
        ) from error
    _loaded[module] = version
    return found


def _said(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(f"{type(error).__name__}: {text}".rstrip(": ").split())


def _place(error: BaseException) -> str:
    """Return the line of the user's code that raised an error, in brackets; none for what this library raises."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}, line {error.lineno})"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename)]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _is_own(filename: str) -> bool:
    library = str(Path(__file__).resolve().parents[1])
    return not filename.startswith((library, "<frozen")) and filename != importlib.__file__
