"""Tables that a formula needs at a given size, made once for every device and type."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from driftnet.registry import resolve


def constant(make: Callable[..., np.ndarray], *arguments: int | bool | tuple[int, ...], like: Tensor) -> Tensor:
    """make(*arguments) on the device and in the real type of `like`; `make` is a function of a module."""
    dtype = torch.float64 if like.dtype == torch.float64 else torch.float32
    return _table(f"{make.__module__}:{make.__name__}", like.device, dtype, *arguments)


# In a compiled graph the call stands for its result. It names what it calls, because functions cannot stand there.
@torch.compiler.allow_in_graph
def _table(make: str, device: torch.device, dtype: torch.dtype, *arguments: int | bool | tuple[int, ...]) -> Tensor:
    return (_made if tracing() else _kept)(make, device, dtype, *arguments)


def tracing() -> bool:
    """Whether tensors are stand-ins just now: what is made then must not be kept."""
    return type(torch.empty(0)) is not Tensor


def _made(make: str, device: torch.device, dtype: torch.dtype, *arguments: int | bool | tuple[int, ...]) -> Tensor:
    with torch.inference_mode(False):  # Else a later training could not use it.
        return torch.from_numpy(np.asarray(resolve(make)(*arguments))).to(device, dtype)


# For the life of the process, so that no step waits for a copy to its device.
_kept = lru_cache(maxsize=512)(_made)
