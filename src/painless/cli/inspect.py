"""`painless problems` and `painless check`: list the registered problems, and validate one."""

from __future__ import annotations

import inspect

from painless.cli.common import (
    Average,
    Discount,
    Horizon,
    Limit,
    Parameters,
    Problem,
    Threshold,
    say,
    say_table,
)
from painless.cli.parsing import find_problem


def problems() -> None:
    """List the registered problems and their parameters."""
    from rich.console import Console
    from rich.table import Table

    from painless.problems import REGISTRY, SIMULATORS

    table = Table("name", "description", "parameters (-p name=value)", box=None, padding=(0, 2))
    for name, make in {**REGISTRY, **SIMULATORS}.items():
        text = (inspect.getdoc(getattr(make, "func", make)) or "").removeprefix("Return ")
        defaults = inspect.signature(make).parameters.values()
        shown = ", ".join(f"{p.name}={p.default}" for p in defaults if p.default is not None)
        table.add_row(name, text.splitlines()[0], shown)
    Console().print(table)
    say("Simulators have no table; use painless train: " + ", ".join(SIMULATORS))


def check(
    problem: Problem,
    parameters: Parameters = None,
    discount: Discount = None,
    horizon: Horizon = None,
    average: Average = False,
    threshold: Threshold = None,
    limits: Limit = None,
) -> None:
    """Validate a problem and summarise it."""
    from painless.common.render import number, text_table

    table = find_problem(problem, parameters, discount, threshold, horizon, average, limits)
    names = (table.name("constraints", i) for i in range(table.shape[2]))
    labels = ["cost" if table.minimise else "reward", *names]
    limits = ["", *(f"{s} {number(b)}" for s, b in zip(table.sense, table.limit, strict=True))]
    rows = []
    for label, utility, sign, limit in zip(labels, table.utility, table.sign, limits, strict=True):
        values = sign * utility[table.actions]
        rows.append((label, number(values.min()), number(values.max()), limit))
    say_table(f"{problem}: valid, {table}", text_table(("", "least", "largest", "limit"), rows))
