"""Progress of a training as lines of a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.simulation.simulator import Simulator
from painless.storage import files
from painless.training.counted import CountedProgress
from painless.training.deep.progress import DeepProgress
from painless.training.linear import TrainingProgress

Progress = Callable[[Any], None]


class ProgressLog:
    """Writes a CSV line for each report of progress, and passes it on."""

    def __init__(self, path: str | os.PathLike[str], progress: Progress | None, simulator: Simulator) -> None:
        self.path, self.progress = files.as_path(path), progress
        names = simulator.specification.constraint_names
        self.names = ["reward", *names]
        self._begun = False

    def __call__(self, now: CountedProgress | DeepProgress | TrainingProgress) -> None:
        """Write one line."""
        plain = {name: value for name, value in vars(now).items() if np.ndim(value) == 0}
        for field in ("value", "error"):
            for name, value in zip(self.names, getattr(now, field, ()), strict=False):
                plain[name if field == "value" else f"{name} {field}"] = value
        for name, value in zip(self.names[1:], getattr(now, "multiplier", ()), strict=False):
            plain[f"{name} multiplier"] = value
        self._write(plain)
        if self.progress is not None:
            self.progress(now)

    def _write(self, row: dict[str, Any]) -> None:
        try:
            with Path(self.path).open("a" if self._begun else "w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                if not self._begun:
                    writer.writerow(row)
                writer.writerow(row.values())
        except OSError as error:
            raise InputError(
                f"cannot write {self.path}: {error.strerror}; choose another file for the log"
            ) from error
        self._begun = True
