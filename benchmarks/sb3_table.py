"""`python -m benchmarks.sb3_table runs.jsonl sb3.jsonl`: networks beside Stable-Baselines3, from what both benchmarks stored.

`runs.jsonl` is of `python -m benchmarks.zoo --store`, `sb3.jsonl` of `python -m benchmarks.beside_sb3 --store`. The best rate is chosen afterwards: of those
that were run with all seeds, the largest reward among the rates whose episodes met the limits on average, or the smallest miss if none did. Both sides are the mean of
all runs of theirs. One is ahead if it is by more than two standard errors of the difference; the errors have the differences between runs in
them. The share is of the way from the reward of random actions to the best of all runs.
Environments without all rates are left out.
"""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.beside_sb3 import RATES, standing
from benchmarks.zoo_networks import NETWORKS, text
from painless.environments import from_gymnasium

RANDOM_STEPS = 5_000


def records_of(path):
    """Return the records of a file, by environment."""
    found = {}
    with Path(path).open(encoding="utf-8") as stream:
        for record in map(json.loads, stream):
            found.setdefault(record["name"], []).append(record)
    return found


def signs_of(name):
    """Return what turns the internal sense of an environment's limits into the user's."""
    written = [one if isinstance(one, str) else one[1] for one in NETWORKS[name][1]]
    return np.array([-1.0 if "<=" in one else 1.0 for one in written])


def random_reward(name):
    """Return what random actions collect in an episode, on average."""
    environment, limits, discount, options, _ = NETWORKS[name]
    simulator = from_gymnasium(environment, constraints=limits, discount=discount, seed=0, **options)
    rng, rewards, steps = np.random.default_rng(0), [], 0
    while steps < RANDOM_STEPS:
        states, factor, total, going = simulator.reset(1, rng), 1.0, 0.0, True
        for _ in range(simulator.time_limit):
            outcome = simulator.step(states, np.array([simulator.interface.random_action(rng)]), rng)
            total, factor, steps = total + factor * outcome.utilities[0, 0], factor * discount, steps + 1
            states = outcome.states
            going = not (outcome.terminated[0] or outcome.truncated[0])
            if not going:
                break
        rewards.append(total)
    return float(np.mean(rewards))


def best_rate(runs):
    """Return the runs of the rate that is the best in hindsight, and how many rates met the limits on average."""
    rates = {}
    for one in runs:
        rates.setdefault(one["rate"], []).append(one)
    most = max(map(len, rates.values()))
    full = [part for part in rates.values() if len(part) == most]
    return max(full, key=standing), sum(standing(part)[0] for part in rates.values())


def mean_of(values, errors):
    """Return the mean (J,) of runs, and the standard error of its reward, which the differences between runs are part of."""
    spread = values[:, 0].var(ddof=1) if len(values) > 1 else 0.0
    return values.mean(0), np.sqrt(max(np.mean(errors**2), spread) / len(values))


def row_of(name, ours, theirs):
    """Return the cells of an environment, and who is ahead."""
    sign, limit = signs_of(name), np.array(ours[0]["limit"])
    best, met = best_rate(theirs)
    values = np.array([one["further"] for one in ours])
    mean, error = mean_of(values, np.array([one["error"][0] for one in ours]))
    their_mean, their_error = mean_of(
        np.array([one["mean"] for one in best]), np.array([one["error"][0] for one in best])
    )
    ahead = mean[0] - their_mean[0]
    clear = abs(ahead) > 2 * np.hypot(error, their_error) + 1e-6 * abs(their_mean[0])
    word = ("ahead" if ahead > 0 else "behind") if clear else "tie"
    top = max(values[:, 0].max(), *[one["mean"][0] for one in theirs])
    share = ahead / max(abs(top - random_reward(name)), 1e-9)
    at = ", ".join(text(one) for one in mean[1:])
    their_cost = ", ".join(text(one) for one in sign * their_mean[1:])
    speeds = [
        np.median([one["speed"] for one in ours]),
        np.median([one["steps"] / one["seconds"] for one in theirs]),
    ]
    return [
        name,
        ", ".join(text(one) for one in limit),
        f"{text(mean[0])} ± {text(error)} at {at}",
        f"{len({one['rate'] for one in theirs})}, {met} met",
        f"{best[0]['rate']:g}, {'one run' if len(best) == 1 else f'{len(best)} runs'}: {text(their_mean[0])} ± {text(their_error)} at {their_cost}",
        word,
        f"{100 * share:+.0f} %".replace("-", "−"),
        *[f"{one:,.0f}" for one in speeds],
    ]


def main():
    ours, theirs = (records_of(path) for path in sys.argv[1:3])
    names = (
        "environment",
        "limits",
        "networks",
        "rates",
        "best rate in hindsight",
        "networks are",
        "of the range",
    )
    print(f"| {' | '.join((*names, 'steps a CPU second', 'Stable-Baselines3'))} |")
    print("|" + "---|" * (len(names) + 2))
    for name in NETWORKS:
        if name in ours and {one["rate"] for one in theirs.get(name, ())} >= set(RATES):
            print(f"| {' | '.join(row_of(name, ours[name], theirs[name]))} |", flush=True)


if __name__ == "__main__":
    main()
