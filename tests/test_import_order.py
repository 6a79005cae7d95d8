"""Imports go one way only, and importing the package loads nothing heavy and gives a short list of names."""

import ast
import subprocess
import sys
from pathlib import Path

import painless

ROOT = Path(painless.__file__).parent
ORDER = [
    *(
        "arrays",
        "compiling",
        "errors",
        "registry",
        "render",
        "learners",
        "memory",
        "archives",
        "files",
        "entries",
        "results",
        "bus_errors",
        "mapped",
        "distributions",
        "validation",
        "drn",
        "formats",
        "backends",
        "problem",
        "sources",
        "bellman",
        "units",
        "presolve",
        "clock",
    ),
    *(
        "kernels",
        "simulator",
        "scaled_simulator",
        "features",
        "policy",
        "feature_policies",
        "rollouts",
        "distributed_rollouts",
        "duals",
    ),
    *(
        "planners",
        "planning",
        "evaluators",
        "framework",
        "averages",
        "confidence",
        "evaluate",
    ),
    *(
        "sampled_feasibility",
        "algorithms",
        "guarantees",
        "checkpoint",
        "pages",
        "solution",
        "prepare",
        "remedy",
    ),
    *(
        "conclusion",
        "solve",
        "trade_off",
        "optimum",
        "frontier",
        "surface",
        "batch",
        "training_result",
        "training_mixture",
        "train",
        "checks",
        "problems",
        "environments",
        "experiments",
    ),
    *("report", "score", "cli"),
]
NAMES = [
    *("CBP", "CMDP", "CRPO", "GDA", "PRM", "CartPole", "ColumnGeneration", "Frontier", "InputError"),
    *("LinearProgram", "Output", "PrimalDual", "Solution", "TabularPolicy", "duals", "evaluate"),
    *("from_gymnasium", "from_rows", "frontier", "garnet", "gridworld", "learners", "load", "load_policy"),
    *("make", "save_policy", "solve", "train"),
]
HEAVY = (
    "numba",
    "matplotlib",
    "scipy.optimize",
    "scipy.linalg",
    "scipy.sparse",
    "rich",
    "typer",
    "joblib",
    "gymnasium",
    "jinja2",
    "dask",
    "distributed",
)


def part_of(module):
    """Return the part of the house that a module "painless.x.y" belongs to."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else None


def imports(path):
    """Return every module of the package that a file names, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "painless":
            yield from (f"painless.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_imports_go_one_way():
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if place in ("__init__", "__main__"):
            continue
        for module in imports(path):
            part = part_of(module)
            if module.startswith("painless") and part not in (None, place, "__version__"):
                assert ORDER.index(part) < ORDER.index(place), f"{path.name} imports {module}"


def test_every_part_has_its_place():
    parts = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert parts - {"__init__", "__main__"} <= set(ORDER)


def test_importing_painless_loads_nothing_heavy():
    code = f"import sys, painless; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_small_models_run_no_kernel():
    """What takes milliseconds is not compiled for seconds: not even Numba is loaded."""
    code = (
        "import sys, painless; world = painless.gridworld(); painless.solve(world, tolerance=1e-6);"
        "painless.frontier(world); painless.solve(painless.gridworld(constraints=3), painless.CBP(), iterations=20);"
        "print('numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_the_package_offers_these_names_and_no_others():
    assert painless.__all__ == NAMES
    assert all(hasattr(painless, name) for name in NAMES)
