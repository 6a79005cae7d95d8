"""The problem: maximise V_r(ρ) subject to V_{c_i}(ρ) ≥ b_i, i = 1..K, for each criterion of `criterion`.

The user may minimise a cost and bound constraint costs from above. Inside there is only maximise and ≥:
a cost is the negative of a reward. `sense` and `minimise` remember the user's terms, and everything that
is read back (solutions, files, tables) is in those terms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless.common import arguments
from painless.common.arrays import Array, Mask, frozen, read_only
from painless.common.errors import InputError, unknown
from painless.problem import ending, reaching, stages, transitions, validation
from painless.problem.criterion import Criterion
from painless.problem.formats import registry as formats
from painless.problem.formats.file_entries import NAME_KEYS, SPARSE_KEYS
from painless.problem.names import Names, add_names, is_whole, locate
from painless.problem.pair_utilities import PairUtilities
from painless.problem.stages import Stages
from painless.problem.validation import is_average, is_one, refuse_beside_average
from painless.storage.mapped import Source, sources_of

Transition: TypeAlias = "Array | scipy.sparse.csr_array[np.float64]"  # text, so that importing loads no SciPy


MAKERS = {  # what makes a problem of another library's object
    "mdptoolbox": "painless.from_mdptoolbox(P, R, discount, initial=…)",
    "pandas": "painless.from_frame(…)",
    "polars": "painless.from_frame(…)",
    "quantecon": "painless.from_quantecon(…, initial=…)",
}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CMDP:
    """A constrained Markov decision process with finitely many states and actions; immutable.

    Arguments:
        transition: P(s'|s, a), dense (S, A, S), or SciPy sparse (S·A, S) with row s·A + a.
        reward: (S, A) to maximise; an (S, A, S) reward is averaged over the successor.
        cost: in place of `reward`: (S, A) to minimise.
        initial: ρ, the distribution of the first state, (S,).
        discount: γ in [0, 1); in [0, 1] with a horizon, and 1 by default there. 1 without a horizon is the total reward
            until the end.
        end: the states where the process stops, a mask (S,) or a list of states; γ is 1 by default then. Nothing counts
            after the end. States that can only stay and pay nothing are found without being told, and with γ = 1 a row of probabilities
            that sums to less than 1 − 1e-8 ends the process with what is missing.
        average: True for the long-run average per step in place of a discounted sum; there is no discount then.
        horizon: H, the number of steps of a finite horizon. The states are then the pairs (t, s), numbered t·S + s.
            Transitions, actions and utilities may differ between steps, with an axis H in front: (H, S, A), (K, H, S, A).
        final: (S,) with a horizon, what the state after the last step adds to the reward or cost.
        constraint_final: (K, S), the same for the constraints, rewards first.
        constraint_reward: (K, S, A), whose values must reach `threshold` (K,). K = 1 may drop its axis.
        constraint_cost: (K, S, A), whose values must stay within `budget` (K,). Rewards come first. In the place of any utility,
            or of one in a list of them, `painless.reach(states)` is the probability of ever coming to some states.
        actions: (S, A), which actions each state has; all of them by default.
        names: lists of distinct names under "states", "actions" and "constraints": texts, numbers, tuples or dates.
        copy: whether to copy the arrays. With False the problem shares transitions and utilities that need no
            conversion, which halves the memory of a large model: do not change them while the problem is in use.

    A row of probabilities whose sum is off by up to 1e-8 is divided by it; one whose sum is 1 up to rounding
    is kept bit for bit. A threshold of −∞ or a budget of ∞ is no limit.

    Attributes in the internal sense: `reward` (S, A), `constraint_reward` (K, S, A) and `threshold` (K,).

    >>> problem = CMDP(
    ...     transition=[[[1.0], [1.0]]], reward=[[0.0, 1.0]], initial=[1.0], discount=0.5,
    ...     constraint_cost=[[0.0, 1.0]], budget=1.5,
    ... )
    >>> problem
    CMDP(1 state, 2 actions, 1 constraint, discount 0.5, dense)
    """

    transition: Transition  # of one step; `stages` has all of them if they differ
    step_utility: Array | None  # (J, S, A) of each step of a horizon, if all have the same utilities
    threshold: Array  # (K,)
    initial: Array  # (S,)
    discount: float
    actions: Mask  # (S, A)
    sense: tuple[str, ...]  # ">=" or "<=" for each constraint, as the user has it
    minimise: bool  # whether the user gave a cost
    names: Mapping[str, Names]
    horizon: int | None
    stages: Stages | None  # the steps of a horizon
    criterion: Criterion
    end: Mask | None  # (S,) the states where the process stops, if any were given
    shape: tuple[int, int, int]  # the numbers of states, actions and constraints, (S, A, K)
    sign: Array  # (J,) +1 or −1 for each utility: the user's value is sign times the internal one
    constraint_names: tuple[str, ...]  # as texts; "constraint 1" for the first that has none
    exact_unit: Fraction  # the value of a utility of 1 in every step: 1/(1−γ), or Σ_{t<H} γ^t; 1 if there is no bound on the steps
    unit: float  # the same, rounded
    sources: tuple[Source, ...]  # the mapped files that hold its arrays, if any

    def __init__(
        self,
        transition: Any,
        reward: ArrayLike | None = None,
        *,
        cost: ArrayLike | None = None,
        initial: ArrayLike,
        discount: float | None = None,
        horizon: int | None = None,
        end: Any = None,
        average: bool = False,
        final: ArrayLike | None = None,
        constraint_reward: ArrayLike | None = None,
        threshold: ArrayLike | None = None,
        constraint_cost: ArrayLike | None = None,
        budget: ArrayLike | None = None,
        constraint_final: ArrayLike | None = None,
        actions: ArrayLike | None = None,
        names: Mapping[str, Iterable[Hashable]] | None = None,
        copy: bool = True,
    ) -> None:
        start = validation.initial(initial)
        given = {
            **{"transition": transition, "reward": reward, "cost": cost, "initial": start},
            **{"discount": discount, "horizon": horizon, "end": end, "average": average, "final": final},
            **{"constraint_reward": constraint_reward, "threshold": threshold, "actions": actions},
            **{"constraint_cost": constraint_cost, "budget": budget, "constraint_final": constraint_final},
            "names": names,
        }
        parts = [
            one if isinstance(one, list | tuple) else (one,)
            for one in (reward, cost, constraint_reward, constraint_cost)
        ]
        if any(isinstance(one, reaching.Reach) for part in parts for one in part):  # a set to reach
            self.__init__(**reaching.expanded(given), copy=copy)  # type: ignore[misc]
            return
        if (reward is None) == (cost is None):
            which = "neither is" if reward is None else "both are"
            raise InputError(f"give either reward (to maximise) or cost (to minimise); {which} given")
        name, objective = ("cost", cost) if reward is None else ("reward", reward)
        utilities = {
            name: objective,
            "constraint_reward": constraint_reward,
            "threshold": threshold,
            "constraint_cost": constraint_cost,
            "budget": budget,
        }
        process, stops, same = None, None, False
        criterion = Criterion.DISCOUNTED
        if is_average(average):
            refuse_beside_average(
                discount=discount, horizon=horizon, end=end, final=final, constraint_final=constraint_final
            )
            discount, criterion = 1.0, Criterion.AVERAGE
        try:
            if end is not None and (horizon is not None or final is not None or constraint_final is not None):
                raise InputError(
                    "end is for a process without a horizon; with a horizon, let its end be a state that stays and pays nothing"
                )
            if horizon is not None:
                criterion = Criterion.HORIZON
                ends = (final, constraint_final)
                checked = stages.checked(transition, horizon, actions, start, discount, utilities, ends, copy)
                start, process, available, utility, gained, lower, paid, upper, gamma, same = checked
                kernel = process.kernel(0)
            elif final is not None or constraint_final is not None:
                raise InputError("final and constraint_final come after a last step; give a horizon, too")
            else:
                if criterion is Criterion.AVERAGE:
                    gamma = 1.0
                elif is_one(discount) or (discount is None and end is not None):
                    gamma, criterion = 1.0, Criterion.TOTAL
                else:
                    gamma = validation.discount(discount)
                stops = None if end is None else ending.end_mask(end, len(start), names)
                n_actions = transitions.action_count(transition, len(start))
                available = validation.actions(actions, (len(start), n_actions))
                kernel = transitions.checked_transition(
                    transition, available, copy, criterion is Criterion.TOTAL
                )
                gained, lower = validation.constraints(
                    "constraint_reward", constraint_reward, "threshold", threshold, kernel, available, copy
                )
                paid, upper = validation.constraints(
                    "constraint_cost", constraint_cost, "budget", budget, kernel, available, copy
                )
                utility = validation.utility(name, objective, kernel, available, copy)
                if stops is not None:
                    kernel = ending.stopped_transition(kernel, stops)
                    utility, gained, paid = (
                        ending.stopped_utility(one, stops) for one in (utility, gained, paid)
                    )
        except InputError as error:
            add_names(error, names)
            raise
        objective = utility if cost is None else -utility
        held = np.concatenate([gained, -paid]) if len(paid) else gained
        self._set(
            frozen if copy else read_only,
            transition=kernel,
            step_utility=np.concatenate([objective[None], held]) if same else None,
            **({} if same else {"reward": objective, "constraint_reward": held}),
            threshold=frozen(np.concatenate([lower, -upper])),
            initial=frozen(start),
            discount=gamma,
            actions=frozen(available),
            sense=(">=",) * len(lower) + ("<=",) * len(upper),
            minimise=cost is not None,
            names=validation.names(names, (kernel.shape[-1], available.shape[1], len(lower) + len(upper))),
            stages=process,
            horizon=None if horizon is None else int(horizon),
            criterion=criterion,
            end=stops,
        )
        self._derive(self.actions.shape)
        self.__dict__["sources"] = sources_of(self.__dict__)

    @classmethod
    def of_valid(
        cls,
        transition: Array,
        utility: Array,
        threshold: Array,
        *,
        initial: Array,
        discount: float,
        names: Mapping[str, Names],
    ) -> CMDP:
        """Return a problem of arrays that need no check, since the library has just made them; they are not copied.

        `utility` (J, S, A) is the reward and what must reach `threshold` (K,), in every pair of a dense model with a discount.
        """
        arrays = {
            **{"transition": transition, "initial": initial, "threshold": threshold},
            **{"utility": utility, "reward": utility[0], "constraint_reward": utility[1:]},
            "actions": np.ones(utility.shape[1:], dtype=bool),
        }
        problem = object.__new__(cls)
        problem.__dict__.update(
            {name: frozen(array) for name, array in arrays.items()},
            **{"discount": discount, "criterion": Criterion.DISCOUNTED, "names": dict(names)},
            **{"sense": (">=",) * len(threshold), "minimise": False, "sources": ()},
            **dict.fromkeys(("step_utility", "horizon", "stages", "end")),
        )
        problem._derive(problem.actions.shape)
        return problem

    def _set(self, protect: Callable[[NDArray[Any]], NDArray[Any]] = read_only, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, _protected(value, protect))

    def _derive(self, pairs: tuple[int, ...]) -> None:
        """Set what follows from the other attributes and the numbers of states and actions."""
        senses = ("<=" if self.minimise else ">=", *self.sense)
        sign = read_only(np.array([1.0 if sense == ">=" else -1.0 for sense in senses]))
        gamma, steps = Fraction(self.discount), self.horizon
        if self.criterion in (Criterion.TOTAL, Criterion.AVERAGE):
            unit = Fraction(1)
        elif gamma == 1:
            unit = Fraction(max(steps or 0, 1))
        else:
            unit = (1 if steps is None else 1 - gamma ** max(steps, 1)) / (1 - gamma)
        named = self.names["constraints"].texts if "constraints" in self.names else None
        self.__dict__.update(
            shape=(*pairs, len(self.threshold)),
            sign=sign,
            constraint_names=tuple(named or (f"constraint {i + 1}" for i in range(len(self.threshold)))),
            exact_unit=unit,
            unit=1 / (1 - self.discount) if self.discount < 1 and steps is None else float(unit),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: mapped arrays become those of the pickle."""
        return {**self.__dict__, "sources": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled problem, whose arrays are not shared."""
        self._set(frozen, **state)

    def with_constraints(self, reward: Array, constraint_reward: Array, threshold: Array) -> CMDP:
        """Return the same process with other utilities, in the internal sense and without validation."""
        return self._bare(threshold, {"reward": reward, "constraint_reward": constraint_reward})

    def _bare(self, threshold: Array, utilities: Mapping[str, Array] | Array) -> CMDP:
        """Return the same process with other utilities, in the internal sense and without names; an array (J, …) has the shape of `_stored`."""
        if isinstance(utilities, np.ndarray) and self.step_utility is not None:
            utilities = {"step_utility": utilities}
        elif isinstance(utilities, np.ndarray):  # the reward and the constraints are parts of it
            utilities = {
                "utility": utilities,
                "reward": utilities[0],
                "constraint_reward": utilities[1:],
            }
        views = {name: read_only(given) for name, given in utilities.items()}
        kept: tuple[str, ...] = (
            "transition",
            "initial",
            "discount",
            "actions",
            "horizon",
            "stages",
            "criterion",
        )
        kept += ("end", "unit", "exact_unit")
        problem = object.__new__(CMDP)
        problem.__dict__.update(
            {"step_utility": None} | {name: getattr(self, name) for name in kept} | views,
            threshold=read_only(threshold),
            sense=(">=",) * len(threshold),
            sign=read_only(np.ones(1 + len(threshold))),
            minimise=False,
            names={},
            constraint_names=tuple(f"constraint {i + 1}" for i in range(len(threshold))),
            shape=(*self.actions.shape, len(threshold)),
            sources=(),
        )
        return problem

    @property
    def _stored(self) -> tuple[Array, Mask]:
        """The utilities as they are stored, and their pairs: (J, S, A) and (S, A) if all steps of a horizon have the same, else all."""
        if self.step_utility is None:
            return self.utility, self.actions
        steps = self.actions.reshape(-1, *self.step_utility.shape[1:])
        return self.step_utility, np.asarray(steps.any(0))

    def rescaled(self, origin: Array, span: Array, kept: NDArray[np.intp], threshold: Array) -> CMDP:
        """Return the same process with utilities (u − origin)/span, (J,) each, and only some of the constraints."""
        chosen = np.append(0, 1 + kept)
        sparse = not isinstance(self.transition, np.ndarray)
        if sparse and self.stages is None:  # nothing as large as the model is copied
            origin, span = origin[chosen], span[chosen]
            low, high = (read_only((side[chosen] - origin) / span) for side in self.utility_range)
            problem = self._bare(threshold, {})
            shared = PairUtilities.of(self.reward, self.constraint_reward, chosen, origin, span)
            problem.__dict__.update(rescaled_utility=shared, utility_range=(low, high))
            return problem
        utility, pairs = self._stored
        scaled = utility[chosen]
        scaled -= origin[chosen, None, None]
        scaled /= span[chosen, None, None]
        scaled[:, ~pairs] = 0.0
        return self._bare(threshold, scaled)

    def loosened(self, whole: CMDP, kept: NDArray[np.intp], share: Array, threshold: Array) -> CMDP:
        """Return the same process with share·|c|, (K,) each, added to its constraints; c are those `kept` of another problem."""
        utility = self._stored[0].copy()
        utility[1:] += np.abs(whole._stored[0][1 + kept]) * share[:, None, None]
        return self._bare(threshold, utility)

    def with_utilities(self, chosen: Sequence[int], threshold: Array) -> CMDP:
        """Return the same process with some of its utilities, the first of them as the reward."""
        return self._bare(threshold, self._stored[0][list(chosen)])

    def with_limits(self, limit: Mapping[Any, float] | Sequence[float] | ArrayLike) -> CMDP:
        """Return the same problem with other thresholds and budgets, in the user's terms.

        Either all of them in order, or some by name, such as `{"waste": 4}`; the others stay.
        """
        if isinstance(limit, Mapping):
            named, limit = limit, self.limit.copy()
            for name, value in named.items():
                limit[self.index("constraints", name)] = arguments.number(
                    f"limit of {name!r}", value, "give one"
                )
        limits = validation.limits("limit", limit, self.sign[1:])
        return self._replace(threshold=frozen(limits * self.sign[1:]))

    def with_discount(self, discount: float) -> CMDP:
        """Return the same problem with another discount."""
        if (
            self.horizon is not None
        ):  # the last utility is part of the last step, at the discount that was given
            raise InputError("the discount of a problem with a horizon is fixed; make it again with another")
        if self.criterion is Criterion.AVERAGE:
            raise InputError(
                "a long-run average has no discount; make the problem again with one, without average"
            )
        if is_one(discount):
            return self._replace(discount=1.0, criterion=Criterion.TOTAL)
        if self.criterion is Criterion.TOTAL and (ending.missing(self.transition)[self._rows()] > 0).any():
            raise InputError(
                "some rows of probabilities end the process with what is missing, which only the discount 1 has"
            )
        return self._replace(discount=validation.discount(discount), criterion=Criterion.DISCOUNTED)

    def with_criterion(
        self, *, discount: float | None = None, horizon: int | None = None, average: bool = False
    ) -> CMDP:
        """Return the same model with another discount, as one of some steps, or as a long-run average; as it is if nothing is given."""
        if is_average(average):
            refuse_beside_average(discount=discount, horizon=horizon)
            return self.with_average()
        if horizon is not None:
            return self.with_horizon(horizon, 1.0 if discount is None else discount)
        return self if discount is None else self.with_discount(discount)

    def with_horizon(self, horizon: int, discount: float = 1.0) -> CMDP:
        """Return the same process for H steps."""
        if self.horizon is not None:
            raise InputError(f"the problem has a horizon already, of {self.horizon} steps")
        return self._anew(discount=discount, horizon=horizon)

    def with_average(self) -> CMDP:
        """Return the same process with its long-run average per step in place of sums; limits are on averages, too."""
        self.require_stationary("a long-run average")
        return self._anew(average=True)

    def _anew(self, **criterion: Any) -> CMDP:
        gained = self.sense.count(">=")
        return CMDP(
            self.transition,
            **{"cost" if self.minimise else "reward": self.reward * self.sign[0]},
            initial=self.initial,
            **criterion,
            constraint_reward=self.constraint_reward[:gained] if gained else None,
            threshold=self.threshold[:gained] if gained else None,
            constraint_cost=-self.constraint_reward[gained:] if gained < len(self.sense) else None,
            budget=-self.threshold[gained:] if gained < len(self.sense) else None,
            actions=self.actions,
            names=self.names,
            copy=False,
        )

    def _rows(self) -> Mask:
        """The mask of available pairs in the layout of the transitions, (S, A) or (S·A,)."""
        return self.actions.reshape(-1) if self.is_sparse else self.actions

    def _replace(self, **changes: Any) -> CMDP:
        problem = object.__new__(CMDP)
        stored = [*self.__dataclass_fields__]
        if self.step_utility is None:  # else they follow from it, and from the actions
            stored += ["reward", "constraint_reward", "rescaled_utility"]
        problem.__dict__.update(
            {name: self.__dict__[name] for name in stored if name in self.__dict__}
            | {name: _protected(value, read_only) for name, value in changes.items()}
        )
        problem._derive(self.actions.shape)
        return problem

    @property
    def is_sparse(self) -> bool:
        """Whether the transitions are stored as a sparse matrix."""
        return not isinstance(self.transition, np.ndarray)

    def require_stationary(self, what: str) -> None:
        """Reject a finite horizon where it is not supported."""
        if self.horizon is not None:
            raise InputError(
                f"{what} needs a problem with a discount, not a horizon; use solve, which plans for it"
            )

    def require_discount(self, what: str) -> None:
        """Reject every criterion but the discounted one where it is not supported."""
        self.require_stationary(what)
        if self.criterion is not Criterion.DISCOUNTED:
            raise InputError(
                f"{what} needs a problem with a discount, not the {self.criterion.value}; use solve, which plans for it"
            )

    @cached_property
    def reward(self) -> Array:
        """What is maximised, (S, A), or (H·S, A) with a horizon; stored, or one of all utilities."""
        return read_only(self.utility[0])

    @cached_property
    def constraint_reward(self) -> Array:
        """What must reach the thresholds, (K, S, A), or (K, H·S, A); stored, or some of all utilities."""
        return read_only(self.utility[1:])

    @cached_property
    def utility(self) -> Array:
        """The reward and the constraint rewards in one array, (J, S, A), or (J, H·S, A)."""
        if self.step_utility is not None:
            return read_only(stages.repeated(self.step_utility, self.actions))
        if "rescaled_utility" in self.__dict__:
            scaled = self.pair_utility[:, :].reshape(-1, *self.actions.shape)
            np.copyto(scaled, 0.0, where=~self.actions)
            return read_only(scaled)
        return read_only(np.concatenate([self.reward[None], self.constraint_reward]))

    @property
    def pair_utility(self) -> PairUtilities:
        """The utilities of all pairs of a sparse model, (J, S·A), without a copy of them."""
        known = self.__dict__.get("rescaled_utility")
        if isinstance(known, PairUtilities):
            return known
        count = 1 + self.shape[2]
        return PairUtilities.of(
            self.reward, self.constraint_reward, np.arange(count), np.zeros(count), np.ones(count)
        )

    @cached_property
    def utility_range(self) -> tuple[Array, Array]:
        """The least and the largest of every utility over the available pairs, (J,) each."""
        if self.step_utility is not None:  # the same in all steps: one is enough
            steps, pairs = self._stored
            tables = steps[:1], steps[1:]
        else:
            tables, pairs = (self.reward[None], self.constraint_reward), self.actions
        if pairs.all():  # many times faster than with a mask
            low, high = [table.min((1, 2)) for table in tables], [table.max((1, 2)) for table in tables]
        else:
            low = [np.where(pairs, table, np.inf).min((1, 2), initial=np.inf) for table in tables]
            high = [np.where(pairs, table, -np.inf).max((1, 2), initial=-np.inf) for table in tables]
        return read_only(np.concatenate(low)), read_only(np.concatenate(high))

    @cached_property
    def most_successors(self) -> int:
        """The largest number of successors that a pair has."""
        if self.stages is not None:
            return self.stages.most_successors
        if isinstance(self.transition, np.ndarray):
            return max(int(np.count_nonzero(self.transition, axis=2).max()), 1)
        return max(int(np.diff(self.transition.indptr).max(initial=1)), 1)

    @property
    def limit(self) -> Array:
        """Thresholds and budgets in the user's terms, (K,)."""
        return self.threshold * self.sign[1:]

    def name(self, kind: str, index: int) -> str:
        """Return the name of a state, an action or a constraint as text; its number if it has none."""
        count = self._count(kind)
        if arguments.whole("index", index, least=0) >= count:
            raise InputError(f"index is {index}; the problem has {count} {kind}")
        if self.stages is not None and kind == "states":
            step, state = divmod(index, self.stages.states)
            named = self.names[kind].texts[state] if kind in self.names else f"state {state}"
            return f"step {step}, {named}"
        if kind == "constraints":
            return self.constraint_names[index]
        return self.names[kind].texts[index] if kind in self.names else str(index)

    def index(self, kind: str, name: Hashable) -> int:
        """Return the number of a state, an action or a constraint, given by its name or its number."""
        count = self.transition.shape[-1] if kind == "states" else self._count(kind)
        names = self.names.get(kind)
        if names is None and kind == "constraints" and not is_whole(name):
            names = Names(self.constraint_names)
        return int(locate(names, name, count, kind.removesuffix("s")))

    def _count(self, kind: str) -> int:
        if not isinstance(kind, str) or kind not in NAME_KEYS:
            raise unknown("kind of names", str(kind), NAME_KEYS)
        return self.shape[[*NAME_KEYS].index(kind)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a `.npz`, `.json`, `.drn`, `.umb` or `.tra` file, in the user's terms, which `load` reads."""
        transitions.require_sound(self.transition)
        formats.write(path, {key: value for key, value in self._content().items() if value is not None})

    def _content(self) -> dict[str, Any]:
        gained = self.sense.count(">=")
        utilities = {
            "cost" if self.minimise else "reward": self.reward * self.sign[0],
            "constraint_reward": self.constraint_reward[:gained] if gained else None,
            "threshold": self.threshold[:gained] if gained else None,
            "constraint_cost": -self.constraint_reward[gained:] if gained < len(self.sense) else None,
            "budget": -self.threshold[gained:] if gained < len(self.sense) else None,
        }
        rest = {
            "initial": self.initial,
            "discount": self.discount,
            "actions": None if self.actions.all() else self.actions,
            "end": self.end,
        }
        if self.criterion is Criterion.AVERAGE:
            del rest["discount"]
            rest["average"] = True
        kernel = self.transition
        if self.stages is not None:
            kernel = self.stages.stacked()
            utilities, rest = stages.content(self.stages, self.horizon, utilities, rest)
        process = (
            {"transition": kernel}
            if isinstance(kernel, np.ndarray)
            else dict(zip(SPARSE_KEYS, (kernel.data, kernel.indices, kernel.indptr), strict=True))
        )
        names = {NAME_KEYS[kind]: given.as_array() for kind, given in self.names.items()}
        return process | utilities | rest | names

    def __repr__(self) -> str:
        sizes = (self.transition.shape[-1], *self.shape[1:])
        counts = zip(sizes, ("state", "action", "constraint"), strict=True)
        size = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        kind = "sparse" if self.is_sparse else "dense"
        parts = [] if self.horizon is None else [f"horizon {self.horizon}"]
        if self.criterion is Criterion.TOTAL:
            parts.append("total reward")
        if self.criterion is Criterion.AVERAGE:
            parts.append("long-run average")
        if self.end is not None:
            ends = int(self.end.sum())
            parts.append(f"{ends} end state{'' if ends == 1 else 's'}")
        if self.discount != 1:
            parts.append(f"discount {self.discount:g}")
        return f"CMDP({', '.join([size, *parts, kind])})"


def require_problem(given: Any) -> CMDP:
    """Reject objects that are not problems."""
    if isinstance(given, CMDP):
        return given
    if isinstance(given, str | os.PathLike):
        name = os.fspath(given)
        raise InputError(
            f"problem is {name!r}; give the problem itself: painless.make({name!r}), or painless.load({name!r}) for a file"
        )
    library = type(given).__module__.partition(".")[0]
    advice = (
        f"make one of it: {MAKERS[library]}" if library in MAKERS else "such as painless.make('gridworld')"
    )
    advice = "or, for an environment: painless.train(…)" if hasattr(given, "step") else advice
    raise InputError(f"problem is a {type(given).__name__}; give a CMDP, {advice}")


def _protected(value: Any, protect: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return an array, or a sparse matrix, that cannot be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        return protect(value)
    if isinstance(value, Stages):
        return value._replace(kernels=tuple(_protected(kernel, protect) for kernel in value.kernels))
    if hasattr(value, "indptr"):
        parts = tuple(protect(part) for part in (value.data, value.indices, value.indptr))
        return scipy.sparse.csr_array(parts, shape=value.shape)
    return value
