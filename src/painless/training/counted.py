"""Learn a finite environment as a model by counting, and plan on it: to explore, to answer, and to say how good the answer is.

Batches of steps alternate with plans. To explore, a model is drawn from the posterior, with an imaginary visit of every pair to heaven (see
`novelty`), and its optimal policy is played, with the limits or, in every other batch while some pairs are untried, without: it goes where too little is known, and nowhere else. A batch ends early once the plan has been
there. A share ½(1−h)² of each batch is spent on the current answer, where h is the share of time that the explorer expects in heaven. After half of the budget, or 30 % if every pair was tried by then, steps go where they
take most from the errors of the answer (see `informative`), which is planned again after each part of them; where no limit has a price, exploration goes on. At the end the
best safe plan (see `margin_plan`) is verified on fresh episodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from painless.bellman import policy_transition
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.counting.exploring_model import extreme_share, hopeful_model, largest_value, sampled_model
from painless.counting.informative import informative_policies
from painless.counting.krylov import inverse_of
from painless.counting.learned_model import LearnedModel
from painless.counting.margin_plan import safe_plans
from painless.counting.memory import Memory
from painless.counting.played import Played, Said
from painless.counting.safe_plan import (
    FINE,
    TOLERANCE,
    Candidate,
    Limits,
    WarmPlanner,
    best_of,
    plan,
)
from painless.training.counted_checkpoint import Between, counted_state, load_counted, save_counted
from painless.training.episodes import ENTRIES, Choice, Episodes, Player, Returns, choices_of

FIRST = 500  # steps of the first batch
GROWTH = 1.15  # of one batch to the next
# Of so many batches one explores without limits while some pairs are untried: if limits make the way there dear, no plan that keeps them goes there.
UNLIMITED = 2
# The share of the budget that is spent on exploration, at most, and if every pair was tried by then
EXPLORATION, COMPLETE = 0.48, 0.3
# Shares of the budget up to which the answer is played, and then planned again
REHEARSALS = (0.42, 0.54, 0.66, 0.78, 0.9)
# The share of the budget that is spent on fresh episodes at the end: at least, and at most if the former is too few
VERIFICATION, LARGEST_VERIFICATION = 0.1, 0.2
FRESH = 20  # episodes that are enough, for a model that says the same
LEAST_VERIFICATION = 0.05  # if planning used up the time
# Of a budget in seconds, and seconds after it, at which a fresh episode is given up, however few there are
OVERTIME, GRACE = 0.25, 1.0
FEW = 20  # steps of an answer that are worth a plan
REHEARSED = 1.3  # by which the steps grow from one answer on the way to the next
SELECTION = 0.75  # standard errors that the search for the best plan gains by the errors of the estimate, as measured on true models
# Share of the budget after which a batch may end early, and that an answer on the way has at least, since each costs plans; and that a batch is planned to have.
LEAST, BATCH = 0.01, 0.02
INTERRUPTED = "interrupted; run it again for longer"
NEXT = 0.2  # of the steps so far, about as many as follow before the next answer


@dataclass(frozen=True)
class Budget:
    """The steps and seconds that a run may take; at least one is given."""

    steps: int | None = None
    seconds: float | None = None
    start: float = field(default_factory=time.perf_counter)

    def used(self, steps: int) -> float:
        """Return the share of the budget that is used after some steps."""
        of_steps = 0.0 if self.steps is None else steps / self.steps
        of_time = 0.0 if self.seconds is None else (time.perf_counter() - self.start) / self.seconds
        return max(of_steps, of_time)

    def late(self, share: float, grace: float = 0.0) -> bool:
        """Whether the seconds of a share of the budget, and some more, are over; never if only steps are given."""
        if self.seconds is None:
            return False
        return time.perf_counter() - self.start >= share * self.seconds + grace

    def left(self, steps: int, share: float) -> float:
        """Return the steps left until a share of the budget is used; infinite if only seconds are given."""
        return np.inf if self.steps is None else share * self.steps - steps


@dataclass(frozen=True)
class Checkpointing:
    """Where and how often a run is saved."""

    path: Path
    settings: Mapping[str, Any]  # that must be the same when it continues
    seconds: float = 5.0
    resume: bool = False

    @property
    def resumes(self) -> bool:
        """Whether there is something to continue."""
        return self.resume and self.path.exists()


@dataclass(frozen=True)
class CountedProgress:
    """The progress of a run, in the user's terms."""

    steps: int
    used: float  # share of the budget
    seconds: float
    seconds_left: float  # an estimate
    states: int
    phase: str  # "exploring" or "verifying"
    value: Array  # (J,) of the answer so far, by the learned model; NaN before there is one
    error: Array  # (J,) its standard errors
    hope: float  # the share of time that the explorer expects in heaven


@dataclass
class Found:
    """What a run found, in the internal sense."""

    answer: Candidate
    nominal: LearnedModel  # the model that the answer was planned on
    pooled: LearnedModel  # with the steps of the verification
    limits: Limits
    returns: list[Returns]  # of fresh episodes
    observations: Array  # (S, D)
    hoped: float  # the reward that an optimist could hope for
    stopped: str  # why it stopped early; empty if it did not
    trace: list[Said]  # of the answers on the way, the last one included
    training_steps: int
    verification_steps: int


class CountedRun:
    """One run of learning by counting.

    Arguments:
        episodes: the environment.
        limits: in the internal sense.
        budget: of the whole run, its verification included.
        rng: for everything random.
        progress: called after every batch, and twice a second.
        checkpoint: where the run is saved between batches.
    """

    def __init__(
        self,
        episodes: Episodes,
        limits: Limits,
        budget: Budget,
        rng: np.random.Generator,
        progress: Callable[[CountedProgress], None] | None = None,
        checkpoint: Checkpointing | None = None,
    ) -> None:
        self.specification = episodes.specification
        utilities = 1 + len(limits.threshold)
        self.memory = Memory(self.specification.actions, utilities, halves=1)
        self.player = Player(episodes, self.memory, rng)
        self.episodes, self.limits, self.budget, self.rng = episodes, limits, budget, rng
        self.progress, self._reported = progress, time.perf_counter()
        self.checkpoint, self._saved = checkpoint, time.perf_counter()
        self._unsaved: dict[str, Any] | None = None  # the state after the latest batch, if it is not saved
        self.batch = 0.0  # steps of the latest one
        self._rehearsed = 0  # steps at the latest answer
        self._batches = 0  # that were planned
        self._rehearsals = 0  # that are done, of those after exploration
        self.threshold = limits.threshold  # (K,) on discounted values
        self.answer: Candidate | None = None
        self.hope, self.phase = 1.0, "exploring"
        self.trace: list[Said] = []
        self._played: list[Played] = []  # the latest few
        self._value: Array | None = None  # of the latest model, unconstrained
        self._answerer = WarmPlanner()

    def run(self) -> Found:
        """Explore until the budget but for the verification is used; then answer and verify."""
        stopped = self._try(self._explore)
        self._save()  # an early end, too
        steps = self.player.steps
        model = self._model()
        limits, answer = self._final(model)
        returns: list[Returns] = []
        self.phase = "verifying"
        again = self._try(lambda: self._verify(answer, returns, steps, bool(stopped)))
        pooled = self._model()
        return Found(
            answer=answer,
            nominal=model,
            pooled=pooled,
            limits=limits,
            returns=returns,
            observations=self.episodes.observations(list(self.player.numbers))[: model.states],
            hoped=self._hoped(pooled),
            stopped=stopped or again,
            trace=[*self.trace, Said.of(answer)],
            training_steps=steps,
            verification_steps=self.player.steps - steps,
        )

    def _try(self, phase: Callable[[], None]) -> str:
        """Run a phase; return why it ended early, if it did and there is something to return."""
        try:
            phase()
        except KeyboardInterrupt:
            if not self.memory.steps:
                raise
            return INTERRUPTED
        except InputError as error:
            if not self.memory.steps:
                raise
            return str(error)
        return ""

    def _explore(self) -> None:
        if self.checkpoint is not None and self.checkpoint.resumes:
            self._continue(load_counted(self.checkpoint.path, self.player, self.checkpoint.settings))
        else:
            self.batch = min(max(FIRST, self._least), max(self.budget.left(0, COMPLETE), 1.0))
            self._play([], self.batch, COMPLETE, None, explore=True)
            self.threshold = self._first_threshold()
            self._remember()
        while self.budget.used(self.player.steps) < (until := self._until()):
            self.batch = self._size()
            left = self.budget.left(self.player.steps, until)
            self._batch(min(self.batch, left), until)
            self._rehearsals = 0
            self._remember()
            self._report(every=0.0)
        for share in REHEARSALS[self._rehearsals :]:
            if self.budget.left(self.player.steps, share) > 0:
                self._rehearse(self._model(), share)
            self._rehearsals += 1
            self._remember()
            self._report(every=0.0)
        self._save()

    def _verification(self, model: LearnedModel, answer: Candidate) -> float:
        """Return the share of the budget for fresh episodes, by the length of those of an answer."""
        length = model.episode_length(answer.judged.policy, max(self.limits.time_limit, 1))
        each = length * self.budget.used(self.player.steps) / max(self.player.steps, 1)
        return min(max(FRESH * each, VERIFICATION), LARGEST_VERIFICATION)

    def _until(self) -> float:
        """Return the share of the budget up to which to explore: less if every pair was tried by then, since errors are what is left to learn."""
        early = self.budget.used(self.player.steps) < COMPLETE
        return COMPLETE if early or bool(self.player.tries.all()) else EXPLORATION

    def _batch(self, steps: float, until: float) -> None:
        model = self._model(compared=False)
        policy = self._exploring_policy(model)
        own = 0.5 * (1 - self.hope) ** 2 * min(self.player.steps - self._rehearsed, steps)
        if own >= max(FEW, self._least) and self.player.steps >= REHEARSED * self._rehearsed:
            self._rehearsed = self.player.steps
            self._rehearse(replace(model, compared=True), until, own)
        else:
            own = 0.0
        self._play(choices_of(policy), steps - own, until, None, explore=True)

    def _size(self) -> float:
        """Return the steps of the next batch."""
        size = FIRST + (GROWTH - 1) * self.player.steps + ENTRIES * len(self.memory.keys)
        return max(size, BATCH * (self.budget.steps or 0))

    def _exploring_policy(self, model: LearnedModel) -> Array:
        """Return the policy (S, A) that is optimal on a draw of the model."""
        heaven, self._value = largest_value(model, self._value)
        limited = not len(model.threshold) or self._batches % UNLIMITED > 0 or bool(model.tried.all())
        self._batches += 1
        problem = sampled_model(model, self.rng, heaven, limited=limited)
        policy = plan(problem).policy  # draws differ so much that the policies of the last one are of no use
        self.hope = extreme_share(problem, policy)
        return np.asarray(policy[: model.states])

    def _rehearse(self, model: LearnedModel, until: float, most: float = np.inf) -> None:
        """Plan an answer, and spend steps, up to a share of the budget, on what takes most from its errors.

        If a margin keeps it from being what is optimal on the model, the errors of that plan count as much: what is known of it decides the next answer.
        """
        found = self._plans(model, self.limits, TOLERANCE)
        self.answer = best_of(found)
        judged, slack, scale, *_ = self.answer
        if self.limits.episodic.any():
            exact = judged.value[1:] - slack / scale - self.limits.deviations * judged.error[1:]
            self.threshold = np.where(self.limits.episodic, exact, self.threshold)
        self.trace.append(Said.of(self.answer))
        latest = Played(judged.policy, self.answer.multiplier, model.visits)
        self._played = [*self._played, latest][-len(REHEARSALS) :]
        until = min(until, 1 - self._verification(model, self.answer))
        steps = min(most, self.budget.left(self.player.steps, until))
        if steps <= 0:
            return
        wanted = found[0].judged.value[0] > judged.value[0] + judged.error[0]
        aims = [found[0], self.answer] if wanted else [self.answer]
        price = np.max([one.multiplier for one in found], axis=0)
        if price.any():
            self._inform(model, aims, price, steps, until)
        else:  # errors of limits cost nothing
            self._go_on_exploring(steps, until)

    def _inform(
        self, model: LearnedModel, aims: list[Candidate], price: Array, steps: float, until: float
    ) -> None:
        """Spend steps, up to a share of the budget, on what takes most from the errors of some plans."""
        target, begun, done = self.player.steps + steps, self.budget.used(self.player.steps), 0.0
        guess = min(steps, NEXT * self.player.steps)  # a budget in seconds does not say how many
        parts = informative_policies(model, aims, price, guess)
        whole = sum(share for _, share in parts)
        beginnings_first = sorted(parts, key=lambda part: part[0] is not None)  # they have a bound
        for policy, share in beginnings_first:
            part = share / (whole - done)
            done += share
            end = until if np.isfinite(steps) else begun + done * (until - begun)
            self._spend(policy, part * (target - self.player.steps), end)

    def _go_on_exploring(self, steps: float, until: float) -> None:
        """Explore in batches, up to a number of steps and a share of the budget, until one ends early; the rest is spent on the answer."""
        assert self.answer is not None
        target, ended = self.player.steps + steps, self.player.steps
        while ended == self.player.steps < target:
            choices = choices_of(self._exploring_policy(self._model(compared=False)))
            size = max(min(self._size(), target - self.player.steps), 1.0)
            ended = int(np.ceil(self.player.steps + size))
            self._play(choices, size, until, None, explore=True)
        self._play(
            choices_of(self.answer.judged.policy), target - self.player.steps, until, None, explore=False
        )

    def _spend(self, policy: Array | None, steps: float, until: float) -> None:
        """Play a policy (S, A), or begin episodes and leave them at once."""

        def stop() -> bool:
            self._report()
            return self.budget.used(self.player.steps) >= until

        if policy is None:
            self.player.begin(steps, stop)
        else:
            self._play(choices_of(policy), steps, until, None, explore=False)

    def _remember(self) -> None:
        """Remember the state between two batches, and save it if it is time to."""
        if self.checkpoint is None:
            return
        value = np.empty(0) if self._value is None else self._value
        done = self._rehearsed, self._batches, self._rehearsals
        policies = self._answerer.policies
        state = Between(self.batch, self.threshold, *done, value, policies, self._played, self.trace)
        self._unsaved = counted_state(self.player, state, self.checkpoint.settings)
        if time.perf_counter() - self._saved >= self.checkpoint.seconds:
            self._save()

    def _save(self) -> None:
        """Save the state after the latest batch, if that was not done."""
        if self.checkpoint is not None and self._unsaved is not None:
            save_counted(self.checkpoint.path, self._unsaved)
            self._unsaved, self._saved = None, time.perf_counter()

    def _continue(self, state: Between) -> None:
        """Go on from a checkpoint."""
        self.batch, self.threshold, self._rehearsed = state.batch, state.threshold, state.rehearsed
        self._value = state.value if len(state.value) else None
        self._batches, self._rehearsals = state.batches, state.rehearsals
        self._played, self.trace = state.played, state.trace
        self.limits = replace(self.limits, time_limit=self.player.time_limit)
        self._answerer.start_from(state.answerer)

    def _play(
        self,
        choices: list[Choice],
        steps: float,
        until: float,
        returns: list[Returns] | None,
        *,
        explore: bool,
    ) -> None:
        def stop() -> bool:
            self._report()
            due = not self.player.steps or (returns is not None and not returns)  # however late it is
            return not due and self.budget.used(self.player.steps) >= until

        def late() -> bool:
            self._report()
            if returns is None:
                return self.budget.late(until)
            return self.budget.late(1 + OVERTIME) and self.budget.late(1, GRACE)

        self.player.play(
            choices, steps, explore=explore, returns=returns, stop=stop, late=late, least=self._least
        )
        self.limits = replace(self.limits, time_limit=self.player.time_limit)

    @property
    def _least(self) -> float:
        """The steps that are worth a plan."""
        return LEAST * (self.budget.steps or 0)

    def _first_threshold(self) -> Array:
        """Return thresholds on discounted values, (K,), before any answer is known."""
        memory = self.memory
        length = memory.steps / max(memory.starts.sum(), 1.0)
        return self.limits.discounted(self.specification.discount, length)

    def _model(self, *, compared: bool = True) -> LearnedModel:
        """Return the model of all steps so far; rows are compared to answer, and taken by themselves to explore, which is cheaper."""
        discount, threshold = self.specification.discount, self.threshold
        return LearnedModel(self.memory.copy(), discount, threshold, compared=compared)

    def _plans(self, model: LearnedModel, limits: Limits, tolerance: float = FINE) -> list[Candidate]:
        """Return plans, the one that is optimal on the model first."""
        self._answerer.keep_policies()
        return safe_plans(model, limits, self._answerer, tolerance)

    def _final(self, model: LearnedModel) -> tuple[Limits, Candidate]:
        limits = replace(self.limits, selection=SELECTION)
        found = self._plans(model, limits)
        found += [one.judged_on(model, limits) for one in self._played]
        return limits, best_of(found)

    def _verify(self, answer: Candidate, returns: list[Returns], before: int, stopped: bool) -> None:
        """Play the answer on fresh episodes, up to the whole budget; after an early stop, a share of what was done."""
        steps = LARGEST_VERIFICATION * (self.budget.steps or before)
        if stopped:
            steps = min(steps, LARGEST_VERIFICATION * before)
        elif self.budget.steps is not None:
            steps = max(self.budget.steps - before, 1)
        until = np.inf if stopped else max(1.0, self.budget.used(self.player.steps) + LEAST_VERIFICATION)
        self._play(choices_of(answer.judged.policy), steps, until, returns, explore=False)
        self._report(every=0.0)

    def _hoped(self, model: LearnedModel) -> float:
        problem = hopeful_model(model, largest_value(model, self._value)[0])
        policy = plan(problem).policy
        inverse = inverse_of(policy_transition(problem, policy), problem.discount)
        return float((inverse.state_occupancy(problem.initial)[:, None] * policy * problem.reward).sum())

    def _report(self, every: float = 0.5) -> None:
        now = time.perf_counter()
        if self.progress is None or now - self._reported < every:
            return
        self._reported = now
        used = min(self.budget.used(self.player.steps), 1.0)
        seconds = now - self.budget.start
        unknown = np.full(self.memory.utilities, np.nan)
        value = error = unknown
        if self.answer is not None:
            said = Said.of(self.answer)
            value, error = said.value * self.specification.sign, said.error
        self.progress(
            CountedProgress(
                steps=self.player.steps,
                used=used,
                seconds=seconds,
                seconds_left=seconds * (1 / used - 1) if used > 0 else np.inf,
                states=len(self.player.numbers),
                phase=self.phase,
                value=value,
                error=error,
                hope=self.hope,
            )
        )
