"""What sampling costs: TD(0), LSTDQ and Monte Carlo on the gridworld, each beside plain NumPy and Python.

Run it with `python -m benchmarks.evaluators`.
"""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from painless.common.arrays import one_thread
from painless.evaluators.lstdq import LSTDQ
from painless.evaluators.monte_carlo import MonteCarlo, reference_returns
from painless.evaluators.td import TemporalDifference
from painless.features import TileCoding, feature_matrix
from painless.learners import CoinBetting
from painless.policies.learning_table import LearningTable
from painless.policies.table import dirichlet_policy
from painless.simulation.sampling import policy_sums, stream, table_sampler

REPEATS = 5


def seconds(work):
    """Return the least time of a call, after one that compiles."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def plain_td(problem, policy, updates, rng):
    """TD(0) as one would write it: successors drawn ahead, a Python loop over the updates."""
    states, actions, _ = problem.shape
    q = np.zeros((states, actions, len(problem.utility)))
    utility = problem.utility.transpose(1, 2, 0)
    sums = problem.transition.cumsum(-1)
    state, action = rng.integers(states, size=updates), rng.integers(actions, size=updates)
    after = (rng.random(updates)[:, None] >= sums[state, action]).sum(1)
    for s, a, t in zip(state.tolist(), action.tolist(), after.tolist(), strict=True):
        q[s, a] += 0.01 * (utility[s, a] + problem.discount * policy[t] @ q[t] - q[s, a])
    return q


def plain_lstdq(problem, policy, feature, samples, rng):
    """LSTDQ as one would write it: dense counts, the whole system, and a solve for each utility."""
    states, actions, _ = problem.shape
    rows = problem.transition.reshape(-1, states)
    model = rng.multinomial(samples, rows) / samples
    step = np.zeros((states, states * actions))
    for s in range(states):
        step[s, s * actions : (s + 1) * actions] = policy[s]
    matrix = feature.T @ (feature - problem.discount * model @ step @ feature)
    utility = problem.utility.reshape(-1, states * actions)
    weights = [np.linalg.lstsq(matrix, feature.T @ one, rcond=1e-8)[0] for one in utility]
    return np.array(weights) @ feature.T


def td(problem, policy):
    samples, slow = 20_000, 200
    evaluator, rng = TemporalDifference(problem, samples), np.random.default_rng(0)
    ours = seconds(lambda: evaluator.evaluate(start(policy), [rng])) / (samples * problem.actions.sum())
    updates = slow * int(problem.actions.sum())
    plain = seconds(lambda: plain_td(problem, policy, updates, rng)) / updates
    return f"{1e-6 / ours:.0f} M updates/s", f"{1e-6 / plain:.2f} M updates/s", plain / ours


def monte_carlo(problem, policy):
    rollouts = 1000
    evaluator, rng = MonteCarlo(problem, rollouts), np.random.default_rng(0)
    sampler, sums = table_sampler(problem), policy_sums(policy)
    arguments = (sampler, evaluator.start[:, None], sums, problem.discount, rollouts, evaluator.steps)
    steps = rollouts * len(evaluator.start) * evaluator.steps
    ours = seconds(lambda: evaluator.evaluate(start(policy), [rng])) / steps
    plain = seconds(lambda: reference_returns(*arguments, stream(rng))) / steps
    return f"{1e-6 / ours:.0f} M steps/s", f"{1e-6 / plain:.1f} M steps/s", plain / ours


def lstdq(problem, policy):
    features = TileCoding(0, problem.shape[0], tiles=14, tilings=1, actions=4)
    evaluator, rng = LSTDQ(problem, features, samples=300), np.random.default_rng(0)
    matrix = feature_matrix(features, problem.shape[0])
    ours = seconds(lambda: evaluator.evaluate(start(policy), [rng]))
    plain = seconds(lambda: plain_lstdq(problem, policy, matrix, 300, rng))
    return f"{ours * 1e3:.2f} ms", f"{plain * 1e3:.2f} ms", plain / ours


def start(policy):
    return LearningTable.start(CoinBetting(), policy[None])


def main(console):
    rows = Table(
        "evaluator", "problem", "here", "plain", "times faster", title="Sampling, on one core, J = 2"
    )
    problems = {
        "gridworld": painless.gridworld(),
        "Garnet (30, 4, 5)": painless.garnet(30, 4, 5, 1, seed=0),
    }
    measures = {
        "TD(0)": td,
        "Monte Carlo": monte_carlo,
        "LSTDQ, d = 56, 300 samples a pair": lstdq,
    }
    with one_thread():
        for label, measure in measures.items():
            for name, problem in problems.items():
                policy = dirichlet_policy(problem.actions, np.random.default_rng(0))
                here, plain, ratio = measure(problem, policy)
                rows.add_row(label, name, here, plain, f"{ratio:.1f}")
    console.print(rows)


if __name__ == "__main__":
    main(Console(width=110))
