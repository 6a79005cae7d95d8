"""Keep your own trainer, and let `painless.Multipliers` weigh its reward against the limits.

    python examples/own_trainer.py stable-baselines3
    python examples/own_trainer.py torchrl

CartPole must stay near the centre: at most 20 steps of an episode with |x| > 0.2. No rate is chosen anywhere.
"""

import sys

import gymnasium
import numpy as np

import painless


class Priced(gymnasium.Wrapper):
    """Rewards `weights @ [reward, cost]`, and keeps what the finished episodes collected."""

    def __init__(self, env, multiplier):
        super().__init__(env)
        self.multiplier, self.weights = multiplier, multiplier.weights
        self.finished, self.total = [], np.zeros(2)

    def reset(self, **options):
        self.total = np.zeros(2)
        return self.env.reset(**options)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        both = np.array([reward, abs(observation[0]) > 0.2])
        self.total += both
        if terminated or truncated:
            self.finished.append(self.total)
        return observation, float(self.weights @ both), terminated, truncated, info

    def learn(self):
        """Let the multipliers learn from the episodes that finished since the last call."""
        if self.finished:
            returns, costs = np.array(self.finished).T
            self.weights = self.multiplier.update(costs, returns)
            print(
                f"{len(costs)} episodes: return {returns.mean():.1f}, cost {costs.mean():.1f}, price {self.multiplier.multiplier[0]:.3f}"
            )
            self.finished = []


def with_stable_baselines(steps):
    """PPO of Stable-Baselines3 with a callback."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    priced = Priced(gymnasium.make("CartPole-v1"), painless.Multipliers(limits=[20.0]))

    class Learn(BaseCallback):
        def _on_rollout_end(self):
            priced.learn()

        def _on_step(self):
            return True

    PPO("MlpPolicy", priced, n_steps=1024, seed=0, device="cpu").learn(steps, callback=Learn())
    return priced.multiplier


def with_torchrl(steps):
    """The clipped PPO loss of TorchRL, with a loop of one's own."""
    import torch
    from tensordict.nn import TensorDictModule
    from torchrl.collectors import Collector  # SyncDataCollector before 0.12
    from torchrl.envs import GymWrapper
    from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    def network(outputs):
        layers = torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, outputs)
        return torch.nn.Sequential(*layers)

    torch.manual_seed(0)
    priced = Priced(gymnasium.make("CartPole-v1"), painless.Multipliers(limits=[20.0]))
    module = TensorDictModule(network(2), in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(
        module, in_keys=["logits"], distribution_class=OneHotCategorical, return_log_prob=True
    )
    critic = ValueOperator(network(1), in_keys=["observation"])
    loss, advantage = ClipPPOLoss(actor, critic), GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimiser = torch.optim.Adam(loss.parameters(), 1e-3)
    for batch in Collector(GymWrapper(priced), actor, frames_per_batch=1000, total_frames=steps):
        for _ in range(5):
            advantage(batch)
            for part in batch.reshape(-1)[torch.randperm(batch.numel())].split(250):
                values = loss(part)
                optimiser.zero_grad()
                sum(values[name] for name in ("loss_objective", "loss_critic", "loss_entropy")).backward()
                optimiser.step()
        priced.learn()
    return priced.multiplier


TRAINERS = {"stable-baselines3": with_stable_baselines, "torchrl": with_torchrl}

if __name__ == "__main__":
    TRAINERS[sys.argv[1] if len(sys.argv) > 1 else "stable-baselines3"](30_000)
