"""Certificates that were changed: each is refused, or what it claims is still true.

Every array and every claim is changed in both directions, by anything from its last bit to another sign. A judge in whole numbers
(`tests.fuzz`) decides whether the claims of a certificate that passes are true of its policy and of the problem.

Run it with `python -m tests.mutants --count 1000`, for so many mutants of every array.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np

import painless
from painless import verify
from painless.solving.certificate_files import certify, model_of
from tests.fuzz.checker import Judge
from tests.fuzz.running import problem

FAMILIES = (
    *("plain", "mixed_senses", "masks", "offsets", "ties", "zero_budgets", "infeasible", "constant", "tiny"),
    *("exactly_tight", "units", "uneven_rows"),
)
MOST = 60  # (S + K)·A of problems whose optimum takes no time in whole numbers
TARGETS = (*verify.NAMES, "claims")


class Case:
    """A problem, its judge and the certificate of its solution."""

    def __init__(self, family: str, seed: int) -> None:
        made, model = problem(family, seed)
        self.name, self.judge, self.model = f"{family} {seed}", Judge(model), model_of(made)
        self.small = self.judge.size <= MOST
        if self.small:
            solution = painless.solve(made, tolerance=[1e-2, 1e-6][seed % 2])
            self.certificate = certify(solution, made)

    def wrong(self, certificate: verify.Certificate) -> str | None:
        """Return what a certificate claims although it is not true; None if it is true or refused."""
        verdict = verify.verify(certificate, self.model)
        return self._false(verdict, certificate.policy) if verdict.verified else None

    def _false(self, verdict: verify.Verdict, policy: np.ndarray) -> str | None:
        best = self.judge.optimum()
        if verdict.infeasible and best is not None:
            return "it is feasible"
        value = self.judge.values(policy)[0]
        for short, limit, found in zip(verdict.violation, self.judge.limits, value[1:], strict=True):
            if limit is not None and _exceeds(limit - found, short):
                return f"a limit is missed by {float(limit - found)!r}, not at most {short!r}"
        if verdict.infeasible:
            return None
        low, high = verdict.lower_bound, verdict.upper_bound
        low, high = (-high, -low) if self.model.minimise else (low, high)
        if _exceeds(Fraction(low), value[0]):
            return f"the value is {float(value[0])!r}, not at least {low!r}"
        if best is not None and _exceeds(best, high):
            return f"the optimum is {float(best)!r}, not at most {high!r}"
        return None


def _exceeds(one: Fraction, other: Fraction | float) -> bool:
    """Whether one number exceeds another by more than the judge's own error."""
    return one - Fraction(other) > Fraction(1, 2**300) * (1 + abs(one))


def changed_number(rng: np.random.Generator, number: float) -> float:
    """Return another number, larger or smaller with equal chances."""
    way, sign = rng.integers(5), rng.choice([-1.0, 1.0])
    if way == 0:
        return float(np.nextafter(number, sign * np.inf))
    if way == 1:
        return float(number * (1 + sign * 10.0 ** -rng.uniform(0, 16)))
    if way == 2:
        return float(number + sign * 10.0 ** rng.uniform(-16, 4))
    return float(rng.choice([0.0, -number, 1.0, number / 2, 2 * number]))


def changed(rng: np.random.Generator, certificate: verify.Certificate, target: str) -> verify.Certificate:
    """Return a certificate with one to three entries of an array, or one of its claims, changed."""
    if target == "claims":
        return _changed_claim(rng, certificate)
    array = getattr(certificate, target).copy()
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(array.size))
        if target == "policy" and rng.random() < 0.5:  # another policy, not only rows that are none
            row = array[place // array.shape[1]]
            row[:] = rng.permutation(row)
        else:
            array.flat[place] = changed_number(rng, array.flat[place])
    if rng.random() < 0.2:
        array += rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-16, 2)
    return certificate._replace(**{target: array})


def _changed_claim(rng: np.random.Generator, certificate: verify.Certificate) -> verify.Certificate:
    key = str(rng.choice(verify.CLAIMS))
    value = getattr(certificate, key)
    if key == "infeasible":
        return certificate._replace(infeasible=not value)
    if key == "violation":
        return certificate._replace(violation=tuple(abs(changed_number(rng, one)) for one in value))
    return certificate._replace(**{key: changed_number(rng, 1.0 if value is None else value)})


def run(count: int, seed: int) -> tuple[list[str], int]:
    """Make `count` mutants of every array and of the claims; return what went wrong, and how many were refused."""
    rng = np.random.default_rng(seed)
    wrong, refused, made = [], 0, 0
    per_case, number = 10, 0
    while made < count:
        case = Case(FAMILIES[number % len(FAMILIES)], seed + number // len(FAMILIES))
        number += 1
        if not case.small:
            continue
        for target in TARGETS:
            for _ in range(per_case):
                mutant = changed(rng, case.certificate, target)
                refused += not verify.verify(mutant, case.model).verified
                found = case.wrong(mutant)
                wrong += [] if found is None else [f"{case.name}, {target}: {found}"]
        made += per_case
    return wrong, refused


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="mutants of every array")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found, refused = run(arguments.count, arguments.seed)
    total = arguments.count * len(TARGETS)
    print(*found, f"{len(found)} of {total} went wrong; {refused} were refused", sep="\n")
    raise SystemExit(bool(found))
