"""Processes that work for another one, and end when it does."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import active_children, parent_process
from multiprocessing.connection import wait


def end_with_parent() -> None:
    """A killed parent must not leave workers behind; a Ctrl-C is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_workers() -> None:
    """End the processes that this one started, whatever they are at."""
    for worker in active_children():
        worker.terminate()
