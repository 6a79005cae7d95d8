"""Experiments as data: sweeps of settings, a store of results, and what is read from it."""

from painless.study.store import Store
from painless.study.sweep import Failure, Sweep, load_sweep, run_sweep
from painless.study.unit import Unit

__all__ = ["Failure", "Store", "Sweep", "Unit", "load_sweep", "run_sweep"]
