"""How often a policy comes to each state: an array, or a function that counts on first use, since on large models that costs as much as a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from painless.common.arrays import Array

Counted = Array | Callable[[], Array | None] | None


class LazyVisits:
    """The attribute of a policy that holds its visits (S,), or None where they are not known.

    >>> class Walk:
    ...     visits = LazyVisits()
    >>> walk = Walk()
    >>> walk.visits = lambda: print("counted") or [1.0, 0.5]
    >>> walk.visits, walk.visits
    counted
    ([1.0, 0.5], [1.0, 0.5])
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, policy: Any, owner: type | None = None) -> Array | None:
        if policy is None:  # the default of the field
            return None
        kept: Counted = policy.__dict__[self._name]
        if callable(kept):
            kept = policy.__dict__[self._name] = kept()
        return kept

    def __set__(self, policy: Any, visits: Counted) -> None:
        policy.__dict__[self._name] = visits
