"""`python -m benchmarks.zoo`: environments with limits, learned with default settings, beside what is known of their optimum.

The first group are environments of Gymnasium, MO-Gymnasium and MiniGrid, and an inventory. Their optima come from linear programs on the
enumerated models; for the values that are endless where an episode is cut off, the optimum says so. Where the true model is listed here
(`zoo_models`), the last column holds the exact value of the policy's episodes. The second group are tables of
painless, learned from their episodes alone: there the policy is evaluated exactly, and a limit counts as broken if it is missed by more
than 1 %. The third are environments that are not finite, which get networks (see `zoo_networks`); the answer is played on 1,000 further
episodes, and "denied" says that these miss a limit clearly which was said to be met.
"""

import argparse
import time
import warnings

import gymnasium
import numpy as np
from gymnasium import spaces
from rich.console import Console
from rich.table import Table

import painless
from benchmarks.zoo_models import of_deterministic, of_toy_text
from benchmarks.zoo_networks import NETWORKS
from painless.bellman import policy_value
from painless.environments.copies import LocalCopies
from painless.problem import CMDP
from painless.simulation.simulator import TableSimulator
from painless.training.deep.collection import play


class Inventory(gymnasium.Env):
    """Three products, stock 0..10 each; order five of one, or nothing. The cost is lost sales."""

    observation_space = spaces.MultiDiscrete([11, 11, 11])
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        """Begin with five of each."""
        super().reset(seed=seed)
        self.stock = np.array([5, 5, 5])
        return self.stock.copy(), {}

    def step(self, action):
        """Order, then sell."""
        if action < 3:
            self.stock[action] = min(10, self.stock[action] + 5)
        demand = self.np_random.poisson([1.0, 1.0, 1.0])
        sold = np.minimum(demand, self.stock)
        self.stock = self.stock - sold
        reward = 3.0 * sold.sum() - 0.3 * self.stock.sum() - 2.0 * (action < 3)
        return self.stock.copy(), float(reward), False, False, {"cost": float((demand - sold).sum())}


def of_mo_gymnasium(name):
    """Return a function that makes an environment with a vector reward."""

    def make():
        import mo_gymnasium

        return mo_gymnasium.make(name)

    return make


def lava():
    """Return MiniGrid's lava crossing as (column, row, direction), always the same one, with its first three actions."""
    import minigrid  # noqa: F401

    class Position(gymnasium.Wrapper):
        observation_space = spaces.MultiDiscrete([9, 9, 4])
        action_space = spaces.Discrete(3)

        def seen(self):
            return np.array([*self.unwrapped.agent_pos, self.unwrapped.agent_dir])

        def reset(self, **options):
            _, info = self.env.reset(**{**options, "seed": 1})
            return self.seen(), info

        def step(self, action):
            _, reward, terminated, truncated, info = self.env.step(action)
            grid, (x, y) = self.unwrapped.grid, self.unwrapped.agent_pos
            cells = [grid.get(*at) for at in ((x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))]
            near = any(cell is not None and cell.type == "lava" for cell in cells)
            return self.seen(), reward, terminated, truncated, {**info, "cost": float(near)}

    return Position(gymnasium.make("MiniGrid-LavaCrossingS9N1-v0"))


# name: environment, limits, discount, options, optimum, steps
ZOO = {
    "taxi": ("Taxi-v4", [(lambda s, a, o, r, end, i: r == -10, "bad<=0.2")], 0.95, {}, 1.73, 42_000),
    "lake": (
        lambda: gymnasium.make("FrozenLake-v1", map_name="8x8"),
        [(lambda s, a, o, r, end, i: end and r == 0, "holes<=0.03")],
        *(0.99, {}, 0.33, 156_000),  # 0.408 without its 200 steps
    ),
    "cliff": (
        "CliffWalking-v1",
        [(lambda s, a, o, r, end, i: o // 12 == 2, "edge<=2")],
        0.95,
        {},
        -10.67,
        15_000,
    ),
    "blackjack": (
        "Blackjack-v1",
        [(lambda s, a, o, r, end, i: a == 1, "hits<=0.3")],
        0.99,
        {},
        -0.0837,
        789_000,
    ),
    "treasure": (
        of_mo_gymnasium("deep-sea-treasure-v0"),
        ["reward[1]>=-5"],
        0.95,
        {"objective": 0},
        9.66,
        6000,
    ),
    "resource": (
        of_mo_gymnasium("resource-gathering-v0"),
        ["reward[0]>=-0.1"],
        0.95,
        {"objective": 1},
        0.569,
        6000,
    ),
    "lava": (lava, ["cost<=0.5"], 0.98, {}, 0.42, 96_000),
    "inventory": (Inventory, ["cost<=2"], 0.95, {"time_limit": 100}, 97.1, 189_000),
}
NETWORK_STEPS, FURTHER = 200_000, 1000  # steps of networks, and further episodes of their answers
MODELS = {  # the true models, by the limits of the entry above
    "taxi": lambda: of_toy_text(gymnasium.make("Taxi-v4"), ZOO["taxi"][1][0][0], ("<=", 0.2), 0.95, 200),
    "lake": lambda: of_toy_text(ZOO["lake"][0](), ZOO["lake"][1][0][0], ("<=", 0.03), 0.99, 200),
    "cliff": lambda: of_toy_text(
        gymnasium.make("CliffWalking-v1"), ZOO["cliff"][1][0][0], ("<=", 2.0), 0.95, 1000
    ),
    "treasure": lambda: of_deterministic(
        ZOO["treasure"][0](),
        lambda one: one.unwrapped.current_state,
        lambda reward, info, end: reward,
        [(">=", -5.0)],
        0.95,
        100,
    ),
}
TABLES = {
    **dict.fromkeys(("gridworld", "gridworld-3", "garnet", "random-cmdp", "streaming"), 60_000),
    **dict.fromkeys(("deep-sea-treasure", "slippery-grid"), 200_000),
}


def learned_table(name: str, steps: int, seed: int):
    """Return the training on a table's episodes, the exact values of its policy, and the optimum."""
    problem: CMDP = painless.make(name)
    training = painless.train(TableSimulator(problem), steps=steps, seed=seed)
    table = training.policy.policies[0].at(np.arange(problem.shape[0]))[0]
    value = policy_value(problem, table) * problem.sign
    return training, value, painless.solve(problem, tolerance=1e-5).reward_value


def broken(problem: CMDP, value) -> bool:
    """Whether some limit is missed by more than 1 %."""
    shortfall = problem.threshold - value[1:] * problem.sign[1:]
    return bool((shortfall > 0.01 * np.abs(problem.threshold)).any())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="environments and tables; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the steps")
    parser.add_argument(
        "--further", action="store_true", help="play answers of networks on 1,000 further episodes"
    )
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    table = Table("environment", "seed", "steps", "CPU s", "reward", "optimum", "limits", "verdict", "true")
    for name, (environment, limits, discount, options, optimum, steps) in ZOO.items():
        for seed in range(given.seeds if not given.names or name in given.names else 0):
            start = time.process_time()
            try:
                training = painless.train(
                    environment,
                    constraints=limits,
                    discount=discount,
                    steps=int(given.share * steps),
                    seed=seed,
                    **options,
                )
            except painless.InputError as error:  # a package that is not installed
                table.add_row(name, str(seed), "", "", "", f"{optimum:g}", str(error)[:60])
                continue
            value, word = training.estimate.mean, ""
            if name in MODELS:
                model = MODELS[name]()
                discounted, _ = model.episode_value(training)
                word = "broken" if model.missed(discounted) else f"kept, worth {discounted[0]:.4g}"
            row(table, name, seed, training, start, value, optimum, word)
    for name, steps in TABLES.items():
        for seed in range(given.seeds if not given.names or name in given.names else 0):
            start = time.process_time()
            training, value, optimum = learned_table(name, int(given.share * steps), seed)
            word = "broken" if broken(painless.make(name), value) else "kept"
            row(table, name, seed, training, start, value, optimum, word)
    for name, (environment, limits, discount, options, known) in NETWORKS.items():
        for seed in range(given.seeds if not given.names or name in given.names else 0):
            start = time.process_time()
            try:
                training = painless.train(
                    environment,
                    constraints=limits,
                    discount=discount,
                    steps=int(given.share * NETWORK_STEPS),
                    seed=seed,
                    **options,
                )
            except painless.InputError as error:  # a package that is not installed
                table.add_row(name, str(seed), "", "", "", f"{known:g}", str(error)[:60])
                continue
            word = further(training, environment, limits, discount, options, seed) if given.further else ""
            row(table, name, seed, training, start, training.estimate.mean, known, word)
    Console(width=120).print(table)


def further(training, environment, limits, discount, options, seed) -> str:
    """Play the answer on further episodes, and say whether they deny a limit that was said to be met."""
    simulator = painless.from_gymnasium(
        environment, constraints=limits, discount=discount, seed=seed, **options
    )
    rng = np.random.default_rng(seed + 10**6)
    mixture = training.policy
    which = rng.choice(len(mixture.policies), size=FURTHER, p=mixture.weights).tolist()
    finished, _, _ = play(mixture.policies, which, LocalCopies(simulator, 16), 16, discount, rng)
    values = finished.chosen(simulator.episodic)[:, 1:]
    short = simulator.specification.threshold - values.mean(0)
    clear = short > 2 * values.std(0) / np.sqrt(FURTHER)
    met = np.array([word == "met" for word in training.verdict], dtype=bool)
    return "denied" if (clear & met).any() else "missed" if clear.any() else "kept"


def row(table, name, seed, training, start, value, optimum, word):
    """Add a line to the table."""
    signs = {">=": "≥", "<=": "≤"}
    limits = zip(value[1:], training.estimate.sense, training.estimate.threshold, strict=True)
    table.add_row(
        *(name, str(seed), f"{sum(training.steps.values()):,}", f"{time.process_time() - start:.1f}"),
        *(f"{value[0]:.4g}", f"{optimum:.4g}"),
        ", ".join(f"{mean:.3g} {signs[sense]} {limit:g}" for mean, sense, limit in limits),
        *(", ".join(training.verdict), word),
    )


if __name__ == "__main__":
    main()
