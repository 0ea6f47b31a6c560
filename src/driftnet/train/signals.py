"""Asked to end: Ctrl-C, SIGTERM, and the signals by which SLURM announces that a job has to go."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftnet.errors import DriftnetError

ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
AGAIN_SECONDS = 2.0  # torchrun passes a Ctrl-C on that the terminal has sent already: that is one request, not two.


class Interrupted(KeyboardInterrupt):
    """Stopped by Ctrl-C (exit code 130)."""

    exit_code = 130


class Preempted(DriftnetError):
    """Stopped by the system, which may start the same command again (exit code 75)."""

    exit_code = 75


class StopRequest:
    """Becomes true when the process is asked to end; before there is anything to save, it ends at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.patient = False
        """Whether to wait for the next safe moment."""
        self._asked = 0.0

    def __bool__(self) -> bool:
        """Whether to stop at the next safe moment."""
        return self.signal is not None

    def hear(self, number: int, _frame: object) -> None:
        """A signal: the first is kept, later ones are the same request, but for a second Ctrl-C, which ends at once."""
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._asked = number, now
            if not self.patient:
                raise self.error("stopped before the first step; the same command begins again")
        elif number == signal.SIGINT and now - self._asked > AGAIN_SECONDS:
            raise KeyboardInterrupt

    def error(self, message: str) -> Interrupted | Preempted:
        """What ends the run."""
        return Interrupted(message) if self.signal == signal.SIGINT else Preempted(message)


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turn signals into a request to stop between two steps."""
    request = StopRequest()
    former: dict[int, Any] = {number: signal.signal(number, request.hear) for number in ASKED}
    try:
        yield request
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
