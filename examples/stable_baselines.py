"""A trained policy in other people's evaluation loops: `predict` as Stable-Baselines3 calls it.

`stable_baselines3.common.evaluation.evaluate_policy(model, env)` needs only a model with the `predict` below, and
vectorised environments. The loop here does the same, without the dependency.
"""

import gymnasium
import numpy as np

import painless
import painless.environments  # registers painless/CartPole-v0
from painless.environments import Predictor


def evaluate_policy(model, env, episodes: int) -> tuple[float, float]:
    """Return the mean and the standard deviation of the undiscounted return."""
    returns, total = [], np.zeros(env.num_envs)
    observations, _ = env.reset(seed=0)
    state, starts, ended = None, np.ones(env.num_envs, dtype=bool), np.zeros(env.num_envs, dtype=bool)
    while len(returns) < episodes:
        actions, state = model.predict(observations, state=state, episode_start=starts, deterministic=False)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        total = np.where(ended, 0.0, total + rewards)  # the step after an end only begins anew
        ended = terminated | truncated
        returns.extend(total[ended])
        starts = ended
    return float(np.mean(returns)), float(np.std(returns))


def main(iterations: int = 40) -> None:
    training = painless.train(painless.CartPole(), iterations=iterations, episodes=100)
    print(training)
    env = gymnasium.make_vec("painless/CartPole-v0", num_envs=10)
    mean, deviation = evaluate_policy(Predictor(training.policy), env, episodes=50)
    print(f"undiscounted return over 50 episodes: {mean:.1f} ± {deviation:.1f} of 200")


if __name__ == "__main__":
    main()
