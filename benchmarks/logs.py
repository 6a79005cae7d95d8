"""`python -m benchmarks.logs`: policies planned on logs of known models, beside planning on the estimate as if it were true.

For each model, behaviour and number of rows, logs are drawn and planned on; every answer is evaluated exactly on the true model. A claim is wrong if a limit
that counts as met is missed. Results are appended to a file, and what is there is not done again: it can be stopped and continued.
"""

import argparse
import json
import os
import re
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import painless
from benchmarks.log_truths import CHOSEN, CRITERIA, HELD_OUT
from painless.common.clock import Clock
from painless.counting.safe_plan import plan
from painless.engines.drawn import Drawn
from painless.logs.answer import answer, claims, feasible

BEHAVIOURS = {
    "chosen": ("near", "mixed", "uniform"),
    "held out": ("nearly optimal", "careless", "haphazard"),
    "criteria": ("near", "mixed", "uniform"),
}
MODELS = {"chosen": CHOSEN, "held out": HELD_OUT, "criteria": CRITERIA}
BLOCK = 10  # repetitions of a cell before the next cell has its turn
ROWS = (1000, 10_000, 100_000, 1_000_000)


def on_truth(truth, log, policy):
    """Return a policy (S, A) over the states of a log as one of the truth; elsewhere it takes any action."""
    table = truth.actions[:-1] / truth.actions[:-1].sum(1, keepdims=True)
    actions = [int(name) for name in log.actions]
    for place, name in enumerate(log.states):
        row = np.zeros(truth.shape[1])
        row[actions] = policy[place]
        row *= truth.actions[int(name)]
        if row.sum() > 0:
            table[int(name)] = row / row.sum()
    return table


def true_value(truth, log, policy):
    """Return the exact reward and cost of a policy of a log, which may depend on the step, or be a draw between several."""
    if isinstance(policy, Drawn):
        parts = [true_value(truth, log, part) for part in policy.parts]
        return tuple(np.dot(policy.weights, parts))
    if policy.ndim == 2:
        return truth.value(on_truth(truth, log, policy))
    return truth.value(np.stack([on_truth(truth, log, one) for one in policy]))


def read(truth, place, begins):
    """Return the log of many rows by their counts: one row of each transition is read, and counts as often as there are such rows.

    Arguments:
        place: which outcome of the truth each row is, (n,).
        begins: whether it begins an episode, (n,).
    """
    end, actions = truth.shape
    often = np.bincount(place, minlength=len(truth.rows)).astype(float)
    if truth.average:  # a log breaks off, and nothing follows from a last row to where nothing was done
        often[place[-1]] -= not (truth.rows[place, 0] == truth.rows[place[-1], 2]).any()
    seen = often > 0
    rows, often = truth.rows[seen], often[seen]
    done = rows[:, 2] == end
    pair = rows[:, 0] * actions + rows[:, 1]
    _, first, group = np.unique(
        pair * (end + 2) + np.where(done, 0, rows[:, 2] + 1), return_index=True, return_inverse=True
    )
    names = {"state": rows[:, 0], "action": rows[:, 1], "next_state": rows[:, 2]}
    columns = {name: column[first].astype(int) for name, column in names.items()}
    columns |= {"reward": rows[first, 4], "cost": rows[first, 5], "done": done[first]}
    options = {"reward": "reward", "constraint_cost": {"cost": truth.budget}, **truth.criterion}
    log = painless.from_log(columns, **options | ({} if truth.average else {"done": "done"}))
    memory, utility = log.memory.copy(), rows[:, 4:6] * log.sign
    assert len(memory.keys) == len(first)
    memory.counts = _first_half(np.bincount(group, often))
    memory.sums, memory.squares = (
        _first_half(np.stack([np.bincount(group, often * u) for u in part.T], 1))
        for part in (utility, utility**2)
    )
    memory.low, memory.high = utility.min(0), utility.max(0)
    starts = np.bincount(truth.rows[place[begins], 0].astype(int), minlength=end)
    memory.starts = _first_half(starts[[int(name) for name in log.states]].astype(float))
    return replace(log, memory=memory)


def _first_half(table):
    return np.stack([table, np.zeros_like(table)])


def case(truth, kinds, kind, rows, repetition):
    """Plan on one log; return what was claimed and what is true."""
    rng = np.random.default_rng([repetition, rows, kinds.index(kind)])
    log = read(truth, *truth.drawn(kind, rows, rng))
    start = time.process_time()
    found = answer(log, 0.95, Clock())
    claim = feasible(claims(log, found.judged, found.curse, found.limits))
    seconds = time.process_time() - start
    reward, cost = true_value(truth, log, found.judged.policy)
    estimate = log.model.own(plan(log.model.nominal(log.threshold), 1e-4).policy)
    naive = true_value(truth, log, estimate)
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
    truths = {}
    # In blocks, so that what is done when time is up is spread over all cells.
    for block in range(0, repetitions, BLOCK):
        numbers = range(block, min(block + BLOCK, repetitions))
        for count, name, kind, repetition in product(rows, names, BEHAVIOURS[group], numbers):
            cell = (group, name, kind, count, repetition)
            if cell in known or time.monotonic() > until:
                continue
            if name not in truths:
                truths[name] = MODELS[group][name]()
            found = case(truths[name], BEHAVIOURS[group], kind, count, repetition)
            with path.open("a") as stream:
                stream.write(json.dumps({"cell": cell, **found}, default=_plain) + "\n")


def _plain(value):
    return value.item()


def table(path):
    """Print a row for each group, model family and number of rows, and the pooled share of wrong claims."""
    cells = {}
    for line in path.read_text().splitlines():
        found = json.loads(line)
        group, name, _, count, _ = found["cell"]
        family = "Garnets of 25 states" if re.fullmatch(r"garnet \d+", name) else name
        cells.setdefault((group, family, count), []).append(found)
    print("| models | rows | logs | met | wrong | loss where met | estimate: missed | its loss |")
    print("|---|---|---|---|---|---|---|---|")
    for (group, family, count), found in sorted(cells.items()):
        met = [one for one in found if one["claim"] is True]
        wrong = sum(_wrong(one) for one in found)
        loss = f"{np.median([one['loss'] for one in met]):.1%}" if met else "–"
        naive = sum(one["naive_missed"] for one in found) / len(found)
        naive_loss = np.median([one["naive_loss"] for one in found])
        print(
            f"| {family} ({group}) | {count:,} | {len(found)} | {len(met)} | {wrong} | {loss} | {naive:.0%} | {naive_loss:.1%} |"
        )
    for group in MODELS:
        of_group = [one for key, found in cells.items() if key[0] == group for one in found]
        if of_group:
            wrong = sum(_wrong(one) for one in of_group)
            print(
                f"{group}: {wrong} wrong claims in {len(of_group)} logs, {sum(one['claim'] is not None for one in of_group)} of which claim something "
                f"({wrong / len(of_group):.1%}); {_test(wrong, len(of_group))}"
            )


def _wrong(one):
    """Whether an answer says "met" where the truth misses, or "missed" where it meets."""
    return one["claim"] is not None and one["claim"] == one["missed"]


def _test(wrong, count):
    from scipy.stats import binomtest

    return f"p = {binomtest(wrong, count, 0.05, alternative='greater').pvalue:.3g} against more than 5 %"


def main():
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=list(MODELS), default="held out")
    parser.add_argument("--models", nargs="*", help="names of models; all by default")
    parser.add_argument("--rows", nargs="*", type=float, default=list(ROWS))
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="time after which it stops; run it again to continue"
    )
    parser.add_argument("--out", type=Path, default=Path("logs.jsonl"))
    given = parser.parse_args()
    names = given.models or list(MODELS[given.group])
    run(given.group, names, [int(count) for count in given.rows], given.repetitions, given.out, given.seconds)
    if given.out.exists():
        table(given.out)


if __name__ == "__main__":
    main()
