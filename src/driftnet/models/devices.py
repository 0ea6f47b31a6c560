"""Devices by their names."""

from __future__ import annotations

import torch

from driftnet.configs import require
from driftnet.errors import UsageError


def device_named(name: str) -> torch.device:
    """The device that is called `name`; one that is not there is refused in one line."""
    try:
        found = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"device: '{name}' is none; cpu, cuda, cuda:1, ...") from error
    if found.type == "cuda":
        require(torch.cuda.is_available(), f"device: {name} is not available; this torch sees no GPU")
        count = torch.cuda.device_count()
        require((found.index or 0) < count, f"device: {name} is not available; the GPUs here are cuda:0 to cuda:{count - 1}")
    return found


def without_tf32() -> None:
    """Full single precision on GPUs: torch computes convolutions in TF32 unless told not to."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
