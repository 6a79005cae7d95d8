"""Experiments as data: sweeps of settings, a store of results, and what is read from it."""

from painless.experiments.store import Store
from painless.experiments.sweep import Failure, Sweep, load_sweep, run_sweep
from painless.experiments.unit import Unit

__all__ = ["Failure", "Store", "Sweep", "Unit", "load_sweep", "run_sweep"]
