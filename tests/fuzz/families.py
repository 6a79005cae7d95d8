"""Random problems, each from (family, seed) alone: the arguments of a `CMDP`.

A family is what is nasty about its problems; everything else is drawn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse

Arguments = dict
FAMILIES: dict[str, Callable[[np.random.Generator], Arguments]] = {}
DISCOUNTS = (0.0, 0.3, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


def family(build: Callable[[np.random.Generator], Arguments]) -> Callable[[np.random.Generator], Arguments]:
    """Register a family under the name of its function."""
    FAMILIES[build.__name__] = build
    return build


def draw(name: str, seed: int) -> Arguments:
    """Return the problem of a family and a seed; the same on every machine."""
    rng = np.random.default_rng(
        [sorted(FAMILIES).index(name) if name in FAMILIES else 0, *name.encode(), seed]
    )
    return FAMILIES[name](rng)


# ------------------------------------------------------------ models


def rows(rng, states: int, actions: int, kind: str) -> np.ndarray:
    """Return transitions (S, A, S): dense, a few successors, deterministic, or with some of tiny probability."""
    if kind == "deterministic":
        return np.eye(states)[rng.integers(states, size=(states, actions))]
    table = np.zeros((states, actions, states))
    for pair in np.ndindex(states, actions):
        count = states if kind == "dense" else int(rng.integers(1, min(states, 3) + 1))
        found = rng.choice(states, size=count, replace=False)
        table[pair][found] = rng.dirichlet(np.ones(count))
        if kind == "tiny" and count > 1:
            table[pair][found] = np.append(1.0, 10.0 ** -rng.uniform(6, 300, count - 1))
            table[pair] /= table[pair].sum()
    return table


def drawn(
    rng, most: int = 15, constraints: tuple[int, int] = (0, 4), kind: str | None = None, discount=None
) -> Arguments:
    """Return a problem of moderate numbers with limits that are met with something to spare."""
    large = most == 15 and rng.random() < 0.03
    states = int(rng.integers(16, 61)) if large else int(rng.integers(1, 1 + rng.integers(1, most + 1)))
    actions = int(rng.integers(1, 5))
    count = int(rng.integers(constraints[0], constraints[1] + 1))
    kind = kind or str(rng.choice(["dense", "few", "few", "deterministic"]))
    gamma = float(rng.choice(DISCOUNTS)) if discount is None else discount
    given = {
        "transition": rows(rng, states, actions, kind),
        "reward": rng.random((states, actions)),
        "initial": np.eye(states)[0] if rng.random() < 0.5 else rng.dirichlet(np.ones(states)),
        "discount": gamma,
        "constraint_reward": rng.random((count, states, actions)),
        "threshold": np.zeros(count),
    }
    return with_limits(rng, given, rng.choice([0.1, 0.5, 0.9, 0.99]))


def values(given: Arguments, table: np.ndarray, utility: np.ndarray) -> np.ndarray:
    """Return V_u(ρ) of a policy for utilities (..., S, A)."""
    kernel = np.einsum("sa,sat->st", table, given["transition"])
    system = np.eye(len(kernel)) - given["discount"] * kernel.T
    return (utility * (np.linalg.solve(system, given["initial"])[:, None] * table)).sum((-2, -1))


def best(given: Arguments, utility: np.ndarray) -> np.ndarray:
    """Return an optimal deterministic policy for one utility, as a table, by policy iteration."""
    mask = given.get("actions", np.ones(utility.shape, bool))
    inside = np.where(mask, utility, -np.inf)
    chosen = inside.argmax(1)
    for _ in range(200):
        each = np.arange(len(chosen))
        kernel = given["transition"][each, chosen]
        value = np.linalg.solve(np.eye(len(chosen)) - given["discount"] * kernel, utility[each, chosen])
        action = inside + given["discount"] * given["transition"] @ value
        better = action.max(1) > action[each, chosen] + 1e-12 * np.abs(value).max(initial=1e-300)
        if not better.any():
            break
        chosen = np.where(better, action.argmax(1), chosen)
    return np.eye(utility.shape[1])[chosen]


def with_limits(rng, given: Arguments, tightness: float) -> Arguments:
    """Set thresholds a share of the way from what the best policy for the reward has to what a mixture attains."""
    utility = given["constraint_reward"]
    if not len(utility):
        return {key: value for key, value in given.items() if key not in ("constraint_reward", "threshold")}
    free = values(given, best(given, given["reward"]), utility)
    tops = np.array([values(given, best(given, one), utility) for one in utility])
    goal = rng.dirichlet(np.ones(len(tops))) @ tops
    return given | {"threshold": free + tightness * (goal - free)}


def as_costs(given: Arguments, costs: int, minimise: bool) -> Arguments:
    """Turn the last constraints into costs with budgets, and the reward into a cost where asked."""
    result = dict(given)
    if costs and "threshold" in given:
        split = len(given["threshold"]) - costs
        result["constraint_cost"], result["budget"] = (
            -given["constraint_reward"][split:],
            -given["threshold"][split:],
        )
        for key in ("constraint_reward", "threshold"):
            result[key] = given[key][:split]
            if not split:
                del result[key]
    if minimise:
        result["cost"] = -result.pop("reward")
    return result


# ------------------------------------------------------------ families


@family
def plain(rng):
    return drawn(rng)


@family
def many(rng):
    return drawn(rng, 8, (5, 20))


@family
def mixed_senses(rng):
    given = drawn(rng, 10, (1, 5))
    return as_costs(given, int(rng.integers(len(given["threshold"]) + 1)), bool(rng.integers(2)))


@family
def units(rng):
    given = drawn(rng, 8, (1, 4))
    count = len(given["threshold"])
    power = 10.0 ** rng.integers(-12, 13, count)
    scaled = given | {
        "reward": given["reward"] * 10.0 ** int(rng.integers(-12, 13)),
        "constraint_reward": given["constraint_reward"] * power[:, None, None],
        "threshold": given["threshold"] * power,
    }
    return as_costs(scaled, int(rng.integers(count + 1)), bool(rng.integers(2)))


@family
def offsets(rng):
    """Utilities whose size is huge against their span."""
    given = drawn(rng, 8, (1, 3))
    shift = 10.0 ** rng.integers(1, 9, 1 + len(given["threshold"])) * rng.choice([-1, 1])
    given["reward"] = given["reward"] + shift[0]
    given["constraint_reward"] = given["constraint_reward"] + shift[1:, None, None]
    return with_limits(rng, given, rng.choice([0.1, 0.5, 0.9]))


@family
def tiny(rng):
    return drawn(rng, 6, (1, 3), "tiny")


@family
def masks(rng):
    given = drawn(rng, 10, (0, 4))
    mask = rng.random(given["reward"].shape) < 0.6
    mask[np.arange(len(mask)), rng.integers(mask.shape[1], size=len(mask))] = True
    given["reward"] = np.where(mask, given["reward"], 10.0 ** int(rng.integers(-3, 6)))
    if "threshold" in given:
        given["constraint_reward"] = np.where(
            mask, given["constraint_reward"], -(10.0 ** int(rng.integers(-3, 6)))
        )
        given["transition"] = np.where(mask[:, :, None], given["transition"], 0.0)
        given["actions"] = mask
        return with_limits(rng, given, rng.choice([0.1, 0.5, 0.9]))
    return given | {"actions": mask, "transition": np.where(mask[:, :, None], given["transition"], 0.0)}


@family
def ties(rng):
    """Equal actions and states, and utilities of few different values."""
    given = drawn(rng, 10, (1, 3))
    given["reward"] = np.round(given["reward"] * 2) / 2
    given["constraint_reward"] = np.round(given["constraint_reward"])
    actions = given["reward"].shape[1]
    twin = rng.integers(actions, size=actions)
    for key in ("transition", "reward"):
        given[key] = given[key][:, twin]
    given["constraint_reward"] = given["constraint_reward"][:, :, twin]
    return with_limits(rng, given, rng.choice([0.0, 0.5, 1.0]))


@family
def duplicates(rng):
    """Constraints given twice, scaled, dominated, or the reward itself."""
    given = drawn(rng, 8, (1, 3))
    utility, bound = given["constraint_reward"], given["threshold"]
    index = rng.integers(len(bound), size=int(rng.integers(1, 4)))
    scale = rng.choice([1.0, 1.0, 2.0, 1e-3], size=len(index))
    looser = rng.choice([0.0, 0.0, 0.1], size=len(index)) * np.abs(bound[index])
    given["constraint_reward"] = np.concatenate([utility, utility[index] * scale[:, None, None]])
    given["threshold"] = np.concatenate([bound, (bound[index] - looser) * scale])
    if rng.random() < 0.3:
        top = float(values(given, best(given, given["reward"]), given["reward"]))
        given["constraint_reward"] = np.concatenate([given["constraint_reward"], given["reward"][None]])
        given["threshold"] = np.append(given["threshold"], top - abs(top) * rng.choice([0.5, 1e-3]))
    return given


def _attained(rng, shift: Callable[[np.random.Generator, float], float]) -> Arguments:
    """Put one limit at the very best that any policy attains, shifted."""
    given = drawn(rng, 8, (1, 3))
    i = int(rng.integers(len(given["threshold"])))
    top = float(values(given, best(given, given["constraint_reward"][i]), given["constraint_reward"][i]))
    bound = np.full(len(given["threshold"]), -1.0) if rng.random() < 0.7 else given["threshold"] * 0.5
    bound[i] = top + shift(rng, top)
    return given | {"threshold": bound}


@family
def exactly_tight(rng):
    return _attained(rng, lambda _, top: 0.0)


@family
def nearly_tight(rng):
    return _attained(rng, lambda rng, top: -abs(top) * 10.0 ** -rng.uniform(5, 13))


@family
def nearly_infeasible(rng):
    return _attained(rng, lambda rng, top: abs(top) * 10.0 ** -rng.uniform(5, 13))


@family
def infeasible(rng):
    return _attained(rng, lambda rng, top: abs(top) * 10.0 ** -rng.uniform(0, 4) + 1e-3)


@family
def jointly_infeasible(rng):
    """Limits that can be met one by one, or all but one of them."""
    given = drawn(rng, 10, (2, 5))
    utility = given["constraint_reward"]
    if rng.random() < 0.3:
        utility[-1] = 1 - utility[0]
    tops = np.array([values(given, best(given, one), one) for one in utility])
    share = rng.choice([1.0, 0.999, 0.97, 0.9])
    given["threshold"] = tops * share
    return as_costs(given, int(rng.integers(len(tops) + 1)), bool(rng.integers(2)))


@family
def never_binding(rng):
    given = drawn(rng, 10, (1, 4))
    low = np.array([values(given, best(given, -one), one) for one in given["constraint_reward"]])
    return given | {"threshold": low - rng.choice([0.0, 1e-6, 0.5], size=len(low)) * (1 + np.abs(low))}


@family
def constant(rng):
    """Utilities that are constant, or vary by 1e-12 of their size."""
    given = drawn(rng, 8, (1, 3))
    shape, count = given["reward"].shape, len(given["threshold"])
    size = 10.0 ** rng.integers(-6, 7, 1 + count) * rng.choice([0.0, 1.0, 1.0, -1.0], size=1 + count)
    noise = rng.choice([0.0, 1e-12, 1e-14, 1e-9], size=1 + count)
    flat = size[:, None, None] * (1 + noise[:, None, None] * rng.random((1 + count, *shape)))
    which = rng.random(1 + count) < 0.7
    which[int(rng.integers(1 + count))] = True
    given["reward"] = flat[0] if which[0] else given["reward"]
    utility = np.where(which[1:, None, None], flat[1:], given["constraint_reward"])
    given["constraint_reward"] = utility
    tight = with_limits(rng, given, rng.choice([0.0, 0.5, 0.9]))
    shift = rng.choice([0.0, -1e-3, -1.0, 1e-3], size=count, p=[0.4, 0.3, 0.2, 0.1]) * np.abs(
        tight["threshold"]
    )
    return tight | {"threshold": tight["threshold"] + shift}


@family
def zero_budgets(rng):
    """Costs ≥ 0 of which nothing may be paid."""
    given = drawn(rng, 10, (1, 3))
    count, (states, actions) = len(given["threshold"]), given["reward"].shape
    cost = rng.random((count, states, actions)) * (rng.random((count, states, actions)) < 0.3)
    if rng.random() < 0.8:
        cost[:, np.arange(states), rng.integers(actions, size=states)] = 0.0
    del given["constraint_reward"], given["threshold"]
    budget = np.where(rng.random(count) < 0.8, 0.0, rng.random(count) * 0.1)
    return given | {"constraint_cost": cost, "budget": budget}


@family
def ends(rng):
    """Absorbing states, and states that nothing leads to."""
    given = drawn(rng, 12, (0, 3))
    states = len(given["initial"])
    for s in rng.choice(states, size=int(rng.integers(0, states // 2 + 1)), replace=False):
        given["transition"][s] = np.eye(states)[s]
        given["reward"][s] = 0.0
        if "threshold" in given:
            given["constraint_reward"][:, s] = 0.0
    given["initial"] = np.eye(states)[int(rng.integers(states))]
    if "threshold" not in given:
        return given
    return with_limits(rng, given, rng.choice([0.3, 0.8, 1.0]))


@family
def no_choice(rng):
    """One action: what happens happens, and limits are met or not."""
    given = drawn(rng, 10, (1, 4))
    given["transition"] = given["transition"][:, :1]
    given["reward"] = given["reward"][:, :1]
    given["constraint_reward"] = given["constraint_reward"][:, :, :1]
    found = values(given, np.ones((len(given["initial"]), 1)), given["constraint_reward"])
    shift = rng.choice([0.0, -1e-9, -1e-6, -0.1, 1e-3], size=len(found), p=[0.3, 0.2, 0.2, 0.2, 0.1])
    return given | {"threshold": found + shift * np.abs(found)}


@family
def chains(rng):
    """Deterministic, with a prize far away."""
    states = int(rng.integers(2, 15))
    table = np.zeros((states, 2, states))
    table[np.arange(states), 0, np.minimum(np.arange(states) + 1, states - 1)] = 1.0
    table[:, 1, 0] = 1.0
    reward, effort = np.zeros((states, 2)), np.zeros((1, states, 2))
    reward[-1, 0], effort[0, :, 0] = 1.0, 1.0
    gamma = float(rng.choice(DISCOUNTS))
    given = {"transition": table, "reward": reward, "initial": np.eye(states)[0], "discount": gamma}
    most = (1 - gamma**states) / (1 - gamma)
    return given | {"constraint_cost": effort, "budget": np.array([most * rng.choice([0.0, 0.5, 1.0, 2.0])])}


@family
def uneven_rows(rng):
    """Rows and starts that sum to 1 ± 1e-9, as files with few digits have them."""
    given = drawn(rng, 8, (0, 3))
    noise = 1 + 9e-9 * rng.uniform(-1, 1, given["reward"].shape)
    constant = rng.random() < 0.5
    given["transition"] = (
        given["transition"] * (np.full_like(noise, 1 + 9e-9) if constant else noise)[:, :, None]
    )
    given["initial"] = given["initial"] * (1 + 9e-9 * rng.uniform(-1, 1))
    given["reward"] = given["reward"] + rng.choice([0.0, 100.0])
    return given


@family
def absurd_limits(rng):
    given = drawn(rng, 8, (1, 4))
    count = len(given["threshold"])
    absurd = rng.choice(
        [-1e15, -1e300, -1e9, -np.inf, 1e15, 1e300], size=count, p=[0.3, 0.25, 0.2, 0.2, 0.03, 0.02]
    )
    which = rng.random(count) < 0.6
    which[int(rng.integers(count))] = True
    given["threshold"] = np.where(which, absurd, given["threshold"])
    return as_costs(given, int(rng.integers(count + 1)), bool(rng.integers(2)))


@family
def sparse(rng):
    given = drawn(rng, 15, (0, 4), "few")
    states, actions = given["reward"].shape
    return given | {"sparse": scipy.sparse.csr_array(given["transition"].reshape(states * actions, states))}


@family
def patient(rng):
    """γ close to 1, where rounding is largest."""
    return drawn(rng, 10, (0, 3), discount=float(rng.choice([0.9999, 0.99999])))
