"""Progress of long steps on the terminal: how far, how fast, how long still."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

PLAIN_INTERVAL = 10.0  # Seconds between lines where standard error is not a terminal.


@runtime_checkable
class Advance(Protocol):
    """Called after work is done."""

    def __call__(self, units: int = 1, note: str = "") -> None:
        """Count `units` as done and show the note."""
        ...


@contextmanager
def progress(label: str, total: int, done: int = 0) -> Iterator[Advance]:
    """A bar with the time left on a terminal, a line every few seconds elsewhere."""
    if sys.stderr.isatty():
        with _bar(label, total, done) as advance:
            yield advance
    else:
        yield _Lines(label, total, done)


@contextmanager
def _bar(label: str, total: int, done: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(label, total=total, completed=done, note="", speed="")

        def advance(units: int = 1, note: str = "") -> None:
            bars.update(bar, advance=units, note=note)
            bars.update(bar, speed=f"{bars.tasks[0].speed or 0:.3g}/s")

        yield advance


class _Lines:
    def __init__(self, label: str, total: int, done: int) -> None:
        self.label, self.total, self.done, self.first = label, total, done, done
        self.start = self.last = time.monotonic()

    def __call__(self, units: int = 1, note: str = "") -> None:
        self.done += units
        now = time.monotonic()
        if now - self.last < PLAIN_INTERVAL and self.done < self.total:
            return
        self.last = now
        speed = (self.done - self.first) / max(now - self.start, 1e-9)
        left = f"{speed:.3g}/s, {duration((self.total - self.done) / speed)} left" if speed else "not begun"
        print(f"{self.label}: {self.done}/{self.total}, {left} {note}".rstrip(), file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds as a person says them: 45 s, 12 min 5 s, 3 h 4 min, 2 d 5 h."""
    whole = round(seconds)
    for size, name, smaller, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"


def say(line: str) -> None:
    """One line for the person, beside the progress."""
    print(f"driftnet: {line}", file=sys.stderr, flush=True)
