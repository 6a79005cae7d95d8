"""Pieces of work for worker processes, which load this module and little else."""

import os
import signal


def die_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def fail_at_three(number):
    if number == 3:
        raise KeyError("three")
    return number * number


def threads_here(number):
    import numba
    import threadpoolctl

    del number
    pools = [one["num_threads"] for one in threadpoolctl.threadpool_info()]
    return max([numba.get_num_threads(), *pools])
