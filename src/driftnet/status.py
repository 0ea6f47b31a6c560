"""`driftnet status`: how runs are doing, from their files alone; torch-free."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from driftnet.errors import DriftnetError
from driftnet.files import read_json
from driftnet.progress import duration
from driftnet.train.logs import FAILURE, LOG, read_log

HEAD = ("run", "state", "step", "best validation", "time left", "")
RECENT = 20  # Rows of the log that the speed is taken from: a machine's load changes.


@dataclass(frozen=True)
class Status:
    """What the files of a run say."""

    run: str
    state: str
    """finished, running, stopped, failed or damaged."""
    step: int | None = None
    total: int | None = None
    best_validation: float | None = None
    seconds_left: float | None = None
    """At the speed of the last rows of its log."""
    note: str = ""


def table(roots: Sequence[Path], as_json: bool) -> str:
    """All runs at or below the folders."""
    found = [status(folder) for root in roots for folder in runs(root)]
    if as_json:
        return json.dumps([asdict(each) for each in found], indent=2)
    if not found:
        return f"no run in {', '.join(map(str, roots))}"
    lines = [HEAD, *map(_cells, found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def _cells(found: Status) -> tuple[str, ...]:
    step = "" if found.step is None else f"{found.step} of {found.total or '?'}"
    best = "" if found.best_validation is None else f"{found.best_validation:.4g}"
    left = duration(found.seconds_left) if found.seconds_left else ""
    return found.run, found.state, step, best, left, found.note


def runs(root: Path) -> Iterator[Path]:
    """Folders with a config.yaml, in order."""
    if not root.is_dir():
        raise DriftnetError(f"there is no folder {root}")
    for folder, inner, files in os.walk(root):
        inner.sort()
        if "config.yaml" in files:
            inner.clear()  # A run holds no runs.
            yield Path(folder)


def status(folder: Path) -> Status:
    """The state of a run; what cannot be read is said and not raised."""
    try:
        return _status(folder)
    except (DriftnetError, OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        return Status(str(folder), "damaged", note=str(error).splitlines()[0])


def _status(folder: Path) -> Status:
    yaml.safe_load((folder / "config.yaml").read_text()).get("training")
    rows = read_log(folder / LOG) if (folder / LOG).exists() else []
    finished = folder / "provenance.json"
    if finished.exists():
        facts = read_json(finished)
        return Status(str(folder), "finished", facts["steps"], facts["steps"], float(facts["best_validation"]), 0.0)
    step, total = (int(rows[-1]["step"]), int(rows[-1]["total"])) if rows else (0, None)
    state, note = _unfinished(folder)
    left = None if state == "failed" else _left(rows, total)
    return Status(str(folder), state, step, total, _best(rows), left, note)


def _unfinished(folder: Path) -> tuple[str, str]:
    if _held(folder / ".lock"):
        return "running", ""
    failure = folder / FAILURE
    if failure.exists():
        return "failed", (failure.read_text().splitlines() or [""])[0]
    return "stopped", "the same command goes on from its last checkpoint"


def _held(lock: Path) -> bool:
    """Whether a process holds the lock; asked by sharing it for a moment, which `locked` waits out."""
    if not lock.exists():
        return False
    with lock.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _best(rows: list[dict[str, str]]) -> float | None:
    values = [float(row["validation"]) for row in rows if row["validation"]]
    return min((value for value in values if math.isfinite(value)), default=None)


def _left(rows: list[dict[str, str]], total: int | None) -> float | None:
    if not rows or total is None:
        return None
    first, last = ({"step": "0", "seconds": "0"}, *rows)[-RECENT - 1 :][0], rows[-1]
    steps, seconds = int(last["step"]) - int(first["step"]), float(last["seconds"]) - float(first["seconds"])
    return (total - int(last["step"])) * seconds / steps if steps > 0 else None
