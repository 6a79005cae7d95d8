"""The Markov chain that a policy induces, and its trajectories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.bellman import policy_transition, policy_utility
from painless.common import arguments
from painless.common.arrays import Mask
from painless.common.frames import to_frame
from painless.policies.rules import aligned
from painless.policies.table import TabularPolicy
from painless.problem import CMDP
from painless.simulation.rollouts import Trajectories, lockstep
from painless.simulation.simulator import TableSimulator

ACTION = "policy"  # the name of a chain's one action
COLUMNS = ("episode", "step", "state", "action", "next_state")  # of trajectories


def induced_chain(problem: CMDP, policy: TabularPolicy) -> CMDP:
    """P_π and u_π as a problem with one action, in the user's terms."""
    problem.require_stationary("a chain")
    table = aligned(policy, problem)
    kernel = policy_transition(problem, table)
    utility = policy_utility(problem.utility, table)[..., None] * problem.sign[:, None, None]  # (J, S, 1)
    gained = 1 + problem.sense.count(">=")
    names = {kind: known for kind, known in problem.names.items() if kind != "actions"}
    return CMDP(
        kernel[:, None, :] if isinstance(kernel, np.ndarray) else kernel,
        **{"cost" if problem.minimise else "reward": utility[0]},
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=utility[1:gained],
        threshold=problem.limit[: gained - 1],
        constraint_cost=utility[gained:],
        budget=problem.limit[gained - 1 :],
        names=names | {"actions": [ACTION]},
    )


def trajectories(
    problem: CMDP,
    policy: TabularPolicy,
    episodes: int,
    steps: int,
    seed: int,
    make: Callable[[Any], Any] | None,
) -> Any:
    """Return the steps of some episodes as a frame, in the user's terms, one episode after the other."""
    episodes, steps = arguments.whole("episodes", episodes), arguments.whole("steps", steps)
    rng = np.random.default_rng(arguments.seed(seed))
    found = lockstep(TableSimulator(problem, steps), TabularPolicy(aligned(policy, problem)), episodes, rng)
    episode, step = _places(found.terminated, episodes)
    order = np.lexsort((step, episode))
    return to_frame(_columns(problem, found, order, step[order], episode[order]), make)


def _places(terminated: Mask, episodes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the episode and the step of each of N steps that episodes took in lockstep, each until it ended, (N,) both.

    >>> _places(np.array([False, True, False]), 2)
    (array([0, 1, 0]), array([0, 0, 1]))
    """
    alive, parts, done = np.arange(episodes), [], 0
    while done < len(terminated):
        parts.append(alive)
        ended = terminated[done : done + len(alive)]
        done += len(alive)
        alive = alive[~ended]
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _columns(problem: CMDP, found: Trajectories, order: Any, step: Any, episode: Any) -> dict[str, Any]:
    state, action, successor = (
        _named(problem, kind, places[order])
        for kind, places in (
            ("states", found.states),
            ("actions", found.actions),
            ("states", found.successors),
        )
    )
    columns: dict[str, Any] = dict(zip(COLUMNS, (episode, step, state, action, successor), strict=True))
    titles = ["cost" if problem.minimise else "reward"]
    titles += [problem.name("constraints", i) for i in range(problem.shape[2])]
    for title, values in zip(titles, (found.utilities[order] * problem.sign).T + 0.0, strict=True):
        columns[f"constraint {title}" if title in columns else title] = values
    return columns


def _named(problem: CMDP, kind: str, places: Any) -> Any:
    """Return names in place of numbers, if there are any."""
    names = problem.names.get(kind)
    return [names[i] for i in places.tolist()] if names else places
