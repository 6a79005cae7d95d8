"""`python -m benchmarks.beside_sb3 cartpole pendulum --seeds 3`: PPO of Stable-Baselines3 with a multiplier by gradient ascent, for five rates.

Needs stable-baselines3. Each rate is a run of its own with as many steps as ours; the last policy is played on as many further episodes as
ours. With several seeds the best two rates of the first seed are run with the others, too. What counts is the best rate in hindsight for each environment: the
largest return among the rates that meet the limits, or the smallest miss if none does. `--store` appends a line of JSON for each run.
"""

import argparse
import time
import warnings

import gymnasium
import numpy as np

from benchmarks.zoo_networks import FURTHER, NETWORKS, stored
from painless.environments import from_gymnasium

RATES = (0.01, 0.03, 0.1, 0.3, 1.0)  # of the multipliers, in units of the deviation of an episode's cost
COPIES = 16
FINALISTS = 2  # rates that are run with all seeds


class Priced(gymnasium.Wrapper):
    """Rewards what a Lagrangian with these multipliers does, in units of deviations; keeps what the finished episodes collected."""

    def __init__(self, simulator):
        super().__init__(simulator.make())
        self.simulator, self.threshold = simulator, simulator.specification.threshold
        self.multiplier, self.finished = np.zeros(len(self.threshold)), []
        undiscounted = np.append(False, simulator.episodic)
        self.discount = np.where(undiscounted, 1.0, simulator.discount)  # of each utility's sum, (J,)

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
        self.factor *= self.discount
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


def trained(simulator, rate, steps, seed):
    """Return the last policy of a run, and the vector environment that normalises its observations."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

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

    vector = VecNormalize(make_vec_env(make, COPIES, seed=seed), gamma=simulator.discount)
    model = PPO(
        "MlpPolicy",
        vector,
        n_steps=64,
        batch_size=256,
        gamma=simulator.discount,
        seed=seed,
        device="cpu",
    )
    model.learn(steps, callback=Learn())
    return model, vector


def played(model, vector, simulator, rng):
    """Return what further episodes of a policy collect, (n, J), in the internal sense; every copy plays its share of them."""
    copies = [Priced(simulator) for _ in range(COPIES)]
    left = [len(range(i, FURTHER, COPIES)) for i in range(COPIES)]
    last = [copy.reset(seed=int(rng.integers(2**31)))[0] for copy in copies]
    while any(left):
        playing = [i for i in range(COPIES) if left[i]]
        seen = vector.normalize_obs(np.array([last[i] for i in playing]))
        actions, _ = model.predict(seen, deterministic=False)
        for i, action in zip(playing, actions, strict=True):
            last[i], _, ended, cut, _ = copies[i].step(action)
            if ended or cut:
                left[i] -= 1
                last[i], _ = copies[i].reset(seed=int(rng.integers(2**31)))
    return np.array([one for copy in copies for one in copy.finished])


def measured(name, rate, steps, seed):
    """Return the record of a run: means and errors of all utilities in further episodes, in the internal sense, and CPU seconds of training."""
    environment, limits, discount, options, _ = NETWORKS[name]
    simulator = from_gymnasium(environment, constraints=limits, discount=discount, seed=seed, **options)
    start = time.process_time()
    model, vector = trained(simulator, rate, steps, seed)
    seconds = time.process_time() - start
    values = played(model, vector, simulator, np.random.default_rng(seed + 1))
    mean, error = values.mean(0), values.std(0) / np.sqrt(len(values))
    return {
        "name": name,
        "rate": rate,
        "steps": steps,
        "seed": seed,
        "threshold": simulator.specification.threshold.tolist(),
        "seconds": seconds,
        "mean": mean.tolist(),
        "error": error.tolist(),
    }


def standing(runs):
    """Return how good runs of one rate are on average, to compare: those that meet the limits by their reward, others by their miss."""
    mean = np.mean([one["mean"] for one in runs], axis=0)
    slack = (mean[1:] - runs[0]["threshold"]).min(initial=np.inf)
    return (True, mean[0]) if slack >= 0 else (False, slack)


def compared(name, steps, seeds, rates, store):
    """Run rates with the first seed and the best of them with the others; print and store each run."""
    first, *others = seeds
    records = {}
    plan = [(rate, first) for rate in rates]
    while plan:
        rate, seed = plan.pop(0)
        record = measured(name, rate, steps, seed)
        stored(record, store)
        records[rate] = record
        mean, met = np.array(record["mean"]), "met" if standing([record])[0] else "missed"
        print(
            f"{name}, seed {seed}, rate {rate:g}: {mean.round(2)} ± {np.round(record['error'], 2)}, {met}, {record['seconds']:.0f} CPU s",
            flush=True,
        )
        if not plan and others:
            best = sorted(rates, key=lambda rate: standing([records[rate]]), reverse=True)[:FINALISTS]
            plan, others = [(rate, seed) for rate in best for seed in others], []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=list(NETWORKS))
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--store", help="a file that gets a line of JSON for each run")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in given.names:
        compared(name, given.steps, range(given.first, given.first + given.seeds), given.rates, given.store)


if __name__ == "__main__":
    main()
