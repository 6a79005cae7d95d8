"""What a practitioner writes with SciPy in thirty lines: policy iteration from the values of the uniform policy.

Policies are evaluated by BiCGSTAB or by SuperLU with its default ordering (COLAMD). There are no constraints.
"""

import numpy as np
import scipy
from scipy.sparse import linalg

MOST = 300  # policies


def policy_iteration(problem, tolerance, method):
    """Return the bound on the optimal value, once it is within `tolerance`, relative, of what the policy is proved to have."""
    states, actions, _ = problem.shape
    rows, reward, discount = scipy.sparse.csr_matrix(problem.transition), problem.reward, problem.discount
    identity, unit = scipy.sparse.identity(states, format="csr"), 1 / (1 - discount)

    def evaluate(chain, utility, start, error):
        system = identity - discount * chain
        if method == "superlu":
            return linalg.splu(system.tocsc()).solve(utility)
        return linalg.bicgstab(system, utility, x0=start, rtol=0, atol=error / unit)[0]

    pairs = np.arange(states * actions)
    uniform = scipy.sparse.csr_matrix((np.full(len(pairs), 1 / actions), (pairs // actions, pairs))) @ rows
    size = np.abs(reward).max() * unit
    value = evaluate(uniform, reward.mean(1), np.zeros(states), 1e-6 * size)
    for _ in range(MOST):
        q = reward + discount * (rows @ value).reshape(states, actions)
        change = q.max(1) - value
        bound = problem.initial @ q.max(1) + discount * unit * change.max()
        if discount * unit * (change.max() - change.min()) <= tolerance * abs(bound):
            return float(bound)
        taken = np.arange(states) * actions + q.argmax(1)
        value = evaluate(rows[taken], reward.ravel()[taken], value, 0.1 * tolerance * abs(bound))
    raise RuntimeError("gave up at the limit of policies")
