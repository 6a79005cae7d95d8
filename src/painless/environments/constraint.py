"""What a constraint on an environment is: where its numbers come from, and its limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from painless.common.errors import InputError, shown
from painless.common.limits import split_limit

Function = Callable[..., float]  # of observation, action, next_observation, reward, terminated, info
Given = Any  # text, a Constraint, or a function and text in a tuple
EPISODE = "episode"
ADVICE = "write it like 'cost<=25', 'episode cost<=25' or 'reward[1]>=-3', or as (function, '<=25')"


@dataclass(frozen=True)
class Constraint:
    """A limit on the sum of something that an environment reports at every step.

    Arguments:
        key: a key of `info`; "cost" is also the third entry of Safety-Gymnasium's six-tuple. With a function, its name.
        index: in place of `key`: an entry of a vector reward, as in MO-Gymnasium.
        sense: ">=" or "<=".
        limit: of the sum, which is discounted like the objective.
        low, high: the least and the largest that one step can report; what is seen, if not given.
        episode: whether the limit is on the undiscounted sum over an episode instead.
        function: in place of what the environment reports: a function of (observation, action, next_observation, reward,
            terminated, info).

    >>> Constraint.parse("cost<=25").limit
    25.0
    >>> Constraint.parse("episode cost <= 25").episode, Constraint.parse("reward[1] >= -3").index
    (True, 1)
    """

    key: str | None = None
    index: int | None = None
    sense: str = "<="
    limit: float = 0.0
    low: float | None = None
    high: float | None = None
    episode: bool = False
    function: Function | None = None

    def __post_init__(self) -> None:
        if self.function is not None and not callable(self.function):
            raise InputError(f"a constraint's function is {shown(self.function)}; give a function")
        if (self.key is None and self.function is None) == (self.index is None):
            raise InputError("a constraint needs a key of info or an index of a vector reward, and not both")
        if self.sense not in (">=", "<="):
            raise InputError(f"a constraint's sense is '{self.sense}'; it must be >= or <=")

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"{EPISODE} {self.source}" if self.episode else self.source

    @property
    def source(self) -> str:
        """What is added up."""
        if self.index is not None:
            return f"reward[{self.index}]"
        return self.key or str(getattr(self.function, "__name__", "function"))

    @property
    def sign(self) -> float:
        """+1 or −1: the user's value is sign times the internal one."""
        return 1.0 if self.sense == ">=" else -1.0

    @property
    def text(self) -> str:
        """The constraint as `parse` reads it."""
        return f"{self.name}{self.sense}{self.limit!r}"

    @classmethod
    def parse(cls, text: str, function: Function | None = None) -> Constraint:
        """Read "key<=limit", "key>=limit" or "reward[index]>=limit", also with "episode " in front.

        With a function, the key is only a name, and may be left out.
        """
        parts = split_limit(text)
        if parts is None or (not parts[0] and function is None):
            raise InputError(f"{shown(text)} is not a constraint; {ADVICE}")
        name, sense, limit = parts
        whole = re.fullmatch(rf"{EPISODE}(?:\s+(.+))?", name)
        episode = whole is not None and (bool(whole[1]) or function is not None)
        if whole is not None and episode:
            name = whole[1] or ""
        index = re.fullmatch(r"reward\[(\d+)\]", name)
        settings: dict[str, Any] = {"sense": sense, "limit": limit, "episode": episode}
        if function is not None:
            return cls(key=name or None, function=function, **settings)
        return cls(index=int(index[1]), **settings) if index else cls(key=name, **settings)


def constraints_of(given: Given | Iterable[Given]) -> tuple[Constraint, ...]:
    """Return constraints, each given as an object, as text, or as a tuple of a function and text.

    >>> constraints_of((lambda *step: 1.0, "episode<=3"))[0].name
    'episode constraint 1'
    """
    if given is None:
        return ()
    if isinstance(given, str | Constraint) or callable(given) or _is_pair(given):
        return (_named(_constraint(given), 1),)
    try:
        several = list(given)
    except TypeError:
        raise InputError(f"constraints is {shown(given)}; {ADVICE}") from None
    return tuple(_named(_constraint(one), number) for number, one in enumerate(several, 1))


def names_of(constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Return a name for each constraint; those on the same sum are told apart by their limits, or by numbers.

    >>> names_of(constraints_of(["cost<=5", "cost>=1", "speed>=2"]))
    ('cost<=5.0', 'cost>=1.0', 'speed')
    """
    names = [one.name for one in constraints]
    texts = [one.text if names.count(one.name) > 1 else one.name for one in constraints]
    return tuple(
        f"{text} ({texts[: k + 1].count(text)})" if texts.count(text) > 1 else text
        for k, text in enumerate(texts)
    )


def _named(one: Constraint, number: int) -> Constraint:
    """Return a constraint; a function without a name gives it its number."""
    anonymous = one.key is None and getattr(one.function, "__name__", "") == "<lambda>"
    return replace(one, key=f"constraint {number}") if anonymous else one


def _is_pair(given: Any) -> bool:
    """Whether this is one constraint: a function and text, in any order."""
    return isinstance(given, tuple) and len(given) == 2 and sum(callable(part) for part in given) == 1


def _constraint(given: Any) -> Constraint:
    if isinstance(given, Constraint):
        return given
    if isinstance(given, str):
        return Constraint.parse(given)
    if _is_pair(given):
        function, text = given if callable(given[0]) else given[::-1]
        if isinstance(text, str):
            return Constraint.parse(text, function)
    raise InputError(f"{shown(given)} is not a constraint; {ADVICE}")
