"""A trained policy as a plain callable, for the evaluation loops of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.environments.interface import Interface
from painless.policies import MixturePolicy
from painless.policies.table import TabularPolicy
from painless.simulation.rollouts import draw_actions


class Predictor:
    """Maps an observation to an action; `predict` has the signature of Stable-Baselines3.

    Arguments:
        policy: a table, one iterate, or a mixture, of which one iterate is drawn for each episode of each environment.
        seed: random seed.
        interface: of the environment, whose observations and actions it takes and gives; without one, numbers and indices.

    >>> Predictor(TabularPolicy(np.array([[0.0, 1.0]])))(0)
    1
    """

    def __init__(self, policy: Any, seed: int = 0, interface: Interface | None = None) -> None:
        self.policy: Any = policy.without_names() if isinstance(policy, TabularPolicy) else policy
        self.interface = interface
        self.rng = np.random.default_rng(seed)
        self._playing: list[Any] = []  # one policy for each environment
        self.reset()

    def reset(self) -> None:
        """Begin an episode: draw the iterate to play, where the policy is a mixture."""
        self._playing = [self._draw()]

    def _draw(self) -> Any:
        return self.policy.draw(self.rng) if isinstance(self.policy, MixturePolicy) else self.policy

    def __call__(self, observation: Any) -> Any:
        """Return the action for one observation."""
        states = self._states(observation)[0]
        return self._given(self._chosen(states[:1], deterministic=False)[0])

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]:
        """Return actions for a batch of observations, or one for a single one, and the unchanged state.

        `episode_start` says which environments of the batch begin an episode.
        """
        states, single = self._states(observation)
        starts = np.zeros(len(states), dtype=bool) if episode_start is None else np.asarray(episode_start)
        starts = np.broadcast_to(starts.reshape(-1), (len(states),))
        self._playing += [self._draw() for _ in range(len(states) - len(self._playing))]
        for index in np.flatnonzero(starts):
            self._playing[index] = self._draw()
        actions = [self._given(chosen) for chosen in self._chosen(states, deterministic=deterministic)]
        return (np.asarray(actions[0]) if single else np.array(actions)), state

    def _given(self, chosen: Any) -> Any:
        return chosen if self.interface is None else self.interface.action(chosen)

    def _states(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """Return observations as states (n,) or (n, D), and whether it was a single one."""
        if self.interface is not None:
            return self.interface.states(observation)
        batch = np.asarray(observation)
        single = batch.ndim == (0 if self._discrete else 1)
        batch = batch[None] if single else batch
        return (batch if self._discrete else batch.reshape(len(batch), -1).astype(float)), single

    @property
    def _discrete(self) -> bool:
        from painless.features import OneHot

        one = self._playing[0]
        return isinstance(one, TabularPolicy) or isinstance(getattr(one, "features", None), OneHot)

    def _chosen(self, states: NDArray[Any], *, deterministic: bool) -> list[Any]:
        """Choose an action in each state by the policy that its environment plays: an index, or what a network draws."""
        if not hasattr(self._playing[0], "choose"):
            return [int(index) for index in self._indices(states, deterministic=deterministic)]
        actions: list[Any] = [None] * len(states)
        for policy in {id(one): one for one in self._playing[: len(states)]}.values():
            mine = [k for k in range(len(states)) if self._playing[k] is policy]
            drawn = policy.choose(states[mine], self.rng, deterministic=deterministic)
            for k, action in zip(mine, drawn, strict=True):
                actions[k] = action
        return actions

    def _indices(self, states: NDArray[Any], *, deterministic: bool) -> NDArray[np.intp]:
        """Draw an action in each state by the policy that its environment plays."""
        rows: list[Any] = [None] * len(states)
        for policy in {id(one): one for one in self._playing[: len(states)]}.values():
            mine = [k for k in range(len(states)) if self._playing[k] is policy]
            found = policy.at(states[mine]).reshape(len(mine), -1)
            for k, row in zip(mine, found, strict=True):
                rows[k] = row
        probabilities = np.array(rows)
        if deterministic:
            return probabilities.argmax(-1)
        return draw_actions(probabilities, self.rng.random(len(states)))
