"""The most memory that this process has held.

The kernel's own count of the peak survives `exec`, so that a child counts what its parent held when it forked; the
memory map starts anew.
"""

import resource
import sys
from pathlib import Path


def peak() -> int:
    """Bytes."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
