"""Imports go one way only, and importing the package loads nothing heavy and gives a short list of names."""

import ast
import subprocess
import sys
from pathlib import Path

import painless

ROOT = Path(painless.__file__).parent
ROOMS = [
    *(
        "common",
        "verify",
        "storage",
        "learners",
        "backends",
        "problem",
        "bellman",
        "features",
        "simulation",
        "policies",
    ),
    *(
        "engines",
        "planning",
        "counting",
        "logs",
        "frontiers",
        "duals",
        "evaluators",
        "loop",
        "solving",
        "problems",
    ),
    *("environments", "training", "checks", "study", "report", "cli"),
]
# A notebook asks a frontier for its page: the one step to a later room.
EXCEPTIONS = {("frontiers/curve.py", "painless.report.html")}
NAMES = [
    *(
        "CBP",
        "CMDP",
        "CRPO",
        "GDA",
        "PRM",
        "CartPole",
        "ColumnGeneration",
        "Deep",
        "Frontier",
        "FunctionModel",
        "InputError",
    ),
    *(
        "LinearProgram",
        "LoggedModel",
        "Multipliers",
        "Output",
        "PrimalDual",
        "Solution",
        "TabularPolicy",
        "compare",
        "duals",
        "evaluate",
    ),
    *(
        "from_frame",
        "from_function",
        "from_gymnasium",
        "from_log",
        "from_mdptoolbox",
        "from_quantecon",
        "from_rows",
        "frontier",
        "garnet",
    ),
    *(
        "gridworld",
        "learners",
        "load",
        "load_policy",
        "make",
        "reach",
        "save_policy",
        "sensitivity",
        "solve",
        "solve_many",
        "train",
    ),
    "value",
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
    "pandas",
    "polars",
    "torch",
)


def imports(path):
    """Return every module of the package that a file names, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "painless":
            yield from (f"painless.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def room_of(path):
    """Return the room that a file or a module "painless.x.y" belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_imports_go_one_way():
    backwards = {
        (path.relative_to(ROOT).as_posix(), module)
        for path in ROOT.rglob("*.py")
        if room_of(path) in ROOMS
        for module in imports(path)
        if module.startswith("painless.") and module.split(".")[1] != "__version__"
        if ROOMS.index(module.split(".")[1]) > ROOMS.index(room_of(path))
    }
    assert backwards == EXCEPTIONS


def test_every_file_is_in_a_room():
    assert {room_of(path) for path in ROOT.rglob("*.py")} == {*ROOMS, "__init__", "__main__"}


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
