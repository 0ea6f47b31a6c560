"""A model made ready for training: over several processes, in half precision, with less memory, or compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from driftnet.configs import Training
from driftnet.devices import exact_arithmetic
from driftnet.models.recorded import record
from driftnet.train.world import World

DDP_OPTIONS = signature(DistributedDataParallel).parameters


class Called(nn.Module):
    """Calls functions of a model as a forward pass of its own: DDP and FSDP act before and after those."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(model, *arguments)."""
        return function(self.model, *arguments)


def prepared(model: nn.Module, config: Training, world: World) -> nn.Module:
    """The model, to be called with a function of it; its parameters change their type where they are sharded."""
    exact_arithmetic()
    if config.recompute:
        for block in blocks(model):
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    network = getattr(model, "network", model)
    if config.compile:
        network.compile(dynamic=False)  # The tables of a size are constants of its graph.
    elif replays(config, world):
        record(network)
    if world.size == 1:
        return Called(model)
    if config.parallel == "fsdp":
        from driftnet.train.shards import sharded  # Half a second, for those who need it.

        return sharded(Called(model), blocks(model), world)
    return copied(model, world)


def replays(config: Training, world: World) -> bool:
    """Whether passes can be recorded: on one CUDA device, where every forward pass is followed by its backward pass."""
    alternate = config.objective.kind in ("one-step", "all-to-all")
    return world.device.type == "cuda" and world.size == 1 and alternate and not config.recompute


def copied(model: nn.Module, world: World) -> nn.Module:
    """DDP: every process holds all weights, and gradients are summed while they are found."""
    for parameter in model.parameters():
        # Some convolutions' gradients have strides of their own along axes of one element, of which DDP warns.
        parameter.register_hook(lambda gradient: gradient.flatten().view(gradient.shape))
    # Buffers are statistics and constants, the same everywhere. torch renamed the option in 2.13.
    sync = "forward_sync_buffers" if "forward_sync_buffers" in DDP_OPTIONS else "broadcast_buffers"
    options: dict[str, Any] = {sync: False, "device_ids": [world.device] if world.device.type == "cuda" else None}
    return DistributedDataParallel(Called(model), **options)


def blocks(model: nn.Module) -> list[nn.Module]:
    """The repeated parts of a network: the innermost elements of its lists of modules."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    elements = [element for each in lists for element in each]
    return [element for element in elements if not any(isinstance(part, nn.ModuleList) for part in element.modules())]


def reduced(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Half precision for what autocast takes to be safe; the models keep their Fourier transforms out of it."""
    if precision != "bf16":
        return nullcontext()
    # Recorded passes must not reuse what an earlier one made.
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=device.type != "cuda")


@contextmanager
def synchronised(module: Any, last: bool) -> Iterator[None]:
    """Gradients of all but the last part of a batch stay where they are."""
    if hasattr(module, "set_requires_gradient_sync"):  # FSDP's.
        module.set_requires_gradient_sync(last)
    with module.no_sync() if isinstance(module, DistributedDataParallel) and not last else nullcontext():
        yield


def settles_late(module: nn.Module) -> bool:
    """Whether the first gradient is summed over processes in another order than all later ones.

    DDP sorts its buckets after it; the sum over more than two processes then differs in its last bits.
    """
    return isinstance(module, DistributedDataParallel)


def whole(value: Any) -> Tensor:
    """All of a tensor, from all processes where it is sharded."""
    return (value.full_tensor() if hasattr(value, "full_tensor") else value).detach()


def like(value: Tensor, where: Any) -> Tensor:
    """A whole tensor on the device and in the shards of another."""
    value = value.to(where.device)
    if not hasattr(where, "full_tensor"):
        return value
    from driftnet.train.shards import share_of

    return share_of(value, where)
