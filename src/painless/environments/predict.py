"""A trained policy as a plain callable, for the evaluation loops of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.policies import MixturePolicy
from painless.policies.table import TabularPolicy
from painless.simulation.rollouts import draw_actions


class Predictor:
    """Maps an observation to an action; `predict` has the signature of Stable-Baselines3.

    Arguments:
        policy: a table, one iterate, or a mixture, of which one iterate is drawn for each episode.
        seed: random seed.

    >>> Predictor(TabularPolicy(np.array([[0.0, 1.0]])))(0)
    1
    """

    def __init__(self, policy: Any, seed: int = 0) -> None:
        self.policy: Any = policy.without_names() if isinstance(policy, TabularPolicy) else policy
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self) -> None:
        """Begin an episode: draw the iterate to play, where the policy is a mixture."""
        mixed = isinstance(self.policy, MixturePolicy)
        self._playing = self.policy.draw(self.rng) if mixed else self.policy

    def __call__(self, observation: Any) -> int:
        """Return the action for one observation."""
        return int(self._actions(np.asarray(observation)[None], deterministic=False)[0])

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[NDArray[np.intp], Any]:
        """Return actions for a batch of observations, or one for a single one, and the unchanged state."""
        if episode_start is not None and np.all(episode_start):
            self.reset()
        batch = np.asarray(observation)
        single = batch.ndim == (0 if self._discrete else 1)
        actions = self._actions(batch[None] if single else batch, deterministic=deterministic)
        return (actions[0] if single else actions), state

    @property
    def _discrete(self) -> bool:
        from painless.features import OneHot

        return isinstance(self._playing, TabularPolicy) or isinstance(
            getattr(self._playing, "features", None), OneHot
        )

    def _actions(self, batch: NDArray[Any], *, deterministic: bool) -> NDArray[np.intp]:
        states = batch if self._discrete else batch.reshape(len(batch), -1).astype(float)
        probabilities = self._playing.at(states).reshape(len(batch), -1)
        if deterministic:
            return probabilities.argmax(-1)
        return draw_actions(probabilities, self.rng.random(len(batch)))
