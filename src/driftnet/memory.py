"""How much memory this process has, and how it keeps it."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from pathlib import Path

KILOBYTE = 1024
# What the C library of Linux calls them: in the environment, where a process that begins reads them, and in mallopt.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": 2**30, "MALLOC_TRIM_THRESHOLD_": 2**31 - 1, "MALLOC_TOP_PAD_": 2**26}
MALLOPT = {"MALLOC_MMAP_THRESHOLD_": -3, "MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_TOP_PAD_": -2}


def reuse_freed() -> None:
    """Have this process, and those it starts, keep large buffers that were freed for the next ones.

    Otherwise every training step gives them back to the system and pays for each of their pages again.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, value in ALLOCATOR.items():
        if mallopt and name not in os.environ:
            mallopt(MALLOPT[name], value)
        os.environ.setdefault(name, str(value))


def resident(field: str) -> int:
    """Bytes of resident memory now (VmRSS) or at most so far (VmHWM).

    From /proc where there is one: ru_maxrss of a fresh process still holds its parent's.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KILOBYTE)
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * KILOBYTE
