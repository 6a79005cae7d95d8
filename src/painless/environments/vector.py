"""Our simulators as native Gymnasium vector environments, which step many episodes at once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from painless.environments import spaces
from painless.problem import CMDP
from painless.simulation.simulator import Simulator


class SimulatorVectorEnv(VectorEnv[Any, Any, Any], spaces.Readable):
    """Many episodes of a simulator. An episode that has ended restarts on the next step."""

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # type: ignore[misc]

    def __init__(self, simulator: Simulator, num_envs: int, observations: Any, actions: Any) -> None:
        self.simulator, self.num_envs = simulator, num_envs
        self.single_observation_space, self.single_action_space = observations, actions
        self.observation_space = batch_space(observations, num_envs)
        self.action_space = batch_space(actions, num_envs)
        self.render_mode = None
        self._steps = np.zeros(num_envs, np.intp)
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start all episodes; one seed serves them all."""
        super().reset(seed=seed if seed is None or isinstance(seed, int) else int(seed[0]), options=options)
        self._states = self.simulator.reset(self.num_envs, self.np_random)
        self._steps[:] = 0
        self._over[:] = False
        return self._states.copy(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one action in every episode; those that had ended restart, with reward 0."""
        chosen: NDArray[np.intp] = np.asarray(actions, dtype=np.intp)
        outcome = self.simulator.step(self._states, chosen, self.np_random)
        fresh, specification = self._over, self.simulator.specification
        states, utilities, terminated, _ = outcome
        cost = spaces.costs(specification, utilities).sum(-1)
        self._steps += 1
        if fresh.any():
            states = states.copy()
            states[fresh] = self.simulator.reset(int(fresh.sum()), self.np_random)
            utilities, cost = np.where(fresh[:, None], 0.0, utilities), np.where(fresh, 0.0, cost)
            terminated, self._steps = terminated & ~fresh, np.where(fresh, 0, self._steps)
        truncated = ~terminated & (self._steps >= (specification.time_limit or np.inf))
        self._states, self._over = states, terminated | truncated
        info = {"constraint_rewards": utilities[:, 1:], "cost": cost}
        return states.copy(), utilities[:, 0], terminated, truncated, info


class CartPoleVectorEnv(SimulatorVectorEnv):
    """Many episodes of `painless/CartPole-v0`."""

    def __init__(
        self,
        num_envs: int = 1,
        threshold: Any = (79.0, 80.0),
        discount: float = 0.99,
        time_limit: int = 200,
        render_mode: str | None = None,
    ) -> None:
        del render_mode
        super().__init__(
            spaces.cartpole_simulator(threshold, discount, time_limit), num_envs, *spaces.cartpole_spaces()
        )


class TabularVectorEnv(SimulatorVectorEnv):
    """Many episodes of `painless/Tabular-v0`."""

    def __init__(
        self,
        num_envs: int = 1,
        problem: CMDP | str = "gridworld",
        time_limit: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        del render_mode
        simulator = spaces.table_simulator(problem, time_limit)
        super().__init__(simulator, num_envs, *spaces.table_spaces(simulator.problem))
