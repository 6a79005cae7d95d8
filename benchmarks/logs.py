"""`python -m benchmarks.logs`: policies planned on logs of known models, beside planning on the estimate as if it were true.

For each model, behaviour and number of rows, logs are drawn and planned on; every answer is evaluated exactly on the true model. A claim is wrong if a limit
that counts as met is missed. Results are appended to a file, and what is there is not done again: it can be stopped and continued.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import painless
from benchmarks.log_truths import CHOSEN, HELD_OUT
from painless.common.clock import Clock
from painless.counting.safe_plan import plan
from painless.logs.answer import answer, feasible, intervals, verdicts

BEHAVIOURS = {
    "chosen": ("near", "mixed", "uniform"),
    "held out": ("nearly optimal", "careless", "haphazard"),
}
ROWS = (1000, 10_000, 100_000, 1_000_000)


def on_truth(truth, log, policy):
    """Return the exact reward and cost of a policy over the states of a log; elsewhere it takes any action."""
    table = truth.actions[:-1] / truth.actions[:-1].sum(1, keepdims=True)
    actions = [int(name) for name in log.actions]
    for place, name in enumerate(log.states):
        row = np.zeros(truth.shape[1])
        row[actions] = policy[place]
        row *= truth.actions[int(name)]
        if row.sum() > 0:
            table[int(name)] = row / row.sum()
    return truth.value(table)


def case(truth, kind, rows, repetition):
    """Plan on one log; return what was claimed and what is true."""
    group = next(known for known in BEHAVIOURS.values() if kind in known)
    rng = np.random.default_rng([repetition, rows, group.index(kind)])
    columns = truth.log(kind, rows, rng)
    start = time.process_time()
    log = painless.from_log(
        columns,
        reward="reward",
        constraint_cost={"cost": truth.budget},
        episode="episode",
        done="done",
        discount=truth.discount,
    )
    found = answer(log, 0.95, Clock())
    low, high = intervals(found.judged, found.limits, found.curse)
    claim = feasible(verdicts(low[1:], high[1:], log.threshold))
    seconds = time.process_time() - start
    reward, cost = on_truth(truth, log, found.judged.policy)
    naive = on_truth(truth, log, plan(log.model.nominal(log.threshold), 1e-4).policy[: len(log.states)])
    best, limit = truth.optimum.reward_value, truth.budget * (1 + 1e-9)
    return {
        "claim": claim,
        "missed": cost > limit,
        "loss": (best - reward) / abs(best),
        "naive_missed": naive[1] > limit,
        "naive_loss": (best - naive[0]) / abs(best),
        "seconds": seconds,
    }


def run(group, names, rows, repetitions, path, seconds):
    """Do what is not done yet, for so many seconds."""
    known = (
        {tuple(json.loads(line)["cell"]) for line in path.read_text().splitlines()}
        if path.exists()
        else set()
    )
    until = time.monotonic() + seconds
    for count in rows:
        for name in names:
            truth = None
            for kind in BEHAVIOURS[group]:
                for repetition in range(repetitions):
                    cell = (group, name, kind, count, repetition)
                    if cell in known or time.monotonic() > until:
                        continue
                    truth = truth or {"chosen": CHOSEN, "held out": HELD_OUT}[group][name]()
                    found = case(truth, kind, count, repetition)
                    with path.open("a") as stream:
                        stream.write(json.dumps({"cell": cell, **found}, default=bool) + "\n")


def table(path):
    """Print a row for each group, model family and number of rows, and the pooled share of wrong claims."""
    cells = {}
    for line in path.read_text().splitlines():
        found = json.loads(line)
        group, name, _, count, _ = found["cell"]
        family = "Garnets" if name.startswith("garnet") else name
        cells.setdefault((group, family, count), []).append(found)
    print("| models | rows | logs | met | wrong | loss where met | estimate: missed | its loss |")
    print("|---|---|---|---|---|---|---|---|")
    for (group, family, count), found in sorted(cells.items()):
        met = [one for one in found if one["claim"] is True]
        wrong = sum(one["missed"] for one in met)
        loss = f"{np.median([one['loss'] for one in met]):.1%}" if met else "–"
        naive = sum(one["naive_missed"] for one in found) / len(found)
        naive_loss = np.median([one["naive_loss"] for one in found])
        print(
            f"| {family} ({group}) | {count:.0e} | {len(found)} | {len(met)} | {wrong} | {loss} | {naive:.0%} | {naive_loss:.1%} |"
        )
    for group in ("chosen", "held out"):
        of_group = [one for key, found in cells.items() if key[0] == group for one in found]
        if of_group:
            wrong = sum(one["claim"] is True and one["missed"] for one in of_group)
            print(
                f"{group}: {wrong} wrong claims in {len(of_group)} logs ({wrong / len(of_group):.1%}); {_test(wrong, len(of_group))}"
            )


def _test(wrong, count):
    from scipy.stats import binomtest

    return f"p = {binomtest(wrong, count, 0.05, alternative='greater').pvalue:.3g} against more than 5 %"


def main():
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=("chosen", "held out"), default="held out")
    parser.add_argument("--models", nargs="*", help="names of models; all by default")
    parser.add_argument("--rows", nargs="*", type=float, default=list(ROWS))
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="time after which it stops; run it again to continue"
    )
    parser.add_argument("--out", type=Path, default=Path("logs.jsonl"))
    given = parser.parse_args()
    known = CHOSEN if given.group == "chosen" else HELD_OUT
    names = given.models or list(known)
    run(given.group, names, [int(count) for count in given.rows], given.repetitions, given.out, given.seconds)
    if given.out.exists():
        table(given.out)


if __name__ == "__main__":
    main()
