"""Numbers that are unevaluated sums of two doubles (Dekker 1971; Rump, Ogita and Oishi 2008), each with a bound on how far it is off.

They show where values have to be moved until the inequalities of a certificate hold. `painless.verify`, which is exact, does not need them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.verify import Array, Indices, Refused

UNIT_ROUNDOFF = 2.0**-53
SPLITTER = 2.0**27 + 1
LARGEST = 1e150  # no product of two such numbers overflows
TINY = 2.0**-200  # products of three larger numbers do not underflow, nor do their errors
SMALL = 2.0**-900  # a larger product, and its error, do not underflow
UNDERFLOW = 2.0**-1000  # more than all that underflow can change in one inequality
SAFE = 1 + 1e-6  # for the rounding of error bounds themselves


@dataclass(frozen=True, eq=False)
class Pair:
    """Numbers high + low, each known to within `error`."""

    high: Array
    low: Array
    error: Array

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.high[index], self.low[index], self.error[index])

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """High, low and error."""
        return self.high, self.low, self.error

    def __neg__(self) -> Pair:
        return Pair(-self.high, -self.low, self.error)

    def __add__(self, other: Pair) -> Pair:
        high, rest = two_sum(self.high, other.high)
        small = self.low + other.low
        low = small + rest
        return Pair(high, low, self.error + other.error + UNIT_ROUNDOFF * (abs(small) + abs(low)))

    def __mul__(self, other: Pair) -> Pair:
        high, rest = two_product(self.high, other.high)
        one, two, three = self.high * other.low, self.low * other.high, self.low * other.low
        size = abs(one) + abs(two) + abs(three)
        roundings = np.where(size == 0, 0.0, 6 * UNIT_ROUNDOFF * (size + abs(rest)))
        both = (self.high != 0) & (other.high != 0)
        lost = both & ((abs(high) < SMALL) | ((size < SMALL) & ((self.low != 0) | (other.low != 0))))
        roundings = np.where(lost, roundings + UNDERFLOW, roundings)
        mine, others = abs(self.high) + abs(self.low), abs(other.high) + abs(other.low) + other.error
        error = roundings + mine * other.error + others * self.error
        return Pair(high, (one + two) + (three + rest), error)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b rounded, and its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a·b rounded, and its error, exactly where nothing underflows (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> tuple[Array, Array]:
    """Return two numbers of 26 bits with the sum a."""
    far = SPLITTER * a
    high = far - (far - a)
    return high, a - high


def row_sums(large: Array, small: Array, pointer: Indices) -> Pair:
    """Return the sum of large + small over every row; |small| ≤ 2⁻⁵³ max |large|, and no row is empty.

    What is above some power of two is summed without any rounding, in whatever order; what is below twice of them is tiny.
    """
    starts, longest = pointer[:-1], int(np.diff(pointer).max())
    top = float(abs(large).max())
    if top < TINY**3:
        nothing = np.zeros(len(starts))
        return Pair(nothing, nothing, nothing + 4 * longest * top)
    bits = int(2 * longest + 2).bit_length()
    size = 2.0 ** (int(np.frexp(top)[1]) + bits)
    first = (size + large) - size
    rest = large - first
    size *= UNIT_ROUNDOFF * 2.0**bits
    second, third = (size + rest) - size, (size + small) - size
    rest = (rest - second) + (small - third)
    high, low = two_sum(np.add.reduceat(first, starts), np.add.reduceat(second + third, starts))
    tail, spread = np.add.reduceat(rest, starts), np.add.reduceat(abs(rest), starts)
    total = low + tail
    error = 2 * (longest + 2) * UNIT_ROUNDOFF * spread
    return Pair(high, total, error + np.where(tail == 0, 0.0, UNIT_ROUNDOFF * abs(total)))


class Outward:
    """Sums of two doubles, with bounds on their errors."""

    def __init__(self, *used: Array) -> None:
        """Remember whether the numbers that will be `used` are so small that products underflow."""
        sizes = [np.abs(numbers) for numbers in used]
        large = max(float(size.max(initial=0.0)) for size in sizes)
        small = min(float(size.min(initial=1.0, where=size > 0)) for size in sizes)
        if not large <= LARGEST:
            raise Refused(f"it has a number beyond ±{LARGEST:g}, or one that is not finite")
        self.tiny = small < TINY

    def of(self, numbers: Any) -> Pair:
        """Return doubles as pairs."""
        high = np.asarray(numbers, dtype=np.float64)
        return Pair(high, np.zeros_like(high), np.zeros_like(high))

    def average(self, probability: Array, value: Array, pointer: Indices) -> Pair:
        """Σ p·v / Σ p over every row."""
        total = row_sums(probability, np.zeros_like(probability), pointer)
        off = (total.high - 1.0) + total.low
        # 1/(1 + t) = 1 − t + t²/(1 + t)
        error = 1.01 * off * off + 1.01 * total.error + UNIT_ROUNDOFF * abs(off)
        inverse = Pair(np.ones_like(off), -off, error)
        product = two_product(probability, value)
        found = row_sums(*product, pointer) * inverse
        if self.tiny:
            lost = (abs(product[0]) < SMALL) & (probability != 0) & (value != 0)
            some = np.logical_or.reduceat(lost, pointer[:-1])
            found = Pair(found.high, found.low, found.error + np.where(some, UNDERFLOW, 0.0))
        least, most = (part.reduceat(value, pointer[:-1]) for part in (np.minimum, np.maximum))
        same = least == most  # which is then the average, whatever the probabilities
        return Pair(*(np.where(same, *both) for both in zip(self.of(least).parts, found.parts, strict=True)))

    def least(self, numbers: Pair) -> Array:
        """Return what the numbers are at least; exact numbers keep their sign."""
        middle, error = numbers.high + numbers.low, self._error(numbers)
        return np.where(error == 0, middle, middle - SAFE * (error + 4 * UNIT_ROUNDOFF * abs(middle)))

    def _error(self, numbers: Pair) -> Array:
        return numbers.error * SAFE + np.where(numbers.error > 0, UNDERFLOW, 0.0)
