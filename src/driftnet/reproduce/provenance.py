"""Where a result comes from."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any


@cache
def commit() -> str:
    """The commit of the code, '-dirty' where it was changed since; 'not known' outside a checkout."""
    command = ("git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty")
    try:
        answer = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except OSError:
        return "not known"
    return answer.stdout.strip() if answer.returncode == 0 else "not known"


def provenance(device: str, seconds: float) -> dict[str, Any]:
    """What every result says of itself."""
    return {
        "commit": commit(),
        "device": _device(device),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "wall_seconds": round(seconds, 1),
    }


def _device(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    import torch

    return torch.cuda.get_device_name(device)
