"""Processes that are killed when something has happened, however long that takes."""

import os
import signal
import time
from contextlib import suppress

LOOK = 0.02  # seconds between two looks


def kill_once(process, happened):
    """SIGKILL a process with its whole group as soon as `happened()`, if it has not ended by then."""
    while process.poll() is None and not happened():
        time.sleep(LOOK)
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def changes(folder, count):
    """Return a question: whether the files of a folder have changed so many times since it was first asked."""
    seen = set()

    def happened():
        with suppress(FileNotFoundError):  # renamed while we look
            files = [path for path in folder.glob("*") if not path.name.startswith(".")]
            seen.add(tuple(sorted((path.name, path.stat().st_mtime_ns) for path in files)))
        return len(seen) > count

    return happened
