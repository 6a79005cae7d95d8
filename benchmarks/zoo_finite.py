"""Finite environments with limits, as users bring them, and the true models behind them, which judge what was learned.

`FINITE` are those that the constants of the learner were chosen on, `HELD_OUT` others of the same kinds, of which concave treasure,
resource gathering with gold and with two limits, slippery ground, Taxi with few moves and the small lake have been looked at since. `steps` is the budget.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from scipy.stats import poisson

from benchmarks.zoo_models import Model, of_deterministic, of_toy_text


@dataclass(frozen=True)
class Finite:
    """An environment, its limits as `train` takes them, and the model behind it."""

    environment: Any
    constraints: list[Any]
    model: Callable[[], Model]
    steps: int
    options: dict[str, Any] = field(default_factory=dict)


class Inventory(gymnasium.Env):
    """Some products, each in stock up to a capacity; order a lot of one, or nothing. The cost is lost sales."""

    def __init__(self, demands=(1.0, 1.0, 1.0), capacity=10, lot=5, fixed=2.0):
        self.demands, self.capacity, self.lot, self.fixed = demands, capacity, lot, fixed
        self.observation_space = spaces.MultiDiscrete([capacity + 1] * len(demands))
        self.action_space = spaces.Discrete(len(demands) + 1)

    def reset(self, *, seed=None, options=None):
        """Begin with half of each capacity."""
        super().reset(seed=seed)
        self.stock = np.full(len(self.demands), self.capacity // 2)
        return self.stock.copy(), {}

    def step(self, action):
        """Order, then sell."""
        if action < len(self.demands):
            self.stock[action] = min(self.capacity, self.stock[action] + self.lot)
        demand = self.np_random.poisson(self.demands)
        sold = np.minimum(demand, self.stock)
        self.stock = self.stock - sold
        reward = 3.0 * sold.sum() - 0.3 * self.stock.sum() - self.fixed * (action < len(self.demands))
        return self.stock.copy(), float(reward), False, False, {"cost": float((demand - sold).sum())}


def of_inventory(limit: float, discount: float, **options: Any) -> Model:
    """Return the model of an inventory; its utilities are means given the next stock."""
    shop = Inventory(**options)
    count, capacity = len(shop.demands), shop.capacity

    @cache
    def sales(mean: float, level: int) -> list[tuple[float, int, float, float]]:
        """List probability, stock left, sales and lost sales of one product."""
        most = np.arange(level, level + 40)
        empty = poisson.pmf(most, mean)
        last = float(empty.sum())
        lost = float(empty @ (most - level)) / last
        return [(float(poisson.pmf(d, mean)), level - d, d, 0.0) for d in range(level)] + [
            (last, 0, level, lost)
        ]

    def outcomes(state, action):
        levels = [min(capacity, s + shop.lot) if k == action else s for k, s in enumerate(state)]
        for parts in product(*(sales(mean, level) for mean, level in zip(shop.demands, levels, strict=True))):
            chances, left, sold, lost = zip(*parts, strict=True)
            reward = 3.0 * sum(sold) - 0.3 * sum(left) - shop.fixed * (action < count)
            yield float(np.prod(chances)), left, (reward, sum(lost))

    return Model({(capacity // 2,) * count: 1.0}, count + 1, outcomes, [("<=", limit)], discount, 100)


class Hazards(gymnasium.Env):
    """A square of cells on slippery ground, of which a fifth are hazards, which cost 1; the reward is in the far corner."""

    MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
    SLIPS = ((0, 0.8), (1, 0.1), (3, 0.1))  # turns, and their probabilities

    def __init__(self, side=50, layout=0):
        self.side = side
        hazards = np.random.default_rng(layout).random(side * side) < 0.2
        self.hazards = [float(one) for one in hazards]
        self.hazards[0] = self.hazards[-1] = 0.0
        self.observation_space, self.action_space = spaces.Discrete(side * side), spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        """Begin in the near corner."""
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def moved(self, cell, direction):
        """Return the cell in a direction, or the same one at the wall."""
        (row, column), (down, right) = divmod(cell, self.side), self.MOVES[direction % 4]
        last = self.side - 1
        return min(max(row + down, 0), last) * self.side + min(max(column + right, 0), last)

    def step(self, action):
        """Move, or slip to one side."""
        draw = self.np_random.random()
        self.cell = self.moved(self.cell, action + (0 if draw < 0.8 else 1 if draw < 0.9 else 3))
        end = self.cell == len(self.hazards) - 1
        return self.cell, float(end), end, False, {"cost": self.hazards[self.cell]}


def of_hazards(limit: float, discount: float, time_limit: int, **options: Any) -> Model:
    """Return the model of a square with hazards."""
    square = Hazards(**options)

    def outcomes(state, action):
        for turn, chance in square.SLIPS:
            cell = square.moved(state[0], action + turn)
            end = cell == len(square.hazards) - 1
            yield chance, None if end else (cell,), (float(end), square.hazards[cell])

    return Model({(0,): 1.0}, 4, outcomes, [("<=", limit)], discount, time_limit)


CARDS = {card: 4 / 13 if card == 10 else 1 / 13 for card in range(1, 11)}


def _best(total: int, ace: bool) -> int:
    return total + 10 if ace and total + 10 <= 21 else total


@cache
def _dealer(total: int, ace: bool) -> dict[int, float]:
    """Return the distribution of the dealer's score, 0 if he goes bust."""
    if _best(total, ace) >= 17:
        return {_best(total, ace) if total <= 21 else 0: 1.0}
    found: dict[int, float] = {}
    for card, chance in CARDS.items():
        for score, p in _dealer(total + card, ace or card == 1).items():
            found[score] = found.get(score, 0.0) + chance * p
    return found


def of_blackjack(limit: float, discount: float = 0.99) -> Model:
    """Return the model of Blackjack-v1: hits are limited. A natural, which nobody sees, wins against a dealer without one."""

    def outcomes(state, action):
        seen, up, usable, natural = state
        total = int(seen) - 10 * int(usable)
        if action == 0:
            for hidden, chance in CARDS.items():
                theirs = {up, hidden} == {1, 10}
                for score, p in _dealer(int(up) + hidden, 1 in (up, hidden)).items():
                    reward = 1.0 if natural and not theirs else float(np.sign(seen - score))
                    yield chance * p, None, (reward, 0.0)
            return
        for card, chance in CARDS.items():
            after, ace = total + card, bool(usable) or card == 1
            if after > 21:
                yield chance, None, (-1.0, 1.0)
            else:
                best = _best(after, ace)
                yield chance, (best, up, int(best > after), 0), (0.0, 1.0)

    starts: dict[Any, float] = {}
    for (one, p), (two, q), (up, r) in product(CARDS.items(), repeat=3):
        best = _best(one + two, 1 in (one, two))
        state = (best, up, int(best > one + two), int({one, two} == {1, 10}))
        starts[state] = starts.get(state, 0.0) + p * q * r
    return Model(
        starts, 2, outcomes, [("<=", limit)], discount, 1000, shown=lambda state: tuple(map(float, state[:3]))
    )


def of_resource(objective: int, limits: list[tuple[int, str, float]], discount: float = 0.95) -> Model:
    """Return the model of MO-Gymnasium's resource gathering; `limits` are on entries of the reward."""
    import mo_gymnasium

    one = mo_gymnasium.make("resource-gathering-v0").unwrapped
    places = [objective, *(entry for entry, _, _ in limits)]

    def outcomes(state, action):
        row, column, gold, gem = map(int, state)
        there = (row + int(one.dir[action][0]), column + int(one.dir[action][1]))
        row, column = there if one.is_valid_state(there) else (row, column)
        cell = str(one.map[row][column])
        gold, gem = int(gold or cell == "R1"), int(gem or cell == "R2")
        after = (float(row), float(column), float(gold), float(gem))

        def utilities(*reward: float) -> tuple[float, ...]:
            return tuple(reward[place] for place in places)

        if cell in ("E1", "E2"):
            yield 0.1, None, utilities(-1.0, 0.0, 0.0)
            yield 0.9, after, utilities(0.0, 0.0, 0.0)
        elif cell == "H":
            yield 1.0, None, utilities(0.0, float(gold), float(gem))
        else:
            yield 1.0, after, utilities(0.0, 0.0, 0.0)

    first = (4.0, 2.0, 0.0, 0.0)
    senses = [(sense, limit) for _, sense, limit in limits]
    return Model({first: 1.0}, 4, outcomes, senses, discount, 100)


def mo_gymnasium_of(name: str) -> Callable[[], Any]:
    """Return a function that makes an environment with a vector reward."""

    def make():
        import mo_gymnasium

        return mo_gymnasium.make(name)

    return make


def treasure(name: str, limit: float, steps: int) -> Finite:
    """Return a Deep Sea Treasure with a limit on the time."""
    make = mo_gymnasium_of(name)
    model = partial(
        of_deterministic,
        *(make, lambda one: one.unwrapped.current_state, lambda reward, info, end: reward),
        *([(">=", limit)], 0.95, 100),
    )
    return Finite(make, [f"reward[1]>={limit:g}"], model, steps, {"objective": 0})


def lava(name="MiniGrid-LavaCrossingS9N1-v0", layout=1):
    """Return a MiniGrid as (column, row, direction), always the same one, with its first three actions."""
    import minigrid  # noqa: F401

    class Position(gymnasium.Wrapper):
        observation_space = spaces.MultiDiscrete([9, 9, 4])
        action_space = spaces.Discrete(3)

        def seen(self):
            return np.array([*self.unwrapped.agent_pos, self.unwrapped.agent_dir])

        def reset(self, **options):
            _, info = self.env.reset(**{**options, "seed": layout})
            return self.seen(), info

        def step(self, action):
            _, reward, terminated, truncated, info = self.env.step(action)
            grid, (x, y) = self.unwrapped.grid, self.unwrapped.agent_pos
            cells = [grid.get(*at) for at in ((x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))]
            near = any(cell is not None and cell.type == "lava" for cell in cells)
            return self.seen(), reward, terminated, truncated, {**info, "cost": float(near)}

    return Position(gymnasium.make(name))


def of_lava(limit: float, **options: Any) -> Model:
    """Return the model of a MiniGrid; the reward is that of the shortest way, of which each step more takes less than 0.3 %."""
    return of_deterministic(
        *(lambda: lava(**options), lambda one: one.seen()),
        *(lambda reward, info, end: (reward, info["cost"]), [("<=", limit)], 0.98, 324),
        count=3,
    )


def toy(make: Any, cost: Any, limit: float, discount: float, time_limit: int, steps: int) -> Finite:
    """Return a toy-text environment with a limit on a function of its steps."""
    made = partial(gymnasium.make, make) if isinstance(make, str) else make
    return Finite(
        made,
        [(cost, f"cost<={limit:g}")],
        lambda: of_toy_text(made(), cost, ("<=", limit), discount, time_limit),
        steps,
        {"time_limit": time_limit},
    )


def bad_pickup(before, action, after, reward, terminated, info):
    return reward == -10


def hole(before, action, after, reward, terminated, info):
    return terminated and reward == 0


def edge(before, action, after, reward, terminated, info):
    return after // 12 == 2


def moved(before, action, after, reward, terminated, info):
    return action < 4


def hit(before, action, after, reward, terminated, info):
    return action == 1


RESOURCE = mo_gymnasium_of("resource-gathering-v0")
FINITE = {
    "taxi": toy("Taxi-v4", bad_pickup, 0.2, 0.95, 200, 42_000),
    "lake": toy(partial(gymnasium.make, "FrozenLake-v1", map_name="8x8"), hole, 0.03, 0.99, 100, 156_000),
    "cliff": toy("CliffWalking-v1", edge, 2.0, 0.95, 1000, 15_000),
    "treasure": treasure("deep-sea-treasure-v0", -5.0, 6000),
    "resource": Finite(
        *(RESOURCE, ["reward[0]>=-0.1"], lambda: of_resource(1, [(0, ">=", -0.1)])), 6000, {"objective": 1}
    ),
    "lava": Finite(lava, ["cost<=0.5"], lambda: of_lava(0.5), 96_000),
    "inventory": Finite(
        *(Inventory, ["cost<=2"], lambda: of_inventory(2.0, 0.95)), 189_000, {"time_limit": 100}
    ),
    "blackjack": Finite("Blackjack-v1", [(hit, "hits<=0.3")], lambda: of_blackjack(0.3), 789_000),
}
HELD_OUT = {
    "lake of 200 steps": toy(
        partial(gymnasium.make, "FrozenLake-v1", map_name="8x8"), hole, 0.03, 0.99, 200, 156_000
    ),
    "small lake": toy("FrozenLake-v1", hole, 0.1, 0.99, 100, 100_000),
    "slippery cliff": toy(
        partial(gymnasium.make, "CliffWalking-v1", is_slippery=True), edge, 1.0, 0.95, 200, 60_000
    ),
    "taxi, few moves": toy("Taxi-v4", moved, 7.5, 0.95, 200, 42_000),
    "rainy taxi": toy(partial(gymnasium.make, "Taxi-v4", is_rainy=True), bad_pickup, 0.2, 0.95, 200, 126_000),
    "concave treasure": treasure("deep-sea-treasure-concave-v0", -6.0, 6000),
    "mirrored treasure": treasure("deep-sea-treasure-mirrored-v0", -5.0, 12_000),
    "resource, two limits": Finite(
        RESOURCE,
        ["reward[0]>=-0.05", "reward[2]>=0.3"],
        lambda: of_resource(1, [(0, ">=", -0.05), (2, ">=", 0.3)]),
        *(6000, {"objective": 1}),
    ),
    "resource, gems": Finite(
        *(RESOURCE, ["reward[1]>=0.2"], lambda: of_resource(2, [(1, ">=", 0.2)])), 6000, {"objective": 2}
    ),
    "two products": Finite(
        partial(Inventory, (1.5, 0.7), 8, 4),
        ["cost<=1.5"],
        lambda: of_inventory(1.5, 0.95, demands=(1.5, 0.7), capacity=8, lot=4),
        *(60_000, {"time_limit": 100}),
    ),
    "hazards": Finite(
        Hazards, ["cost<=1"], lambda: of_hazards(1.0, 0.99, 500), 1_800_000, {"time_limit": 500}
    ),
    "blackjack, more hits": Finite("Blackjack-v1", [(hit, "hits<=0.6")], lambda: of_blackjack(0.6), 789_000),
    "lava gap": Finite(
        partial(lava, "MiniGrid-LavaGapS7-v0", 3),
        ["cost<=0.3"],
        lambda: of_lava(0.3, name="MiniGrid-LavaGapS7-v0", layout=3),
        96_000,
    ),
}
