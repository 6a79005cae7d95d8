"""`python -m tests.fuzz --count 2000 --seed 5`: every failure with the command that repeats it, and a table."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np

from tests.fuzz.families import FAMILIES
from tests.fuzz.running import ALGORITHMS, SLOW, cases, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="problems")
    parser.add_argument("--seed", type=int, help="of the first problem of each family; drawn by default")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append")
    parser.add_argument("--algorithm", choices=[*ALGORITHMS, "frontier"], action="append")
    parser.add_argument("--tolerance", type=float, action="append")
    parser.add_argument("--each", type=int, default=2, help="algorithms for each problem")
    given = parser.parse_args()
    seed = int(np.random.SeedSequence().entropy % 10**9) if given.seed is None else given.seed
    print(f"{given.count} problems from seed {seed}", flush=True)
    algorithms = given.algorithm or [*ALGORITHMS, "frontier"]
    chosen = given.family or sorted(FAMILIES)
    outcomes, judges, begin = [], {}, time.perf_counter()
    for case in cases(given.count, seed, chosen, algorithms, given.tolerance or [1e-3, 1e-6], given.each):
        if (case.family, case.seed) not in judges:
            judges.clear()
        outcome = run(case, judges)
        outcomes.append(outcome)
        for kind, sentence in dict(reversed(outcome.wrong)).items():  # the first of each kind
            print(f"{kind}: {sentence}\n    {case.command}", flush=True)
        if outcome.seconds > SLOW and outcome.states < 20:
            print(f"slow: {outcome.seconds:.1f} s ({outcome.kind})\n    {case.command}", flush=True)
    return summary(outcomes, time.perf_counter() - begin)


def summary(outcomes: list, seconds: float) -> int:
    """Print how often each kind of failure occurred, by family; return the exit code."""
    table = Counter((kind, o.case.family, o.case.algorithm) for o in outcomes for kind in dict(o.wrong))
    for (kind, family, algorithm), count in sorted(table.items()):
        print(f"{count:6} {kind:18} {family:20} {algorithm}")
    slow = sum(o.seconds > SLOW and o.states < 20 for o in outcomes)
    ends = ", ".join(f"{count} {kind}" for kind, count in Counter(o.kind for o in outcomes).most_common())
    failed = sum(bool(o.wrong) for o in outcomes)
    print(f"{len(outcomes)} solves ({ends}), {failed} with a failure, {slow} slow; {seconds:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
