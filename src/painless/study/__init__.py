"""Experiments as data: sweeps of settings, a store of results, and what is read from it.

A `Unit` is one run, described by plain data; `sweep` runs many of them on a backend. `paper` has the paper's experiments,
and `score` compares settings that need no tuning with tuned ones.
"""

from painless.study.store import Store
from painless.study.sweep import Failure, Sweep, load_sweep, run_sweep
from painless.study.unit import Unit

__all__ = ["Failure", "Store", "Sweep", "Unit", "load_sweep", "run_sweep"]
