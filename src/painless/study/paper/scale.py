"""How much of an experiment is run: all of it, or enough to see that everything works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from painless.study.sweep import Sweep


@dataclass(frozen=True)
class Scale:
    """How many seeds, iterations, samples and settings to take."""

    seeds: int
    iterations: int | None = None  # at most so many; None takes the paper's
    samples: int | None = None
    settings: int | None = None  # of each list in a grid, spread over it

    def sweep(
        self,
        problem: Mapping[str, Any],
        algorithms: Sequence[Mapping[str, Any]],
        iterations: int,
        evaluator: Mapping[str, Any] | None = None,
        start: str = "dirichlet",
    ) -> Sweep:
        """Return the sweep of an experiment at this scale."""
        return Sweep.of(
            [problem],
            [self._thinned(algorithm) for algorithm in algorithms],
            iterations=_least(iterations, self.iterations),
            seeds=range(self.seeds),
            start=start,
            evaluator=None if evaluator is None else self._sampled(evaluator),
        )

    def _thinned(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: self._some(value) if isinstance(value, list) else value for key, value in settings.items()
        }

    def _some(self, values: list[Any]) -> list[Any]:
        """Return some of the values, spread from the first to the last."""
        if self.settings is None or len(values) <= self.settings:
            return values
        last = len(values) - 1
        return [values[round(k * last / (self.settings - 1))] for k in range(self.settings)]

    def _sampled(self, evaluator: Mapping[str, Any]) -> dict[str, Any]:
        counts = {key: evaluator[key] for key in ("samples", "rollouts") if key in evaluator}
        fewer = {
            key: [_least(one, self.samples) for one in value]
            if isinstance(value, list)
            else _least(value, self.samples)
            for key, value in counts.items()
        }
        return {**evaluator, **fewer}


def _least(value: int, most: int | None) -> int:
    return value if most is None else min(value, most)


def joined(parts: Iterable[Sweep]) -> Sweep:
    """Return the units of several sweeps as one."""
    return Sweep(tuple(unit for part in parts for unit in part.units))


FULL = Scale(seeds=5)
QUICK = Scale(seeds=2, iterations=30, samples=20, settings=2)
