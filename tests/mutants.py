"""Certificates that were changed: each is refused, or what it claims is still true.

Every array and every claim is changed in both directions, by anything from its last bit to another sign, and half of them then claim all that
the checker takes for proved. A judge in whole numbers
(`tests.fuzz`) decides whether the claims of a certificate that passes are true of its policy and of the problem.

Run it with `python -m tests.mutants --count 1000`, for so many mutants of every array of every criterion.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from functools import cached_property

import numpy as np

import painless
from painless import verify
from painless.solving.certificate_files import certify, model_of
from tests import averages, ending_models
from tests.fuzz.checker import Judge
from tests.fuzz.model import Model
from tests.fuzz.running import problem

FAMILIES = (
    *("plain", "mixed_senses", "masks", "offsets", "ties", "zero_budgets", "infeasible", "constant", "tiny"),
    *("exactly_tight", "units", "uneven_rows"),
)
MOST = 60  # (S + K)·A of problems whose optimum takes no time in whole numbers


def with_steps(made: painless.CMDP, model: Model, seed: int) -> tuple[painless.CMDP, Model]:
    """Return a problem with a horizon of one to three steps, and a discounted model with the same values for its judge.

    At a discount of 1/2, utilities times 2^t add up as without any; the model goes to an end that pays nothing after the last step.
    """
    horizon = 1 + seed % 3
    gained = made.constraint_reward * (1 - made.discount) * horizon
    scaled = made.with_constraints(made.reward, gained, made.threshold)
    made = scaled._replace(sense=made.sense, minimise=made.minimise).with_horizon(horizon)
    states, actions, limits = made.transition.shape[-1], made.shape[1], made.shape[2]
    last = horizon * states
    rows = np.zeros((last + 1, actions, last + 1))
    for t in range(horizon - 1):
        rows[t * states : (t + 1) * states, :, (t + 1) * states : (t + 2) * states] = model.transition
    rows[last - states :, :, last] = 1.0
    power = np.append(np.repeat(2.0 ** np.arange(horizon), states), 0.0)[:, None]
    utility = np.concatenate([made.utility, np.zeros((1 + limits, 1, actions))], axis=1) * power
    mask = np.concatenate([made.actions, np.ones((1, actions), dtype=bool)])
    start = np.append(made.initial, 0.0)
    return made, Model(rows, start, 0.5, mask, utility, made.threshold, model.sign)


class AverageJudge:
    """What is true of a long-run average, by the linear program of `tests.averages` and powers of chains."""

    slack = Fraction(1, 10**7)
    size = 0

    def __init__(self, made: painless.CMDP) -> None:
        self.made = made
        self.limits = [Fraction(b) if np.isfinite(b) else None for b in made.threshold]

    def optimum(self) -> Fraction | None:
        """Return the largest average of a feasible policy; None where there is none."""
        return None if self._best is None else Fraction(self._best)

    @cached_property
    def _best(self) -> float | None:
        return averages.optimum(self.made)

    def values(self, policy: np.ndarray) -> tuple[list[Fraction], None]:
        """Return the averages of all utilities under a policy (S, A)."""
        states, kernel = len(policy), self.made.transition
        kernel = kernel if isinstance(kernel, np.ndarray) else kernel.toarray().reshape(*policy.shape, states)
        policy = policy / policy.sum(1, keepdims=True)
        chain = np.einsum("sa,sat->st", policy, kernel)
        chain /= chain.sum(1, keepdims=True)
        mean = np.eye(states)  # of the first n powers
        for _ in range(60):
            mean, chain = (mean + chain @ mean) / 2, chain @ chain
            mean, chain = (one / one.sum(1, keepdims=True) for one in (mean, chain))
        gain = np.einsum("sa,jsa->js", policy, self.made.utility)
        return [Fraction(one) for one in (mean @ gain.T).T @ self.made.initial], None


class TotalJudge:
    """What is true of a total reward, by the linear program of `tests.ending_models`."""

    slack = Fraction(1, 10**7)
    size = 0

    def __init__(self, made: painless.CMDP) -> None:
        self.visits = ending_models.Visits(made)
        self.limits = [Fraction(b) if np.isfinite(b) else None for b in made.threshold]

    def optimum(self) -> Fraction | None:
        """Return the largest total of a feasible policy; None where there is none."""
        return None if self._best is None else Fraction(self._best)

    @cached_property
    def _best(self) -> float | None:
        return self.visits.optimum()

    def values(self, policy: np.ndarray) -> tuple[list[Fraction], None]:
        """Return the totals of all utilities under a policy (S, A)."""
        return [Fraction(one) for one in self.visits.values(policy)], None


class ExactJudge(Judge):
    """What is true of a discounted problem, in whole numbers."""

    slack = Fraction(1, 2**300)


def _discounted(family: str, seed: int) -> tuple[painless.CMDP, ExactJudge]:
    made, model = problem(family, seed)
    return made, ExactJudge(model)


def _stepwise(family: str, seed: int) -> tuple[painless.CMDP, ExactJudge]:
    made, model = with_steps(*problem(family, seed), seed)
    return made, ExactJudge(model)


def _average(family: str, seed: int) -> tuple[painless.CMDP, AverageJudge]:
    made = averages.random_problem(np.random.default_rng([seed, FAMILIES.index(family)]))
    return made, AverageJudge(made)


def _total(family: str, seed: int) -> tuple[painless.CMDP, TotalJudge]:
    made = ending_models.random_problem(np.random.default_rng([seed, FAMILIES.index(family)]))
    return made, TotalJudge(made)


MADE = {
    "discounted": _discounted,
    "finite horizon": _stepwise,
    "total reward": _total,
    "long-run average": _average,
}


class Case:
    """A problem, its judge and the certificate of its solution."""

    def __init__(self, family: str, seed: int, criterion: str) -> None:
        made, self.judge = MADE[criterion](family, seed)
        self.name, self.model = f"{family} {seed}", model_of(made)
        self.small = self.judge.size <= MOST
        if self.small:
            solution = painless.solve(made, tolerance=[1e-2, 1e-6][seed % 2])
            self.certificate = certify(solution, made)

    def false(self, verdict: verify.Verdict, certificate: verify.Certificate) -> str | None:
        """Return what a certificate that passes claims although it is not true; None if it is true."""
        best = self.judge.optimum()
        if verdict.infeasible and best is not None:
            return "it is feasible"
        value = self._values(certificate)
        for short, limit, found in zip(verdict.violation, self.judge.limits, value[1:], strict=True):
            if limit is not None and self._exceeds(limit - found, short):
                return f"a limit is missed by {float(limit - found)!r}, not at most {short!r}"
        if verdict.infeasible:
            return None
        low, high = verdict.lower_bound, verdict.upper_bound
        low, high = (-high, -low) if self.model.minimise else (low, high)
        if self._exceeds(Fraction(low), value[0]):
            return f"the value is {float(value[0])!r}, not at least {low!r}"
        if best is not None and self._exceeds(best, high):
            return f"the optimum is {float(best)!r}, not at most {high!r}"
        return None

    def _values(self, certificate: verify.Certificate) -> list[Fraction]:
        """Return the values of the policy, or of the draw between several."""
        if not len(certificate.share):
            return self.judge.values(self._judged(certificate.policy))[0]
        share = [Fraction(one) for one in certificate.share.tolist()]
        each = [self.judge.values(self._judged(policy))[0] for policy in certificate.policy]
        return [
            sum(part * value for part, value in zip(share, one, strict=True)) / sum(share)
            for one in zip(*each, strict=True)
        ]

    def _judged(self, policy: np.ndarray) -> np.ndarray:
        """Return a policy in the judge's own states."""
        more = len(self.judge.model.actions) - len(policy) if isinstance(self.judge, Judge) else 0
        first = np.eye(policy.shape[1])[:1].repeat(more, 0)
        return np.concatenate([policy, first])

    def _exceeds(self, one: Fraction, other: Fraction | float) -> bool:
        """Whether one number exceeds another by more than the judge's own error."""
        return one - Fraction(other) > self.judge.slack * (1 + abs(one))


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
            row = array.reshape(-1, array.shape[-1])[place // array.shape[-1]]
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


def reclaimed(certificate: verify.Certificate, model: verify.Model) -> verify.Certificate:
    """Return a certificate that claims all that its arrays prove, if they prove anything."""
    try:
        return certificate._replace(**verify.claims(model, verify.prove(certificate, model)))
    except verify.Refused:
        return certificate


def targets(criterion: str) -> tuple[str, ...]:
    """Return what is changed in a certificate."""
    return (*verify.SHAPES[criterion], "claims")


def run(
    count: int, seed: int, criterion: str = "discounted", only: tuple[str, ...] = ()
) -> tuple[list[str], int]:
    """Make `count` mutants of every array and of the claims, or of some; return what went wrong, and how many were refused."""
    rng = np.random.default_rng(seed)
    wrong, refused, made = [], 0, 0
    per_case, number = 10, 0
    while made < count:
        case = Case(FAMILIES[number % len(FAMILIES)], seed + number // len(FAMILIES), criterion)
        number += 1
        if not case.small:
            continue
        for target in only or targets(criterion):
            for _ in range(per_case):
                mutant = changed(rng, case.certificate, target)
                if rng.random() < 0.5:
                    mutant = reclaimed(mutant, case.model)
                verdict = verify.verify(mutant, case.model)
                refused += not verdict.verified
                found = case.false(verdict, mutant) if verdict.verified else None
                wrong += [] if found is None else [f"{case.name}, {target}: {found}"]
        made += per_case
    return wrong, refused


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="mutants of every array")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--criterion", choices=MADE, action="append", help="of all if not given")
    arguments = parser.parse_args()
    failed = False
    for criterion in arguments.criterion or MADE:
        found, refused = run(arguments.count, arguments.seed, criterion)
        total = arguments.count * len(targets(criterion))
        print(*found, f"{criterion}: {len(found)} of {total} went wrong; {refused} were refused", sep="\n")
        failed |= bool(found)
    raise SystemExit(failed)
