"""The store: one file for each unit of work, under a content hash of its settings and of the package's sources.

A file contains no times and no machine data, so that the same unit gives the same bytes anywhere. Files are written
atomically: after any kill the store holds finished units only, and missing ones are run again.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import painless
from painless.common.errors import InputError
from painless.problems import is_file
from painless.storage import checked_entries as entries
from painless.storage import files, results

LOCK = ".lock"
UNIT = re.compile(r"[0-9a-f]{24}\.npz")  # the names of units
COSTS = "costs.jsonl"  # a line for each unit: its key and its processor seconds
SHOWING = ("backends", "cli", "report", "study")  # folders that no result depends on, ...
RUNNING = ("study/unit.py",)  # ... but for what runs a unit


@cache
def source_digest() -> str:
    """Return a hash of the package's own sources: other code, other results.

    What only shows or arranges results is left out, so that a figure can be restyled without doing the work again.
    """
    root = Path(painless.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.partition("/")[0] in SHOWING and name not in RUNNING:
            continue
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def content_key(settings: Mapping[str, Any]) -> str:
    """Return the name under which the results of some settings are stored.

    A problem file counts by what it holds, and not by its name.
    """
    text = json.dumps([without_file_name(settings), source_digest()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def without_file_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without the name of a problem file whose digest they have; other code may have several problems.

    >>> without_file_name({"problem": {"name": "a.npz", "digest": "1f"}, "seed": 0})
    {'problem': {'digest': '1f'}, 'seed': 0}
    """
    problem = dict(settings.get("problem") or {})
    if "digest" not in problem or not is_file(str(problem.get("name"))):
        return dict(settings)
    return {**settings, "problem": {key: value for key, value in problem.items() if key != "name"}}


def read_unit(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of a stored unit, and its results: one row for each iteration."""
    content = results.read(path, "unit")
    with results.understood(path, "unit"):
        settings = entries.parsed(content, "settings")
        parts = [settings[name] for name in ("problem", "algorithm", "evaluator")]
        if not all("name" in part for part in parts):
            raise InputError("'settings' name no problem, algorithm or evaluator")
        reward = entries.floats(content, "reward_value", (None,))
        constraint = entries.floats(content, "constraint_value", (len(reward), None))
        found = {
            "reward_value": reward,
            "constraint_value": constraint,
            "multiplier": entries.floats(content, "multiplier", constraint.shape),
        }
        if "slack" in content:  # of a unit that estimates its multiplier bound
            found["slack"] = entries.floats(content, "slack", (None, constraint.shape[1]))
        if "errors" in content:  # of a unit that is Algorithm 1
            found["errors"] = entries.floats(content, "errors", (2,))
    return settings, found


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, settings: Mapping[str, Any]) -> Path:
        """Return where the results of some settings are, or will be."""
        return self.folder / "units" / f"{content_key(settings)}.npz"

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether the results of some settings are there."""
        return self.path(settings).exists()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other run uses this store, and make others wait, so that no unit is run twice.

        The system releases the lock when the process ends, in any way.
        """
        try:
            import fcntl
        except ImportError:  # Windows: two runs at once then do the same work, and write the same bytes
            yield
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            stream = (self.folder / LOCK).open("a")
        except (OSError, ValueError) as error:
            raise files.unwritable(self.folder, error) from error
        with stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            files.remove_all_leftovers(self.folder / "units", UNIT)
            yield

    def write(self, settings: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Store results with the settings that gave them, atomically.

        `seconds` among the results goes into the list of costs: the file itself contains no times.
        """
        text, kept = json.dumps(settings, sort_keys=True), dict(found)
        seconds = kept.pop("seconds", None)
        results.write(self.path(settings), "unit", {"settings": text, **kept})
        if seconds is not None:
            line = json.dumps([content_key(settings), round(float(seconds), 4)]) + "\n"
            try:
                with (self.folder / COSTS).open("a", encoding="utf-8") as stream:
                    stream.write(line)
            except OSError as error:
                raise files.unwritable(self.folder / COSTS, error) from error

    def costs(self) -> dict[str, float]:
        """Return the processor seconds of each unit, by its key, as far as they are known."""
        path = self.folder / COSTS
        lines = files.read_bytes(path).splitlines() if path.is_file() else []
        found: dict[str, float] = {}
        for line in lines:
            with suppress(ValueError, TypeError, RecursionError):  # cut off by a kill, or by a full disk
                key, seconds = json.loads(line)
                found[key] = float(seconds)
        return found

    def read(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results of some settings."""
        path = self.path(settings)
        stored, found = read_unit(path)
        if without_file_name(stored) != json.loads(json.dumps(without_file_name(settings))):
            raise InputError(
                f"{path} holds the results of other settings; remove it, and run the sweep again"
            )
        return found

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return everything that is stored as a DataFrame in long form, a row for each iteration of each unit; see `Sweep.to_frame`."""
        from painless.common.frames import to_frame
        from painless.study.setting_results import gather
        from painless.study.summary import long_form

        units = [read_unit(path) for path in sorted((self.folder / "units").glob("*.npz"))]
        return to_frame(long_form(gather(units)), make)

    def write_manifest(self, about: Mapping[str, Any]) -> None:
        """Write metadata that is not part of the results: versions, machine and time."""
        manifest = {
            "painless": painless.__version__,
            "sources": source_digest(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
            "system": platform.system(),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **about,
        }
        files.write_json(self.folder / "manifest.json", manifest)
