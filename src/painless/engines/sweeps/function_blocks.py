"""The blocks of a model given as functions: all states in this process, or some in each of several workers.

Workers do not talk to each other. Before a sweep that reads a vector, each lends the rows that others need, and gets those of its own fringe, by way of this process. These are
few where states lead to states with similar numbers, as on a grid row by row, and all of them where they lead anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps.function_block import Actions, Block, States, pieces_of
from painless.problem.function_model import FunctionModel, Start

NONE: NDArray[np.unsignedinteger] = np.empty(0, np.uint8)


class Here:
    """An object in this process, called like one at a worker."""

    def __init__(self, kind: Any, arguments: Sequence[Any]) -> None:
        self._object = kind(*arguments)

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method."""
        found: Future[Any] = Future()
        found.set_result(getattr(self._object, method)(*arguments))
        return found


class Blocks:
    """All blocks of a model, in the order of their states."""

    def __init__(self, problem: FunctionModel) -> None:
        pieces, backend = pieces_of(problem.states), problem.backend
        count = 1 if backend is None else min(backend.workers, len(pieces) - 1)
        cuts = np.arange(count + 1) * (len(pieces) - 1) // count
        parts = [pieces[a : b + 1] for a, b in pairwise(cuts)]
        self.ends: States = pieces[cuts]  # of the blocks, (n + 1,)
        given = [_part(problem, own) for own in parts]
        kept = [Here(Block, one) for one in given] if backend is None else backend.keep(Block, given)
        self._kept: Sequence[Any] = kept
        self._nothing: list[Any] = [None] * count
        self._lent: dict[str, Array] = {}  # rows of all fringes that came with the last answer
        self._waiting: list[Any] = []  # replies
        self._introduce()

    def _introduce(self) -> None:
        """Tell the blocks which of their rows the others need."""
        fringes = self._each("fringe_states")
        every = np.unique(np.concatenate(fringes))
        bounds = np.searchsorted(every, self.ends)
        lent = [every[a:b] for a, b in pairwise(bounds)]
        self._each_own("lend", [(states,) for states in lent])
        self._places = [np.searchsorted(every, states) for states in fringes]

    def call(self, method: str, *arguments: Any, reads: str = "", lends: str = "") -> list[Any]:
        """Call a method of every block; return what they say of each piece.

        Of a vector that it reads, each block gets its fringe first. The blocks lend rows with their answer of a vector that the next call reads.
        """
        lent, self._lent, borrowed = self._lent, {}, self._nothing
        wanted = lends if len(self._kept) > 1 else ""
        if reads and len(self._kept) > 1:
            rows = lent[reads] if reads in lent else np.concatenate(self._each("lent", reads))
            borrowed = [(reads, rows[places]) for places in self._places]
        answers = self._each_own("run", [(method, arguments, rows, wanted) for rows in borrowed])
        if wanted:
            self._lent[wanted] = np.concatenate([rows for _, rows in answers])
        return [one for found, _ in answers for one in found]

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method that changes nothing; return what the blocks say of each piece."""
        return [one for found in self._each(method, *arguments) for one in found]

    def policy(self) -> Actions:
        """Return a copy of the action of each state, (S,)."""
        return np.concatenate(self._each("policy"))

    def take_policy(self, actions: Actions) -> None:
        """Take the action of each state, (S,)."""
        self._each_own("take_policy", [(actions[a:b],) for a, b in pairwise(self.ends)])

    def _each(self, method: str, *arguments: Any) -> list[Any]:
        return self._each_own(method, [arguments] * len(self._kept))

    def _each_own(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every block, each with arguments of its own."""
        while self._waiting:  # for what was asked before an interruption
            self._waiting[0].result()
            del self._waiting[0]
        for one, own in zip(self._kept, arguments, strict=True):
            self._waiting.append(one.call(method, *own))
        found = [one.result() for one in self._waiting]
        self._waiting.clear()
        return found


def _part(problem: FunctionModel, pieces: States) -> tuple[FunctionModel, Actions, States]:
    """Return what a block is made of: a model with nothing of the size of all states."""
    begin, end = pieces[0], pieces[-1]
    state, probability = problem.start
    own = (state >= begin) & (state < end)
    small = problem._replace(
        start=Start(state[own], probability[own]), found=problem.found._replace(first=NONE), backend=None
    )
    return small, problem.found.first[begin:end], pieces
