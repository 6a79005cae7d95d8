"""Families of large sparse models, by the number of states: fast and slow to mix, narrow and wide.

- garnet, grid: those of `scale_case`.
- maze: the slippery grid of the library, with walls at random.
- corridors: a maze without loops, in which there is one path between any two cells.
- network: three queues, customers move from one to another; each server works slowly or fast.
- tandem: two queues in a row.
- inventory: two products with their own demands.
- chain: one long path, on which a failure leads back to the start.
"""

import numpy as np
import scipy

import painless
from benchmarks import scale_case

DEMAND = (0.25, 0.3, 0.25, 0.15, 0.05)  # of 0, 1, … units of a product
ORDERS = (0, 2, 5)  # units of a product that can be ordered
TRUCK, HOLDING = 1.0, 0.05  # prices of a delivery, and of a unit in stock
POWER = 0.1  # price of a fast server
MAZE_SLIP = 0.2


def instance(kind, states, constraints, seed=0, discount=0.99):
    """Return a problem of a family with about so many states, and limits halfway between two kinds of policies."""
    if kind in ("garnet", "grid"):
        return scale_case.instance(kind, states, constraints, seed, discount)
    kernel, utilities, initial = FAMILIES[kind](states, np.random.default_rng(seed))
    problem = painless.CMDP(
        kernel,
        utilities[0],
        initial=initial,
        discount=discount,
        constraint_reward=utilities[1 : 1 + constraints],
        threshold=np.zeros(constraints),
        copy=False,
    )
    return scale_case.halfway(problem) if constraints else problem


def maze(states, rng):
    """Return the library's slippery grid: reward at the goal, hazards to avoid."""
    side = round((states / 0.85) ** 0.5)
    drawn = painless.problems.slippery_grid(height=side, width=side, seed=int(rng.integers(1 << 30)))
    count, actions, _ = drawn.shape
    prices = rng.random((2, count)) * (rng.random((2, count)) < 0.05)  # in some cells, for two more limits
    more = -np.broadcast_to(prices[:, :, None], (2, count, actions))
    return drawn.transition, np.concatenate([drawn.utility, more]), drawn.initial


def corridors(states, rng):
    """Return a maze whose corridors form a tree, with a goal in one corner and rewards in a few dead ends."""
    side = max(2, round(states**0.5))
    count = side * side
    open_to = _spanning_tree(side, rng)  # (S, 4): left, right, up, down
    step = np.array([-1, 1, -side, side])
    to = np.arange(count)[:, None] + np.where(open_to, step, 0)
    sides = np.array([(2, 3), (2, 3), (0, 1), (0, 1)])
    successor = np.stack([to, to[:, sides[:, 0]], to[:, sides[:, 1]]], -1)
    probability = np.broadcast_to([1 - MAZE_SLIP, MAZE_SLIP / 2, MAZE_SLIP / 2], successor.shape)
    utilities = np.zeros((4, count, 4))
    utilities[0, -1] = 1.0
    for row in utilities[1:]:
        row[rng.integers(count, size=max(1, count // 1000))] = 1.0
    return kernel_of(successor, probability), utilities, np.full(count, 1 / count)


def _spanning_tree(side, rng):
    """Return the moves (S, 4) that are open in a random spanning tree of a square grid."""
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()])
    down = np.stack([index[:-1].ravel(), index[1:].ravel()])
    edges = np.concatenate([across, down], 1)
    graph = scipy.sparse.csr_array((1 + rng.random(edges.shape[1]), tuple(edges)), shape=(index.size,) * 2)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(graph).tocoo()
    low, high = np.minimum(tree.row, tree.col), np.maximum(tree.row, tree.col)
    beside = high - low == 1
    moves = np.zeros((index.size, 4), dtype=bool)
    moves[high[beside], 0] = moves[low[beside], 1] = True
    moves[high[~beside], 2] = moves[low[~beside], 3] = True
    return moves


def network(states, rng):
    """Return three queues of equal room; each of their servers works slowly or fast, which costs power."""
    room = max(2, round(states ** (1 / 3)))
    del rng
    arrival, slow, fast = np.array([0.3, 0.2, 0.1]), np.array([0.25, 0.3, 0.3]), np.array([0.6, 0.55, 0.7])
    routing = np.array([[0.0, 0.5, 0.3, 0.2], [0.0, 0.0, 0.6, 0.4], [0.1, 0.0, 0.0, 0.9]])
    return _queues((room,) * 3, arrival, slow, fast, routing)


def tandem(states, rng):
    """Return two queues in a row, each with a slow and a fast server."""
    room = max(2, round(states**0.5))
    del rng
    arrival, slow, fast = np.array([0.4, 0.0]), np.array([0.3, 0.3]), np.array([0.7, 0.6])
    return _queues((room, room), arrival, slow, fast, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))


def _queues(rooms, arrival, slow, fast, routing):
    """Return a network of queues at the moments of a Poisson clock; its state is the lengths of all queues."""
    queues = len(rooms)
    length = np.indices(rooms).reshape(queues, -1)
    place = np.array([np.prod(rooms[k + 1 :], dtype=int) for k in range(queues)])
    own, top = np.arange(length.shape[1]), np.array(rooms) - 1
    quick = (np.arange(1 << queues)[:, None] >> np.arange(queues)) & 1  # (A, queues)
    rate = np.where(quick, fast, slow)
    total = arrival.sum() + fast.sum()
    parts = []  # successor (S,) and probability (S, A) of each event
    for k in np.flatnonzero(arrival):
        joins = length[k] < top[k]
        parts.append((own + joins * place[k], np.tile(arrival[k], (len(own), len(quick)))))
    for k in range(queues):
        busy = length[k] > 0
        for m in np.flatnonzero(routing[k]):
            to = own - busy * place[k]
            if m < queues:
                to = to + (busy & (length[m] < top[m])) * place[m]
            parts.append((to, np.tile(rate[:, k] * routing[k, m], (len(own), 1))))
    used = sum(part[1] for part in parts)
    parts.append((own, np.maximum(total - used, 0.0)))
    successor = np.stack([np.broadcast_to(to[:, None], used.shape) for to, _ in parts], -1)
    waiting = (1 + np.arange(queues)) @ length / max(rooms)
    power = np.broadcast_to(-quick.T[:, None], (queues, len(own), len(quick)))
    reward = -waiting[:, None] + POWER * power.sum(0)
    held = np.broadcast_to(-waiting[:, None], reward.shape)
    utilities = np.concatenate([reward[None], power, held[None]]).astype(float)
    initial = np.zeros(len(own))
    initial[0] = 1.0
    return kernel_of(successor, np.stack([p for _, p in parts], -1) / total), utilities, initial


def inventory(states, rng):
    """Return two products that share one truck: sales, against what is ordered, held and missed."""
    room = max(6, round(states**0.5))
    del rng
    first, second = np.divmod(np.arange(room * room), room)
    orders = np.array([(a, b) for a in ORDERS for b in ORDERS])
    level = np.stack(
        [np.minimum(stock[:, None] + orders[:, k], room - 1) for k, stock in enumerate((first, second))], -1
    )
    demand = np.array([(a, b) for a in range(len(DEMAND)) for b in range(len(DEMAND))])
    probability = np.outer(DEMAND, DEMAND).ravel()
    left = np.maximum(level[:, :, None] - demand, 0)  # (S, A, demands, 2)
    sold = ((level[:, :, None] - left) @ np.array([1.0, 1.5])) @ probability
    missed = (demand - (level[:, :, None] - left)).sum(-1) @ probability
    trucks = np.broadcast_to((orders > 0).any(1), sold.shape)
    stock = level.sum(-1)
    utilities = np.stack([sold - TRUCK * trucks - HOLDING * stock, -1.0 * trucks, -stock / room, -missed])
    initial = np.zeros(room * room)
    initial[0] = 1.0
    successor = left[..., 0] * room + left[..., 1]
    return kernel_of(successor, np.broadcast_to(probability, successor.shape)), utilities, initial


def chain(states, rng):
    """Return a long path: a step ahead in four ways, of which some are surer and dearer; a failure leads back to the start."""
    own = np.arange(states)
    sure, price = np.array([0.9, 0.99, 0.999, 0.9999]), np.array([0.0, 0.1, 0.3, 0.6])
    successor = np.stack(
        [np.broadcast_to(np.minimum(own + 1, states - 1)[:, None], (states, 4)), np.zeros((states, 4), int)],
        -1,
    )
    probability = np.broadcast_to(np.stack([sure, 1 - sure], -1), successor.shape)
    reward = np.zeros((states, 4))
    reward[:: max(1, states // 100)] = 1.0
    reward[-1] = 10.0
    effort = np.broadcast_to(-price, (states, 4))
    tolls = np.repeat(np.where(rng.random((2, states, 1)) < 0.1, -1.0, 0.0), 4, 2)
    return (
        kernel_of(successor, probability),
        np.concatenate([[reward], [effort], tolls]).astype(float),
        np.full(states, 1 / states),
    )


def kernel_of(successor, probability):
    """Return the rows (S·A, S) with successors (S, A, n) and their probabilities."""
    states, actions, branches = successor.shape
    pairs = states * actions
    pointer = np.arange(0, pairs * branches + 1, branches, dtype=np.int32)
    entries = (np.array(probability, dtype=float).ravel(), successor.astype(np.int32).ravel(), pointer)
    kernel = scipy.sparse.csr_array(entries, shape=(pairs, states))
    kernel.sum_duplicates()
    kernel.eliminate_zeros()
    kernel.data /= np.repeat(kernel.sum(1), np.diff(kernel.indptr))
    return kernel


FAMILIES = {
    "maze": maze,
    "corridors": corridors,
    "network": network,
    "tandem": tandem,
    "inventory": inventory,
    "chain": chain,
}
KINDS = ("garnet", "grid", *FAMILIES)
