"""Fresh episodes within their share of the budget: those that select mixtures of checkpoints, and those that verify them and choose the answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from painless.common.arrays import Array
from painless.environments.copies import Copies, Observations
from painless.environments.gymnasium_simulator import GymnasiumSimulator
from painless.policies.network import NetworkPolicy
from painless.training.counted import Budget
from painless.training.deep.collection import SEEDS, Played, play
from painless.training.deep.history import Record, mean_length
from painless.training.deep.mixture_episodes import MixtureEpisodes, boldest
from painless.training.deep.selection import ENOUGH, Evidence, mixtures, promising, refining, spread_evenly
from painless.training.deep.settings import Deep

RESERVE = 0.98  # of what fresh episodes may take, since their lengths are estimates
LEAST_EPISODES = 2  # to verify with
LEAST_SHARE = 0.1  # of verification for a policy that weighs less, so that its deviation is known
EXPLORING = 0.5  # of selection, before those in use are looked at more closely


class FreshEpisodes:
    """Plays checkpoints after the training, whose steps and history tell how many episodes there may be.

    Arguments:
        simulator: the environment, with its limits.
        copies: of the environment, to play on.
        settings: of the run, with the shares of the budget.
        budget: of the training.
        history: of the training.
        steps: taken so far, by phase; what is played is added.
        stopped: why the training ended early, if it did.
        most: episodes of the verification, at most.
        rng: the generator.
        expected: what the critic expects from observations (n, D), (n, J), in any units.
        report: called now and then.
    """

    def __init__(
        self,
        simulator: GymnasiumSimulator,
        copies: Copies,
        settings: Deep,
        budget: Budget,
        history: list[Record],
        steps: dict[str, int],
        stopped: str,
        most: int,
        rng: np.random.Generator,
        expected: Callable[[Observations], Array],
        report: Callable[[], None],
    ) -> None:
        self.simulator, self.copies, self.settings, self.budget = simulator, copies, settings, budget
        self.history, self.steps, self.stopped, self.most = history, steps, stopped, most
        self.rng, self.expected, self.report = rng, expected, report
        self.seeds: list[int] = []  # of the episodes of selection

    def select(self, policies: list[NetworkPolicy], evidence: Evidence) -> None:
        """Play the checkpoints that may be part of the answer, until the allowance is spent or those in use are known well."""
        threshold, rng = self.simulator.specification.threshold, self.rng
        episodic = np.asarray(self.simulator.episodic, dtype=bool)
        allowed, length = self._allowance(self.settings.selection), self._length()
        extra = 1 + self.settings.selection + self.settings.verification
        while len(policies) > 1:
            used = self.steps["selection"]
            count = int(min(self.settings.environments, (allowed - used) / length))
            if count < 1 or not self._in_time((1 + self.settings.selection) / extra):
                break
            known = evidence.known()
            answer = self.candidates(evidence).mean(0)
            if (evidence.count[answer > 0] >= ENOUGH).all():
                break
            early = used < EXPLORING * allowed
            which = (
                promising(known, threshold, count, rng)
                if early
                else refining(answer, evidence.count, count, rng)
            )

            def more(steps: int, running: int, used: int = used) -> bool:
                return self._fits(used + steps, running, allowed)

            seeds = self._seeds_of(which, evidence.count)
            played = self._play(policies, which, rng, more, seeds)
            if not played.steps:  # no other episode fits
                break
            self.steps["selection"] += played.steps
            samples = played.finished.chosen(episodic)
            # Episodes are started in their order, and all that are started end.
            evidence.add(played.which, samples, self.expected(played.first), seeds[: len(samples)])
            self.report()

    def candidates(self, evidence: Evidence) -> Array:
        """Return the mixtures that may be the answer, (p, n), from safe to bold.

        The safest keeps `margin` errors of selection and as many of verification from the limits: it is met unless much is wrong.
        """
        known = evidence.known()
        count = max(self._allowance(self.settings.verification) / self._length(), LEAST_EPISODES)
        width = self.settings.margin * (known.error + known.deviation / np.sqrt(min(count, self.most)))
        return mixtures(known, width[:, 1:], self.simulator.specification.threshold)

    def verify(
        self, policies: list[NetworkPolicy], path: Array, met: Callable[[MixtureEpisodes], bool]
    ) -> MixtureEpisodes:
        """Play the policies of mixtures (p, n), from safe to bold, and return the boldest that is met with all before it."""
        rng, length = np.random.default_rng(self.rng.integers(2**63)), self._length()
        share = self.settings.selection + self.settings.verification
        allowed = self._allowance(share) - self.steps["selection"]
        count = int(np.clip(allowed / length, LEAST_EPISODES, self.most))
        often = np.maximum(path.max(0), LEAST_SHARE)
        which = spread_evenly(often / often.sum(), count, rng)
        started = 0

        def more(steps: int, running: int) -> bool:
            nonlocal started
            room = self._fits(steps, running, allowed) and (bool(self.stopped) or self._in_time(1.0))
            started += 1
            return room or started <= LEAST_EPISODES

        played = self._play(policies, which, rng, more)
        self.steps["verification"] += played.steps
        self.report()
        return boldest(MixtureEpisodes(played.finished, played.which, path[0]), path, met)

    def _play(
        self,
        policies: list[NetworkPolicy],
        which: list[int],
        rng: np.random.Generator,
        more: Callable[[int, int], bool],
        seeds: list[int] | None = None,
    ) -> Played:
        discount = self.simulator.specification.discount
        return play(policies, which, self.copies, self.settings.environments, discount, rng, more, seeds)

    def _seeds_of(self, which: list[int], played: Array) -> list[int]:
        """Return seeds of episodes to play: the n-th of every policy has the same one, so that what is lucky is so for all.

        Copies that reset themselves ask for none; theirs are all different.
        """
        if not self.copies.replays:
            return self.rng.integers(SEEDS, size=len(which)).tolist()
        turn, numbers = played.astype(int), []
        for policy in which:
            numbers.append(int(turn[policy]))
            turn[policy] += 1
        while len(self.seeds) <= max(numbers):
            self.seeds.append(int(self.rng.integers(SEEDS)))
        return [self.seeds[number] for number in numbers]

    def _length(self) -> float:
        return mean_length(self.history, float(self.simulator.time_limit))

    def _fits(self, spent: float, running: int, allowed: float) -> bool:
        """Whether another episode may begin: beside others only if all may become as long as the time limit allows."""
        limit = float(self.simulator.time_limit)
        if running:
            return spent + (running + 1) * limit <= allowed
        longest = max((one.longest for one in self.history if np.isfinite(one.longest)), default=limit)
        return spent + longest <= allowed

    def _allowance(self, share: float) -> float:
        """How many steps of fresh episodes a share of the budget allows."""
        done = self.steps["training"]
        return RESERVE * share * (done if self.stopped or self.budget.steps is None else self.budget.steps)

    def _in_time(self, until: float) -> bool:
        """Whether a share of the seconds is left, counted with all fresh episodes."""
        seconds = self.budget.seconds
        return seconds is None or time.perf_counter() - self.budget.start < until * seconds
