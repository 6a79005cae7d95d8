"""Checkpoints of a run of networks, as plain arrays: weights, Adam, moments, multipliers, generators, kept policies, open episodes.

A run that continues ends with the same bits as one that was never interrupted, if the environment does the same again from the same seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.learners.plain_state import plain_state, restored_state
from painless.policies.network import NetworkPolicy
from painless.storage import checked_entries as entries
from painless.storage import files, results
from painless.training.checkpoint import read_run
from painless.training.deep.history import Record
from painless.training.deep.moments import Moments

if TYPE_CHECKING:
    from painless.training.deep.run import DeepRun

KIND = "deep"


def save_deep(path: str | os.PathLike[str], run: DeepRun, settings: Mapping[str, Any]) -> None:
    """Write the state of a run between two iterations; `settings` must be the same when it continues."""
    counts = np.array([len(one.samples) for one in run.history], np.int64)
    kept = NetworkPolicy.parts([one for _, one in run.kept]) if run.kept else {}
    content = {
        "kind": KIND,
        "settings": json.dumps(dict(settings)),
        "rngs": json.dumps([rng.bit_generator.state for rng in run.rngs]),
        "dual": json.dumps(plain_state(run.dual.state)),
        "iteration": run.iteration,
        "training_steps": run.steps["training"],
        "extremes": run.extremes,
        "decided": run.decided,
        "rescues": run.rescues,
        **{f"seen_{name}": part for name, part in run.seen._asdict().items()},
        **{f"spread_{name}": part for name, part in run.spread._asdict().items()},
        "record_counts": counts,
        "record_steps": np.array([one.steps for one in run.history], np.int64),
        "record_lengths": np.array([one.length for one in run.history], float),
        "record_longest": np.array([one.longest for one in run.history], float),
        "record_multipliers": np.array([one.multiplier for one in run.history]).reshape(len(counts), -1),
        "record_samples": np.concatenate([one.samples for one in run.history])
        if run.history
        else np.zeros((0, run.utilities)),
        "kept_steps": np.array([steps for steps, _ in run.kept], np.int64),
        "kept_updates": np.array([one.updates for _, one in run.kept], np.int64),
        **{f"kept_{name}": part for name, part in kept.items()},
        **run.updater.arrays(),
        **run.collector.open_episodes(),
    }
    results.write(path, "checkpoint", content)


def load_deep(path: str | os.PathLike[str], run: DeepRun, settings: Mapping[str, Any]) -> None:
    """Bring a fresh run to the state of a checkpoint."""
    files.remove_leftovers(path)
    content = read_run(path, KIND, settings)
    with results.understood(path, "checkpoint"):
        for rng, state in zip(run.rngs, entries.parsed(content, "rngs"), strict=True):
            rng.bit_generator.state = state
        run.dual.state = restored_state(run.dual.state, entries.parsed(content, "dual"))
        run.iteration = entries.whole(content, "iteration")
        run.steps["training"] = entries.whole(content, "training_steps")
        run.extremes = entries.floats(content, "extremes", (2, run.utilities))
        run.decided, run.rescues = bool(content["decided"]), bool(content["rescues"])
        run.seen = _moments(content, "seen", len(run.seen.mean))
        run.spread = _moments(content, "spread", run.utilities)
        _restore_history(content, run)
        _restore_kept(content, run)
        run.updater.restore(content)
        run.lost = run.collector.reopen(content)


def _moments(content: Mapping[str, Any], name: str, size: int) -> Moments:
    return Moments(
        entries.number(content, f"{name}_weight"),
        entries.floats(content, f"{name}_mean", (size,)),
        entries.floats(content, f"{name}_variance", (size,), least=0.0),
    )


def _restore_history(content: Mapping[str, Any], run: DeepRun) -> None:
    counts = entries.wholes(content, "record_counts", (None,))
    samples = entries.floats(content, "record_samples", (int(counts.sum()), run.utilities))
    parts = np.split(samples, np.cumsum(counts)[:-1]) if len(counts) else []
    prices = entries.floats(content, "record_multipliers", (len(counts), run.utilities - 1))
    columns = (content["record_steps"], parts, content["record_lengths"], content["record_longest"], prices)
    run.history = [
        Record(int(steps), part, float(length), float(longest), price)
        for steps, part, length, longest, price in zip(*columns, strict=True)
    ]


def _restore_kept(content: Mapping[str, Any], run: DeepRun) -> None:
    steps = entries.wholes(content, "kept_steps", (None,)).tolist()
    updates = entries.wholes(content, "kept_updates", (len(steps),)).tolist()
    if steps:
        own = {name.removeprefix("kept_"): part for name, part in content.items() if name.startswith("kept_")}
        about = run.networks.policy(run.seen, 0, keep=False).description()
        found = (
            NetworkPolicy.read({**about, "body": None}, own, updates)
            if run.networks.plain
            else [
                run.networks.restored(one)
                for one in NetworkPolicy.read({**about, "body": {"kind": "stored"}}, own, updates)
            ]
        )
        run.kept = list(zip(steps, found, strict=True))
