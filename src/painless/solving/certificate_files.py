"""Certificates: what is needed to believe a solution without believing the solver, for `painless.verify` to check.

The policy and the weights of the utilities that prove the bound are those of the solution. Values that satisfy the inequalities are
computed here, to full precision, and then moved until they hold, rounding included:

    residual = u + γPW − W,     z ≥ 2⁻⁵² (|W| + γP|W|) + γPz,     W − z holds where doubles leave W with a residual of rounding

so that rounding counts where policies go. What still fails is paid for by the constant of a step.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from painless import verify
from painless.bellman import action_value, policy_transition, policy_utility, resolvent
from painless.common.arrays import Array, Mask, one_thread
from painless.engines.engine import EXACT_STATES, PRECISION, UNIT_ROUNDOFF
from painless.engines.policy_iteration import policy_iteration
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.engines.swept import FINEST, Swept
from painless.problem import CMDP
from painless.problem.presolve import presolve
from painless.problem.units import utility_range
from painless.storage import files

if TYPE_CHECKING:
    from painless.solving.solution import Solution

ROUNDINGS = 1.25 * UNIT_ROUNDOFF  # of a residual, relative to the values in it, which are stored as doubles
REFINED = 2  # times that exact values are refined
SHARE = 0.01  # of the solution's gap, to which a swept bound is priced
FINER = 0.05  # precision of swept values, relative to that of the solver


class _Scaled(NamedTuple):
    """A problem whose utilities are (u − origin)/span, without the pairs that no policy within the limits takes."""

    problem: CMDP
    origin: Array  # (J,)
    span: Array  # (J,)
    met: Mask  # (J,) limits that leave no choice


def model_of(problem: CMDP) -> verify.Model:
    """Return a problem as the checker sees it.

    >>> import painless
    >>> model_of(painless.gridworld()).utility.shape
    (2, 100)
    """
    rows = sparse_rows(problem)
    return verify.Model(
        problem.actions,
        rows.pointer.astype(np.int64),
        rows.successor.astype(np.int64),
        rows.probability,
        rows.utility,
        problem.threshold,
        problem.initial,
        problem.discount,
        problem.minimise,
        problem.sense,
    )


def write_certificate(
    folder: str | os.PathLike[str], solution: Solution, problem: CMDP
) -> verify.Certificate:
    """Write `certificate.npz` and `certificate.json` into a folder, named exactly as given."""
    certificate = certify(solution, problem)
    path = files.require_folder(folder)
    arrays = {name: getattr(certificate, name) for name in verify.NAMES}
    files.write_atomically(path / verify.ARRAYS, lambda stream: np.savez(stream, **arrays))
    files.write_json(path / verify.HEAD, verify.head(certificate))
    return certificate


def read_certificate(folder: str | os.PathLike[str]) -> verify.Certificate:
    """Read a certificate; raise an error if there is none."""
    path = files.as_path(folder)
    for name in (verify.HEAD, verify.ARRAYS):
        files.open_file(path / name).close()
    return verify.read(Path(path))


def certify(solution: Solution, problem: CMDP) -> verify.Certificate:
    """Return the certificate of a solution.

    >>> import painless
    >>> world = painless.gridworld()
    >>> verify.verify(certify(painless.solve(world), world), model_of(world)).verified
    True
    """
    solution.require_fit(problem)
    model, scaled = model_of(problem), _scaled(problem)
    policy = np.where(problem.actions, solution.policy.probabilities, 0.0)
    find: _Exact | _Swept = _Exact(scaled, model)
    if problem.is_sparse and problem.shape[0] > EXACT_STATES:
        find = _Swept(scaled, model, solution.gap)
    with one_thread(), np.errstate(all="ignore"):
        lower = [
            lowered(model, policy, j, float(scaled.origin[j]), value)
            for j, value in enumerate(_cleared(scaled, policy, find.lower(policy)))
        ]
        lower_constant, lower_value = (np.array(parts) for parts in zip(*lower, strict=True))
        free = np.eye(1 + problem.shape[2])[0]
        for weight in (
            _weight(solution, problem),
            free,
        ):  # the second proves a bound, if the first proves nothing
            constant, high = find.upper(weight)
            bare = verify.Certificate(
                problem=verify.content_hash(model),
                policy=policy,
                weight=weight,
                upper_constant=np.array(constant),
                upper_value=high,
                lower_constant=lower_constant,
                lower_value=lower_value,
                violation=(0.0,) * problem.shape[2],
            )
            try:
                return bare._replace(**verify.claims(model, verify.prove(bare, model)))
            except verify.Refused:
                if weight is free:
                    raise
    raise AssertionError


def _weight(solution: Solution, problem: CMDP) -> Array:
    """Return the weights of the utilities that prove the bound, (J,): (1, λ), or (0, λ) if no policy meets the limits."""
    weight = solution.proof_weight
    if weight is None:
        weight = np.append(1.0, np.nan_to_num(solution.multiplier, posinf=0.0))
    limited = np.append(True, np.isfinite(problem.threshold))
    return np.where(limited, np.maximum(weight, 0.0), 0.0)


def _scaled(problem: CMDP) -> _Scaled:
    smaller, met = presolve(problem)
    low, high = utility_range(smaller)
    origin = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    extreme = np.zeros(len(low), dtype=bool)
    extreme[1 + met] = True
    origin = np.where(extreme, utility_range(problem)[1], origin)
    span = np.where(high > low, high - low, 1.0)
    utility = np.where(problem.actions, (problem.utility - origin[:, None, None]) / span[:, None, None], 0.0)
    return _Scaled(
        smaller.with_constraints(utility[0], utility[1:], problem.threshold), origin, span, extreme
    )


def _cleared(scaled: _Scaled, policy: Array, value: Array) -> Array:
    """Return lower values (J, S) with exact zeros from where the policy meets a limit that leaves no choice."""
    for j in np.flatnonzero(scaled.met):
        used = (policy > 0).astype(np.float64)
        chain: Any = policy_transition(scaled.problem, used)
        pays = ((scaled.problem.utility[j] != 0) & (policy > 0)).any(1)
        while True:
            found = pays | (np.asarray(chain @ pays.astype(np.float64)) > 0)
            if (found == pays).all():
                break
            pays = found
        value[j, ~pays] = 0.0
    return value


def lowered(
    model: verify.Model, policy: Array, utility: int, constant: float, value: Array
) -> tuple[float, Array]:
    """Return the largest constant near the given one with which lower values (S,) hold, and the values."""
    arithmetic = verify.Outward(model.probability, model.utility, policy, value, np.array([model.discount]))

    def least(constant: float) -> float:
        return float(verify.lower_surplus(model, arithmetic, policy, utility, constant, value).min())

    return _moved(constant, least, -1.0), value


def _moved(constant: float, least: Callable[[float], float], sign: float) -> float:
    """Move a constant up or down until `least`, which then grows as much, is not negative."""
    lack, factor = -least(constant), 1.0
    while lack > 0:
        constant = float(np.nextafter(constant + sign * factor * lack, sign * np.inf))
        lack, factor = -least(constant), 2 * factor
    return constant


class _Exact:
    """Finds values by factorised systems."""

    def __init__(self, scaled: _Scaled, model: verify.Model) -> None:
        self.problem, self.origin, self.model = scaled.problem, scaled.origin, model
        self.utility = scaled.problem.utility * scaled.span[:, None, None]

    def lower(self, policy: Array) -> Array:
        """Return W of every utility, (J, S), each residual a little above 0."""
        problem = self.problem
        chain, gain = policy_transition(problem, policy), policy_utility(self.utility, policy)
        inverse = resolvent(chain, problem.discount)
        value = inverse.state_value(gain)
        for _ in range(REFINED):
            residual = np.array([self._residual(policy, j, one) for j, one in enumerate(value)])
            size = np.abs(value) + problem.discount * np.asarray((chain @ np.abs(value).T).T)
            value = value + inverse.state_value(residual - ROUNDINGS * size)
        return value

    def _residual(self, policy: Array, utility: int, value: Array) -> Array:
        arithmetic = verify.Outward(self.model.probability, self.model.utility, policy, value)
        return verify.lower_surplus(self.model, arithmetic, policy, utility, self.origin[utility], value)

    def upper(self, weight: Array) -> tuple[float, Array]:
        """Return a constant and V with V ≥ w·u + γPV."""
        problem, states = self.problem, np.arange(self.problem.shape[0])
        utility = np.tensordot(weight, self.utility, 1)
        plan = policy_iteration(problem, utility)
        even = plan.resolvent.state_value(utility[states, plan.actions][None])[0]
        q = action_value(problem, utility[None], even[None])[0]
        size = np.abs(even)[:, None] + action_value(problem, np.abs(utility)[None], np.abs(even)[None])[0]
        excess = np.maximum(q - even[:, None], 0.0) + 2 * ROUNDINGS * size
        excess = np.where(problem.actions, excess, 0.0)
        over = policy_iteration(problem, excess, plan.actions)
        weighed = even + over.resolvent.state_value(excess[states, over.actions][None])[0]
        found = [raised(self.model, weight, float(weight @ self.origin), value) for value in (even, weighed)]
        return min(found, key=lambda one: bound_of(self.model, *one))


def raised(model: verify.Model, weight: Array, constant: float, value: Array) -> tuple[float, Array]:
    """Return the least constant near the given one with which upper values (S,) hold, and the values."""
    used = (model.probability, model.utility, weight, value, np.array([model.discount]))
    arithmetic, pairs = verify.Outward(*used), verify.allowed_pairs(model)
    if pairs is None:
        return constant, value
    chosen = pairs

    def least(constant: float) -> float:
        return float(verify.upper_surplus(model, arithmetic, weight, constant, value, chosen).min())

    return _moved(constant, least, 1.0), value


def bound_of(model: verify.Model, constant: float, value: Array) -> float:
    """ρ·V, to rounding."""
    return float(model.initial @ value + constant / (1 - model.discount))


class _Swept:
    """Finds values by sweeps."""

    def __init__(self, scaled: _Scaled, model: verify.Model, gap: float) -> None:
        self.scaled, self.model, self.gap = scaled, model, gap
        self.engine = Swept(scaled.problem)

    def lower(self, policy: Array) -> Array:
        """Return W of every utility, (J, S)."""
        engine = self.engine
        tolerance = FINER * PRECISION * engine.unit
        return engine.pricer.values_of(engine.chain(policy), tolerance).T * self.scaled.span[:, None]

    def upper(self, weight: Array) -> tuple[float, Array]:
        """Return a constant and V with V ≥ w·u + γPV, to a share of the solution's gap."""
        pricer, finest = self.engine.pricer, FINEST * self.engine.unit
        scale = float(weight @ self.scaled.span)
        share, wanted = weight * self.scaled.span / scale, SHARE * self.gap / scale
        tolerance = max(wanted, finest) if np.isfinite(wanted) else finest
        while True:
            pricer.price(share, tolerance, tolerance)
            value = pricer.values.value @ (share * scale)
            found = raised(self.model, weight, float(weight @ self.scaled.origin), value)
            loose = bound_of(self.model, *found) - bound_of(
                self.model, float(weight @ self.scaled.origin), value
            )
            if tolerance <= finest or loose <= 2 * wanted * scale:
                return found
            tolerance = max(0.01 * tolerance, finest)
