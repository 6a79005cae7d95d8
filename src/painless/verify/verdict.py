"""The verdict: whether a certificate proves what it claims, in the user's terms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .arithmetic import Refused
from .certificate import CLAIMS, Certificate
from .model import Model, content_hash
from .proofs import Proved, prove


class Verdict(NamedTuple):
    """What was proved, in the user's terms; if it is not what the certificate claims, `sentence` says why."""

    verified: bool
    sentence: str
    lower_bound: float | None = None
    upper_bound: float | None = None
    violation: tuple[float, ...] = ()
    infeasible: bool = False


def verify(certificate: Certificate, model: Model, exact: bool = False) -> Verdict:
    """Check a certificate, in rational numbers if `exact`."""
    try:
        if certificate.problem != content_hash(model):
            raise Refused("it was written for another problem")
        with np.errstate(all="ignore"):  # what overflows fails the inequalities
            return _compared(certificate, model, prove(certificate, model, exact))
    except Refused as refused:
        return Verdict(False, f"Not verified: {refused}.")


def claims(model: Model, proved: Proved) -> dict[str, Any]:
    """Return what is proved as the claims of a certificate: doubles, rounded outwards, in the user's terms."""
    missed = [
        _outward(max(Fraction(float(limit)) - value, Fraction(0)), up=True) if np.isfinite(limit) else 0.0
        for limit, value in zip(model.threshold, proved.value[1:], strict=True)
    ]
    if proved.bound is None:
        return {"lower_bound": None, "upper_bound": None, "violation": tuple(missed), "infeasible": True}
    ends = proved.value[0], proved.bound
    low, high = (-ends[1], -ends[0]) if model.minimise else ends
    return {
        "lower_bound": _outward(low, up=False),
        "upper_bound": _outward(high, up=True),
        "violation": tuple(missed),
        "infeasible": False,
    }


def _outward(number: Fraction, up: bool) -> float:
    """Return the nearest double above or below."""
    try:
        near = float(number)
    except OverflowError as error:
        raise Refused("its bounds are beyond the range of doubles") from error
    if Fraction(near) < number if up else Fraction(near) > number:
        near = float(np.nextafter(near, np.inf if up else -np.inf))
    return near


def _compared(certificate: Certificate, model: Model, proved: Proved) -> Verdict:
    """Compare what is claimed with what is proved."""
    found = claims(model, proved)
    if certificate.infeasible != found["infeasible"]:
        raise Refused(
            "it claims that no policy meets all limits, which its arrays do not prove"
            if certificate.infeasible
            else "its arrays prove that no policy meets all limits, and it claims bounds"
        )
    for key, sign in (("lower_bound", 1.0), ("upper_bound", -1.0)):
        claimed, shown = getattr(certificate, key), found[key]
        if (claimed is None) != (shown is None) or (shown is not None and sign * claimed > sign * shown):
            raise Refused(f"it claims the {key.replace('_', ' ')} {claimed} and proves {shown}")
    for i, (claimed, shown) in enumerate(zip(certificate.violation, found["violation"], strict=True)):
        if claimed < shown:
            raise Refused(f"it claims that limit {1 + i} is missed by at most {claimed} and proves {shown}")
    claim = certificate._asdict()
    kept = {key: claim[key] for key in CLAIMS}
    return Verdict(True, _sentence(model, certificate, proved), **kept)


def _sentence(model: Model, claim: Certificate, proved: Proved) -> str:
    """Say what is proved; numbers are rounded to the side on which the sentence stays true."""
    missed = [
        f"limit {1 + i} missed by at most {short!r}" for i, short in enumerate(claim.violation) if short
    ]
    if claim.infeasible:
        return f"No policy meets all limits{''.join(f'; {one}' for one in missed)}."
    low, high = claim.lower_bound, claim.upper_bound
    if missed:
        value, bound = (high, low) if model.minimise else (low, high)
        beyond = "costs less than" if model.minimise else "exceeds"
        return f"Value {value!r}, {', '.join(missed)}; no policy that meets the limits {beyond} {bound!r}."
    spare = [
        f"limit {1 + i} met with at least {max(_outward(value - Fraction(float(limit)), up=False), 0.0)!r} to spare"
        for i, (limit, value) in enumerate(zip(model.threshold, proved.value[1:], strict=True))
        if np.isfinite(limit)
    ]
    return f"Optimal value in [{low!r}, {high!r}]{''.join(f'; {one}' for one in spare)}."
