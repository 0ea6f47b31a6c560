"""How much memory this process has."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

KILOBYTE = 1024


def resident(field: str) -> int:
    """Bytes of resident memory now (VmRSS) or at most so far (VmHWM).

    From /proc where there is one: ru_maxrss of a fresh process still holds its parent's.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KILOBYTE)
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * KILOBYTE
