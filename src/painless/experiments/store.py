"""The store: one file for each unit of work, under a content hash of its settings and of the package's sources.

A file holds nothing of time or machine, so that the same unit gives the same bytes anywhere. Files are written
whole or not at all: whatever is killed, the store holds finished units, and what is missing is done again.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import painless
from painless import files

LOCK = ".lock"
COSTS = "costs.jsonl"  # a line for each unit: its key and its processor seconds
SHOWING = (
    "backends",
    "cli",
    "experiments",
    "pages",
    "report",
    "score",
)  # folders that no result depends on, ...
RUNNING = ("unit.py", "evaluators.py")  # ... but for what runs a unit


@cache
def source_digest() -> str:
    """Return a hash of the package's own sources: other code, other results.

    What only shows or arranges results is left out, so that a figure can be restyled without doing the work again.
    """
    root = Path(painless.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] in SHOWING and path.name not in RUNNING:
            continue
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def content_key(settings: Mapping[str, Any]) -> str:
    """Return the name under which the results of some settings are stored."""
    text = json.dumps([settings, source_digest()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
        """Wait until no other run works on this store, and keep others waiting: what they do is not done twice.

        The system lets go of the lock when a process ends, however it ends.
        """
        try:
            import fcntl
        except ImportError:  # Windows: two runs at once then do the same work, and write the same bytes
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            for leftover in (self.folder / "units").glob(".*"):  # of a run that was killed while it wrote
                leftover.unlink(missing_ok=True)
            yield

    def write(self, settings: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        """Store results with the settings that gave them, atomically.

        `seconds` among the results goes into the list of costs: the file itself has nothing of time in it.
        """
        text, kept = json.dumps(settings, sort_keys=True), dict(results)
        seconds = kept.pop("seconds", None)
        files.write_npz(self.path(settings), {"settings": np.array(text), **kept})
        if seconds is not None:
            with (self.folder / COSTS).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([content_key(settings), round(float(seconds), 4)]) + "\n")

    def costs(self) -> dict[str, float]:
        """Return the processor seconds of each unit, by its key, as far as they are known."""
        path = self.folder / COSTS
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found: dict[str, float] = {}
        for line in lines:
            with suppress(ValueError):  # a line that was cut off by a kill, or by a full disk
                key, seconds = json.loads(line)
                found[key] = float(seconds)
        return found

    def read(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results of some settings."""
        content = files.read(self.path(settings))
        content.pop("settings")
        return content

    def write_manifest(self, about: Mapping[str, Any]) -> None:
        """Write what is not part of the results, but good to know: versions, machine and time."""
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
