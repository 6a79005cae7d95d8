"""Known models to draw logs from: outcomes with a probability each, behaviours, exact values, and the best policy that the truth allows."""

from dataclasses import dataclass, field
from functools import cached_property

import gymnasium
import numba
import numpy as np
import scipy

import painless
from painless.problem import CMDP

FOREVER = 2**24  # steps of a long-run average
ALMOST = 1 - 1e-10  # the discount of a total


@dataclass
class Truth:
    """Outcomes (s, a, s', p, reward, cost), s' = S for the end of an episode; the cost is to be at most `budget`."""

    name: str
    shape: tuple[int, int]
    rows: np.ndarray  # (M, 6)
    initial: np.ndarray  # (S,)
    discount: float
    budget: float = np.nan
    cap: int = 100  # steps after which an episode is cut off
    tightness: float = (
        0.5  # of a budget that is not given, between the cost of the best reward and the least cost
    )
    horizon: int | None = None
    average: bool = False
    behaviours: dict = field(default_factory=dict)

    @property
    def criterion(self):
        """What `CMDP` and `from_log` are told of how steps add up."""
        if self.average:
            return {"average": True}
        return {"discount": self.discount} | ({} if self.horizon is None else {"horizon": self.horizon})

    def __post_init__(self):
        pair = (self.rows[:, 0] * self.shape[1] + self.rows[:, 1]).astype(int)
        order = np.argsort(pair, kind="stable")
        self.rows, pair = self.rows[order], pair[order]
        total = np.bincount(pair, self.rows[:, 3])[pair]
        self.rows[:, 3] /= total
        before = np.concatenate([[0.0], np.cumsum(self.rows[:, 3])])
        first = np.searchsorted(pair, pair, side="left")
        # The pair plus the cumulative probability
        self.ladder = pair + np.minimum(before[1:] - before[first], 1.0)
        self.pair = pair
        if np.isnan(self.budget):
            best = painless.solve(self.problem(np.inf))
            least = painless.solve(self._reversed())
            dear, cheap = best.constraint_value[0], least.reward_value
            self.budget = float(dear - self.tightness * (dear - cheap))

    @cached_property
    def actions(self):
        """The actions that states have, (S + 1, A)."""
        states, actions = self.shape
        found = np.zeros((states + 1) * actions, dtype=bool)
        found[self.pair] = True
        found[states * actions :] = True
        return found.reshape(-1, actions)

    @cached_property
    def _parts(self):
        states, actions = self.shape
        size = (states + 1) * actions
        own = states * actions + np.arange(actions)
        rows = np.concatenate([self.pair, own])
        columns = np.concatenate([self.rows[:, 2].astype(int), np.full(actions, states)])
        data = np.concatenate([self.rows[:, 3], np.ones(actions)])
        kernel = scipy.sparse.csr_array((data, (rows, columns)), shape=(size, states + 1))
        utility = [np.bincount(self.pair, self.rows[:, 3] * self.rows[:, 4 + j], size) for j in range(2)]
        return kernel, np.reshape(utility, (2, states + 1, actions)), np.append(self.initial, 0.0)

    def problem(self, budget=None):
        """Return the true problem, whose last state is the end."""
        kernel, utility, start = self._parts
        limit = self.budget if budget is None else budget
        limits = {"constraint_cost": utility[1], "budget": min(limit, 1e12)}
        return CMDP(kernel, utility[0], initial=start, **self.criterion, actions=self.actions, **limits)

    def _reversed(self):
        kernel, utility, start = self._parts
        return CMDP(kernel, cost=utility[1], initial=start, **self.criterion, actions=self.actions)

    @cached_property
    def optimum(self):
        """The best policy that meets the limit."""
        return painless.solve(self.problem(), tolerance=1e-6)

    def value(self, policy):
        """Return the exact reward and cost of a policy (S, A), or (H, S, A) over a horizon."""
        kernel, utility, start = self._parts
        end = np.full((*policy.shape[:-2], 1, self.shape[1]), 1 / self.shape[1])
        table = np.concatenate([policy, end], -2)
        if self.horizon is not None:
            value = np.zeros((2, len(start)))
            for now in table[::-1]:
                ahead = np.stack([(kernel @ one).reshape(now.shape) for one in value])
                value = ((utility + self.discount * ahead) * now).sum(-1)
            return tuple((value @ start).tolist())
        size = len(start)
        chain = (kernel.toarray().reshape(size, -1, size) * table[..., None]).sum(1)
        gain = (utility * table).sum(-1)
        if self.average:
            lazy = 0.5 * np.eye(size) + 0.5 * chain  # the same averages, and no periods
            return tuple((gain @ (start @ np.linalg.matrix_power(lazy, FOREVER))).tolist())
        discount = min(self.discount, ALMOST)  # of a total: states that pay nothing for ever count 0
        return tuple((gain @ np.linalg.solve((np.eye(size) - discount * chain).T, start)).tolist())

    def behaviour(self, kind):
        """Return a policy that logs, (S, A): nearly optimal, mixed with the best for the reward alone, uniform; or one of other models' kinds."""
        if kind not in self.behaviours:
            actions = self.actions[:-1]
            uniform = actions / actions.sum(1, keepdims=True)
            drawn = np.random.default_rng(len(actions)).exponential(size=actions.shape) * actions
            drawn /= drawn.sum(1, keepdims=True)
            share, plan, rest = {
                "near": (0.9, lambda: self.optimum, uniform),
                "mixed": (0.5, lambda: painless.solve(self.problem(np.inf)), uniform),
                "uniform": (0.0, None, uniform),
                "nearly optimal": (0.8, lambda: self.optimum, drawn),
                "careless": (0.6, lambda: painless.solve(self.problem(np.inf)), drawn),
                "haphazard": (0.0, None, drawn),
            }[kind]
            table = plan().policy.probabilities[..., :-1, :] if plan else rest
            table = table if table.ndim == 2 else table.mean(0)  # over the steps of a horizon
            self.behaviours[kind] = share * table + (1 - share) * rest
        return self.behaviours[kind]

    def drawn(self, kind, count, rng):
        """Draw `count` rows: which outcome each is, (count,), and whether it begins an episode, (count,)."""
        states, actions = self.shape
        first = np.searchsorted(self.pair, np.arange(states * actions + 1))
        policy, start = np.cumsum(self.behaviour(kind), 1), np.cumsum(self.initial)
        successor = self.rows[:, 2].astype(np.int64)
        return _walk(rng, count, self.cap, start, policy, self.ladder, first, successor)

    def log(self, kind, count, rng):
        """Draw `count` rows as columns: state, action, next_state (S at the end), reward, cost, episode, done."""
        place, begins = self.drawn(kind, count, rng)
        rows = self.rows[place]
        state, action, successor = rows[:, :3].astype(int).T
        columns = {"state": state, "action": action, "next_state": successor}
        columns |= {"reward": rows[:, 4], "cost": rows[:, 5]}
        return columns | {"episode": np.cumsum(begins) - 1, "done": successor == self.shape[0]}


@numba.njit
def _walk(rng, count, cap, start, policy, ladder, first, successor):
    """Draw outcomes one after the other; an episode is over at the state S, or after `cap` steps."""
    states, actions = policy.shape
    place, begins = np.empty(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    state, age = states, 0
    for k in range(count):
        if state == states or age == cap:
            state, age = min(np.searchsorted(start, rng.random(), side="right"), states - 1), 0
            begins[k] = True
        action = min(np.searchsorted(policy[state], rng.random(), side="right"), actions - 1)
        pair = state * actions + action
        low, high = first[pair], first[pair + 1]
        found = low + np.searchsorted(ladder[low:high], pair + rng.random(), side="right")
        place[k] = min(found, high - 1)
        state, age = successor[place[k]], age + 1
    return place, begins


def of_problem(name, problem, cap=100, **options):
    """Return the truth of a table with one constraint, turned into a cost."""
    kernel = scipy.sparse.csr_array(
        problem.transition if problem.is_sparse else problem.transition.reshape(-1, problem.shape[0])
    )
    coo = kernel.tocoo()
    actions = problem.shape[1]
    state, action = np.divmod(coo.row, actions)
    keep = problem.actions[state, action] & (coo.data > 0)
    cost = -problem.constraint_reward[0]
    shift = cost[problem.actions].min()  # costs of at least 0 in every step
    rows = np.column_stack(
        [state, action, coo.col, coo.data, problem.reward[state, action], cost[state, action] - shift]
    )
    budget = -problem.threshold[0] - shift / (1 - problem.discount)
    given = {"discount": problem.discount, "budget": float(budget), "cap": cap} | options
    return Truth(name, problem.actions.shape, rows[keep], problem.initial, **given)


def of_toy_text(name, cost, discount, cap, tightness=0.5, horizon=None, **options):
    """Return the truth of a toy-text environment; `cost` is a function of (s, s', reward, end)."""
    environment = gymnasium.make(name, **options).unwrapped
    states, actions = int(environment.observation_space.n), int(environment.action_space.n)
    start = getattr(environment, "initial_state_distrib", None)
    start = np.eye(states)[environment.start_state_index] if start is None else np.asarray(start)
    rows = [
        (s, a, states if end else t, p, r, cost(s, t, r, end))
        for s in range(states)
        for a in range(actions)
        for p, t, r, end in environment.P[s][a]
    ]
    return Truth(
        name,
        (states, actions),
        np.array(rows, dtype=float),
        start / start.sum(),
        discount,
        cap=cap,
        tightness=tightness,
        horizon=horizon,
    )


def stock(capacity=20, orders=(0, 5, 10), mean=3.0, discount=0.95, **options):
    """Return an inventory whose cost is lost sales: the order arrives, then a Poisson demand, and what it misses is lost."""
    demand = np.arange(12)
    p = np.exp(-mean) * mean**demand / scipy.special.factorial(demand)
    p[-1] += 1 - p.sum()
    rows = []
    for s in range(capacity + 1):
        for a, order in enumerate(orders):
            level = min(s + order, capacity)
            for d, q in zip(demand, p, strict=True):
                sold = min(d, level)
                left = level - sold
                rows.append((s, a, left, q, 3.0 * sold - 0.2 * left - 4.0 * (order > 0), float(d - sold)))
    start = np.eye(capacity + 1)[capacity // 2]
    return Truth("stock", (capacity + 1, len(orders)), np.array(rows), start, discount, **options)


def two_stocks(capacity=8):
    """Return two products, of which one is ordered, or none; the cost is lost sales."""
    demand = np.arange(5)
    p = np.exp(-1.0) / scipy.special.factorial(demand)
    p[-1] += 1 - p.sum()
    side, rows = capacity + 1, []
    for x in range(side):
        for y in range(side):
            for a in range(3):
                up, across = min(x + 4 * (a == 1), capacity), min(y + 4 * (a == 2), capacity)
                for d, q in zip(demand, p, strict=True):
                    for e, w in zip(demand, p, strict=True):
                        sold = min(d, up) + min(e, across)
                        left = (up - min(d, up), across - min(e, across))
                        reward = 3.0 * sold - 0.3 * sum(left) - 2.0 * (a > 0)
                        rows.append(
                            (x * side + y, a, left[0] * side + left[1], q * w, reward, float(d + e - sold))
                        )
    start = np.eye(side * side)[(capacity // 2) * (side + 1)]
    return Truth("two stocks", (side * side, 3), np.array(rows), start, 0.95)


def _hole(s, t, r, end):
    return float(end and r == 0)


def _garnets(numbers, **options):
    size = (25, 4, 4)
    return {
        f"garnet {k}": (lambda k=k: of_problem(f"garnet {k}", painless.garnet(*size, seed=k), **options))
        for k in numbers
    }


CHOSEN = {  # on which the constants were chosen
    **_garnets(range(4)),
    "lake 4x4": lambda: of_toy_text("FrozenLake-v1", _hole, 0.99, 100),
    "lake 8x8": lambda: of_toy_text("FrozenLake-v1", _hole, 0.99, 200, map_name="8x8"),
    "stock": stock,
    "queueing": lambda: of_problem("queueing", painless.make("queueing")),
    "slippery grid": lambda: of_problem("slippery grid", painless.make("slippery-grid")),
    "two stocks": two_stocks,
}
HELD_OUT = {  # on which they were confirmed
    **_garnets(range(200, 204)),
    "sparse garnet": lambda: of_problem(
        "sparse garnet", painless.garnet(40, 3, 2, seed=11, discount=0.95, tightness=0.8)
    ),
    "cliff": lambda: of_toy_text("CliffWalking-v1", lambda s, t, r, end: float(t // 12 == 2), 0.95, 200),
    "maintenance": lambda: of_problem("maintenance", painless.make("maintenance")),
    "small stock": lambda: stock(12, (0, 3, 6, 9), 2.0, 0.97),
    "taxi": lambda: of_toy_text("Taxi-v4", lambda s, t, r, end: float(t // 20 % 5 == 2), 0.95, 200),
    "risky lake": lambda: of_toy_text("FrozenLake-v1", _hole, 0.98, 100, 0.2),
    "queue cut off": lambda: of_problem("queue cut off", painless.make("queueing"), cap=20),
}
CRITERIA = {  # logs that are judged by horizons, totals and averages
    "garnet, horizon 20": lambda: of_problem(
        "", painless.garnet(25, 4, 4, seed=50), discount=1.0, horizon=20, cap=20, budget=np.nan
    ),
    "stock, horizon 30": lambda: stock(discount=1.0, horizon=30, cap=30),
    "lake 4x4, horizon 50": lambda: of_toy_text("FrozenLake-v1", _hole, 1.0, 50, horizon=50),
    "lake 4x4, total": lambda: of_toy_text("FrozenLake-v1", _hole, 1.0, 200),
    "garnet, average": lambda: of_problem(
        "", painless.garnet(25, 4, 4, seed=51), discount=1.0, average=True, cap=10**9, budget=np.nan
    ),
    "stock, average": lambda: stock(discount=1.0, average=True, cap=10**9),
}
