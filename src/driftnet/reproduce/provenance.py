"""Where a result comes from."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

HEAD, TRACKED, CHANGED = ("rev-parse", "--short=12", "HEAD"), ("ls-files", "--", "."), ("status", "--porcelain", "--", ".")
COMMIT = "DRIFTNET_COMMIT"  # The environment variable that names the commit of a copy without its history.


@cache
def commit(package: Path = Path(__file__).parents[1]) -> str:
    """The commit of the code, '-dirty' where that was changed since; 'not known' outside a checkout that nobody named.

    Results, which a suite writes as it goes, are in the checkout, too: they do not count as a change.
    """
    named = os.environ.get(COMMIT, "not known")
    try:
        head, tracked, changed = (_git(package, *command) for command in (HEAD, TRACKED, CHANGED))
    except (OSError, subprocess.CalledProcessError):
        return named
    if not tracked:
        return named  # Installed somewhere inside a checkout of something else.
    return f"{head}{'-dirty' if changed else ''}"


def _git(folder: Path, *command: str) -> str:
    return subprocess.run(("git", *command), cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def provenance(device: str, workers: int, seconds: float) -> dict[str, Any]:
    """What every result says of itself; `workers` shared the device."""
    return {
        "commit": commit(),
        "device": _device(device),
        "workers": workers,
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "wall_seconds": round(seconds, 1),
    }


def place(provenance: dict[str, Any]) -> str:
    """Where it was computed, in words."""
    return f"{provenance['device']}, {provenance['workers']} at once"


@cache
def _device(device: str) -> str:
    """The name of a card, or of the processor and how many of its cores there are."""
    if not device.startswith("cuda"):
        return f"{_processor()}, {os.cpu_count()} cores" if device == "cpu" else device
    import torch

    return torch.cuda.get_device_name(device)


def _processor() -> str:
    """As Linux has it; elsewhere, that it is a CPU."""
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return "CPU"
    return found[1].strip() if found else "CPU"
