"""`python -m benchmarks.beside_sb3 cartpole pendulum`: PPO of Stable-Baselines3 with a multiplier by gradient ascent, for five rates.

Needs stable-baselines3. Each rate is a run of its own with as many steps as ours; the last policy is played on fresh episodes. What counts is the best rate in
hindsight for each environment: the largest return among the rates that meet the limits, or the smallest miss if none does. `--store` appends a
line of JSON for each run.
"""

import argparse
import time
import warnings

import gymnasium
import numpy as np

from benchmarks.zoo_networks import NETWORKS, stored
from painless.environments import from_gymnasium

RATES = (0.01, 0.03, 0.1, 0.3, 1.0)  # of the multipliers, in units of the deviation of an episode's cost
EPISODES = 100


class Priced(gymnasium.Wrapper):
    """Rewards what a Lagrangian with these multipliers does, in units of deviations; keeps what the finished episodes collected."""

    def __init__(self, simulator):
        super().__init__(simulator.make())
        self.simulator, self.threshold = simulator, simulator.specification.threshold
        self.multiplier, self.finished = np.zeros(len(self.threshold)), []

    def reset(self, **options):
        self.last, info = self.env.reset(**options)
        self.sums, self.factor, self.steps = np.zeros(1 + len(self.threshold)), 1.0, 0
        return self.last, info

    def step(self, action):
        observation, values, terminated, truncated = self.simulator.utilities.read(
            self.last, action, self.env.step(action)
        )
        self.last, self.steps = observation, self.steps + 1
        truncated = truncated or self.steps >= self.simulator.time_limit
        self.sums += self.factor * np.array(values)
        self.factor *= self.simulator.discount
        if terminated or truncated:
            self.finished.append(self.sums)
        weights = np.append(1.0, self.multiplier) / (1 + self.multiplier.sum())
        return observation, float(weights @ np.array(values)), terminated, truncated, {}

    def learn(self, rate):
        """Move the multipliers along the shortfall of the finished episodes."""
        if self.finished:
            values = np.array(self.finished)
            gain = (self.threshold - values[:, 1:].mean(0)) / (values[:, 1:].std(0) + 1e-8)
            self.multiplier = np.maximum(self.multiplier + rate * gain, 0.0)
            self.finished = []


def trained(name, rate, steps, seed):
    """Return means and errors of all utilities on fresh episodes of the last policy, in the internal sense, and CPU seconds."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    environment, limits, discount, options, _ = NETWORKS[name]
    simulator = from_gymnasium(environment, constraints=limits, discount=discount, seed=seed, **options)
    start = time.process_time()
    copies = []

    def make():
        copies.append(Priced(simulator))
        return copies[-1]

    class Learn(BaseCallback):
        def _on_rollout_end(self):
            first = copies[0]
            first.finished = [one for copy in copies for one in copy.finished]
            first.learn(rate)
            for copy in copies[1:]:
                copy.finished, copy.multiplier = [], first.multiplier

        def _on_step(self):
            return True

    vector = VecNormalize(make_vec_env(make, 16, seed=seed), gamma=discount)
    model = PPO("MlpPolicy", vector, n_steps=64, batch_size=256, gamma=discount, seed=seed, device="cpu")
    model.learn(steps, callback=Learn())
    spent = time.process_time() - start
    play, returns = Priced(simulator), []
    rng = np.random.default_rng(seed + 1)
    while len(returns) < EPISODES:
        observation, _ = play.reset(seed=int(rng.integers(2**31)))
        ended = cut = False
        while not (ended or cut):
            action, _ = model.predict(vector.normalize_obs(observation), deterministic=False)
            observation, _, ended, cut, _ = play.step(action)
        returns.append(play.sums)
    values = np.array(returns)
    return values.mean(0), values.std(0) / np.sqrt(EPISODES), simulator.specification.threshold, spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=list(NETWORKS))
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    parser.add_argument("--store", help="a file that gets a line of JSON for each run")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in given.names:
        for rate in given.rates:
            mean, error, threshold, spent = trained(name, rate, given.steps, given.seed)
            met = "met" if (mean[1:] >= threshold).all() else "missed"
            record = {
                "name": name,
                "rate": rate,
                "steps": given.steps,
                "seed": given.seed,
                "met": met,
                "seconds": spent,
            }
            stored({**record, "mean": mean.tolist(), "error": error.tolist()}, given.store)
            print(
                name,
                f"rate {rate:g}: {mean.round(2)} ± {error.round(2)}, {met}, {spent:.0f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main()
