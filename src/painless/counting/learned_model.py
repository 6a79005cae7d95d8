"""The model that counts give, as problems to plan on.

Two states are added to the S that were seen: the end, worth 0, and one extreme state. To explore it is a heaven (see `exploring_model`), where the largest
value seen waits; to answer it is a hell, where every step is as bad as the worst one seen. Pairs that were never tried lead there.

A row of the model is P(s'|s, a) = N(s, a, s')/N(s, a), or what it and others that are like it say together (see `alike`). How far the values of a policy may be off, `judgement` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from painless.bellman import policy_utility
from painless.common.arrays import Array, Mask
from painless.counting.alike import Alike, alike_first, alike_rows, unlike_rows
from painless.counting.counted_pairs import CountedPairs
from painless.counting.elimination import uniform_order
from painless.counting.evaluation import chain_of, evaluated
from painless.counting.novelty import incomplete
from painless.engines.drawn import Drawn
from painless.engines.engine import as_table
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.problem import CMDP, Criterion

SMALL = 200_000  # entries of a transition up to which the model is dense
EXTRA = 2  # states that are added: the end, and heaven or hell

Parts = tuple[Any, Array, Mask]  # transition, utilities (J, S + 2, A) and actions (S + 2, A)


@dataclass(frozen=True)
class LearnedModel(CountedPairs):
    """What a memory says of an environment with a discount and thresholds (K,), in the internal sense."""

    discount: float
    threshold: Array  # (K,)
    logged: bool = False  # whether the data are a log, of which there will be no more
    untried: bool = False  # whether actions that were never tried in a state are available there
    horizon: int | None = None  # H, the number of steps, if it is finite
    average: bool = False  # whether values are long-run averages
    compared: bool = False  # whether rows that are alike say more together

    @property
    def criterion(self) -> Criterion:
        """How the utilities of all steps add up."""
        return Criterion.of(self.discount, self.horizon, self.average)

    @cached_property
    def alike(self) -> Alike:
        """What each row is, by itself or by its likes."""
        if not self.compared:
            return unlike_rows(self.frequency, self.visits)
        return alike_rows(
            self.pairs, self.count, self.visits, 1 - incomplete(self.pairs, self.count, self.visits)
        )

    @property
    def probability(self) -> Array:
        """P(s'|s, a) of each transition seen, (M,)."""
        return self.alike.probability

    @cached_property
    def _first(self) -> tuple[Array, float]:
        """The distribution of first states, (S,), and how many episodes it is as good as."""
        return alike_first(self.memory.starts.sum(0)) if self.compared else (super().initial, self.episodes)

    @property
    def initial(self) -> Array:
        """The distribution of first states, (S,)."""
        return self._first[0]

    @property
    def known_episodes(self) -> float:
        """How many episodes the distribution of first states is as good as."""
        return self._first[1]

    @cached_property
    def tried_or_all(self) -> Mask:
        """The actions that a plan may take, (S, A): those that were tried, or all where none was or all are asked for."""
        return self.tried | ~self.tried.any(1, keepdims=True) | self.untried

    @cached_property
    def behaviour(self) -> Array:
        """The policy that takes each action as often as the data do in that state, (S, A), or (H, S, A)."""
        visits = self.memory.visits
        total = visits.sum(1, keepdims=True)
        policy = np.where(total > 0, visits / np.maximum(total, 1), 1 / visits.shape[1])
        return policy if self.horizon is None else np.broadcast_to(policy, (self.horizon, *policy.shape))

    @cached_property
    def typical_ahead(self) -> Array | None:
        """γ times what the data themselves achieved by the model, (J,), or (J, H) after each step; in logs alone, and not on average."""
        if not self.logged or self.average:
            return None
        self.__dict__["typical_ahead"] = None  # for the values of this policy itself
        found = evaluated(self, self.behaviour)
        value = found.value
        if self.horizon is not None:
            value = found.full_value[:, 1:, : self.states] @ self.initial
        return self.discount * np.where(np.isfinite(value), value, np.nan)

    @property
    def recovery(self) -> float:
        """The probability with which hell ends: for totals, once in a mean episode; else 0."""
        if self.criterion is not Criterion.TOTAL:
            return 0.0
        ends = float(self.count[self.successors == self.states].sum())
        return min(max(ends, 1.0) / float(self.count.sum()), 1.0)

    @cached_property
    def nominal_parts(self) -> Parts:
        """Transition, utilities (J, S + 2, A) and actions of the model as it is, with the end and hell as the last states."""
        unknown = (~self.tried).reshape(-1).astype(float)
        return self.assemble(self.probability, unknown, self.utility, self.worst, self.tried_or_all)

    @cached_property
    def with_unknown(self) -> CMDP:
        """The model as it is, in which pairs that were not tried lead to hell."""
        transition, utility, actions = self.nominal_parts
        return self.problem((transition, utility, np.ones_like(actions)), self.threshold)

    @cached_property
    def _at_own_limits(self) -> CMDP:
        return self.problem(self.nominal_parts, self.threshold)

    @cached_property
    def order(self) -> EliminationOrder:
        """The order in which the states of its chains are eliminated."""
        transition, _, actions = self.nominal_parts
        return uniform_order(transition, actions.shape, self.discount)

    def nominal(self, threshold: Array) -> CMDP:
        """Return the model as it is; only actions that were tried are available, where any was."""
        own = np.array_equal(threshold, self.threshold)
        return self._at_own_limits if own else self.problem(self.nominal_parts, threshold)

    def own(self, policy: Any) -> Any:
        """Return a policy of a problem with the states added as one of the states seen: (S, A), (H, S, A), or a draw."""
        if isinstance(policy, Drawn):
            return Drawn(tuple(self.own(part) for part in policy.parts), policy.weights)
        table = as_table(policy, self.memory.actions)
        if self.horizon is None:
            return table[: self.states]
        return table.reshape(-1, self.states + EXTRA, self.memory.actions)[: self.horizon, : self.states]

    def episode_values(self, policy: Array, time_limit: int) -> tuple[Array, Array]:
        """Return the mean total of an episode up to a time limit, (J,), without and with discounting."""
        problem, table, chain = chain_of(self, policy)
        utility = policy_utility(problem.utility, table)  # (J, S + 2)
        total, discounted = np.zeros(len(utility)), np.zeros(len(utility))
        share, factor, backward = problem.initial, 1.0, chain.T
        for _ in range(time_limit):
            now = utility @ share
            total, discounted = total + now, discounted + factor * now
            share, factor = backward @ share, factor * self.discount
        return total, discounted

    def episode_length(self, policy: Array, time_limit: int) -> float:
        """Return the mean number of steps of an episode up to a time limit."""
        problem, _, chain = chain_of(self, policy)
        share, length, backward = problem.initial, 0.0, chain.T
        for _ in range(time_limit):
            length += 1 - float(share[self.states])
            share = backward @ share
        return length

    def table(self, names: Sequence[str], sense: Sequence[str], constraints: Sequence[str]) -> CMDP:
        """Return the model as a problem in the user's terms, states and constraints named; ≥ constraints come first."""
        transition, utility, actions = self.nominal_parts
        lower = [k for k, one in enumerate(sense) if one == ">="]
        upper = [k for k, one in enumerate(sense) if one == "<="]
        return CMDP(
            transition,
            utility[0],
            initial=np.append(self.initial, np.zeros(EXTRA)),
            discount=self.discount,
            constraint_reward=utility[[1 + k for k in lower]] if lower else None,
            threshold=self.threshold[lower] if lower else None,
            constraint_cost=-utility[[1 + k for k in upper]] if upper else None,
            budget=-self.threshold[upper] if upper else None,
            actions=actions,
            names={
                "states": [*names, "end", "unknown"],
                "constraints": [constraints[k] for k in lower + upper],
            },
        )

    def assemble(
        self, probability: Array, extreme: Array, utility: Array, at_extreme: Array, allowed: Mask
    ) -> Parts:
        """Return transition, utilities (J, S + 2, A) and actions of a model with the two states added.

        `probability` are those of the transitions seen, (M,), `extreme` the probability of heaven or hell from each pair, (S·A,);
        what is missing from 1 ends the episode. `at_extreme` are the utilities of a step there, (J,).
        """
        states, actions = self.states, self.memory.actions
        rest = 1 - extreme - np.bincount(self.pairs, probability, len(extreme))
        size = states * actions
        own = size + np.arange(EXTRA * actions)
        rows = np.concatenate([self.pairs, np.arange(size), np.arange(size), own])
        columns = np.concatenate(
            [
                self.successors,
                np.full(size, states + 1),
                np.full(size, states),
                states + np.repeat(np.arange(EXTRA), actions),
            ]
        )
        stays = np.repeat([1.0, 1 - self.recovery], actions)
        rows, columns = np.append(rows, own[actions:]), np.append(columns, np.full(actions, states))
        data = np.concatenate(
            [probability, extreme, np.where(rest > 1e-9, rest, 0.0), stays, np.full(actions, self.recovery)]
        )
        kept = data > 0
        transition = scipy.sparse.csr_array(
            (data[kept], (rows[kept], columns[kept])), shape=((states + EXTRA) * actions, states + EXTRA)
        )
        transition.sum_duplicates()
        total = np.bincount(transition.nonzero()[0], transition.data, transition.shape[0])
        transition.data /= np.repeat(total, np.diff(transition.indptr))
        whole = np.zeros((len(utility), states + EXTRA, actions))
        whole[:, :states] = utility.reshape(len(utility), states, actions)
        whole[:, states + 1] = at_extreme[:, None]
        return transition, whole, np.vstack([allowed, np.ones((EXTRA, actions), dtype=bool)])

    def problem(self, parts: Parts, threshold: Array) -> CMDP:
        """Return what `assemble` put together as a problem."""
        transition, utility, actions = parts
        if transition.shape[0] * transition.shape[1] <= SMALL:
            transition = transition.toarray().reshape(*actions.shape, -1)
        return CMDP(
            transition,
            utility[0],
            initial=np.append(self.initial, np.zeros(EXTRA)),
            **self.criterion_arguments,
            constraint_reward=utility[1:] if len(threshold) else None,
            threshold=threshold if len(threshold) else None,
            actions=actions,
            copy=False,
        )

    @property
    def criterion_arguments(self) -> dict[str, Any]:
        """What a `CMDP` is told of the criterion."""
        if self.average:
            return {"average": True}
        return {"discount": self.discount} | ({} if self.horizon is None else {"horizon": self.horizon})
