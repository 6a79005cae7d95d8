"""The Markov chain that a policy induces, and its trajectories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import policy_transition, policy_utility
from painless.common import arguments
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.common.frames import to_frame
from painless.policies.rules import aligned
from painless.policies.table import TabularPolicy
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP, Criterion
from painless.problem.stages import Stages
from painless.simulation.rollouts import Trajectories, lockstep
from painless.simulation.simulator import TableSimulator, draw_successors

ACTION = "policy"  # the name of a chain's one action
COLUMNS = ("episode", "step", "state", "action", "next_state")  # of trajectories


def induced_chain(problem: CMDP, policy: TabularPolicy | TimedPolicy) -> CMDP:
    """P_π and u_π as a problem with one action, in the user's terms; with a horizon, those of every step."""
    if problem.horizon == 0:
        raise InputError("the problem has no step, so that a policy makes no chain of it")
    table = aligned(policy, problem)
    utility = policy_utility(problem.utility, table)[..., None] * problem.sign[:, None, None]  # (J, S, 1)
    initial, rest = problem.initial, _criterion(problem)
    if problem.stages is None:
        kernel: Any = policy_transition(problem, table)
        kernel = kernel[:, None, :] if isinstance(kernel, np.ndarray) else kernel
    else:
        process = problem.stages
        kernel = [_step_kernel(process, t, table) for t in range(process.steps)]
        kernel = np.array(kernel) if isinstance(kernel[0], np.ndarray) else kernel
        utility = utility.reshape(-1, process.steps, process.states, 1)
        initial = initial[: process.states]
    gained = 1 + problem.sense.count(">=")
    names = {kind: known for kind, known in problem.names.items() if kind != "actions"}
    return CMDP(
        kernel,
        **{"cost" if problem.minimise else "reward": utility[0]},
        initial=initial,
        **rest,
        constraint_reward=utility[1:gained],
        threshold=problem.limit[: gained - 1],
        constraint_cost=utility[gained:],
        budget=problem.limit[gained - 1 :],
        names=names | {"actions": [ACTION]},
    )


def _criterion(problem: CMDP) -> dict[str, Any]:
    """Return what says how the utilities of the steps add up."""
    if problem.criterion is Criterion.AVERAGE:
        return {"average": True}
    return {"discount": problem.discount, "horizon": problem.horizon, "end": problem.end}


def _step_kernel(process: Stages, step: int, table: Array) -> Any:
    """Return P_π of one step, (S, 1, S) or sparse (S, S)."""
    states = process.states
    own = table[step * states : (step + 1) * states]
    kernel = process.kernel(step)
    if isinstance(kernel, np.ndarray):
        return np.matmul(own[:, None, :], kernel)
    pointer = np.arange(0, own.size + 1, process.actions)
    pick = scipy.sparse.csr_array((own.reshape(-1), np.arange(own.size), pointer), shape=(states, own.size))
    return scipy.sparse.csr_array(pick @ kernel)


def timed_trajectories(
    problem: CMDP, policy: TimedPolicy, episodes: int, seed: int, make: Callable[[Any], Any] | None
) -> Any:
    """Return all steps of some episodes of a horizon as a frame, in the user's terms, one episode after the other."""
    episodes, rng = arguments.whole("episodes", episodes), np.random.default_rng(arguments.seed(seed))
    process = problem.stages
    if process is None or not problem.horizon:
        raise InputError("a policy of several steps is simulated in a problem with that horizon; give one")
    table = aligned(policy, problem)
    steps, states = process.steps, process.states
    place = np.zeros((steps + 1, episodes), dtype=np.intp)
    action = np.zeros((steps, episodes), dtype=np.intp)
    place[0] = _drawn(problem.initial[None, :states].repeat(episodes, 0), rng)
    for t in range(steps):
        action[t] = _drawn(table[t * states + place[t]], rng)
        place[t + 1] = draw_successors(
            process.rows(t)[place[t] * process.actions + action[t]], rng.random(episodes)
        )
    at = np.arange(steps)[:, None] * states + place[:-1]
    found = Trajectories(
        states=place[:-1].reshape(-1),
        actions=action.reshape(-1),
        utilities=problem.utility[:, at, action].reshape(len(problem.utility), -1).T,
        successors=place[1:].reshape(-1),
        terminated=np.zeros(steps * episodes, dtype=bool),
        returns=np.empty((0, len(problem.utility))),
    )
    order = np.arange(steps * episodes).reshape(steps, episodes).T.ravel()
    return to_frame(_columns(problem, found, order, order // episodes, order % episodes), make)


def _drawn(rows: Array, rng: np.random.Generator) -> Any:
    """Draw an entry of each row (n, m) of probabilities."""
    sums = np.cumsum(rows, axis=1)
    return (rng.random((len(rows), 1)) * sums[:, -1:] >= sums).sum(1)


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
