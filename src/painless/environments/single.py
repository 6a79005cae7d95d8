"""Our simulators as Gymnasium environments that step one episode."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from painless.common.errors import InputError
from painless.environments import spaces
from painless.environments.grid import grid_image, grid_text
from painless.problem import CMDP
from painless.simulation.simulator import Simulator


class SimulatorEnv(gymnasium.Env[Any, Any], spaces.Readable):
    """An environment that steps a simulator.

    `info["constraint_rewards"]` (K,) are the constraint rewards of the step, and `info["cost"]` the cost of the single
    constraint, or the sum of the costs of several. A constraint cost counts as it is; a constraint reward costs
    what it falls short of its largest value.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(self, simulator: Simulator, render_mode: str | None = None) -> None:
        self.simulator = simulator
        self.render_mode = render_mode
        self._state: Any = None
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._state, self._steps = self.simulator.reset(1, self.np_random), 0
        return self._observation(), self._about()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        if self._state is None:
            raise InputError("the episode has not begun; call reset first")
        outcome = self.simulator.step(self._state, np.array([int(action)]), self.np_random)
        self._state, self._steps = outcome.states, self._steps + 1
        utilities = outcome.utilities[0]
        specification = self.simulator.specification
        info = {
            **self._about(),
            "constraint_rewards": utilities[1:].copy(),
            "cost": float(spaces.costs(specification, utilities).sum()),
        }
        terminated = bool(outcome.terminated[0])
        truncated = not terminated and self._steps >= (specification.time_limit or np.inf)
        return self._observation(), float(utilities[0]), terminated, truncated, info

    def _observation(self) -> Any:
        return self._state[0].copy()

    def _about(self) -> dict[str, Any]:
        return {}


class CartPoleEnv(SimulatorEnv):
    """CartPole with constraints on the cart's position and the pole's angle (paper, app. D.2).

    Observations: position, velocity, angle and angular velocity. Actions: push left (0) or right (1).
    Rewards: 1 for every step survived. Constraint rewards: 1 outside the zones, and 1 within ±4°.
    Episodes end when the cart or the pole goes too far, and are truncated after 200 steps.
    """

    def __init__(
        self,
        threshold: Any = (79.0, 80.0),
        discount: float = 0.99,
        time_limit: int = 200,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(spaces.cartpole_simulator(threshold, discount, time_limit), render_mode)
        self.observation_space, self.action_space = spaces.cartpole_spaces()


class TabularEnv(SimulatorEnv):
    """Any CMDP as an environment: a `CMDP`, a problem file, or a registered name.

    Observations: the state's index. Actions: the action's index; `info["action_mask"]` says which ones the state has.
    Rewards: the reward, or the negative of the cost. Episodes never end by themselves; they are truncated after
    `time_limit` steps, by default where little of any value is missed. Grids are rendered as text and as a picture.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # type: ignore[misc]

    def __init__(
        self, problem: CMDP | str = "gridworld", time_limit: int | None = None, render_mode: str | None = None
    ) -> None:
        simulator = spaces.table_simulator(problem, time_limit)
        super().__init__(simulator, render_mode)
        self.problem = simulator.problem
        self.observation_space, self.action_space = spaces.table_spaces(self.problem)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action, which the state must have."""
        if self._state is not None and not self.problem.actions[int(self._state[0]), int(action)]:
            raise InputError(
                f"state {int(self._state[0])} has no action {int(action)}; see info['action_mask']"
            )
        return super().step(action)

    def _observation(self) -> int:
        return int(self._state[0])

    def _about(self) -> dict[str, Any]:
        return {"action_mask": self.problem.actions[int(self._state[0])].astype(np.int8)}

    def render(self) -> Any:
        """Return the grid, or the state's name, as text ("ansi") or as a picture ("rgb_array")."""
        if self.render_mode is None or self._state is None:
            return None
        state = int(self._state[0])
        return (
            grid_text(self.problem, state) if self.render_mode == "ansi" else grid_image(self.problem, state)
        )
