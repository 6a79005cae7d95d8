"""Weights of features as they are stored: without the features that were never used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.storage import checked_entries as entries
from painless.storage.memory import require_room


def pack(stored: Array, name: str) -> dict[str, Any]:
    """Keep only the features (rows) whose weights are not all zero."""
    used = np.flatnonzero(stored.any(1))
    return {f"{name}_features": used, f"{name}_weights": stored[used]}


def unpack(content: Mapping[str, Any], name: str, dimension: int) -> Array:
    """Return what `pack` packed, (d, n)."""
    weights = entries.floats(content, f"{name}_weights", (None, None))
    used = entries.wholes(content, f"{name}_features", (len(weights),), below=dimension)
    if (np.diff(used) <= 0).any():
        raise InputError(f"'{name}_features' is not in order")
    require_room(f"'{name}'", 8.0 * dimension * weights.shape[1])
    stored = np.zeros((dimension, weights.shape[1]))
    stored[used] = weights
    return stored
