"""Backends that run the work: this machine, a Dask cluster, or SLURM, behind one interface."""

from painless.backends.base import LIVES, Backend, Error
from painless.backends.dask import Dask
from painless.backends.local import Local
from painless.backends.slurm import Jobs, Slurm, load_jobs
from painless.backends.tls import Tls

__all__ = ["LIVES", "Backend", "Dask", "Error", "Jobs", "Local", "Slurm", "Tls", "load_jobs"]
