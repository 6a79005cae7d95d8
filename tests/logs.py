"""Logs drawn from tables, for tests."""

import numpy as np

import painless
from painless.policies.table import uniform_policy


def drawn(problem, rows, seed=0, length=50, policy=None, names=True):
    """Return rows of a problem with constraint rewards as a dictionary of columns; the costs are 1 − c."""
    rng = np.random.default_rng(seed)
    states, actions = problem.actions.shape
    table = uniform_policy(problem.actions) if policy is None else policy
    kernel = np.cumsum(problem.transition, 2)
    state = action = after = None
    columns = {name: [] for name in ("state", "action", "next_state", "reward", "cost", "episode", "step")}
    now = rng.choice(states, p=problem.initial)
    for k in range(rows):
        episode, step = divmod(k, length)
        if step == 0:
            now = rng.choice(states, p=problem.initial)
        state, action = int(now), int(rng.choice(actions, p=table[now]))
        after = min(int(np.searchsorted(kernel[state, action], rng.random(), side="right")), states - 1)
        cost = 1 - problem.constraint_reward[0, state, action]
        values = (state, action, after, problem.reward[state, action], cost, episode, step)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
        now = after
    if names:
        for name, letter in (("state", "s"), ("action", "a"), ("next_state", "s")):
            columns[name] = [f"{letter}{value}" for value in columns[name]]
    return columns


def world(seed=3, states=6):
    """Return a small Garnet, and the budget of the cost 1 − c that its threshold means."""
    problem = painless.garnet(states, 3, 3, seed=seed)
    return problem, float(1 / (1 - problem.discount) - problem.threshold[0])


def shuffled(columns, seed=0):
    """Return the rows in another order."""
    order = np.random.default_rng(seed).permutation(len(columns["state"]))
    return {name: [values[k] for k in order] for name, values in columns.items()}


def walk(episodes, seed):
    """Return episodes that end: a walk on p1 … p4 from p2, up with the probability 0.55 (slow) or 0.75 (fast, which costs more)."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in ("state", "action", "next_state", "reward", "cost", "episode", "done")}
    for episode in range(episodes):
        place = 2
        while 0 < place < 5:
            fast = bool(rng.integers(2))
            after = place + (1 if rng.random() < (0.75 if fast else 0.55) else -1)
            done = after in (0, 5)
            values = (
                f"p{place}",
                "fast" if fast else "slow",
                f"p{after}",
                10.0 * (after == 5),
                1.0 + 0.5 * fast,
            )
            for name, value in zip(columns, (*values, episode, done), strict=True):
                columns[name].append(value)
            place = after
    return columns
