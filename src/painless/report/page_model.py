"""The learned model on the page of a training run: its frontiers with the slider, and how often each pair was tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.problem import CMDP
from painless.report.page_solution import PAIRS, SECONDS, frontiers_of, policy_data
from painless.solving.solve import solve

ROWS = 500  # states in the table of counts


def model_explorer(model: CMDP | None) -> dict[str, Any]:
    """Return the frontiers of a learned model for `build_page`, or its optimal policy where there are none; nothing of a large one."""
    if model is None or model.actions.sum() > PAIRS:
        return {}
    optimum = solve(model, time_limit=SECONDS)
    curves, _ = frontiers_of(model, optimum)
    if curves:
        return {"frontiers": [curve.as_dict() for curve in curves]}
    return {"fixed": policy_data(optimum, model)}


def counts_group(model: CMDP | None, visits: Array | None) -> list[dict[str, Any]]:
    """Return how often every pair was tried, (S, A), the most visited states first."""
    if model is None or visits is None:
        return []
    named = model.names.get("states")
    names = list(map(str, range(len(visits)))) if named is None else named.texts
    order = np.argsort(-visits.sum(1), kind="stable")[:ROWS]
    states, actions = visits.shape
    more = f", the {ROWS} most visited states" if states > ROWS else ""
    return [
        {
            "title": "The learned model",
            "text": f"{visits.sum():,.0f} steps were counted: {states:,} states, {actions} actions, {(visits > 0).mean():.0%} of all pairs were tried. "
            "What can be moved on this page is optimal on the model as if it were the truth; the answer of the run keeps a margin from its limits. "
            "A pair that was never tried leads to the state 'unknown', where every step is as bad as the worst one seen.",
            "tables": [
                {
                    "title": f"How often each pair was tried{more}",
                    "folded": True,
                    "header": ("state", *(f"action {action}" for action in range(actions))),
                    "rows": [(names[s], *(f"{count:,.0f}" for count in visits[s])) for s in order.tolist()],
                }
            ],
        }
    ]
