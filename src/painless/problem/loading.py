"""Problems from files."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import ArrayLike

from painless.common.errors import InputError
from painless.problem.cmdp import CMDP
from painless.problem.formats import registry as formats
from painless.problem.formats.file_entries import as_arguments
from painless.problem.validation import is_average


def load(
    path: str | os.PathLike[str],
    *,
    discount: float | None = None,
    average: bool = False,
    horizon: int | None = None,
    limit: ArrayLike | None = None,
    **parameters: Any,
) -> CMDP:
    """Read a problem file, `.npz`, `.json`, `.drn`, `.umb` or `.tra`, as written by `CMDP.save`, or a `.csv`; nothing in it is executed.

    `discount`, `average`, `horizon` and `limit` (thresholds and budgets, in order) override those in the file; beside a horizon, the discount is
    1 unless it is given. Models of model checkers have none;
    for them, give the names of reward models where `CMDP` takes arrays: `reward` or `cost`, `constraint_reward` and
    `constraint_cost`. A `.csv` is a table of transitions and takes what `from_frame` takes.
    """
    given = {"discount": discount, "average": is_average(average) or None, "horizon": horizon, "limit": limit}
    given |= parameters
    content, rest = formats.read(path, {name: value for name, value in given.items() if value is not None})
    try:
        problem = CMDP(**as_arguments(content), copy=False)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    problem = problem.with_criterion(**{name: rest[name] for name in rest if name != "limit"})
    return problem.with_limits(rest["limit"]) if "limit" in rest else problem
