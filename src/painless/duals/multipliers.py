"""Multipliers for people who keep their own trainer: costs of finished episodes in, weights of reward and costs out.

    s_i = √(mean of squares of the episodes' costs so far),     s_r that of their returns, or 1 if they are not given
    λ_i  gains  (mean cost − limit)/s_i/(1 + Σλ),  or (limit − mean) for a limit from below
    weights = (1, ∓λ_1·s_r/s_1, …, ∓λ_K·s_r/s_K) / (1 + Σλ)

Divided by 1 + Σλ, no weight grows without bound, so that multipliers need no bound either. Gains are divided likewise, being those of the same
game: a policy that is slow to follow would otherwise let a coin bettor grow exponentially. The learner is COCOB without wind-up, played
ahead (`HalfLine`, `Extrapolated`): it starts at 0 and has no rate to choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import as_floats, require_finite
from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.learners import Cocob, Extrapolated, HalfLine
from painless.learners.base import Learner
from painless.learners.plain_state import plain_state, restored_state

SENSES = {"<=": 1.0, ">=": -1.0}


def untuned_learner() -> Extrapolated:
    """Return the learner of multipliers for policies that are networks: COCOB on [0, ∞) without wind-up, five steps ahead."""
    return Extrapolated(HalfLine(Cocob(alpha=8.0)), steps=5.0)


class Multipliers:
    """Weights of a reward and K costs that lead to limits being met, for any trainer of your own.

    Arguments:
        limits: one for each constraint, on the sum that you report for an episode, discounted or not.
        sense: "<=" for all, ">=" for all, or one for each.
        learner: any learner on [0, ∞); by default one without settings.

    The trainer maximises `weights @ [reward, *costs]`, as a reward or as an advantage.

    >>> multiplier = Multipliers(limits=[25.0])
    >>> multiplier.update([20.0, 24.0])
    array([1., 0.])
    >>> weights = multiplier.update([40.0, 38.0, 45.0])
    >>> bool(weights[0] < 1), bool(weights[1] < 0)
    (True, True)
    """

    def __init__(
        self,
        limits: ArrayLike,
        sense: str | Sequence[str] = "<=",
        learner: Learner[Any] | None = None,
    ) -> None:
        self.limits = np.atleast_1d(as_floats("limits", limits))
        if self.limits.ndim != 1:
            raise InputError(f"limits have shape {self.limits.shape}; give one number for each constraint")
        require_finite("limits", self.limits)
        senses = [sense] * len(self.limits) if isinstance(sense, str) else list(sense)
        if len(senses) != len(self.limits) or not {*senses} <= {*SENSES}:
            raise InputError(
                f"sense is {shown(sense)}; give '<=' or '>=', or one of them for each of {len(self.limits)} limits"
            )
        self.sense = tuple(senses)
        self._sign = np.array([SENSES[one] for one in senses])
        self.learner: Learner[Any] = untuned_learner() if learner is None else learner
        if isinstance(self.learner, type) or not callable(getattr(self.learner, "update", None)):
            raise InputError(f"learner is {shown(learner)}; give a learner, such as HalfLine(Cocob())")
        self._state: Any = self.learner.init(np.zeros(len(self.limits)))
        self._episodes = 0
        self._squares = np.zeros(1 + len(self.limits))  # sums of squares, the return's first
        self._returns = 0  # episodes whose return was given

    def update(self, episode_costs: ArrayLike, episode_rewards: ArrayLike | None = None) -> Array:
        """Learn from the episodes that finished since the last call; return the weights (1 + K,), the reward's first.

        Arguments:
            episode_costs: the sum of each cost over each episode, (n, K), or (n,) for one constraint. Without an episode nothing
                changes.
            episode_rewards: the returns of the same episodes, (n,). With them neither the unit of the reward matters nor those of the
                costs; without them rewards should be of size 1.
        """
        costs = self._costs(episode_costs)
        if not len(costs):
            return self.weights
        self._squares[1:] += (costs**2).sum(0)
        self._episodes += len(costs)
        if episode_rewards is not None:
            rewards = np.atleast_1d(as_floats("episode_rewards", episode_rewards))
            if rewards.shape != (len(costs),):
                raise InputError(
                    f"episode_rewards have shape {rewards.shape}, not one for each of {len(costs)} episodes"
                )
            require_finite("episode_rewards", rewards)
            self._squares[0] += float(rewards @ rewards)
            self._returns += len(rewards)
        excess = self._sign * (costs.mean(0) - self.limits) / self._scale[1:]
        self._state = self.learner.update(excess / (1.0 + self._decision.sum()), self._state)
        return self.weights

    def _costs(self, given: ArrayLike) -> Array:
        """Return the costs as (n, K)."""
        costs, count = as_floats("episode_costs", given), len(self.limits)
        if costs.size == 0:
            return np.empty((0, count))
        if costs.ndim <= 1:
            costs = costs.reshape(-1, 1) if count == 1 else costs.reshape(1, -1)
        if costs.ndim != 2 or costs.shape[1] != count:
            raise InputError(
                f"episode_costs have shape {np.shape(given)}; give (episodes, {count}), one column for each limit"
            )
        require_finite("episode_costs", costs)
        return costs

    @property
    def _scale(self) -> Array:
        """s, (J,)."""
        counts = np.array([self._returns, *[self._episodes] * len(self.limits)])
        scale = np.sqrt(self._squares / np.maximum(counts, 1))
        return np.where(scale > 0, scale, 1.0)

    @property
    def multiplier(self) -> Array:
        """λ·s_r/s_i, (K,): what one unit of each cost is worth in units of the reward, never below 0."""
        scale = self._scale
        return self._decision * scale[0] / scale[1:]

    @property
    def _decision(self) -> Array:
        return np.maximum(self._state.decision, 0.0)

    @property
    def weights(self) -> Array:
        """What the last `update` returned; before the first, all weight is on the reward."""
        price = np.append(1.0, -self._sign * self.multiplier) + 0.0
        return price / (1.0 + self._decision.sum())

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned as plain numbers and lists, for a checkpoint of yours, such as a JSON file."""
        return {
            "limits": self.limits.tolist(),
            "sense": list(self.sense),
            "episodes": self._episodes,
            "returns": self._returns,
            "squares": self._squares.tolist(),
            "learner": plain_state(self._state),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned, for the same limits."""
        wanted = {"limits": self.limits.tolist(), "sense": list(self.sense)}
        if not isinstance(state, Mapping) or any(state.get(name) != value for name, value in wanted.items()):
            raise InputError("this is the state of other limits; make Multipliers with the same ones")
        self._state = restored_state(self.learner.init(np.zeros(len(self.limits))), state["learner"])
        self._episodes, self._returns = int(state["episodes"]), int(state["returns"])
        self._squares = as_floats("squares", state["squares"]).reshape(1 + len(self.limits))
