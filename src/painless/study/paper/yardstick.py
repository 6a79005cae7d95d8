"""One yardstick for every comparison: the 95 % interval of Welch's t over the seeds.

    mean a − mean b ± t·√(s_a²/n_a + s_b²/n_b),      degrees of freedom by Welch and Satterthwaite

a is *clearly below* b if the whole interval is below 0. It is *similar* to b if the interval reaches down to a tenth of |b| or less: if a is
not clearly more than a tenth above b. Anything else is within noise. Values that do not vary at all are compared as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.loop.averages import student

TENTH = 0.1  # of the reference: what may be missing from something similar
STATED = (
    "Comparisons are judged over the seeds by the 95 % interval of Welch's t-test: clear where the interval leaves out 0, similar where it does "
    "not show a difference of more than a tenth, within noise otherwise."
)


@dataclass(frozen=True)
class Comparison:
    """The difference of two means, and half the width of its interval."""

    difference: float
    half: float
    reference: float

    @property
    def less(self) -> bool:
        """Whether the first is clearly below the second."""
        return self.difference + self.half < 0

    @property
    def more(self) -> bool:
        """Whether the first is clearly above the second."""
        return self.difference - self.half > 0

    @property
    def similar(self) -> bool:
        """Whether the first is not clearly more than a tenth above the second."""
        return self.difference - self.half <= TENTH * abs(self.reference)

    @property
    def word(self) -> str:
        """What to call the difference, for a first that should be below."""
        return "clear" if self.less else "behind" if self.more else "within noise"


def compare(a: Array, b: Array) -> Comparison:
    """Compare values of two settings over their seeds, (n,) each.

    >>> compare(np.array([1.0, 1.1, 0.9]), np.array([2.0, 2.1, 1.9])).word
    'clear'
    >>> compare(np.array([1.0, 3.0]), np.array([2.0, 3.0])).word
    'within noise'
    """
    variances = [_variance_of_mean(one) for one in (a, b)]
    total = sum(variances)
    parts = sum(variance**2 / max(len(one) - 1, 1) for variance, one in zip(variances, (a, b), strict=True))
    half = 0.0 if total == 0 else np.inf if np.isinf(total) else student(total**2 / parts) * np.sqrt(total)
    return Comparison(float(a.mean() - b.mean()), float(half), float(b.mean()))


def _variance_of_mean(values: Array) -> float:
    return float(values.var(ddof=1) / len(values)) if len(values) > 1 else np.inf


def interval(values: Array) -> tuple[float, float]:
    """Return the 95 % interval of the mean of values (n,); without ends for a single one.

    >>> interval(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    variance = _variance_of_mean(values)
    half = (
        0.0 if variance == 0 else np.inf if np.isinf(variance) else student(len(values) - 1) * variance**0.5
    )
    return float(values.mean() - half), float(values.mean() + half)


def with_interval(values: Array, sign: str = "") -> str:
    """Return the mean with half the width of its interval as text."""
    low, high = interval(values)
    return f"{values.mean():{sign}.3g}" + ("" if np.isinf(high) else f" ± {(high - low) / 2:.1g}")
