"""Backends that run the work: this machine, a Dask cluster, or SLURM, behind one interface.

To add one, write a file and add a line to `BACKENDS`: a function, or a class, whose arguments are those options of the command
line that it has.
"""

from collections.abc import Callable

from painless.backends.base import LIVES, Backend, Error
from painless.backends.dask import Dask, dask_from_options
from painless.backends.local import Local
from painless.backends.slurm import Jobs, Slurm, load_jobs, slurm_from_options
from painless.backends.tls import Tls

BACKENDS: dict[str, Callable[..., Backend]] = {
    "local": Local,
    "dask": dask_from_options,
    "slurm": slurm_from_options,
}

__all__ = ["BACKENDS", "LIVES", "Backend", "Dask", "Error", "Jobs", "Local", "Slurm", "Tls", "load_jobs"]
