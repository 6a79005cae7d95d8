"""SLURM: Dask workers as jobs of a batch system, through dask-jobqueue.

The scheduler runs in this process, on the login node or in a job of its own; every job brings `cores` workers, which
connect to it. A job that is lost (cancelled, preempted, out of time) is submitted again.
"""

from __future__ import annotations

import logging
import subprocess
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from painless.backends.dask import Dask, installed
from painless.backends.tls import Tls
from painless.common.arguments import whole
from painless.common.errors import InputError, unknown
from painless.storage.files import read_toml


@dataclass(frozen=True)
class Jobs:
    """The options of each SLURM job."""

    partition: str | None = None
    account: str | None = None
    cores: int = 1  # of one job, each with a worker process
    memory: str = "2GB"  # of one job
    time: str = "01:00:00"
    interface: str = "lo"  # the network between this machine and the nodes; loopback by default
    python: str | None = None  # of the nodes; this one by default
    logs: str | None = None  # a folder that the nodes see too; without one, what jobs print is dropped
    extra: tuple[str, ...] = ()  # more options of sbatch, such as "--constraint=haswell"
    skip: tuple[str, ...] = ()  # options that a cluster does not want, such as "--mem"
    prologue: tuple[str, ...] = ()  # shell commands before the workers start, such as "module load python"

    def __post_init__(self) -> None:
        whole("cores", self.cores)
        for name in ("extra", "skip", "prologue"):
            value = getattr(self, name)
            if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
                raise InputError(f"{name} is {value!r}; give a list of texts")
            object.__setattr__(self, name, tuple(value))
        for name in ("partition", "account", "memory", "time", "interface", "python", "logs"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f'{name} is {value!r}; give it as text, such as time = "02:00:00"')

    def but(self, **given: Any) -> Jobs:
        """Return these options with all arguments that are not None replaced."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def load_jobs(path: str | Path) -> Jobs:
    """Read the options of jobs from the [slurm] table of a TOML file."""
    content = read_toml(path)
    table = content.get("slurm")
    if not isinstance(table, dict):
        raise InputError(f"{path} has no [slurm] table; write one with partition, cores, memory and time")
    known = [one.name for one in fields(Jobs)]
    for key in table:
        if key not in known:
            raise InputError(f"{path}: {unknown('entry of [slurm]', key, known)}")
    try:
        return Jobs(**table)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


class Slurm(Dask):
    """Dask workers in SLURM jobs.

    Arguments:
        jobs: the options of each job.
        workers: the total number of processes in all jobs.
        tls: certificates; the nodes must see the same paths.
    """

    def __init__(self, jobs: Jobs | None = None, *, workers: int = 1, tls: Tls | None = None) -> None:
        installed("dask_jobqueue", "slurm")
        super().__init__(workers=workers, tls=tls)
        self.jobs = jobs or Jobs()
        self.count = -(-workers // self.jobs.cores)
        self.wanted = self.count * self.jobs.cores

    def _cluster(self) -> Any:
        """Start a scheduler here, and submit the jobs."""
        from dask_jobqueue import SLURMCluster

        jobs = self.jobs
        security = None if self.tls is None else self.tls.security()
        printed = () if jobs.logs else ("--output=/dev/null", "--error=/dev/null")
        try:
            cluster = SLURMCluster(
                queue=jobs.partition,
                account=jobs.account,
                cores=jobs.cores,
                processes=jobs.cores,
                memory=jobs.memory,
                walltime=jobs.time,
                interface=jobs.interface,
                python=jobs.python,
                log_directory=jobs.logs,
                job_name="painless",
                job_extra_directives=[*printed, *jobs.extra],
                job_directives_skip=list(jobs.skip),
                job_script_prologue=["export NUMBA_NUM_THREADS=1", *jobs.prologue],
                worker_extra_args=["--no-dashboard"],
                scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
                security=security,
            )
        except (
            ValueError,
            OSError,
            RuntimeError,
        ) as error:  # an interface that is not there, memory that is no number
            raise InputError(f"cannot start a scheduler for SLURM: {error}") from error
        try:
            _check(cluster.job_script())
            cluster.adapt(minimum_jobs=self.count, maximum_jobs=self.count, interval="1s")
        except BaseException:
            cluster.close()
            raise
        return cluster


def slurm_from_options(
    slurm_file: Path | None = None,
    workers: int | None = None,
    partition: str | None = None,
    account: str | None = None,
    cores: int | None = None,
    memory: str | None = None,
    time: str | None = None,
    interface: str | None = None,
    tls_ca_file: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
) -> Slurm:
    """Return the backend for options of the command line, which override those in a file."""
    tls = Tls.from_options(tls_ca_file, tls_cert, tls_key)
    jobs = Jobs() if slurm_file is None else load_jobs(slurm_file)
    asked = jobs.but(
        partition=partition, account=account, cores=cores, memory=memory, time=time, interface=interface
    )
    return Slurm(asked, workers=workers or 1, tls=tls)


def _check(script: str) -> None:
    """Ask SLURM whether it accepts the job; a later rejection would only show in a log."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        try:
            command = ["sbatch", "--test-only", file.name]
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise InputError(
                "sbatch is not installed here; run this where jobs are submitted, or use --backend dask"
            ) from error
    if answer.returncode:
        said = " ".join(answer.stderr.split())
        raise InputError(f"SLURM refuses the job: {said}; see partition, account, cores, memory and time")
