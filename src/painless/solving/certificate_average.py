"""The values of a certificate of long-run averages: gains, biases, and numbers of steps on the way to where a process settles.

Gains are constant in end components, or in the recurrent classes of a policy, and so are numbers of steps N. On the way N ≥ 1 + PN, so that g + δN, or
g − δN, satisfies every inequality for some small δ, which grows until the checker agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless import verify
from painless.bellman import policy_transition, policy_utility, resolvent
from painless.common.arrays import Array
from painless.engines.chain_gains import RecurrentChain
from painless.engines.components import end_components
from painless.engines.engine import engine_of
from painless.engines.gain_iteration import best_gains
from painless.engines.pair_rows import PairRows
from painless.engines.settling import Settling
from painless.engines.swept_average import SweptAverage
from painless.problem import CMDP
from painless.solving.certificate_values import numbers
from painless.solving.paired_doubles import Outward
from painless.solving.residuals import pair_surplus, policy_deficit

STRICT = 1.0 + 2.0**-10  # by which numbers of steps are larger than needed
FINE = 1e-9  # of a swept bound, relative to the utilities
SLIPS = [0.0, *(2.0 ** np.arange(-54.0, -3.0, 2.0))]  # δ, relative to the size of what is rounded


class AverageFinder:
    """Finds gains, biases and numbers of steps."""

    def __init__(self, problem: CMDP, model: verify.Model) -> None:
        self.problem, self.model = problem, model
        everywhere = np.ones(problem.shape[0], dtype=bool)
        self.components = end_components(problem.transition, problem.actions)
        self.settling = Settling(problem, self.components, everywhere)
        self.nothing = np.zeros(len(problem.utility))

    def lower(self, policy: Array) -> dict[str, Array]:
        """Return gains and biases of every utility, (M, J, S), and numbers of steps (M, S), of policies (M, S, A)."""
        found = [self._lower(table) for table in policy]
        return dict(
            zip(
                ("lower_gain", "lower_value", "lower_steps"),
                (np.array(part) for part in zip(*found, strict=True)),
                strict=True,
            )
        )

    def _lower(self, table: Array) -> tuple[Array, Array, Array]:
        kernel: Any = policy_transition(self.problem, table)
        chain = RecurrentChain(kernel, np.full(len(table), 1 / len(table)))
        gain, bias = chain.gain_and_bias(policy_utility(self.problem.utility, table))
        steps, way = np.zeros(len(table)), np.flatnonzero(~chain.recurrent)
        if len(way):
            some = kernel[way][:, way]
            steps[way] = STRICT * resolvent(some, 1.0).state_value(np.ones((1, len(way))))[0]
        gain = np.array(
            [
                self._earned(table, chain, *one, steps)
                for one in zip(np.eye(len(gain)), gain, bias, strict=True)
            ]
        )
        return gain, bias, steps

    def _earned(
        self, table: Array, chain: RecurrentChain, each: Array, gain: Array, bias: Array, steps: Array
    ) -> Array:
        """Return gains (S,) that no state of a class falls short of, and that do not fall on the way."""
        outward = Outward(*numbers(self.model, table, bias))
        earned = policy_deficit(self.model, outward, table, each, (bias,), bias) / table.sum(1)
        inside = np.flatnonzero(chain.recurrent)
        least = np.full(chain.classes, np.inf)
        np.minimum.at(least, chain.label[inside], earned[inside])

        def lowered(slip: float) -> Array:
            found = np.where(chain.recurrent, least[chain.label], gain) - slip * steps
            return np.where(chain.recurrent, found - slip, found)

        def holds(found: Array) -> bool:
            rise = policy_deficit(self.model, outward, table, self.nothing, (found,), found)
            left = policy_deficit(self.model, outward, table, each, (found, bias), bias)
            return bool((rise >= 0).all() and (left[inside] >= 0).all())

        return moved(lowered, holds, float(np.abs(gain).max() + np.abs(bias).max()))

    def upper(self, weight: Array) -> dict[str, Array]:
        """Return gains, biases and numbers of steps, (S,) each, for weights (J,)."""
        problem, settling = self.problem, self.settling
        label = self.components.label
        states, pairs = np.flatnonzero(label >= 0), np.flatnonzero(self.components.pairs)
        utility = np.tensordot(weight, problem.utility, 1).reshape(-1)
        swept = self._swept_bias(weight)
        if swept is not None:
            most = float(
                (utility + self.problem.transition @ swept - np.repeat(swept, problem.shape[1])).max()
            )
            steps = np.full(len(label), STRICT)
            raised = self._raised(weight, np.full(len(label), most), swept, steps)
            return _upper(weight, raised, swept, steps)
        found = best_gains(
            self._inside(states, pairs), utility[pairs], label[states], None, resolvent, lambda: None
        )
        bias = np.zeros(len(label))
        bias[states] = found.bias
        steps, gain = np.ones(settling.count), found.upper
        if not settling.trivial:
            worth = np.zeros(len(settling.pair))
            worth[settling.rows.first[: settling.count]] = found.upper
            gain = settling.improved(worth, settling.rows.first, resolvent, lambda: None)[1]
            one = np.ones(len(worth))
            steps = settling.improved(one, settling.rows.first, resolvent, lambda: None)[1]
        steps, gain = STRICT * steps[settling.node], gain[settling.node]
        return _upper(weight, self._raised(weight, gain, bias, steps), bias, steps)

    def _swept_bias(self, weight: Array) -> Array | None:
        """Return a bias (S,) that proves nearly the best bound for weights (J,), by sweeps; None unless all pairs of a large model are in one component."""
        engine = engine_of(self.problem)
        if not isinstance(engine, SweptAverage) or not self.components.pairs.all() or engine.exact:
            return None
        size = float(weight @ np.abs(self.problem.utility).max((1, 2)))
        engine.pricer.price(weight, FINE * size, np.inf)
        return engine.pricer.last_bias

    def _inside(self, states: NDArray[np.intp], pairs: NDArray[np.intp]) -> PairRows:
        """Return the transitions of the pairs that stay in a component, among the states of components."""
        kernel: Any = self.problem.transition
        flat = kernel.reshape(-1, self.problem.shape[0]) if isinstance(kernel, np.ndarray) else kernel
        rank = np.cumsum(self.components.label >= 0) - 1
        return PairRows(flat[pairs][:, states], rank[pairs // self.problem.shape[1]], len(states))

    def _raised(self, weight: Array, gain: Array, bias: Array, steps: Array) -> Array:
        """Return gains (S,) that no pair of a component exceeds, and that do not rise on the way."""
        outward = Outward(*numbers(self.model, weight, gain, bias))
        every = np.arange(self.model.utility.shape[1])
        inside = np.flatnonzero(self.components.pairs[self.model.actions])

        def holds(found: Array) -> bool:
            fall = pair_surplus(self.model, outward, every, self.nothing, (found,), found)
            left = pair_surplus(self.model, outward, inside, weight, (found, bias), bias)
            return bool((fall >= 0).all() and (left >= 0).all())

        size = float(np.abs(gain).max() + np.abs(bias).max() + weight @ np.abs(self.model.utility).max(1))
        return moved(lambda slip: gain + slip * steps, holds, size)


def _upper(weight: Array, gain: Array, bias: Array, steps: Array) -> dict[str, Array]:
    return {"weight": weight, "upper_gain": gain, "upper_value": bias, "upper_steps": steps}


def moved(found: Callable[[float], Array], holds: Callable[[Array], bool], size: float) -> Array:
    """Return the gains of the least slip for which all inequalities hold; the last ones if none is enough."""
    for slip in SLIPS:
        moved = found(slip * size)
        if holds(moved):
            break
    return moved
