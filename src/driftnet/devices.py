"""Where tensors live: names of devices, checked before anything is done on them, and exact arithmetic there."""

from __future__ import annotations

import torch

from driftnet.errors import UsageError

KINDS = ("cpu", "cuda", "mps", "xpu")


def device_named(name: str) -> torch.device:
    """The device called `name`, which exists on this machine."""
    kind, _, number = name.partition(":")
    if kind not in KINDS or not (name == kind or (number.isascii() and number.isdigit())):
        raise UsageError(f"device: '{name}' is none of {', '.join(KINDS)}, or one of these with a number, as cuda:1")
    # Counted and not touched: each of several processes begins on a GPU of its own.
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise UsageError(f"device: '{name}' cannot be used on this machine: torch sees {torch.cuda.device_count()} GPUs")
    try:
        return torch.device(name) if kind == "cuda" else torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device: '{name}' cannot be used on this machine: {reason}") from error


def exact_arithmetic() -> None:
    """Single precision is single precision (no TF32), and a convolution gives the same bits every time."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
