"""The result of `train`: a policy found by sampling, with confidence intervals in place of a proof."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from painless.common import extras, render
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.loop.framework import Trace
from painless.policies import MixturePolicy
from painless.policies.storage import load_policy, save_policy
from painless.problem import CMDP, load
from painless.solving.status import Kind, Status
from painless.storage import checked_entries as entries
from painless.storage import files, results
from painless.training.evaluate import MEANING, Estimate

if TYPE_CHECKING:
    from painless.environments.interface import Interface
    from painless.environments.predict import Predictor


@dataclass(frozen=True, eq=False)
class Training:
    """A policy found by sampling, in the user's terms.

    `policy` is the mixture of iterates with the largest reward that meets the constraints by their estimates: draw one
    iterate and play it for the whole episode. `estimate` evaluates it on fresh episodes. The trace holds the estimates that
    the algorithm saw.
    """

    policy: MixturePolicy
    estimate: Estimate
    trace: Trace
    multiplier: Array  # (K,) average over the iterations
    multiplier_bound: Array  # (K,)
    status: Status
    constraint_names: tuple[str, ...]
    minimise: bool
    algorithm: str
    seconds: float
    steps: dict[str, int]  # of the simulator, in each phase
    standard_error: Array | None = None  # (T, J) of the estimates in the trace
    total: Array | None = None  # (J,) the mean undiscounted total of a fresh episode
    discounted: Array | None = (
        None  # (J,) the mean discounted one, where limits on whole episodes are estimated
    )
    model: CMDP | None = None  # the learned model, for finite environments
    visits: Array | None = None  # (S, A) how often each pair of it was tried
    hoped: float | None = None  # the reward that an optimist could still hope for
    interface: Interface | None = None  # of the environment, to act in it
    source: Mapping[str, Any] | None = None  # how to make the environment again

    @property
    def verdict(self) -> tuple[str, ...]:
        """One word for each constraint: "met", "missed" or "unclear"."""
        return self.estimate.verdict

    def predictor(self, seed: int = 0) -> Predictor:
        """Return the policy as a callable from an observation to an action that `env.step` takes.

        Call its `reset()` at the start of every episode; its `predict` has the signature of Stable-Baselines3.
        """
        from painless.environments.predict import Predictor

        return Predictor(self.policy, seed, self.interface)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write a network for other programs, as ONNX (`.onnx`) or TorchScript (`.pt`), where torch is installed.

        It maps observations (n, D) to logits, or to means and raw deviations of a box. Of a mixture it is the likeliest policy alone, to
        which the verdict does not apply.
        """
        extras.require_torch()
        from painless.training.deep.export import export

        export(self, path)

    @property
    def feasible(self) -> bool | None:
        """True if every constraint is met with the stated confidence, False if one is missed, else None."""
        met = self.estimate.met
        return True if all(met) else False if False in met else None

    @property
    def average_violation(self) -> Array:
        """The shortfall b − V_c averaged over the iterates, (K,), positive where violated."""
        signs = np.array([1.0 if sense == ">=" else -1.0 for sense in self.estimate.sense])
        return signs * (self.estimate.threshold - self.trace.constraint_value.mean(0))

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the policy and the trace as plain numbers, lists and text."""
        estimate = self.estimate
        intervals = np.stack([estimate.low, estimate.high], 1).tolist()
        return {
            "algorithm": self.algorithm,
            "status": str(self.status),
            "kind": self.status.kind.value,
            "feasible": self.feasible,
            "objective": "minimise" if self.minimise else "maximise",
            "reward_value": float(estimate.mean[0]),
            "constraint_value": estimate.mean[1:].tolist(),
            "threshold": estimate.threshold.tolist(),
            "sense": list(estimate.sense),
            "multiplier": self.multiplier.tolist(),
            "multiplier_bound": [float(u) if np.isfinite(u) else None for u in self.multiplier_bound],
            "upper_bound": None,
            "gap": None,
            "iterations": len(self.trace),
            "seconds": self.seconds,
            "optimal_value": None,
            "average": {
                "reward_value": float(self.trace.reward_value.mean()),
                "optimality_gap": None,
                "constraint_violation": self.average_violation.tolist(),
            }
            if len(self.trace)
            else None,
            "confidence": estimate.confidence,
            "reward_interval": intervals[0],
            "constraint_interval": intervals[1:],
            "met": list(estimate.met),
            "episodes": estimate.episodes,
            "steps": self.steps,
            "verdict": list(self.verdict),
            "exact_intervals": estimate.exact,
            "episode_total": None if self.total is None else self.total.tolist(),
            "episode_discounted": None if self.discounted is None else self.discounted.tolist(),
            "hoped": self.hoped,
            "states": None if self.model is None else self.model.shape[0],
        }

    def save(self, folder: str | os.PathLike[str], problem: Mapping[str, Any] | None = None) -> None:
        """Write `policy.npz`, `trace.npz` and finally `training.json` into a folder; also `model.npz` and `interface.json`, if any.

        `problem` describes the simulator, as the command line does, for `problem.json`; by default what `train` knows of it.
        """
        problem = self.source if problem is None else problem
        folder = files.require_folder(folder)
        save_policy(self.policy, folder / "policy.npz")
        trace = self.trace
        arrays = {name: getattr(trace, name) for name in ("reward_value", "constraint_value", "multiplier")}
        if self.standard_error is not None:
            arrays["standard_error"] = self.standard_error
        if self.visits is not None:
            arrays["visits"] = self.visits
        files.write_npz(folder / "trace.npz", arrays)
        content = {**self.as_dict(), "constraint_names": list(self.constraint_names)}
        if problem is not None:
            files.write_json(folder / "problem.json", problem)
        beside = ["policy.npz", "trace.npz", *(["problem.json"] if problem is not None else [])]
        if self.model is not None:
            self.model.save(folder / "model.npz")
            beside.append("model.npz")
        if self.interface is not None:
            files.write_json(folder / "interface.json", self.interface.as_dict())
            beside.append("interface.json")
        results.write(folder / "training.json", "training", content, beside)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], network: Any = None) -> Self:
        """Read what `save` wrote; nothing in it is executed. `network` is your own one again, if there was one."""
        folder = files.as_path(folder)
        content = results.read(folder / "training.json", "training")
        stored = files.read(folder / "trace.npz")
        with results.understood(folder, "training"):
            record = read_record(content, stored)
            utilities = 1 + len(record["constraint_names"])
            known: dict[str, Any] = {name: _known(content, key, utilities) for name, key in OPTIONAL.items()}
            multiplier = [np.nan if x is None else x for x in content["multiplier"]]
            bound = [np.inf if x is None else x for x in content["multiplier_bound"]]
            interface, policy = folder / "interface.json", load_policy(folder / "policy.npz")
            if not isinstance(policy, MixturePolicy):
                raise InputError("its policy is not one that train returned")
            if network is not None:
                policy = _with_network(policy, network)
            return cls(
                **record,
                **known,
                policy=policy,
                multiplier=np.array(multiplier, dtype=float),
                multiplier_bound=np.array(bound, dtype=float),
                status=Status(Kind(content["kind"]), content["status"]),
                hoped=content.get("hoped"),
                model=read_model(folder),
                interface=_interface(files.read(interface)) if interface.exists() else None,
                source=files.read(folder / "problem.json") if (folder / "problem.json").exists() else None,
            )

    @property
    def effort(self) -> str:
        """The iterations, of the paper's algorithms, or the steps of the environment, and the seconds."""
        return effort(self.algorithm, len(self.trace), self.steps, self.seconds)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table: the objective, then each constraint."""
        return estimate_rows(self.estimate, self.constraint_names, minimise=self.minimise)

    def __repr__(self) -> str:
        table = render.text_table(HEADER, self.rows())
        return f"Training by {self.algorithm} ({self.effort})\n{table}\n{self.status}"

    def _repr_html_(self) -> str:
        return render.html_summary(str(self.status), HEADER, self.rows())


def _with_network(policy: MixturePolicy, network: Any) -> MixturePolicy:
    """Return a policy that acts by a network of the user's own, given again."""
    from painless.training.deep.networks import own_policy

    if not all((getattr(one, "body", None) or {}).get("kind") == "own" for one in policy.policies):
        raise InputError("the policy was saved without a network of your own; leave out network=")
    return MixturePolicy(tuple(own_policy(one, network) for one in policy.policies), policy.weights)  # type: ignore[arg-type]


OPTIONAL = {"total": "episode_total", "discounted": "episode_discounted"}


def _known(content: Mapping[str, Any], key: str, utilities: int) -> Array | None:
    return None if content.get(key) is None else entries.floats(content, key, (utilities,))


def _interface(content: Mapping[str, Any]) -> Interface:
    from painless.environments.interface import Interface

    return Interface.from_dict(content)


def read_model(folder: Path) -> CMDP | None:
    """Return the learned model of a saved run, if it has one."""
    return load(folder / "model.npz") if (folder / "model.npz").exists() else None


def read_record(content: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `training.json` and `trace.npz` hold, checked, under the names of the fields of `Training`."""
    sense, names = content["sense"], content["constraint_names"]
    texts = (*sense, *names, content["status"], content["algorithm"], content["objective"])
    count = len(sense)
    if len(names) != count or not {*sense} <= {">=", "<="} or not all(isinstance(t, str) for t in texts):
        raise InputError("its constraints have no names or no senses")
    values = {
        "mean": [content["reward_value"], *content["constraint_value"]],
        "interval": [content["reward_interval"], *content["constraint_interval"]],
    }
    interval = entries.floats(values, "interval", (1 + count, 2))
    words = content.get("verdict")
    if words is not None and (len(words) != count or not {*words} <= {*MEANING}):
        raise InputError("its verdicts are no verdicts")
    estimate = Estimate(
        mean=entries.floats(values, "mean", (1 + count,)),
        low=interval[:, 0],
        high=interval[:, 1],
        threshold=entries.floats(content, "threshold", (count,)),
        sense=tuple(sense),
        confidence=entries.number(content, "confidence"),
        episodes=entries.whole(content, "episodes"),
        steps=entries.whole(content["steps"], "evaluation"),
        words=None if words is None else tuple(words),
        exact=content.get("exact_intervals", True) is True,
    )
    reward = entries.floats(trace, "reward_value", (None,))
    shape, error = (len(reward), count), "standard_error"
    return {
        "estimate": estimate,
        "trace": Trace(
            reward,
            entries.floats(trace, "constraint_value", shape),
            entries.floats(trace, "multiplier", shape),
            exact=False,
        ),
        "standard_error": entries.floats(trace, error, (len(reward), 1 + count), infinite=True)
        if error in trace
        else None,
        "visits": entries.floats(trace, "visits", (None, None)) if "visits" in trace else None,
        "constraint_names": tuple(names),
        "minimise": content["objective"] == "minimise",
        "algorithm": content["algorithm"],
        "seconds": entries.number(content, "seconds"),
        "steps": {str(name): entries.whole(content["steps"], name) for name in content["steps"]},
    }


BY_STEPS = ("counted", "deep")  # what does not iterate as the paper's algorithms do
HEADER = ("", "value", "interval", "limit", "")


def effort(algorithm: str, iterations: int, steps: Mapping[str, int], seconds: float) -> str:
    """Return what a training took, in words.

    >>> effort("counted", 14, {"training": 2400, "evaluation": 600}, 0.5), effort("cbp", 20, {}, 1.94)
    ('3,000 steps, 0.5 s', '20 iterations, 1.9 s')
    """
    by_steps = algorithm in BY_STEPS
    done = (
        render.counted(sum(steps.values()), "step") if by_steps else render.counted(iterations, "iteration")
    )
    return f"{done}, {seconds:.1f} s"


def estimate_rows(
    estimate: Estimate, names: tuple[str, ...], *, minimise: bool = False
) -> list[tuple[str, ...]]:
    """Return an estimate as rows of text: value, interval, limit and verdict."""
    number = render.number
    spans = [f"[{number(a)}, {number(b)}]" for a, b in zip(estimate.low, estimate.high, strict=True)]
    rows: list[tuple[str, ...]] = [
        ("cost" if minimise else "reward", number(estimate.mean[0]), spans[0], "", "")
    ]
    parts = zip(
        *(names, estimate.mean[1:], spans[1:]),
        *(estimate.sense, estimate.threshold, estimate.verdict),
        strict=True,
    )
    for name, mean, span, sense, limit, word in parts:
        sign = "≥" if sense == ">=" else "≤"
        rows.append((name, number(mean), span, f"{sign} {number(limit)}", word))
    return rows
