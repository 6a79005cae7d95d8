"""A problem as the judge sees it: plain arrays, one sense, none of the library's own code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Model:
    """Maximise V_u[0] subject to V_u[1:] ≥ limit, on the probabilities p/Σp and ρ/Σρ of what is stored."""

    transition: np.ndarray  # (S, A, S), rows as stored
    initial: np.ndarray  # (S,)
    discount: float
    actions: np.ndarray  # (S, A) bool
    utility: np.ndarray  # (J, S, A), the reward first; 0 at pairs that are not available
    limit: np.ndarray  # (K,), −∞ where there is none
    sign: np.ndarray  # (J,): what the user reads is sign times what stands here

    @property
    def unit(self) -> float:
        """1/(1−γ)."""
        return 1 / (1 - self.discount)

    @cached_property
    def span(self) -> np.ndarray:
        """Max − min over the available pairs, (J,)."""
        inside = self.utility[:, self.actions]
        return inside.max(1) - inside.min(1)

    @cached_property
    def kernel(self) -> np.ndarray:
        """P(s'|s, a), (S, A, S), rows normalised; 0 where there is no action."""
        rows = np.where(self.actions[:, :, None], self.transition, 0.0)
        return rows / np.where(self.actions, rows.sum(2), 1.0)[:, :, None]

    @cached_property
    def start(self) -> np.ndarray:
        """The distribution ρ, (S,)."""
        return self.initial / self.initial.sum()

    @property
    def epsilon(self) -> float:
        """The share of the sums by which a limit may be missed and still count as met."""
        return max(1e-9, 16 * 2.0**-53 * self.unit)

    @property
    def floor(self) -> np.ndarray:
        """What is allowed for where all sums are 0, (K,): 1e-6·span·unit."""
        return 1e-6 * self.span[1:] * self.unit

    def allowance(self, size: np.ndarray) -> np.ndarray:
        """By how much each limit may be missed, (K,), given the totals V_|u| of a policy, (J,)."""
        limit = np.where(np.isfinite(self.limit), np.abs(self.limit), 0.0)
        return self.epsilon * (size[1:] + limit + self.floor)


def of_arguments(arguments: dict, transition: np.ndarray, initial: np.ndarray) -> Model:
    """Return the model of the arguments of a `CMDP`, with the probabilities that it stores."""
    minimise = "cost" in arguments
    reward = np.asarray(arguments["cost" if minimise else "reward"], float)
    actions = np.asarray(arguments.get("actions", np.ones(reward.shape)), bool)
    none = np.empty((0, *reward.shape))
    gained, paid = (
        np.asarray(arguments.get(key, none), float) for key in ("constraint_reward", "constraint_cost")
    )
    lower, upper = (np.asarray(arguments.get(key, np.empty(0)), float) for key in ("threshold", "budget"))
    utility = np.concatenate([(-reward if minimise else reward)[None], gained, -paid])
    return Model(
        transition=transition,
        initial=initial,
        discount=float(arguments["discount"]),
        actions=actions,
        utility=np.where(actions, utility, 0.0),
        limit=np.concatenate([lower, -upper]),
        sign=np.array([-1.0 if minimise else 1.0] + [1.0] * len(lower) + [-1.0] * len(upper)),
    )
