"""`python -m benchmarks.small`: column generation beside the linear program on models of up to 100 states.

Both are run by turns in one process, warm: medians of CPU milliseconds over seeds, to the tolerance of `benchmarks.scale`. The program
is the better of HiGHS's simplex and interior-point methods at their own precision, on the same model.
"""

import argparse
import statistics

from rich.console import Console
from rich.table import Table

from benchmarks.scale_case import TOLERANCE, instance, ours, scipy_highs
from painless.common.arrays import one_thread
from painless.problem.units import normalise

STATES = (9, 25, 49, 100)
REPEATS = 15
SOLVERS = (ours, scipy_highs("highs-ds"), scipy_highs("highs-ipm"))


def milliseconds(problem):
    """Return the medians of CPU milliseconds, ours and that of the better program."""
    case = {"tolerance": TOLERANCE, "limit": 100.0}
    took = [[solve(problem, case)["cpu"] for solve in SOLVERS] for _ in range(REPEATS)]
    mine, *programs = (1e3 * statistics.median(times) for times in zip(*took, strict=True))
    return mine, min(programs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    given = parser.parse_args()
    table = Table("model", "K", "ours, ms", "linear program, ms", "ratio", "least ratio of a seed")
    with one_thread():
        for kind in ("garnet", "grid"):
            for states in STATES:
                for constraints in (1, 3):
                    problems = [normalise(instance(kind, states, constraints, s))[0] for s in given.seeds]
                    mine, others = zip(*map(milliseconds, problems), strict=True)
                    ratios = [other / own for other, own in zip(others, mine, strict=True)]
                    table.add_row(
                        *(f"{kind} {states}", str(constraints), f"{statistics.median(mine):.2f}"),
                        *(f"{statistics.median(others):.2f}", f"{statistics.median(ratios):.1f}"),
                        f"{min(ratios):.1f}",
                    )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
