"""Watch a run in TensorBoard: the callback of `train` gets all numbers, and a writer draws them.

Run it with `python examples/tensorboard.py`, then `tensorboard --logdir runs`. It needs torch and tensorboard; any other writer with `add_scalar` will do.
"""

import math

import painless

NAMES = ("reward", "edge")


def edge(observation, action, next_observation, reward, terminated, info):
    """Return whether a step ends in the row above the cliff."""
    return 24 <= next_observation < 36


def draw(writer):
    """Return a callback that draws the values of the answer so far, with their errors, and how much is left to explore."""

    def progress(now):
        for kind, numbers in (("value", now.value), ("error", now.error)):
            for name, number in zip(NAMES, numbers, strict=True):
                if math.isfinite(number):  # there is no answer before the first plan
                    writer.add_scalar(f"{kind}/{name}", float(number), now.steps)
        writer.add_scalar("states", now.states, now.steps)
        writer.add_scalar("hope", now.hope, now.steps)

    return progress


def train(writer, steps=15_000):
    """Learn CliffWalking with a limit on the row above the cliff."""
    return painless.train(
        "CliffWalking-v1",
        constraints=[(edge, "<=2")],
        discount=0.95,
        steps=steps,
        time_limit=200,
        progress=draw(writer),
    )


def main():
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter("runs/cliff") as writer:
        print(train(writer))


if __name__ == "__main__":
    main()
