"""Certificates and their files: a folder with a JSON for what is claimed and an archive of arrays for what proves it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arithmetic import Array, Refused

FORMAT, VERSION = "painless-certificate", 1
ARRAYS, HEAD = "certificate.npz", "certificate.json"
STEPWISE = ("policy", "weight", "upper_constant", "upper_value", "lower_constant", "lower_value")
ENDING = ("upper_value", "stop_weight", "stop_value", "lower_value", "lower_steps", "reach")
LASTING = ("upper_gain", "upper_value", "upper_steps", "lower_gain", "lower_value", "lower_steps")
NAMES = {  # of the arrays, by criterion
    "discounted": STEPWISE,
    "finite horizon": STEPWISE,
    "total reward": ("policy", "share", "weight", *ENDING),
    "long-run average": ("policy", "share", "weight", *LASTING),
}
CLAIMS = ("lower_bound", "upper_bound", "violation", "infeasible")
NOTHING = np.empty(0)


class Certificate(NamedTuple):
    """A proof, and what it claims."""

    problem: str  # hash of the model
    policy: Array  # (S, A); with a horizon, S is H·S everywhere; of a total or an average, (M, S, A)
    weight: Array  # (J,)
    upper_value: Array  # (S,)
    lower_value: Array  # (J, S), or (M, J, S)
    upper_constant: Array = NOTHING  # (2,) whose sum counts
    lower_constant: Array = NOTHING  # (J, 2)
    share: Array = NOTHING  # (M,) with which each policy is drawn at the start
    upper_gain: Array = NOTHING  # (S,)
    lower_gain: Array = NOTHING  # (M, J, S)
    upper_steps: Array = NOTHING  # (S,)
    lower_steps: Array = NOTHING  # (M, S)
    stop_weight: Array = NOTHING  # (J,)
    stop_value: Array = NOTHING  # (S,)
    reach: Array = NOTHING  # (S,) 1 for states that a policy may come to, else 0
    criterion: str = "discounted"  # how the utilities of the steps are added up
    lower_bound: float | None = None  # of the optimal value, in the user's terms
    upper_bound: float | None = None
    violation: tuple[float, ...] = ()  # of each limit by the policy, at most
    infeasible: bool = False  # whether no policy meets all limits

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays of the criterion, by name."""
        return {name: getattr(self, name) for name in NAMES[self.criterion]}


def read(folder: Path) -> Certificate:
    """Read a certificate; raise `Refused` for anything that is none. Nothing in it is executed."""
    try:
        said = json.loads((folder / HEAD).read_text(encoding="utf-8"))
        with (folder / ARRAYS).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name]) for name in stored.files}
    except Exception as error:  # whatever damaged files make NumPy and its libraries raise
        raise Refused(
            f"{folder} holds no certificate that can be read ({type(error).__name__}: {error})"
        ) from error
    if not isinstance(said, dict) or (said.get("format"), said.get("version")) != (FORMAT, VERSION):
        raise Refused(f"{folder / HEAD} is not a certificate of version {VERSION}")
    names = NAMES.get(str(said.get("criterion")))
    if names is None:
        raise Refused(f"its criterion is {said.get('criterion')!r}; this version checks {', '.join(NAMES)}")
    if missing := [name for name in names if name not in arrays]:
        raise Refused(f"{folder / ARRAYS} lacks {', '.join(missing)}")
    found: dict[str, Any] = {key: str(said.get(key)) for key in ("problem", "criterion")}
    found |= {name: arrays[name] for name in names}
    return Certificate(**found, **_claimed(folder, said))


def _claimed(folder: Path, said: dict[str, Any]) -> dict[str, Any]:
    """Return what is claimed, if it consists of numbers."""
    bounds = {key: said.get(key) for key in CLAIMS[:2]}
    missed, infeasible = said.get("violation"), said.get("infeasible")
    missed = missed if isinstance(missed, list) else [None]
    numbers = [bound for bound in bounds.values() if bound is not None] + missed
    if type(infeasible) is not bool or not all(type(one) is float and np.isfinite(one) for one in numbers):
        raise Refused(f"{folder / HEAD} claims what is no number")
    return {**bounds, "violation": tuple(missed), "infeasible": infeasible}


def head(certificate: Certificate) -> dict[str, Any]:
    """Return what stands in the JSON file of a certificate."""
    about = {"format": FORMAT, "version": VERSION, "criterion": certificate.criterion}
    return {**about, **{name: getattr(certificate, name) for name in ("problem", *CLAIMS)}}
