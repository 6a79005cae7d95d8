"""Certificates of frontiers: one for each vertex, in a folder of its own, and the limits that each is about.

The policy of a vertex is the frontier's. Prices of all limits are those of a solve at its limits, since a frontier knows the price of one.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from painless import verify
from painless.common.errors import InputError
from painless.frontiers import Frontier
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP, Criterion
from painless.solving.certificate_files import certify_policy, check_certificate, save_certificate
from painless.solving.solve import solve
from painless.storage import files
from painless.storage.results import MISFIT

LIST, FORMAT = "vertices.json", "painless-certificates"
FINE = 1e-9  # relative gap of the solves that find prices


def write_certificates(folder: str | os.PathLike[str], frontier: Frontier) -> None:
    """Write the certificate of every vertex into folders 0, 1, … of a folder, and `vertices.json`."""
    path = files.require_folder(folder)
    limits = [_limits(frontier, i) for i in range(len(frontier))]
    for i, limit in enumerate(limits):
        save_certificate(path / str(i), certify_vertex(frontier, i, limit))
    files.write_json(path / LIST, {"format": FORMAT, "limit": limits})


def certify_vertex(frontier: Frontier, vertex: int, limit: list[float]) -> verify.Certificate:
    """Return the certificate of a vertex's policy among all policies within some limits (K,).

    >>> import painless
    >>> curve = painless.frontier(painless.gridworld())
    >>> proved = certify_vertex(curve, 1, [1.2604])
    >>> round(proved.upper_bound - proved.lower_bound, 4)
    0.0
    """
    problem = frontier.problem.with_limits(limit)
    found = solve(problem, tolerance=FINE)
    policy, share = frontier.policy(vertex), None
    table = policy.flat.probabilities if isinstance(policy, TimedPolicy) else policy.probabilities
    if problem.criterion in (Criterion.TOTAL, Criterion.AVERAGE):
        table = table.reshape(-1, *problem.actions.shape)
        share = policy.weights if isinstance(policy, TableMixture) else np.ones(1)
    weight = np.append(1.0, np.nan_to_num(found.multiplier, posinf=0.0))
    weight = weight if found.proof_weight is None else found.proof_weight
    return certify_policy(problem, table, np.maximum(weight, 0.0), found.gap, share)


def check_certificates(folder: str | os.PathLike[str], problem: CMDP) -> list[verify.Verdict]:
    """Check what is in a folder: the certificates of a frontier's vertices, or one certificate."""
    path = files.as_path(folder)
    if not (path / LIST).exists():
        return [check_certificate(path, problem)]
    return [
        check_certificate(path / str(i), problem.with_limits(limit))
        for i, limit in enumerate(_listed(path / LIST))
    ]


def _listed(path: Any) -> list[list[float]]:
    """Return the limits of all vertices."""
    try:
        content = files.read(path)
        if content["format"] != FORMAT or not content["limit"]:
            raise ValueError(f"its format is {content['format']}")
        return [[float(one) for one in limit] for limit in content["limit"]]
    except MISFIT as error:
        raise InputError(
            f"{path} does not list certificates of a frontier ({error}); write them again"
        ) from error


def _limits(frontier: Frontier, vertex: int) -> list[float]:
    """Return the limits that a vertex is about: its own for the one that varies."""
    limit = frontier.problem.limit.copy()
    limit[frontier.constraint] = frontier.threshold[vertex]
    return [float(one) for one in limit]
