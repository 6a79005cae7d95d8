"""The model that counts give: as it is, as one draw from what it may be, and with imaginary visits.

Two states are added to the S that were seen: the end, worth 0, and one extreme state. To explore it is a heaven, where the largest
value seen waits; to answer it is a hell, where every step is as bad as the worst one seen. Pairs that were never tried lead there.

A row of the model is P(s'|s, a) = N(s, a, s')/N(s, a). A draw from the posterior has rows from a Dirichlet distribution with these counts and
an imaginary visit to heaven, which counts at most 1 and as much as `novelty` says, and mean utilities from a normal distribution with their standard errors.

The standard error of a policy's value V_j(ρ), by the delta method, with d(s, a) its occupancy and n the number of episodes:

    s.e.² = Σ d(s, a)² Var[u_j + γ V_j(s')] / N(s, a) + Var[V_j(s_0)] / n

Horizons, totals until the end and long-run averages have the same with the occupancy of their own (see `evaluation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import scipy

from painless.bellman import policy_transition, policy_utility
from painless.common.arrays import Array, Mask
from painless.counting.evaluation import Evaluated, chain_of, evaluated, half_range
from painless.counting.krylov import inverse_of
from painless.counting.memory import Indices, Memory
from painless.counting.novelty import imaginary_rows, novelty
from painless.engines.drawn import Drawn
from painless.engines.engine import as_table
from painless.problem import CMDP, Criterion

SMALL = 200_000  # entries of a transition up to which the model is dense
EXTRA = 2  # states that are added: the end, and heaven or hell
EXPLAINED = 1e-6  # share of the squares of a utility that transitions may leave open
SWEEPS = 2000  # of value iteration for the largest value, which needs no precision
MANY = 30  # rows of a pair from which its error counts as normal
LEVEL = 0.975  # at which what one pair may show is compared with a standard error
PRECISION = 1e-3  # of that value, relative to the range of values


class Judged(NamedTuple):
    """A policy on a learned model."""

    policy: Any  # (S, A); (H, S, A) over a horizon; a draw between several
    value: Array  # (J,) at the start
    error: Array  # (J,) standard errors
    full_value: Array  # (J, S + 2) of all states, the end and hell the last; with an axis of steps over a horizon; the bias on average
    occupancy: Array  # (S, A) of the states that were seen
    pair_variance: Array = np.zeros((0, 0))  # (J, S·A) what each pair adds to the variance of the value
    # (J, M) what the value changes by with the frequency of each transition
    influence: Array = np.zeros((0, 0))
    stages: Array | None = None  # (H, S, A) the occupancy of each step of a horizon
    visit_variance: Array | None = None  # (J, S·A) what each pair adds for each squared visit; not of a log

    @property
    def state_value(self) -> Array:
        """The values of the states that were seen, (J, S)."""
        return self.full_value[..., :-EXTRA]


@dataclass(frozen=True)
class LearnedModel:
    """What a memory says of an environment with a discount and thresholds (K,), in the internal sense."""

    memory: Memory
    discount: float
    threshold: Array  # (K,)
    logged: bool = False  # whether the data are a log, of which there will be no more
    untried: bool = False  # whether actions that were never tried in a state are available there
    horizon: int | None = None  # H, the number of steps, if it is finite
    average: bool = False  # whether values are long-run averages

    @property
    def criterion(self) -> Criterion:
        """How the utilities of all steps add up."""
        return Criterion.of(self.discount, self.horizon, self.average)

    @cached_property
    def pairs(self) -> Indices:
        """The pair of each transition seen, (M,)."""
        return self.memory.pairs

    @cached_property
    def successors(self) -> Indices:
        """Its successor, (M,); S for the end."""
        return self.memory.successors

    @cached_property
    def count(self) -> Array:
        """How often it was seen, (M,)."""
        return self.memory.counts.sum(0)

    @cached_property
    def visits(self) -> Array:
        """N(s, a), (S·A,)."""
        return self.memory.visits.reshape(-1)

    @cached_property
    def tried(self) -> Mask:
        """Which pairs were tried, (S, A)."""
        return (self.visits > 0).reshape(-1, self.memory.actions)

    @cached_property
    def tried_or_all(self) -> Mask:
        """The actions that a plan may take, (S, A): those that were tried, or all where none was or all are asked for."""
        return self.tried | ~self.tried.any(1, keepdims=True) | self.untried

    @cached_property
    def novelty(self) -> Array:
        """The probability that the next visit of each pair shows something new, (S·A,)."""
        return novelty(self.pairs, self.count, self.visits)

    @cached_property
    def imaginary(self) -> Array:
        """How many imaginary visits, (S·A,), at most 1, have the novelty of each pair as their share."""
        return self.novelty * self.visits / np.maximum(1 - self.novelty, 1e-12)

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

    @cached_property
    def new_rows(self) -> Array:
        """How many imaginary observations of a log lead each pair to a successor that is new there, (S·A,)."""
        return imaginary_rows(self.pairs, self.count, self.visits)

    @cached_property
    def doubtful_rows(self) -> Array:
        """How many imaginary observations each pair of a log counts, (J, S·A): 1, or `new_rows` of utilities that follow from the transition."""
        return np.asarray(np.where(self.explained[:, None], self.new_rows, 1.0))

    @cached_property
    def explained(self) -> Mask:
        """Which utilities follow from the transition, (J,)."""
        noise = self.memory.squares.sum(0) - self.memory.sums.sum(0) ** 2 / self.count[:, None]  # (M, J)
        return np.asarray(noise.sum(0) <= EXPLAINED * self.memory.squares.sum((0, 1)))

    @property
    def states(self) -> int:
        """S."""
        return self.memory.states

    @cached_property
    def probability(self) -> Array:
        """P(s'|s, a) of each transition seen, (M,)."""
        return self.count / self.visits[self.pairs]

    @cached_property
    def outcome(self) -> Array:
        """The mean utilities of each transition, (J, M)."""
        return self.memory.sums.sum(0).T / self.count

    @cached_property
    def utility(self) -> Array:
        """The mean utilities of each pair, (J, S·A)."""
        return self._per_pair(self.probability * self.outcome)

    @cached_property
    def variance(self) -> Array:
        """The variance of the utilities of each pair, (J, S·A)."""
        square = self._per_pair(self.memory.squares.sum(0).T / self.visits[self.pairs])
        return np.maximum(square - self.utility**2, 0.0)

    @cached_property
    def unexplained(self) -> Array:
        """The variance of the utilities of each pair that its transitions do not explain, (J, S·A)."""
        explained = self._per_pair(self.probability * self.outcome**2) - self.utility**2
        return np.maximum(self.variance - explained, 0.0)

    def _per_pair(self, values: Array) -> Array:
        """Sum values of transitions (J, M) over each pair, (J, S·A)."""
        return np.array([np.bincount(self.pairs, row, len(self.visits)) for row in values])

    @cached_property
    def spread(self) -> Array:
        """The standard deviation of each utility over all steps, (J,)."""
        steps = self.count.sum()
        mean = self.memory.sums.sum((0, 1)) / steps
        return np.asarray(np.sqrt(np.maximum(self.memory.squares.sum((0, 1)) / steps - mean**2, 0.0)))

    @cached_property
    def initial(self) -> Array:
        """The share of episodes that began in each state, (S,)."""
        first = self.memory.starts.sum(0)
        return first / first.sum()

    @property
    def episodes(self) -> float:
        """The number of episodes."""
        return float(self.memory.starts.sum())

    @property
    def worst(self) -> Array:
        """The utilities of a step in hell, (J,): the worst seen, or 0."""
        return np.minimum(self.memory.low, 0.0)

    @cached_property
    def size(self) -> Array:
        """The largest absolute utility of a step, (J,)."""
        return np.maximum(np.maximum(np.abs(self.memory.low), np.abs(self.memory.high)), 1e-300)

    @property
    def recovery(self) -> float:
        """The probability with which hell ends: for totals, once in a mean episode; else 0."""
        if self.criterion is not Criterion.TOTAL:
            return 0.0
        ends = float(self.count[self.successors == self.states].sum())
        return min(max(ends, 1.0) / float(self.count.sum()), 1.0)

    def _assemble(
        self, probability: Array, extreme: Array, utility: Array, at_extreme: Array, allowed: Mask
    ) -> tuple[Any, Array, Mask]:
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

    def _problem(self, parts: tuple[Any, Array, Mask], threshold: Array) -> CMDP:
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

    def own(self, policy: Any) -> Any:
        """Return a policy of a problem with the states added as one of the states seen: (S, A), (H, S, A), or a draw."""
        if isinstance(policy, Drawn):
            return Drawn(tuple(self.own(part) for part in policy.parts), policy.weights)
        table = as_table(policy, self.memory.actions)
        if self.horizon is None:
            return table[: self.states]
        return table.reshape(-1, self.states + EXTRA, self.memory.actions)[: self.horizon, : self.states]

    @cached_property
    def nominal_parts(self) -> tuple[Any, Array, Mask]:
        """Transition, utilities (J, S + 2, A) and actions of the model as it is, with the end and hell as the last states."""
        unknown = (~self.tried).reshape(-1).astype(float)
        return self._assemble(self.probability, unknown, self.utility, self.worst, self.tried_or_all)

    @cached_property
    def with_unknown(self) -> CMDP:
        """The model as it is, in which pairs that were not tried lead to hell."""
        transition, utility, actions = self.nominal_parts
        return self._problem((transition, utility, np.ones_like(actions)), self.threshold)

    @cached_property
    def _at_own_limits(self) -> CMDP:
        return self._problem(self.nominal_parts, self.threshold)

    def nominal(self, threshold: Array) -> CMDP:
        """Return the model as it is; only actions that were tried are available, where any was."""
        own = np.array_equal(threshold, self.threshold)
        return self._at_own_limits if own else self._problem(self.nominal_parts, threshold)

    def exposure(self, policy: Any) -> Array:
        """Return what each pair would add to the variance of V(ρ) if it were always taken where a policy comes, over those visits, (J, S, A)."""
        found = evaluated(self, policy, exposed=True)
        weight = found.occupancy.reshape(-1)
        by_pair = self._pair_variance(found, weight[self.pairs] * self.outcome + found.following)
        part = np.where(weight > 0, by_pair / np.where(weight > 0, weight, 1.0), 0.0)
        return part.reshape(-1, *found.occupancy.shape)

    def reduced(self, threshold: Array, slope: Array) -> CMDP:
        """Return the model as it is, with utilities less `slope` (J, S, A)."""
        transition, utility, actions = self.nominal_parts
        utility = utility.copy()
        utility[:, : self.states] -= slope
        return self._problem((transition, utility, actions), threshold)

    def cautious(self, threshold: Array, judged: Judged, visits: float) -> CMDP:
        """Return the model with `visits` imaginary ones to every tried pair, which end as badly as the worst state does.

        How badly that is, a policy that was judged says. On average they come to the worst state, and the process goes on from there.
        """
        share = np.where(self.visits > 0, visits / (visits + self.visits), 0.0)  # (S·A,)
        extreme = (~self.tried).reshape(-1).astype(float)
        value = judged.state_value[..., self.tried.any(1)]
        value = np.where(np.isfinite(value), value, 0.0).min(-1)  # (J,), or (J, H + 1)
        if self.average:
            ahead = self._per_pair(self.probability * judged.full_value[:, self.successors])
            utility = (1 - share) * self.utility + share * ((judged.value + value)[:, None] - ahead)
            parts = self._assemble(self.probability, extreme, utility, self.worst, self.tried_or_all)
            return self._problem(parts, threshold)
        worst = self.discount * (value if self.horizon is None else value[:, 1:].T[..., None])
        utility = (1 - share) * self.utility + share * (worst[:, None] if self.horizon is None else worst)
        probability = (1 - share)[self.pairs] * self.probability
        stages = [utility] if self.horizon is None else [*utility]
        each = [self._assemble(probability, extreme, one, self.worst, self.tried_or_all) for one in stages]
        if self.horizon is None:
            return self._problem(each[0], threshold)
        return self._problem((each[0][0], np.stack([one[1] for one in each], 1), each[0][2]), threshold)

    def sampled(self, rng: np.random.Generator, heaven: float) -> CMDP:
        """Draw a model from the posterior, with an imaginary visit of every pair to a heaven of this value."""
        weight = rng.standard_gamma(self.count)
        hope = np.where(self.visits > 0, rng.standard_gamma(self.imaginary), 1.0)
        total = np.bincount(self.pairs, weight, len(hope)) + hope
        error = np.sqrt(self.variance / np.maximum(self.visits, 1))
        utility = self.utility + error * rng.standard_normal(self.utility.shape)
        return self._hopeful(weight / total[self.pairs], hope / total, utility, heaven)

    def hopeful(self, heaven: float) -> CMDP:
        """Return the model with an imaginary visit of every pair to a heaven of this value: what an optimist hopes for."""
        hope = self.novelty
        return self._hopeful((1 - hope)[self.pairs] * self.probability, hope, self.utility, heaven)

    def _hopeful(self, probability: Array, hope: Array, utility: Array, heaven: float) -> CMDP:
        """Return a model with a heaven; what nobody tried may bring the range of rewards on the way there."""
        best = np.maximum(self.memory.high, 0.0)
        best[0] = heaven * (1 - self.discount)
        everything = np.ones_like(self.tried)
        utility = (1 - hope) * utility
        utility[0] += np.where(self.visits > 0, 0.0, self.memory.high[0] - self.memory.low[0])
        parts = self._assemble(probability, hope, utility, best, everything)
        return self._problem(parts, self.threshold)

    def largest_value(self, before: Array | None = None) -> tuple[float, Array]:
        """Return the value of heaven: the largest unconstrained value of a state, and one standard deviation of rewards.

        Also the values of all states, (S + 2,). Those of an earlier model, of which the states were seen first, serve as `before`.
        """
        memory, spread = self.memory, float(self.spread[0])
        extent = max(abs(memory.low[0]), abs(memory.high[0]))
        transition, utility, actions = self.nominal_parts
        reward = np.where(actions, utility[0], -np.inf)
        value = np.zeros(len(reward))
        value[-1] = utility[0, -1, 0] / (1 - self.discount)
        if before is not None:
            value[: len(before) - EXTRA] = before[:-EXTRA]
        for _ in range(SWEEPS):
            new = (reward + self.discount * (transition @ value).reshape(reward.shape)).max(1)
            change = np.abs(new - value)[:-1].max()
            value = new
            if change * self.discount <= PRECISION * extent:
                break
        top = float(value[:-1].max())
        return top + (spread if spread > 1e-9 * extent else extent or 1.0), value

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

    def judge(self, policy: Any) -> Judged:
        """Evaluate a policy (S, A), with standard errors; untried pairs lead to hell."""
        found = evaluated(self, policy)
        weight = found.occupancy.reshape(-1)
        influence = weight[self.pairs] * self.outcome + found.following
        by_visit = None if self.logged else self.visit_variance(found.full_value)
        by_pair = self._pair_variance(found, influence) if by_visit is None else weight**2 * by_visit
        error = np.sqrt(by_pair.sum(1) + self._start_variance(found.first))
        if self.logged:
            error[1:] = np.maximum(error[1:], self._single_doubt(found)[1:])
        if self.logged and self.criterion is Criterion.TOTAL:
            error[1:] = [self._bent(found, influence, float(error[j]), j) for j in range(1, len(error))]
        parts = (found.policy, found.value, error, found.full_value, found.occupancy)
        return Judged(*parts, by_pair, influence, found.stages, by_visit)

    @cached_property
    def _unseen(self) -> tuple[Array, Array]:
        """The largest share of its visits that each pair may show a new utility in, and a new successor, (S·A,) each, at the level `LEVEL`.

        These are quantiles of beta distributions, of N rows that did not show it and as many imaginary ones that did as count for a pair.
        """
        from scipy.special import betaincinv

        visits = np.maximum(self.visits, 1)
        return 1 - (1 - LEVEL) ** (1 / visits), np.asarray(betaincinv(self.new_rows, visits, LEVEL))

    @cached_property
    def bad_utility(self) -> Array:
        """What a bad step of a log brings, (J,): as far from the best step as the steps are, each counting as much as it is far."""
        best, count = self.memory.high, self.count.sum()
        total, squares = self.memory.sums.sum((0, 1)), self.memory.squares.sum((0, 1))
        distance, square = best * count - total, best**2 * count - 2 * best * total + squares
        far = distance > 1e-12 * self.size * count
        bad = best - np.where(far, square / np.where(far, distance, 1.0), 0.0)
        return np.asarray(np.where(far, np.maximum(bad, self.memory.low), self.worst))

    def _single_doubt(self, found: Evaluated) -> Array:
        """Return how far one pair alone may put each value off, (J,), in standard errors: steps that a pair with few rows did not show may be bad ones.

        Many small errors have a normal sum, however rare the events are that they come from; one large error has not.
        """
        weight = found.occupancy.reshape(-1)
        utility, successor = self._unseen
        worse = weight * np.maximum(self.utility - self.bad_utility[:, None], 0.0)  # (J, S·A)
        far = worse * np.where(self.explained[:, None], successor, utility) * (self.visits < MANY)
        return np.asarray(far.max(1) / NormalDist().inv_cdf(LEVEL))

    def _bent(self, found: Evaluated, influence: Array, error: float, j: int) -> float:
        """Return the standard error of a total with what it loses since values are not linear in the frequencies of a log.

        A total is what a step brings over the chance that it is the last. So the frequencies move by as many standard errors as `LEVEL` has, in the direction in
        which the value falls most, and what it falls by beyond a straight line counts.
        """
        if not 0 < error < np.inf:
            return error
        z = NormalDist().inv_cdf(LEVEL)
        mean = self._per_pair(self.probability * influence)[j]
        step = (influence[j] - mean[self.pairs]) / self.visits[self.pairs] * z / error
        moved = self.probability * np.maximum(1 - step, 0.0)
        moved /= np.maximum(np.bincount(self.pairs, moved, len(self.visits)), 1e-300)[self.pairs]
        shifted = replace(self)
        vars(shifted).update(probability=moved, typical_ahead=None)
        fallen = found.value[j] - evaluated(shifted, found.policy).value[j]
        straight = ((self.probability - moved) * influence[j]).sum()
        return float(error + max(fallen - straight, 0.0) / z)

    def _start_variance(self, first: Array) -> Array:
        """Return what the first states add to the variance of V(ρ), (J,), given their values (J, S).

        In a log one imaginary episode counts, which begins in a state as far off as half the range of those that were acted in.
        """
        variance = np.maximum((self.initial * first**2).sum(1) - (first @ self.initial) ** 2, 0.0)
        if not self.logged:
            return np.asarray(variance / self.episodes)
        doubt = half_range(self, first) ** 2
        return np.asarray((variance * self.episodes + doubt) / (self.episodes + 1) / self.episodes)

    def advantage(self, judged: Judged) -> Array:
        """Return what taking an action once adds to going on with a policy, (J, S, A); (J, H, S, A) over a horizon."""
        problem, value = self.with_unknown, judged.full_value
        transition, utility, _ = self.nominal_parts
        if self.horizon is None:
            following = np.stack([np.asarray(transition @ one) for one in value]).reshape(utility.shape)
            base = value[:, :, None] + (judged.value[:, None, None] if self.average else 0.0)
            return np.asarray((utility + problem.discount * following - base)[:, : self.states])
        following = np.stack([[np.asarray(transition @ one) for one in steps[1:]] for steps in value])
        following = following.reshape(len(value), -1, *utility.shape[1:])
        found = utility[:, None] + self.discount * following - value[:, :-1, :, None]
        return np.asarray(found[:, :, : self.states])

    @cached_property
    def _rare(self) -> Array:
        """How far a rare utility of a log, of which nobody will see more, is from its mean, (J,): the geometric mean of its spread and half its range.

        Of a column that is constant, one more row of the log with a 0 in it counts.
        """
        count, constant = self.count.sum(), self.memory.high <= self.memory.low
        spread = np.where(constant, self.size * np.sqrt(count) / (count + 1), self.spread)
        extent = np.where(constant, self.size, self.memory.high - self.memory.low)
        return np.asarray(np.sqrt(spread * extent / 2))

    def imaginary_variance(self, variance: Array, doubt: Array) -> Array:
        """Return the variance of an imaginary observation, (J,), given those of all pairs (J, S·A).

        It lies half way, as a geometric mean, between that of an average pair, with one imaginary pair that is as far off as `doubt`, and that of the
        latter alone. In an environment without chance it is small: what many pairs have not shown is hardly expected of another.
        """
        repeated = self.visits > 1
        visits = self.visits[repeated]
        average = ((variance[:, repeated] * visits / (visits - 1)).sum(1) + doubt**2) / (len(visits) + 1)
        return np.asarray(np.sqrt(average) * doubt)

    def _variance(self, weight: Array, influence: Array) -> Array:
        """Return the variance of the influence of each pair, (J, S·A), given its weight (S·A,) and influences (J, M)."""
        mean = self._per_pair(self.probability * influence)
        between = self._per_pair(self.probability * influence**2) - mean**2
        return np.maximum(between, 0.0) + weight**2 * self.unexplained

    def _pair_variance(self, found: Evaluated, influence: Array) -> Array:
        """Return what each pair adds to the variance of V(ρ), (J, S·A), given influences (J, M).

        Every pair counts one imaginary observation (see `imaginary_variance`), so that a pair that was tried once is not taken for
        certain. In a log it counts `doubtful_rows` with a rare utility, of which `new_rows` lead to a state as far from the mean as `reach` says, too.
        """
        weight, visits = found.occupancy.reshape(-1), np.maximum(self.visits, 1)
        if self.logged:
            variance, rows, new = self._variance(weight, influence), self.doubtful_rows, self.new_rows
            rare = self._rare[:, None] * weight
            doubt = new * (rare + found.reach) ** 2 + (rows - new) * rare**2
            return np.asarray((variance * visits + doubt) / (visits + rows) / visits)
        return weight**2 * self.visit_variance(found.full_value)

    def visit_variance(self, value: Array) -> Array:
        """Return what each pair adds to the variance of V(ρ) for each squared visit, (J, S·A), given the values of all states, (J, S + 2)."""
        visits = np.maximum(self.visits, 1)
        target = self.outcome + self.discount * value[:, self.successors]  # (J, M)
        variance = self._variance(np.ones(len(visits)), target)
        imaginary = self.imaginary_variance(variance, 0.5 * (target.max(1) - target.min(1)))
        return np.asarray((variance * visits + imaginary[:, None]) / (visits + 1) / visits)

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


def extreme_share(problem: CMDP, policy: Array) -> float:
    """Return the share of the discounted time that a policy (S + 2, A) expects to be in the extreme state."""
    inverse = inverse_of(policy_transition(problem, policy), problem.discount)
    share = inverse.state_occupancy(problem.initial)[-1] * (1 - problem.discount)
    return float(np.clip(share, 0.0, 1.0))
