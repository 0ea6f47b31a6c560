"""Weights that are spread over processes: FSDP2."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from driftnet.train.world import World


def sharded(module: nn.Module, blocks: Iterable[nn.Module], world: World) -> nn.Module:
    """The module, in place: every process holds its share of every parameter, and all of a block's while it computes."""
    mesh = init_device_mesh(world.device.type, (world.size,))
    for block in blocks:
        fully_shard(block, mesh=mesh)
    # Also after a forward pass without a backward pass, so that the state can be read at any time.
    fully_shard(module, mesh=mesh, reshard_after_forward=True)
    return module


def share_of(value: Tensor, where: DTensor) -> Tensor:
    """The share of one process of a tensor that every process has whole."""
    return distribute_tensor(value, where.device_mesh, where.placements, src_data_rank=None)
