"""What a constraint on an environment is: where its numbers come from, and its limit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from painless.common.errors import InputError


@dataclass(frozen=True)
class Constraint:
    """A limit on the discounted sum of something that an environment reports at every step.

    Arguments:
        key: a key of `info`; "cost" is also the third entry of Safety-Gymnasium's six-tuple.
        index: in place of `key`: an entry of a vector reward, as in MO-Gymnasium.
        sense: ">=" or "<=".
        limit: of the discounted sum.
        low, high: the least and the largest that one step can report; what is seen, if not given.

    >>> Constraint.parse("cost<=25")
    Constraint(key='cost', index=None, sense='<=', limit=25.0, low=None, high=None)
    >>> Constraint.parse("reward[1] >= -3").index
    1
    """

    key: str | None = None
    index: int | None = None
    sense: str = "<="
    limit: float = 0.0
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if (self.key is None) == (self.index is None):
            raise InputError("a constraint needs a key of info or an index of a vector reward, and not both")
        if self.sense not in (">=", "<="):
            raise InputError(f"a constraint's sense is '{self.sense}'; it must be >= or <=")

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.key if self.key is not None else f"reward[{self.index}]"

    @property
    def sign(self) -> float:
        """+1 or −1: the user's value is sign times the internal one."""
        return 1.0 if self.sense == ">=" else -1.0

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Read "key<=limit", "key>=limit" or "reward[index]>=limit"."""
        match = re.fullmatch(r"\s*(.+?)\s*(<=|>=)\s*([-+.\deE]+)\s*", text)
        try:
            if match is None:
                raise ValueError
            name, sense, limit = match[1], match[2], float(match[3])
        except ValueError:
            raise InputError(
                f"'{text}' is not a constraint; write it like 'cost<=25' or 'reward[1]>=-3'"
            ) from None
        index = re.fullmatch(r"reward\[(\d+)\]", name)
        if index:
            return cls(index=int(index[1]), sense=sense, limit=limit)
        return cls(key=name, sense=sense, limit=limit)


def constraints_of(given: str | Constraint | Iterable[str | Constraint]) -> tuple[Constraint, ...]:
    """Return constraints, each given as an object or as text."""
    several = [given] if isinstance(given, str | Constraint) else given
    return tuple(one if isinstance(one, Constraint) else Constraint.parse(one) for one in several)
