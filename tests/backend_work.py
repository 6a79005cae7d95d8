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


def leave_after(n):
    """Square, in a worker that afterwards believes that it holds too much memory, and ends."""
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = -(2**62)
    process_executor._MEMORY_LEAK_CHECK_DELAY = -1.0
    return n * n


def line_successors(s, a, target, probability):
    """Walk on a line of 15,000 states, to the left or to the right."""
    target[0], probability[0] = max(s - 1, 0), 0.8 if a == 0 else 0.3
    target[1], probability[1] = min(s + 1, 14_999), 1.0 - probability[0]
    return 2


def line_utilities(s, a):
    """A reward here and there, and a cost of going to the right."""
    return (1.0 if s % 17 == 3 else 0.0), 1.0 * a
