"""Where tensors live: names of devices, checked before anything is done on them."""

from __future__ import annotations

import torch

from driftnet.errors import UsageError

KINDS = ("cpu", "cuda", "mps", "xpu")


def device(name: str) -> torch.device:
    """The device called `name`, which exists on this machine."""
    kind, _, number = name.partition(":")
    if kind not in KINDS or not (name == kind or (number.isascii() and number.isdigit())):
        raise UsageError(f"device: '{name}' is none of {', '.join(KINDS)}, or one of these with a number, as cuda:1")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device: '{name}' cannot be used on this machine: {reason}") from error
