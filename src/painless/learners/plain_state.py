"""States of learners as plain lists, and back: small NamedTuples of arrays and numbers, which may hold another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from painless.common.errors import InputError


def plain_state(state: Any) -> dict[str, Any]:
    """Return a state as a dictionary of lists and numbers.

    >>> from painless.learners import ProjectedGradient
    >>> plain_state(ProjectedGradient(0.1).init(np.ones(2)))
    {'decision': [1.0, 1.0]}
    """
    return {
        name: plain_state(part) if hasattr(part, "_fields") else np.asarray(part).tolist()
        for name, part in state._asdict().items()
    }


def restored_state(start: Any, content: Mapping[str, Any]) -> Any:
    """Return the state that `plain_state` took apart; `start` is a fresh one, of the same shape."""
    if not isinstance(content, Mapping) or {*content} != {*start._fields}:
        raise InputError(
            f"this is no state of {type(start).__name__}; its entries are {', '.join(start._fields)}"
        )
    parts = {}
    for name, part in start._asdict().items():
        if hasattr(part, "_fields"):
            parts[name] = restored_state(part, content[name])
            continue
        value = np.asarray(content[name], dtype=float)
        if value.shape != np.shape(part) or not np.isfinite(value).all():
            raise InputError(
                f"'{name}' of the state has shape {value.shape}, not finite numbers of {np.shape(part)}"
            )
        parts[name] = value if isinstance(part, np.ndarray) else type(part)(value)
    return type(start)(**parts)
