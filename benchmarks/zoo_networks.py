"""Environments that are not finite, with limits that nobody tuned to: what networks are tried on.

`NETWORKS[name] = (environment, limits, discount, options, known)`; `known` is what a prototype of the method reached, or arithmetic. Those of
`HELD_OUT` have decided nothing about the method or its constants.
`python -m benchmarks.zoo_networks runs.jsonl` makes a table of what `python -m benchmarks.zoo --store runs.jsonl` stored.
"""

import json
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import spaces

import painless
from painless.environments.copies import make_copies
from painless.training.deep.collection import play

FURTHER = 1000  # episodes of an answer, after it was verified


class Thermostat(gymnasium.Env):
    """Room, wall and outside temperature, the hour as sine and cosine, a price; off, low or high. The cost is degrees below 19."""

    observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float64)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.quarter = int(self.np_random.integers(96))
        self.room = self.np_random.uniform(17, 22)
        self.wall, self.weather = self.room - 3, 0.0
        return self._seen(), {}

    def _seen(self):
        angle = 2 * np.pi * self.quarter / 96
        self.outside = 5 + 5 * np.sin(angle - 2) + self.weather
        self.price = 1 + 0.8 * (np.sin(2 * angle) > 0.3)
        return np.array([self.room, self.wall, self.outside, np.sin(angle), np.cos(angle), self.price])

    def step(self, action):
        power, price = float(action), self.price
        heat = 0.9 * power + 0.15 * (self.wall - self.room) + 0.06 * (self.outside - self.room)
        self.room += heat + self.np_random.normal(0, 0.05)
        self.wall += 0.05 * (self.room - self.wall) + 0.02 * (self.outside - self.wall)
        self.weather = 0.95 * self.weather + self.np_random.normal(0, 0.3)
        self.quarter = (self.quarter + 1) % 96
        cold = max(0.0, 19 - self.room)
        return self._seen(), -power * price, False, False, {"cost": cold, "full": float(action == 2)}


class Nuisance(gymnasium.Env):
    """One dimension that matters among others of noise; moving costs 1."""

    action_space = spaces.Discrete(3)

    def __init__(self, dimensions=6):
        self.observation_space = spaces.Box(-1, 1, (dimensions,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1)
        return self._seen(), {}

    def _seen(self):
        seen = self.np_random.uniform(-1, 1, self.observation_space.shape)
        seen[0] = self.place
        return seen

    def step(self, action):
        moved = self.place + 0.2 * (action - 1) + self.np_random.normal(0, 0.1)
        self.place = float(np.clip(moved, -1, 1))
        return self._seen(), 1 - abs(self.place), False, False, {"cost": float(action != 1)}


def four_room():
    import mo_gymnasium

    return mo_gymnasium.make("four-room-v0")


def away(before, action, after, reward, terminated, info):
    return abs(after[0]) > 0.2


def thrust(before, action, after, reward, terminated, info):
    return 1.0 * (action == 2) + 0.1 * (action in (1, 3))


def push(before, action, after, reward, terminated, info):
    return action != 1


def energy(before, action, after, reward, terminated, info):
    return float(np.square(action).sum())


def continuous_lander():
    return gymnasium.make("LunarLander-v3", continuous=True)


def minecart():
    import mo_gymnasium

    return mo_gymnasium.make("minecart-v0")


def side(before, action, after, reward, terminated, info):
    return action in (1, 3)


def left_push(before, action, after, reward, terminated, info):
    return action == 0


def fast(before, action, after, reward, terminated, info):
    return abs(after[2]) > 4


def lean(before, action, after, reward, terminated, info):
    return abs(after[2]) > 0.03


DECIDING = {
    "cartpole": ("CartPole-v1", [(away, "<=5")], 0.99, {}, 99.3),
    "lander": ("LunarLander-v3", [(thrust, "<=15")], 0.99, {}, -12.0),
    "acrobot": ("Acrobot-v1", [(push, "<=35")], 0.99, {}, -70.0),
    "mountain": ("MountainCar-v0", [(push, "<=60")], 0.99, {}, -67.0),
    "thermostat": (Thermostat, ["cost<=5"], 0.98, {"time_limit": 192}, -100.0),
    "thermostat-2": (Thermostat, ["cost<=5", "full<=35"], 0.98, {"time_limit": 192}, np.nan),
    "pendulum": ("Pendulum-v1", [(energy, "<=25")], 0.99, {}, -350.0),
    "pendulum-episode": ("Pendulum-v1", [(energy, "episode<=60")], 0.99, {}, np.nan),
    "pendulum-two": ("Pendulum-v1", [(energy, "<=60"), (fast, "<=8")], 0.98, {}, np.nan),
    "four-room": (four_room, ["reward[0]>=0.3"], 0.97, {"objective": 2}, 1.94),
    "nuisance": (Nuisance, ["cost<=4"], 0.95, {"time_limit": 60}, 15.6),
}
HELD_OUT = {
    "acrobot-20": ("Acrobot-v1", [(push, "<=20")], 0.98, {}, np.nan),
    "mountain-two": ("MountainCar-v0", [(push, "<=70"), (left_push, "<=25")], 0.99, {}, np.nan),
    "mountain-continuous": ("MountainCarContinuous-v0", [(energy, "episode<=60")], 0.99, {}, np.nan),
    "thermostat-loose": (Thermostat, ["episode cost<=40"], 0.99, {"time_limit": 192}, np.nan),
    "nuisance-20": (lambda: Nuisance(20), ["cost<=6"], 0.95, {"time_limit": 60}, np.nan),
    "lander-continuous": (continuous_lander, [(energy, "<=10")], 0.99, {}, np.nan),
    "lander-two": ("LunarLander-v3", [(thrust, "<=20"), (side, "<=25")], 0.99, {}, np.nan),
    "minecart": (minecart, ["reward[2]>=-4"], 0.98, {"objective": 0}, np.nan),
    "cartpole-lean": ("CartPole-v1", [(lean, "episode<=60")], 0.99, {}, 99.3),
}
NETWORKS = DECIDING | HELD_OUT


def learned(name, seed, steps):
    """Return the training on an environment by networks, with default settings; the four rooms repeat, and would be counted."""
    environment, limits, discount, options, _ = NETWORKS[name]
    settings = {"constraints": limits, "discount": discount, "steps": steps, "seed": seed, **options}
    return painless.train(environment, painless.Deep(), **settings)


def further(training, name, seed):
    """Return what the answer collects in further episodes, (n, J), in the internal sense, and its thresholds and signs."""
    environment, limits, discount, options, _ = NETWORKS[name]
    simulator = painless.from_gymnasium(
        environment, constraints=limits, discount=discount, seed=seed, **options
    )
    rng = np.random.default_rng(seed + 10**6)
    mixture, count = training.policy, painless.Deep().environments
    which = rng.choice(len(mixture.policies), size=FURTHER, p=mixture.weights).tolist()
    played = play(mixture.policies, which, make_copies(simulator, count, 1), count, discount, rng)
    return played.finished.chosen(simulator.episodic), simulator.specification


def measured(name, seed, steps):
    """Return the training, and a record of it beside further episodes of its answer."""
    start = time.process_time()
    training = learned(name, seed, steps)
    seconds = time.process_time() - start
    samples, specification = further(training, name, seed)
    mean, error = samples.mean(0), samples.std(0) / np.sqrt(len(samples))
    clear = specification.threshold - mean[1:] > 2 * error[1:]
    met = np.array([word == "met" for word in training.verdict], dtype=bool)
    spent = sum(training.steps.values())
    return training, {
        "name": name,
        "seed": seed,
        "steps": training.steps,
        "spent": round(spent / steps, 3),  # times the steps that were asked for
        "seconds": round(seconds, 1),
        "speed": round(spent / seconds),  # steps a CPU second, selection and verification among them
        "mean": training.estimate.mean.round(3).tolist(),
        "further": (mean * specification.sign).round(3).tolist(),
        "error": error.round(3).tolist(),
        "limit": training.estimate.threshold.tolist(),
        "verdict": list(training.verdict),
        "word": "denied" if (clear & met).any() else "missed" if clear.any() else "kept",
        "multiplier": training.multiplier.round(4).tolist(),
        "known": NETWORKS[name][-1],
    }


def stored(record, path):
    """Append a record to a file, if there is one."""
    if path is not None:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")


def text(number):
    """Return a number with a proper minus sign."""
    return f"{number + 0.0:.4g}".replace("-", "−")


def table(records):
    """Return the lines of a table of records, a row for each environment; rewards and limits are those of the further episodes."""
    lines = [
        "| environment | runs | reward | limits | verdicts | further episodes | steps spent | steps a CPU second |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in NETWORKS:
        mine = sorted((one for one in records if one["name"] == name), key=lambda one: one["seed"])
        if mine:
            rewards = ", ".join(f"{text(one['further'][0])} ± {text(one['error'][0])}" for one in mine)
            least = [">=" in str(limit) for limit in NETWORKS[name][1]]
            limits = [
                f"{', '.join(text(one['further'][1 + k]) for one in mine)} ({'at least' if least[k] else 'limit'} {text(limit)})"
                for k, limit in enumerate(mine[0]["limit"])
            ]
            words = [[word for one in mine for word in one["verdict"]], [one["word"] for one in mine]]
            counts = [
                ", ".join(f"{part.count(word)} {word}" for word in dict.fromkeys(part)) for part in words
            ]
            spent, speed = max(one["spent"] for one in mine), np.median([one["speed"] for one in mine])
            row = (name, len(mine), rewards, "; ".join(limits), *counts, f"{spent:.2f} ×", f"{speed:,.0f}")
            lines.append(f"| {' | '.join(map(str, row))} |")
    return lines


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8") as stream:
        print("\n".join(table([json.loads(line) for line in stream])))
