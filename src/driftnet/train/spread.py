"""A model made ready for training: over several processes, in half precision, with less memory, or compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from driftnet.configs import Training
from driftnet.train.world import World


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
    if config.compile:
        getattr(model, "network", model).compile()
    if world.size == 1:
        return Called(model)
    if config.parallel == "fsdp":
        return sharded(model, world)
    # Buffers are statistics and constants, the same everywhere.
    device_ids = [world.device] if world.device.type == "cuda" else None
    return DistributedDataParallel(Called(model), device_ids, broadcast_buffers=False)


def sharded(model: nn.Module, world: World) -> nn.Module:
    """FSDP2: every process holds its share of every parameter, and all of a block's while it computes."""
    mesh = init_device_mesh(world.device.type, (world.size,))
    for block in blocks(model):
        fully_shard(block, mesh=mesh)
    # Resharded also after forward passes without a backward pass, so that the state can be read at any time.
    whole_model = Called(model)
    fully_shard(whole_model, mesh=mesh, reshard_after_forward=True)
    return whole_model


def blocks(model: nn.Module) -> list[nn.Module]:
    """The repeated parts of a network: the innermost elements of its lists of modules."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    elements = [element for each in lists for element in each]
    return [element for element in elements if not any(isinstance(part, nn.ModuleList) for part in element.modules())]


def exact_arithmetic() -> None:
    """Single precision is single precision (no TF32), and a convolution gives the same bits every time."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True


def reduced(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Half precision for what autocast takes to be safe; the models keep their Fourier transforms out of it."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()


@contextmanager
def synchronised(module: nn.Module, last: bool) -> Iterator[None]:
    """Gradients of all but the last part of a batch stay where they are."""
    if isinstance(module, FSDPModule):
        module.set_requires_gradient_sync(last)
    with module.no_sync() if isinstance(module, DistributedDataParallel) and not last else nullcontext():
        yield


def whole(value: Tensor) -> Tensor:
    """All of a tensor, from all processes where it is sharded."""
    return (value.full_tensor() if isinstance(value, DTensor) else value).detach()


def like(value: Tensor, where: Tensor) -> Tensor:
    """A whole tensor on the device and in the shards of another."""
    value = value.to(where.device)
    if not isinstance(where, DTensor):
        return value
    return distribute_tensor(value, where.device_mesh, where.placements, src_data_rank=None)
