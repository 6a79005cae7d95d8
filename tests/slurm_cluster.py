"""A SLURM cluster of one machine, as ordinary processes on loopback: for tests, and to try things out.

No root, no munge, no service of the system is needed; ports and folders are its own, and what it starts it stops by
process id. `python -m tests.slurm_cluster` runs one until Ctrl-C.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "slurmstepd", "sbatch", "squeue", "scancel", "sinfo")
PATIENCE = 120.0  # seconds for the daemons to come up
CONFIGURATION = """
ClusterName=painless
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=1000
SlurmdParameters=config_overrides
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ReturnToService=2
KillWait=2
MinJobAge=300
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=60 State=UP
"""


def missing():
    """Return the programs of slurm-wlm that are not installed."""
    return [name for name in PROGRAMS if find(name) is None]


def find(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def slurm_cluster():
    """Run a controller and a node of four cores; give back the environment for its commands."""
    with tempfile.TemporaryDirectory(prefix="slurm") as name:
        folder, host = Path(name), socket.gethostname().partition(".")[0]
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        configuration = folder / "slurm.conf"
        ports = {"controller": free_port(), "daemon": free_port()}
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        configuration.write_text(CONFIGURATION.format(host=host, user=user, folder=folder, **ports))
        environment = {**os.environ, "SLURM_CONF": str(configuration)}
        commands = (
            [find("slurmctld"), "-D", "-f", str(configuration)],
            [find("slurmd"), "-D", "-f", str(configuration), "-N", host, "-d", find("slurmstepd")],
        )
        with contextlib.ExitStack() as running:
            for command in commands:
                running.enter_context(process(command, environment, folder))
            wait_until_idle(environment, folder)
            try:
                yield environment
            finally:
                end_jobs(environment)


@contextlib.contextmanager
def process(command, environment, folder):
    """Run a daemon; stop it by its own id."""
    with (folder / "output").open("a") as output:
        daemon = subprocess.Popen(command, env=environment, stdout=output, stderr=output, cwd=folder)
        try:
            yield
        finally:
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def answer(command, environment):
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    ).stdout.strip()


def wait_until_idle(environment, folder):
    deadline = time.monotonic() + PATIENCE
    while answer(["sinfo", "-h", "-o", "%T"], environment) != "idle":
        if time.monotonic() > deadline:
            said = "\n".join(path.read_text() for path in (folder / "output", *folder.glob("*.log")))
            raise RuntimeError(f"SLURM did not come up:\n{said}")
        time.sleep(0.2)


def end_jobs(environment):
    """Cancel what is left and wait until it is gone, so that nothing outlives the daemons."""
    subprocess.run(
        ["scancel", "--full", *jobs(environment)], env=environment, capture_output=True, check=False
    )
    deadline = time.monotonic() + PATIENCE
    while jobs(environment) and time.monotonic() < deadline:
        time.sleep(0.2)


def jobs(environment):
    """Return the ids of all jobs that wait or run."""
    return answer(["squeue", "-h", "-o", "%i"], environment).split()


if __name__ == "__main__":
    with slurm_cluster() as settings:
        print(f"export SLURM_CONF={settings['SLURM_CONF']}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(1)
