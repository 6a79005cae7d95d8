"""`python -m benchmarks.zoo_random`: random environments with limits, learned by counting, of which the pairs are alike, nearly alike, or not at all.

Where rows are alike, what one shows is lent to the others (`counting/alike.py`). That must not make answers false where they are alike but for those that
matter. Grids slip by the same chance everywhere ("same"), by one of two ("patch"), by another one in every cell ("cell"), by half as much again beside hazards
("near"), or twice as much in one cell of twelve ("one"). A queue, a machine that wears out and Garnets, whose rows are like no others, are the rest. Each
limit lies between the least cost of any policy and that of the best one without a limit. Policies are judged on the true model, as in `benchmarks.zoo`.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np

import painless
from benchmarks.zoo_models import Model, ModelEnv

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
WIDE = 0.02  # relative width of the costs between which a limit may lie
SMALL = 1e-3  # a reward that is no scale
LONG = 5.0  # time limits, in units of 1/(1 − γ)


def slips(kind, rng, hazard, side):
    """Return the chance of each cell to slip to either side, (S,)."""
    cells = side * side
    usual = rng.choice([0.1, 0.2, 1 / 3])
    slip = np.full(cells, usual)
    if kind == "patch":
        slip[rng.random(cells) < 0.5] = rng.choice([0.05, 0.4])
    if kind == "cell":
        slip = np.clip(rng.beta(40 * usual, 20 * (1 - 2 * usual), cells) / 2, 0.01, 0.49)
    if kind == "near":
        for cell in range(cells):
            if any(hazard[moved(cell, turn, side)] for turn in range(4)):
                slip[cell] = min(1.5 * usual, 0.45)
    if kind == "one":
        slip[rng.integers(0, cells, size=max(1, cells // 12))] = min(2 * usual, 0.45)
    return slip


def moved(cell, direction, side):
    """Return the cell in a direction, or the same one at the wall."""
    (row, column), (down, right) = divmod(cell, side), MOVES[direction % 4]
    return min(max(row + down, 0), side - 1) * side + min(max(column + right, 0), side - 1)


def grid(kind, seed):
    """Return the outcomes, actions and discount of a grid; hazards end an episode, and the far corner pays."""
    rng = np.random.default_rng(1000 + seed)
    side = int(rng.integers(4, 8))
    hazard = rng.random(side * side) < 0.2
    hazard[0] = hazard[-1] = False
    slip = slips(kind, rng, hazard, side)

    def outcomes(state, action):
        cell, reached = int(state[0]), dict[int, float]()
        for turn, chance in ((0, 1 - 2 * slip[cell]), (1, slip[cell]), (3, slip[cell])):
            there = moved(cell, action + turn, side)
            reached[there] = reached.get(there, 0.0) + chance
        for there, chance in reached.items():
            hit, goal = bool(hazard[there]), there == side * side - 1
            yield chance, None if hit or goal else (there,), (float(goal), float(hit))

    return outcomes, 4, 0.97


def garnet(seed, states=40, actions=3, branching=3):
    """Return a Garnet: rows that are like no others."""
    rng = np.random.default_rng(2000 + seed)
    successors = rng.integers(0, states, size=(states, actions, branching))
    chances = rng.dirichlet(np.ones(branching), size=(states, actions))
    reward, cost = rng.random((2, states, actions))

    def outcomes(state, action):
        pair, reached = (int(state[0]), action), dict[int, float]()
        for there, chance in zip(successors[pair].tolist(), chances[pair], strict=True):
            reached[there] = reached.get(there, 0.0) + chance
        for there, chance in reached.items():
            yield chance, (there,), (reward[pair], cost[pair])

    return outcomes, actions, 0.95


def queue(seed):
    """Return a queue with three speeds, which cost; what waits is limited."""
    rng = np.random.default_rng(3000 + seed)
    room, arrival = int(rng.integers(8, 25)), rng.uniform(0.2, 0.4)

    def outcomes(state, action):
        waiting, reached = int(state[0]), dict[int, float]()
        served = (0.15, 0.35, 0.5)[action]
        for come, chance in ((1, arrival), (0, 1 - arrival)):
            for gone, share in ((1, served), (0, 1 - served)):
                there = min(max(waiting - gone, 0) + come, room)
                reached[there] = reached.get(there, 0.0) + chance * share
        for there, chance in reached.items():
            yield chance, (there,), (-(0.0, 1.0, 2.5)[action], waiting / 10)

    return outcomes, 3, 0.97


def machine(seed, worst=12):
    """Return a machine that wears out and fails; failures are limited, and a repair costs."""
    rng = np.random.default_rng(4000 + seed)
    wear, failure = np.sort(rng.uniform(0.2, 0.6, worst)), np.sort(rng.uniform(0, 0.3, worst)) ** 1.5

    def outcomes(state, action):
        age = int(state[0])
        if action or age == worst:
            yield 1.0, (0,), (-2.0, 0.0) if action else (-5.0, 1.0)
            return
        older = (1 - failure[age]) * wear[age]
        yield failure[age], (worst,), (1.0, 1.0)
        yield older, (min(age + 1, worst - 1),), (1.0, 0.0)
        yield 1 - failure[age] - older, (age,), (1.0, 0.0)

    return outcomes, 2, 0.97


KINDS = {kind: partial(grid, kind) for kind in ("same", "patch", "cell", "near", "one")}
KINDS |= {"machine": machine, "garnet": garnet, "queue": queue}


def model_of(kind: str, seed: int) -> Model | None:
    """Return a model with a limit that binds; None where no limit would, or the optimum is next to 0."""
    outcomes, actions, discount = KINDS[kind](seed)
    make = partial(Model, {(0,): 1.0}, actions, outcomes, discount=discount)
    limit = int(LONG / (1 - discount))
    free = make([("<=", 1e9)], time_limit=limit).problem()
    most = abs(painless.solve(free, tolerance=1e-6).constraint_value[0])
    cost = painless.CMDP(free.transition, free.constraint_reward[0], initial=free.initial, discount=discount)
    least = -painless.solve(cost, tolerance=1e-6).reward_value
    between = np.random.default_rng(seed).uniform(0.25, 0.75)
    model = make([("<=", float(least + between * (most - least)))], time_limit=limit)
    narrow = most - least < WIDE * max(most, WIDE / 2)
    return None if narrow or abs(model.optimum) < SMALL else model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help="all by default")
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed, of the environment and of the run"
    )
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--steps", type=int, nargs="+", default=[4000, 16_000])
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    for kind in given.kinds:
        for steps in given.steps:
            runs, start = list[tuple[bool, bool, float]](), time.process_time()
            for seed in range(given.first, given.first + given.seeds):
                model = model_of(kind, seed)
                if model is None:
                    continue
                training = painless.train(
                    lambda model=model: ModelEnv(model),
                    constraints=[f"c1<={model.limits[0][1]!r}"],
                    discount=model.discount,
                    steps=steps,
                    seed=seed,
                    time_limit=model.time_limit,
                )
                value = model.value(training)
                kept = not (model.missed(value) or model.missed(model.episode_value(training)[0]))
                loss = (model.optimum - value[0]) / abs(model.optimum)
                runs.append((kept, training.verdict[0] == "met", loss))
            kept, met, loss = map(np.array, zip(*runs, strict=True))
            print(
                f"{kind:8} {steps:7,} steps: {(kept & (loss <= 0.05)).sum()} of {len(runs)} good, {met.sum()} met,",
                f"{(met & ~kept).sum()} false, median loss {np.median(loss):.3f}, {time.process_time() - start:.0f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main()
