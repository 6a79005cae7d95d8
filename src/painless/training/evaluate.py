"""`evaluate`: the value of a policy from fresh episodes, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from painless.common import arguments
from painless.common.arguments import share, whole
from painless.common.arrays import Array, Mask, one_thread
from painless.common.errors import InputError
from painless.policies.fitting import require_fit
from painless.policies.mixture import MixturePolicy
from painless.policies.rules import aligned, as_policy
from painless.policies.table import TabularPolicy, checked_policy, policy_table
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP
from painless.simulation.confidence import FEW, intervals
from painless.simulation.rollouts import Acts, roll_out
from painless.simulation.simulator import Simulator, Specification, TableSimulator, require_simulator
from painless.simulation.staged import StagedSimulator

MEANING: dict[str, bool | None] = {"met": True, "missed": False, "unclear": None}
BATCH = 500  # episodes in lockstep


@dataclass(frozen=True, eq=False)
class Estimate:
    """Means and confidence intervals of all J utilities, in the user's terms, the reward first.

    All intervals hold at once with the stated confidence.
    """

    mean: Array  # (J,)
    low: Array  # (J,)
    high: Array  # (J,)
    threshold: Array  # (K,) in the user's terms
    sense: tuple[str, ...]
    confidence: float
    episodes: int
    steps: int
    words: tuple[str, ...] | None = None  # verdicts that come from more than the intervals
    exact: bool = True  # whether the intervals hold with the confidence, or are about right

    @classmethod
    def unverified(
        cls, value: Array, width: Array, specification: Specification, confidence: float
    ) -> Estimate:
        """Return what is known without a fresh episode, in the user's terms: all limits are unclear."""
        return cls(
            mean=value + 0.0,  # no negative zeros
            low=value - width,
            high=value + width,
            threshold=specification.limit,
            sense=specification.sense,
            confidence=confidence,
            episodes=0,
            steps=0,
            words=("unclear",) * len(specification.threshold),
            exact=False,
        )

    @property
    def certainty(self) -> str:
        """The confidence in words."""
        return f"{'' if self.exact else 'about '}{100 * self.confidence:g} % confidence"

    @property
    def slack(self) -> Array:
        """Lower bounds on the slacks, with the stated confidence, (K,)."""
        lower = np.array([sense == ">=" for sense in self.sense], dtype=bool)
        return np.where(lower, self.low[1:] - self.threshold, self.threshold - self.high[1:])

    @property
    def met(self) -> tuple[bool | None, ...]:
        """For each constraint: True if met with the stated confidence, False if missed, None if unclear.

        Fewer than ten episodes of an unknown range do not show that a limit is met.
        """
        if self.words is not None:
            return tuple(MEANING[word] for word in self.words)
        enough = self.exact or self.episodes >= FEW
        verdicts: list[bool | None] = []
        for low, high, limit, sense in zip(
            self.low[1:], self.high[1:], self.threshold, self.sense, strict=True
        ):
            inside, outside = (low >= limit, high < limit) if sense == ">=" else (high <= limit, low > limit)
            verdicts.append(True if inside and enough else False if outside else None)
        return tuple(verdicts)

    @property
    def verdict(self) -> tuple[str, ...]:
        """One word for each constraint: "met", "missed" or "unclear"."""
        words = {meaning: word for word, meaning in MEANING.items()}
        return tuple(words[met] for met in self.met)


def evaluate(
    policy: Acts | MixturePolicy | TabularPolicy | ArrayLike,
    problem: Simulator | CMDP,
    *,
    episodes: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Draw fresh episodes, and return the mean discounted returns with simultaneous confidence intervals; totals for limits on whole episodes.

    This is for simulators, or to watch a policy play. For the exact values of a policy in a model, use `value`. The intervals hold with
    the stated confidence if the ranges of a step are declared; otherwise they are about right.

    Arguments:
        policy: the `policy` of a solution or training, any object with `at(states)`, or for a table the probabilities (S, A).
        problem: a table or a simulator.
        episodes: the number of episodes, at least 2.
        confidence: the probability that all intervals hold together.
        seed: random seed.

    Episodes of a table are truncated where little value remains; the intervals include the remainder. With a horizon they take its steps;
    for a long-run average, values are the averages of the first 1,000 steps.

    >>> import painless
    >>> world = painless.gridworld()
    >>> found = evaluate(painless.solve(world).policy, world, episodes=200)
    >>> bool(found.low[0] < 1.6527 < found.high[0])
    True
    """
    episodes, seed = whole("episodes", episodes, least=2), arguments.seed(seed)
    confidence = share("confidence", confidence)
    simulator = _simulator(problem)
    acting = _acting(policy, simulator)
    with one_thread():
        returns, steps = _returns(acting, simulator, episodes, np.random.default_rng(seed))
    specification = simulator.specification
    bounded = specification.declared and not specification.ends and not _episodic(simulator).any()
    extent = specification.return_range if bounded else None
    sizes = np.where(-specification.low > specification.high, specification.low, specification.high)
    low, high = intervals(returns, extent, confidence, sizes)
    if specification.average:  # per step
        returns, low, high = (part / (specification.time_limit or 1) for part in (returns, low, high))
    elif isinstance(problem, CMDP) and not (specification.ends or specification.horizon):
        rest = problem.discount ** (specification.time_limit or 0) / (1 - problem.discount)
        low = low + rest * np.minimum(specification.low, 0.0)
        high = high + rest * np.maximum(specification.high, 0.0)
    sign = specification.sign
    return Estimate(
        mean=returns.mean(0) * sign,
        low=np.where(sign > 0, low, -high),
        high=np.where(sign > 0, high, -low),
        threshold=specification.limit,
        sense=specification.sense,
        confidence=confidence,
        episodes=episodes,
        steps=steps,
        exact=bounded and not specification.average,
    )


def _simulator(problem: Any) -> Simulator:
    """Return a table as a simulator, and a simulator as it is."""
    if not isinstance(problem, CMDP):
        return require_simulator(problem)
    return TableSimulator(problem) if problem.horizon is None else StagedSimulator(problem)


def _episodic(simulator: Simulator) -> Mask:
    """Return which limits are on the undiscounted sums of whole episodes, (K,)."""
    none = np.zeros(len(simulator.specification.threshold), dtype=bool)
    return np.asarray(getattr(simulator, "episodic", none), dtype=bool)


def _acting(policy: Any, simulator: Simulator) -> Acts | MixturePolicy:
    """Return a policy that fits the simulator, or raise an error."""
    table = isinstance(policy, TabularPolicy)
    if isinstance(simulator, StagedSimulator):
        return as_policy(policy, simulator.problem).without_names()
    if isinstance(policy, TimedPolicy):
        raise InputError(
            f"policy has {len(policy)} steps; give one of them, policy.step(t), or a problem with that horizon"
        )
    if not table and (isinstance(policy, MixturePolicy) or callable(getattr(policy, "at", None))):
        require_fit(policy, simulator)
        if isinstance(policy, TableMixture):
            return TableMixture(tuple(_in_order(one, simulator) for one in policy.policies), policy.weights)
        return cast("Acts | MixturePolicy", policy)
    if not table and not isinstance(policy, np.ndarray | list | tuple):
        hint = "its policy, such as solution.policy," if hasattr(policy, "policy") else "a TabularPolicy,"
        raise InputError(
            f"policy is a {type(policy).__name__}, which cannot act; give {hint} or a table of probabilities (S, A)"
        )
    if isinstance(simulator, TableSimulator):
        problem = simulator.problem
        return TabularPolicy(aligned(policy, problem) if table else checked_policy(policy, problem.actions))
    found = policy.without_names() if table else TabularPolicy(policy_table("policy", policy))
    _require_actions(found, simulator.specification.actions)
    return found


def _in_order(policy: TabularPolicy, simulator: Simulator) -> TabularPolicy:
    """Return a table in the order of a simulator's states and actions, without names."""
    if isinstance(simulator, TableSimulator):
        return TabularPolicy(aligned(policy, simulator.problem))
    _require_actions(policy, simulator.specification.actions)
    return policy.without_names()


def _require_actions(policy: TabularPolicy, actions: int) -> None:
    shape = policy.probabilities.shape
    if shape[1] != actions:
        raise InputError(f"policy has shape {shape}, but the simulator {actions} actions; give one for it")


def _returns(
    policy: Acts | MixturePolicy,
    simulator: Simulator,
    episodes: int,
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """Return the discounted returns of all episodes, (n, J), and the steps taken."""
    groups: list[tuple[Acts, int]]
    if isinstance(policy, MixturePolicy):
        counts = rng.multinomial(episodes, policy.weights)
        groups = [(one, int(n)) for one, n in zip(policy.policies, counts, strict=True) if n]
    else:
        groups = [(policy, min(BATCH, episodes - done)) for done in range(0, episodes, BATCH)]
    parts = [roll_out(simulator, one, count, rng) for one, count in groups]
    returns = np.concatenate([part.returns for part in parts])
    episodic = np.append(False, _episodic(simulator))
    if episodic.any():
        totals = np.concatenate([part.returns if part.totals is None else part.totals for part in parts])
        returns = np.where(episodic, totals, returns)
    order = rng.permutation(episodes)  # a mixture sorts them by policy; intervals need a random order
    return returns[order], sum(len(part.actions) for part in parts)
