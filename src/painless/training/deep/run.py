"""One run: collect, weigh, update; then a mixture of checkpoints is selected and verified on fresh episodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.environments.copies import Observations, make_copies
from painless.environments.gymnasium_simulator import GymnasiumSimulator
from painless.policies.network import NetworkPolicy
from painless.training.counted import Budget, Checkpointing
from painless.training.deep.advantages import advantages
from painless.training.deep.collection import Batch, Collector, Finished
from painless.training.deep.dual import EpisodeDual
from painless.training.deep.fresh_episodes import LEAST_EPISODES, FreshEpisodes
from painless.training.deep.history import Record, mean_length, recent_samples
from painless.training.deep.mixture_episodes import MixtureEpisodes
from painless.training.deep.moments import Moments
from painless.training.deep.progress import DeepProgress
from painless.training.deep.selection import Evidence, Known, training_evidence, with_sharpened
from painless.training.deep.settings import Deep

FIRST_CHECKPOINT = 1 / 8  # of the run
RECENT = 128  # episodes that show how much one differs from another
MOST_ROOM = 0.3  # deviations of an episode by which the multipliers aim beyond a limit, at most
FREEDOM = 3.0  # deviations of the first episodes that limits are loose by at the start, at least
RESCUE = 0.85  # share of the run from which limits that no checkpoint keeps are all that counts, for networks that begin again


@dataclass
class DeepFound:
    """What a run found, in the internal sense."""

    policies: list[NetworkPolicy]
    weights: Array
    history: list[Record]
    returns: MixtureEpisodes  # fresh
    told: Known  # of the answer, (J,) each, by training and selection
    extremes: Array  # (2, J) the least and the largest of a step
    steps: dict[str, int]
    stopped: str
    lost: int  # open episodes that a resumed run could not play again


class DeepRun:
    """One run of networks.

    Arguments:
        simulator: the environment, with its limits.
        settings: of the networks.
        budget: its steps are those of training; fresh episodes come on top.
        seed: random seed.
        most: episodes of the verification, at most.
        confidence: of the verdicts.
        progress: called after every iteration.
        checkpoint: where the run is saved.
    """

    def __init__(
        self,
        simulator: GymnasiumSimulator,
        settings: Deep,
        budget: Budget,
        seed: int,
        most: int = 1000,
        confidence: float = 0.95,
        progress: Callable[[DeepProgress], None] | None = None,
        checkpoint: Checkpointing | None = None,
    ) -> None:
        self.simulator, self.settings, self.budget, self.most = simulator, settings, budget, most
        self.confidence = confidence
        self.progress, self.checkpoint, self._saved = progress, checkpoint, time.perf_counter()
        specification = simulator.specification
        self.specification, self.episodic = specification, np.asarray(simulator.episodic, dtype=bool)
        self.utilities = 1 + len(specification.threshold)
        streams = np.random.SeedSequence(seed).spawn(4)
        self.rngs = [np.random.default_rng(one) for one in streams]
        self.first_weights = int(streams[3].generate_state(1)[0])
        # Whether it is known if limits are all that counts, and whether they are.
        self.decided = self.rescues = False
        self._begin()
        self.seen, self.spread = Moments.start(simulator.interface.dimension), Moments.start(self.utilities)
        self.dual = EpisodeDual(settings.learner, len(specification.threshold))
        self.copies = make_copies(simulator, settings.environments, settings.workers)
        self.collector = Collector(
            self.copies,
            settings.environments,
            self.utilities,
            specification.discount,
            settings.stagger,
            self.rngs[0],
        )
        self.horizon = settings.horizon
        if budget.steps is not None:
            self.horizon = max(1, min(self.horizon, budget.steps // settings.environments))
        self.history: list[Record] = []
        self.kept: list[tuple[int, NetworkPolicy]] = []  # after how many steps
        self.extremes = np.zeros((2, self.utilities))
        self.steps = {"training": 0, "selection": 0, "verification": 0}
        self.iteration = self.lost = 0
        self.phase = "training"

    def _begin(self) -> None:
        """Make the networks, with their first weights."""
        from painless.training.deep.networks import Networks
        from painless.training.deep.plain_update import PlainUpdater
        from painless.training.deep.update import Updater

        about = (self.simulator.interface, self.utilities, self.settings)
        self.networks = Networks(*about, self.first_weights)
        by_hand = self.networks.plain and self.networks.device.type == "cpu"
        self.updater = (PlainUpdater if by_hand else Updater)(self.networks, self.settings)

    # -- training ------------------------------------------------------------------------------------------------------

    def share(self) -> float:
        """The share of the training that is done."""
        extra = 1.0 + self.settings.selection + self.settings.verification
        of_time = (
            self.budget.seconds and extra * (time.perf_counter() - self.budget.start) / self.budget.seconds
        )
        batch = self.settings.environments * self.horizon
        whole = None if self.budget.steps is None else max(self.budget.steps // batch, 1) * batch
        return max(self.steps["training"] / whole if whole else 0.0, of_time or 0.0)

    def run(self) -> DeepFound:
        """Train, select, and verify."""
        try:
            stopped = self._try(self._train)
            if not self.kept or stopped:
                self._keep()
            policies = [one for _, one in self.kept]
            policies += [self.networks.sharpened(one) for one in policies]
            evidence = with_sharpened(self._evidence())
            fresh = self._fresh_episodes(stopped)
            self.phase = "selecting"
            again = self._try(lambda: fresh.select(policies, evidence))
            stopped = fresh.stopped = stopped or again
            path = fresh.candidates(evidence)
            used = np.flatnonzero(path.any(0))
            policies, path, known = [policies[k] for k in used], path[:, used], evidence.known()
            told = Known(*(path[0] @ part[used] for part in known))
            self.phase = "verifying"
            parts: list[MixtureEpisodes] = []
            last = self._try(lambda: parts.append(fresh.verify(policies, path, self._met)))
            nothing = Finished.of([], self.utilities)
            returns = parts[0] if parts else MixtureEpisodes(nothing, np.zeros(0, np.int64), path[0])
            used = returns.used
            return DeepFound(
                [policies[k] for k in used],
                returns.weights[used],
                self.history,
                returns,
                told,
                self.extremes,
                self.steps,
                stopped or last,
                self.lost,
            )
        finally:
            self.copies.close()

    def _met(self, played: MixtureEpisodes) -> bool:
        """Whether fresh episodes show that all limits are met."""
        from painless.training.deep.answer import estimate_of

        about = (self.specification, self.episodic, self.extremes, self.confidence, 0)
        return played.count > 1 and set(estimate_of(played, *about).verdict) <= {"met"}

    def _try(self, phase: Callable[[], None]) -> str:
        """Run a phase; return why it ended early, if it did and there is something to return."""
        try:
            phase()
        except KeyboardInterrupt:
            if not self.iteration:
                raise
            return "interrupted"
        except InputError as error:
            if not self.iteration:
                raise
            return str(error)
        return ""

    def _train(self) -> None:
        point = self.checkpoint
        if point is not None and point.resumes:
            from painless.training.deep.checkpoint import load_deep

            load_deep(point.path, self, point.settings)
        else:
            self.seen = self.seen.add(self.collector.begin())
        while (
            self.share() < 1 or not self.iteration
        ):  # something to return, even if loading took all the time
            self._iterate()
            self._report()
            self._save(every=True)
        self._save(every=False)

    def _iterate(self) -> None:
        self._rescue()
        policy = self.networks.policy(self.seen, self.iteration, keep=False)
        batch = self.collector.collect(policy, self.horizon)
        self.steps["training"] += self.horizon * self.settings.environments
        self.spread = self.spread.add(batch.running)
        samples = batch.finished.chosen(self.episodic)
        unit = self.spread.deviation
        limit = self._limit()
        if limit is not None and not self.rescues:
            self.dual.update(samples[:, 1:], unit[1:], limit)
        self._update(batch, unit)
        if self.simulator.interface.image is None:  # pixels have a range of their own
            self.seen = self.seen.add(batch.raw)
        flat = batch.utilities.reshape(-1, self.utilities)
        self.extremes = np.stack(
            [np.minimum(self.extremes[0], flat.min(0)), np.maximum(self.extremes[1], flat.max(0))]
        )
        lengths = batch.finished.length
        length, longest = (float(lengths.mean()), float(lengths.max())) if len(lengths) else (np.nan, np.nan)
        price = self.dual.multiplier * unit[0] / unit[1:]
        self.history.append(Record(self.steps["training"], samples, length, longest, price))
        self.iteration += 1
        if self.share() >= self._next_mark():
            self._keep()

    def _limit(self) -> Array | None:
        """The thresholds for now, (K,): from what the first episodes collected, or some deviations more, to the aim, evenly; None before there are any.

        Where the first policy nearly keeps its limits, a way to a better one may lead through policies that do not, as swinging up
        does from hanging down.
        """
        count, first = 0, []
        for one in self.history:
            first.append(one.samples)
            count += len(one.samples)
            if count >= self.settings.environments:
                break
        else:
            return None
        share, last = self.share(), self.settings.annealing
        start = one.steps / self.steps["training"] * share
        aim = self.specification.threshold + self._room()
        rows = np.concatenate(first)[:, 1:]
        loose = np.maximum(aim - rows.mean(0), FREEDOM * rows.std(0))
        left = max(last - share, 0.0) / max(last - start, 1e-9)
        return aim - loose * min(left, 1.0)

    def _room(self) -> Array:
        """What the multipliers aim at beyond the limits, (K,): the margins of the episodes that select the answer and of those that judge it."""
        deviation, episodes = self._deviation(), self._episodes()
        return deviation * min(2 * self.settings.margin / np.sqrt(episodes), MOST_ROOM)

    def _deviation(self) -> Array:
        """The deviations of recent episodes, (K,)."""
        return recent_samples(self.history, RECENT, self.utilities)[:, 1:].std(0)

    def _episodes(self) -> float:
        """How many episodes will judge the answer."""
        length = mean_length(self.history, float(self.simulator.time_limit))
        steps = self.budget.steps or self.steps["training"] / max(self.share(), 1e-9)
        return float(np.clip(self.settings.verification * steps / length, LEAST_EPISODES, self.most))

    def _update(self, batch: Batch, unit: Array) -> None:
        """Weigh the advantages of all utilities, and update the networks."""
        from painless.training.deep.update import Steps

        flat = batch.observations.reshape(-1, batch.observations.shape[-1])
        shape = (self.horizon, self.settings.environments, self.utilities)
        values = self.networks.values(flat).reshape(shape)
        following = np.concatenate([values[1:], np.zeros((1, *shape[1:]), values.dtype)])
        cut = batch.ended.copy()
        cut[-1] = True  # the others are followed by the next row
        following[cut] = self.networks.values(batch.following[cut])
        found = advantages(
            batch.utilities / unit,
            values,
            following,
            batch.terminated,
            batch.ended,
            self.specification.discount,
            self.settings.smoothing,
        )
        counted = batch.counted
        if not counted.any():
            return
        weighted = (found @ self._weights())[counted]
        normal = (weighted - weighted.mean()) / (weighted.std() + 1e-8)
        steps = Steps(
            batch.observations[counted],
            batch.actions[counted],
            batch.density[counted].astype(np.float32),
            normal.astype(np.float32),
            (found + values)[counted].astype(np.float32),
        )
        done = min(self.share(), 1.0)
        pace = 1.0 if self.rescues else 1 - (1 - self.settings.last_rate) * done
        self.updater.update(steps, pace, 1 - done, self.rngs[1])

    def _weights(self) -> Array:
        """The weights of the utilities, (J,); where the reward no longer counts, the limit alone that recent episodes keep least, in deviations."""
        if not self.rescues:
            return self.dual.weights
        samples = recent_samples(self.history, self.settings.environments, self.utilities)[:, 1:]
        slack = (samples.mean(0) - self.specification.threshold) / self.spread.deviation[1:]
        return np.append(0.0, np.arange(len(slack)) == slack.argmin())

    def _rescue(self) -> None:
        """Near the end, if no checkpoint keeps all limits by an error of the episodes that will judge it, begin again with networks for the limits alone.

        Where no price leads from a rewarding policy to one within the limits, as from swinging a pendulum up to leaving it, the
        answer is a mixture, and this is the other part of it. It is learned from the first weights, since a policy that swings up is in a
        local optimum of these limits, too: with all weight on them it stayed at 9 of 8, and new networks are at 3 after 20,000 steps.
        """
        if self.share() < RESCUE or self.decided or not self.kept:
            return
        self.decided = True
        if self.utilities == 1 or not any(len(one.samples) for one in self.history):
            return
        deviation = self._deviation()
        room = (
            self._evidence().mean[:, 1:]
            - self.specification.threshold
            - deviation / np.sqrt(self._episodes())
        )
        self.rescues = not (room >= 0).all(1).any()
        if self.rescues:
            self._begin()

    def _next_mark(self) -> float:
        """The share of the run at which the next checkpoint is kept."""
        count = self.settings.checkpoints
        width = (1 - FIRST_CHECKPOINT) / max(count - 1, 1)
        done = np.floor((self._last_share - FIRST_CHECKPOINT) / width + 1e-9) + 1 if self.kept else 0
        return float(min(FIRST_CHECKPOINT + max(done, 0) * width, 1.0)) if count > 1 else 1.0

    @property
    def _last_share(self) -> float:
        return self.kept[-1][0] / max(self.steps["training"], 1) * self.share()

    def _keep(self) -> None:
        if not self.kept or self.kept[-1][0] < self.steps["training"]:
            self.kept.append(
                (self.steps["training"], self.networks.policy(self.seen, self.iteration, keep=True))
            )

    # -- the answer and reports -------------------------------------------------------------------------------------------------------

    def _evidence(self) -> Evidence:
        """What the episodes of training say of each checkpoint."""
        times = np.array([one.steps for one in self.history for _ in one.samples])
        samples = np.concatenate([np.empty((0, self.utilities)), *(one.samples for one in self.history)])
        return training_evidence(np.array([steps for steps, _ in self.kept]), times, samples)

    def _fresh_episodes(self, stopped: str) -> FreshEpisodes:
        about = (self.simulator, self.copies, self.settings, self.budget)
        last = self.networks.policy(self.seen, self.iteration, keep=False)

        def expected(observations: Observations) -> Array:
            return np.asarray(self.networks.values(last.normalised(observations)), dtype=float)

        rest = (self.most, self.rngs[2], expected, self._report)
        return FreshEpisodes(*about, self.history, self.steps, stopped, *rest)

    def _save(self, *, every: bool) -> None:
        point, now = self.checkpoint, time.perf_counter()
        if point is None or (every and now - self._saved < point.seconds):
            return
        from painless.training.deep.checkpoint import save_deep

        save_deep(point.path, self, point.settings)
        self._saved = now

    def _report(self) -> None:
        if self.progress is None:
            return
        samples, sign = (
            recent_samples(self.history, self.settings.environments, self.utilities),
            self.specification.sign,
        )
        unknown = np.full(self.utilities, np.nan)
        value = samples.mean(0) * sign if len(samples) else unknown
        error = samples.std(0) / np.sqrt(len(samples)) if len(samples) > 1 else unknown
        used = min(self.share() / (1 + self.settings.selection + self.settings.verification), 1.0)
        fresh = self.steps["selection"] + self.steps["verification"]
        if fresh and self.budget.steps:
            used = min((self.steps["training"] + fresh) / (1.5 * self.budget.steps), 1.0)
        seconds = time.perf_counter() - self.budget.start
        self.progress(
            DeepProgress(
                steps=sum(self.steps.values()),
                used=used,
                seconds=seconds,
                seconds_left=seconds * (1 / used - 1) if used > 0 else np.inf,
                phase=self.phase,
                value=value,
                error=error,
                multiplier=self.history[-1].multiplier if self.history else np.zeros(self.utilities - 1),
            )
        )
