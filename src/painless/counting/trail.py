"""The trail of some episodes: their steps, as lists of numbers, until a memory counts them. Containers for each step would cost more."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from painless.common.arrays import Array
from painless.counting.memory import Memory

End = tuple[
    int, bool, bool
]  # the state after some steps, −1 for the end; whether the episode was terminated or truncated


class Trail:
    """Steps that are not yet in the memory.

    The state of a step is where the step before it led, or where its episode begins.

    Arguments:
        utilities: J.
        upcoming: the next actions in each state, as long as they are known; `number` adds those of states that it sees first.
        more: returns the next action in a state whose upcoming ones are used up.
        number: returns the number of a state, given the key of its observation.
        places: the numbers of states by what their observations look like, for environments that look them up themselves.

    >>> from itertools import repeat
    >>> trail, memory = Trail(1, [repeat(0), repeat(0)], int, int, {}), Memory(actions=1, utilities=1)
    >>> trail.begin(0)
    >>> trail.add(0, [0.5], 1)
    >>> trail.add(0, [1.0], -1)
    >>> trail.store(memory)
    >>> memory.pairs.tolist(), memory.successors.tolist()
    ([0, 1], [1, 2])
    """

    def __init__(
        self,
        utilities: int,
        upcoming: list[Iterator[int]],
        more: Callable[[int], int],
        number: Callable[[Hashable], int],
        places: dict[Hashable, int],
    ) -> None:
        self.upcoming, self.more, self.number, self.places = upcoming, more, number, places
        self.actions: list[int] = []  # of each step
        self.utilities = [array("d") for _ in range(utilities)]  # (J, n)
        self.successors: list[int] = []  # −1 for the end; the last that is known of a step
        self._begun: list[tuple[int, int]] = []  # the first state of each episode, and the steps before it

    def begin(self, state: int) -> None:
        """Begin an episode in a state."""
        self._begun.append((state, len(self.successors)))

    def next(self, state: int) -> int:
        """Return the next action in a state."""
        action = next(self.upcoming[state], None)
        return self.more(state) if action is None else action

    def add(self, action: int, utilities: Sequence[float], successor: int) -> None:
        """Add a step."""
        self.actions.append(action)
        for column, value in zip(self.utilities, utilities, strict=True):
            column.append(value)
        self.successors.append(successor)

    def since(self, step: int) -> Array:
        """Return the utilities of all steps from one on, (n, J)."""
        return np.ascontiguousarray(np.array([column[step:] for column in self.utilities]).T)

    def store(self, memory: Memory) -> None:
        """Add all complete steps to a memory."""
        count = len(self.successors)
        successors = np.fromiter(self.successors, np.int64, count)
        starts, begins = np.array(self._begun, dtype=np.int64).reshape(-1, 2).T
        states = np.empty(count, dtype=np.int64)
        states[1:] = successors[:-1]
        acted = begins < count
        states[begins[acted]] = starts[acted]
        actions = np.fromiter(self.actions, np.int64, count)
        utilities = np.array([column[:count] for column in self.utilities])
        memory.add(0, states, actions, successors, utilities.T, starts)
