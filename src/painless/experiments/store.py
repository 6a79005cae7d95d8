"""The store: one file for each unit of work, under a content hash of its settings and of the package's sources.

A file holds nothing of time or machine, so that the same unit gives the same bytes anywhere. Files are written
whole or not at all: whatever is killed, the store holds finished units, and what is missing is done again.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import painless
from painless import files
from painless.arrays import Array


@cache
def source_digest() -> str:
    """Return a hash of the package's own sources: other code, other results."""
    root = Path(painless.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
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

    def write(self, settings: Mapping[str, Any], results: Mapping[str, Array]) -> None:
        """Store results with the settings that gave them, atomically."""
        text = json.dumps(settings, sort_keys=True)
        files.write_npz(self.path(settings), {"settings": np.array(text), **results})

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
