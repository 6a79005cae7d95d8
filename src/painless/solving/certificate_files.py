"""Certificates: what is needed to believe a solution without believing the solver, in files for `painless.verify` to check.

The policy and the weights of the utilities that prove the bound are those of the solution; `certificate_values` finds the values.
What is claimed is what the checker proves from these arrays.
"""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from painless import verify
from painless.common.arrays import Array, Mask, one_thread
from painless.common.errors import InputError
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.policies.table_mixture import TableMixture
from painless.problem import CMDP, Criterion
from painless.problem.ending import missing
from painless.problem.stages import Stages
from painless.solving.certificate_values import finder
from painless.storage import files, memory

if TYPE_CHECKING:
    from painless.solving.solution import Solution


def model_of(problem: CMDP) -> verify.Model:
    """Return a problem as the checker sees it.

    >>> import painless
    >>> model_of(painless.gridworld()).utility.shape
    (2, 100)
    """
    shared = {
        name: getattr(problem, name)
        for name in ("actions", "threshold", "initial", "discount", "minimise", "sense")
    }
    if problem.stages is not None:
        return verify.Model(**shared, **_steps(problem, problem.stages))
    rows = sparse_rows(problem)
    pointer, successor = (part.astype(np.int64) for part in (rows.pointer, rows.successor))
    probability = rows.probability
    if problem.criterion is Criterion.TOTAL:  # what a row misses of 1 ends the process
        left = missing(problem.transition).reshape(problem.actions.shape)[problem.actions]
        ends = np.flatnonzero(left)
        successor = np.insert(successor, pointer[1:][ends], problem.shape[0])
        probability = np.insert(probability, pointer[1:][ends], left[ends])
        pointer = pointer + np.append(0, np.cumsum(left > 0))
    average = problem.criterion is Criterion.AVERAGE
    return verify.Model(
        **shared,
        pointer=pointer,
        successor=successor,
        probability=probability,
        utility=rows.utility,
        average=average,
    )


def _steps(problem: CMDP, process: Stages) -> dict[str, Any]:
    """Return the rows of a finite horizon, each once, and which of them every pair has."""
    width = process.states * process.actions
    available = problem.actions.reshape(process.steps, width)
    used = [available.any(0)] if len(process.kernels) == 1 else list(available)
    kernels = [process.rows(t)[np.flatnonzero(mask)] for t, mask in enumerate(used)]
    if problem.horizon == 0:  # the action that stands for no step may have no row
        anywhere = np.zeros((process.states, process.states))
        anywhere[:, 0] = 1.0
        kernels = [scipy.sparse.csr_array(anywhere)]
    pointers = [np.diff(kernel.indptr) for kernel in kernels]
    place = np.cumsum(np.concatenate(used)).reshape(len(used), width) - 1
    row = np.broadcast_to(place, available.shape)[available]
    return {
        "pointer": np.concatenate([[0], *pointers]).cumsum().astype(np.int64),
        "successor": np.concatenate([kernel.indices for kernel in kernels]).astype(np.int64),
        "probability": np.concatenate([kernel.data for kernel in kernels]),
        "utility": np.ascontiguousarray(problem.utility[:, problem.actions]),
        "horizon": process.steps,
        "row": row.astype(np.int64),
    }


def write_certificate(
    folder: str | os.PathLike[str], solution: Solution, problem: CMDP
) -> verify.Certificate:
    """Write `certificate.npz` and `certificate.json` into a folder, named exactly as given."""
    certificate = certify(solution, problem)
    save_certificate(folder, certificate)
    return certificate


def save_certificate(folder: str | os.PathLike[str], certificate: verify.Certificate) -> None:
    """Write a certificate into a folder."""
    path = files.require_folder(folder)
    files.write_atomically(
        path / verify.ARRAYS, lambda stream: np.savez(stream, allow_pickle=False, **certificate.arrays)
    )
    files.write_json(path / verify.HEAD, verify.head(certificate))


def check_certificate(folder: str | os.PathLike[str], problem: CMDP) -> verify.Verdict:
    """Check the certificate in a folder; raise an error if the folder holds none."""
    path = files.as_path(folder)
    for name in (verify.HEAD, verify.ARRAYS):
        files.open_file(path / name).close()
    try:
        _require_room(path / verify.ARRAYS)
        certificate = verify.read(path)
    except (verify.Refused, InputError) as refused:
        return verify.Verdict(False, f"Not verified: {refused}.")
    return verify.verify(certificate, model_of(problem))


def _require_room(path: Path) -> None:
    """Reject an archive that unpacks to more than there is memory for; what is none is left to the checker."""
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        memory.require_room(str(path), sum(part.file_size for part in archive.infolist()))


def certify(solution: Solution, problem: CMDP) -> verify.Certificate:
    """Return the certificate of a solution.

    >>> import painless
    >>> world = painless.gridworld()
    >>> verify.verify(certify(painless.solve(world), world), model_of(world)).verified
    True
    """
    solution.require_fit(problem)
    none = problem.horizon == 0  # no step, and one action that stands for it
    table = problem.actions.astype(np.float64) if none else solution.table.probabilities
    share = None
    if problem.criterion in (Criterion.TOTAL, Criterion.AVERAGE):
        table = table.reshape(-1, *problem.actions.shape)
        share = solution.policy.weights if isinstance(solution.policy, TableMixture) else np.ones(1)
    return certify_policy(problem, table, _weight(solution), solution.gap, share)


def certify_policy(
    problem: CMDP, policy: Array, weight: Array, gap: float = np.nan, share: Array | None = None
) -> verify.Certificate:
    """Return the certificate of a policy (S, A) with weights (J,) of the utilities: (1, λ) for a bound, (0, λ) if no policy is feasible.

    Of a long-run average it is that of policies (M, S, A) that are drawn with probabilities `share` (M,).

    On a large model the bound is found to a small part of `gap`, the distance that it is expected to have from the policy's value.

    >>> import painless
    >>> world = painless.gridworld()
    >>> point = painless.frontier(world).at(1.5)
    >>> proved = certify_policy(world, point.policy.probabilities, np.array([1.0, point.multiplier[0]]))
    >>> round(proved.upper_bound - proved.lower_bound, 9)
    0.0
    """
    model = model_of(problem)
    policy, weight = np.where(problem.actions, policy, 0.0), np.where(_idle(model), 0.0, weight)
    find, drawn = finder(problem, model, gap), {} if share is None else {"share": share}
    with one_thread(), np.errstate(all="ignore"):
        low = find.lower(policy)
        for weights in (weight, np.eye(len(weight))[0]):
            arrays: dict[str, Any] = {"policy": policy, **low, **drawn, **find.upper(weights)}
            bare = verify.Certificate(
                problem=verify.content_hash(model),
                criterion=model.criterion,
                violation=(0.0,) * problem.shape[2],
                **arrays,
            )
            try:
                return bare._replace(**verify.claims(model, verify.prove(bare, model)))
            except (
                verify.Refused
            ) as error:  # weights that prove nothing; without prices there is always a bound
                refused = error
    raise InputError(f"nothing can be proved: {refused}; is it the problem that was solved?") from refused


def _idle(model: verify.Model) -> Mask:
    """Return which utilities have a limit that every policy meets, so that its price is 0, (J,); not the reward."""
    least: list[Fraction | None] = [Fraction(float(low)) * model.unit for low in model.utility[1:].min(1)]
    if model.criterion == verify.TOTAL:  # of which only signs are known
        least = [Fraction(0) if low >= 0 else None for low in model.utility[1:].min(1)]
    met = [
        not np.isfinite(limit) or (low is not None and Fraction(float(limit)) <= low)
        for limit, low in zip(model.threshold, least, strict=True)
    ]
    return np.array([False, *met])


def _weight(solution: Solution) -> Array:
    """Return the weights of the utilities that prove the bound, (J,): (1, λ), or (0, λ) if no policy meets the limits."""
    weight = solution.proof_weight
    if weight is None:
        weight = np.append(1.0, np.nan_to_num(solution.multiplier, posinf=0.0))
    return np.maximum(weight, 0.0)
