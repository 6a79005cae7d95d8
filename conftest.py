"""The modules that cannot be imported without an extra are left out where it is missing; `tests/extras.py` says so, and CI has it."""

import importlib.util
from pathlib import Path

DEEP = Path("src", "painless", "training", "deep")
collect_ignore = (
    []
    if importlib.util.find_spec("torch")
    else [str(DEEP / f"{name}.py") for name in ("networks", "update", "export")]
)
