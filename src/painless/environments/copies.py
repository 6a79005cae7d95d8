"""Copies of an environment that are stepped side by side, in this process or in others.

A copy never resets itself: the step that ends an episode returns the observation before the reset, and the first observation of the next
episode beside it, which starts from a given seed. So truncation can bootstrap from the one, and a run can be repeated from its seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.environments.gymnasium_simulator import GymnasiumSimulator

Observations = NDArray[np.float32]


class Stepped(NamedTuple):
    """What a step of n copies led to."""

    following: Observations  # (n, D) before a reset
    utilities: Array  # (n, J) in the internal sense
    terminated: Mask  # (n,)
    truncated: Mask  # (n,)
    observations: Observations  # (n, D) to act on next: after the reset where the episode ended
    counted: (
        Mask  # (n,) whether it was a step of an episode; otherwise the environment was busy resetting itself
    )


class Copies(Protocol):
    """Copies of an environment, by number."""

    restarts: bool  # whether an episode can begin in one copy while others go on
    replays: bool  # whether the same seed and actions lead to the same episode

    def start(self, numbers: Sequence[int], seeds: Sequence[int | None]) -> Observations:
        """Begin an episode in these copies; return the first observations, (n, D)."""

    def step(self, numbers: Sequence[int], actions: Sequence[Any], seeds: Sequence[int | None]) -> Stepped:
        """Step these copies; those whose episodes end begin another from their seed, or wait for `start` if it is None."""

    def close(self) -> None:
        """End all processes."""


class LocalCopies:
    """Copies in this process."""

    restarts = replays = True

    def __init__(self, simulator: GymnasiumSimulator, count: int, first: int = 0) -> None:
        self.simulator, self.first = simulator, first
        while len(simulator.pool) < count:
            simulator.pool.append(simulator.make())
        self.lengths = [0] * count
        self.limit = simulator.time_limit

    def start(self, numbers: Sequence[int], seeds: Sequence[int | None]) -> Observations:
        """Begin an episode in these copies."""
        return np.array([self._begin(k, s) for k, s in zip(numbers, seeds, strict=True)], np.float32).reshape(
            len(numbers), -1
        )

    def _begin(self, number: int, seed: int | None) -> Any:
        self.lengths[number] = 0
        self.simulator._steps = 0
        return self.simulator.begin(number, self.simulator.pool[number], int(seed or 0))

    def step(self, numbers: Sequence[int], actions: Sequence[Any], seeds: Sequence[int | None]) -> Stepped:
        """Step these copies one after the other."""
        rows = []
        for number, action, seed in zip(numbers, actions, seeds, strict=True):
            self.lengths[number] += 1
            self.simulator._steps = self.lengths[number]
            state, utilities, terminated, truncated = self.simulator.proceed(
                number, self.simulator.pool[number], action
            )
            truncated = (truncated or self.lengths[number] >= self.limit) and not terminated
            ended = (terminated or truncated) and seed is not None
            fresh = self._begin(number, seed) if ended else state
            rows.append((state, utilities, terminated, truncated, fresh))
        columns, count = list(zip(*rows, strict=True)), len(rows)
        return Stepped(
            np.array(columns[0], np.float32).reshape(count, -1),
            np.array(columns[1], float),
            np.array(columns[2], bool),
            np.array(columns[3], bool),
            np.array(columns[4], np.float32).reshape(count, -1),
            np.ones(count, dtype=bool),
        )

    def close(self) -> None:
        """Nothing to end here."""


def _serve(pipe: Any, packed: bytes, count: int) -> None:
    """Step copies in a process of their own, until told to end."""
    import cloudpickle

    simulator = cloudpickle.loads(packed)
    copies = LocalCopies(simulator, count)
    while True:
        try:
            name, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if name == "close":
            return
        try:
            pipe.send((True, getattr(copies, name)(*arguments)))
        except InputError as error:
            pipe.send((False, str(error)))
        except KeyboardInterrupt:
            return


class WorkerCopies:
    """Copies in other processes, each with an equal share; copy k is with worker k mod workers."""

    restarts = replays = True

    def __init__(self, simulator: GymnasiumSimulator, count: int, workers: int) -> None:
        import multiprocessing

        import cloudpickle

        self.workers = min(workers, count)
        context = multiprocessing.get_context("spawn")
        packed = cloudpickle.dumps(simulator)
        self.pipes, self.processes = [], []
        for _ in range(self.workers):
            here, there = context.Pipe()
            share = -(-count // self.workers)
            process = context.Process(target=_serve, args=(there, packed, share), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def _ask(self, name: str, numbers: Sequence[int], *columns: Sequence[Any]) -> list[tuple[list[int], Any]]:
        """Send each worker its part, and return their answers with the places of its rows."""
        asked = []
        for index, pipe in enumerate(self.pipes):
            places = [k for k, number in enumerate(numbers) if number % self.workers == index]
            if places:
                local = [numbers[k] // self.workers for k in places]
                pipe.send((name, (local, *[[column[k] for k in places] for column in columns])))
                asked.append((pipe, places))
        answers, trouble = [], ""
        for pipe, places in asked:
            try:
                right, answer = pipe.recv()
            except (EOFError, OSError):
                right, answer = False, "a worker process has ended; run with fewer workers"
            answers.append((places, answer))
            trouble = trouble or ("" if right else str(answer))
        if trouble:
            raise InputError(trouble)
        return answers

    def start(self, numbers: Sequence[int], seeds: Sequence[int | None]) -> Observations:
        """Begin an episode in these copies."""
        answers = self._ask("start", numbers, seeds)
        return _joined([(places, rows) for places, rows in answers], len(numbers))

    def step(self, numbers: Sequence[int], actions: Sequence[Any], seeds: Sequence[int | None]) -> Stepped:
        """Step these copies, all workers at once."""
        answers = self._ask("step", numbers, actions, seeds)
        columns = zip(*[answer for _, answer in answers], strict=True)
        places = [one for one, _ in answers]
        return Stepped(*[_joined(list(zip(places, parts, strict=True)), len(numbers)) for parts in columns])

    def close(self) -> None:
        """End the processes."""
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            with suppress(OSError):
                pipe.send(("close", ()))
            process.join(1.0)
            if process.is_alive():
                process.terminate()
            pipe.close()


def _joined(parts: list[tuple[list[int], Any]], count: int) -> Any:
    """Put rows back into their places."""
    first = np.asarray(parts[0][1])
    whole = np.empty((count, *first.shape[1:]), first.dtype)
    for places, rows in parts:
        whole[places] = rows
    return whole


def make_copies(simulator: GymnasiumSimulator, count: int, workers: int) -> Copies:
    """Return copies in this process, or in worker processes; those of a vector environment are its own."""
    from painless.environments.native import NativeSimulator, VectorCopies

    if isinstance(simulator, NativeSimulator):
        if workers > 1:
            raise InputError(
                f"{simulator.name} is a vector environment, which steps its own copies; leave workers out"
            )
        return VectorCopies(simulator)
    return LocalCopies(simulator, count) if workers <= 1 else WorkerCopies(simulator, count, workers)
