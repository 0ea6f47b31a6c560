"""What a model costs and sees: parameters, operations, memory and reach; shapes alone are enough for all but the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2, prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from driftnet.configs import ModelConfig, altered
from driftnet.models.operator import count_parameters
from driftnet.registry import resolve
from driftnet.tasks.base import Task

# The reach needs real weights, and a forward and a backward pass; what a point sees does not depend on the widths.
NARROW: dict[str, Callable[[Any], Any]] = {
    "widths": lambda widths: tuple(8 << level for level in range(len(widths))),
    "width": lambda _: 8,
    "heads": lambda heads: (1,) * len(heads),
}
FLOPS_PER_REAL_FFT_POINT = 2.5  # An FFT of n complex points costs 5 n log2 n by convention, one of n reals half of it.
COMPLEX_PRODUCT = 4  # Real products in a complex one.


@dataclass(frozen=True)
class Cost:
    """Of one sample."""

    parameters: int
    """With a complex number counted once."""
    reals: int
    """With a complex number counted twice."""
    flops: int
    """Of a forward pass: matrix products, convolutions, attention and FFTs; nothing else is counted."""
    activations: int
    """Bytes that a forward pass keeps for the backward pass, without the parameters."""
    reach: float
    """Share of the input points that one output point depends on."""


def cost(config: ModelConfig, task: Task, resolution: int) -> Cost:
    """The cost of a model on a square grid."""
    channels = len(task.components)

    def network(config: ModelConfig) -> nn.Module:
        builder: Callable[..., nn.Module] = resolve(config.builder)
        return builder(config, channels + len(task.static), channels, task.boundary)

    with FakeTensorMode(allow_non_fake_inputs=True):  # Not the meta device, on which there is no autocast to switch off.
        shapes = network(config)
        x = torch.zeros(1, channels + len(task.static), resolution, resolution)
        with flop_counter() as counter:
            kept = activations(shapes, x)
    seen = reach(network(altered(config, NARROW)), torch.randn(x.shape))
    sizes = count_parameters(shapes), count_parameters(shapes, complex_once=False)
    return Cost(*sizes, counter.get_total_flops(), kept, seen)


def flops(network: nn.Module, x: Float[Tensor, "b c h w"]) -> int:
    """Floating-point operations of a forward pass."""
    # Stand-ins for tensors take the plain way: what oneDNN does, and recordings, hide from the counter.
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), flop_counter() as counter:
        network(torch.empty(x.shape, device=x.device))
    return counter.get_total_flops()


def flop_counter() -> FlopCounterMode:
    """Torch's counter, which by itself takes FFTs for free and complex products for real ones."""
    aten = torch.ops.aten
    transforms = dict.fromkeys((aten._fft_r2c, aten._fft_c2r, aten._fft_c2c), _fft_flops)
    products = dict.fromkeys((aten.mm, aten.bmm), _product_flops)
    return FlopCounterMode(display=False, custom_mapping={**transforms, **products})


def _raw(formula: Callable[..., int]) -> Callable[..., int]:
    formula._get_raw = True  # pyright: ignore[reportFunctionMemberAccess] - the counter then hands over tensors, not shapes
    return formula


@_raw
def _fft_flops(x: Tensor, dims: list[int], *_: Any, out_val: Tensor, **__: Any) -> int:
    real = x if not x.is_complex() else out_val
    points = prod(real.shape[dim] for dim in dims)
    factor = FLOPS_PER_REAL_FFT_POINT * (2 if real.is_complex() else 1)
    return round(factor * real.numel() * log2(points))


@_raw
def _product_flops(left: Tensor, right: Tensor, *_: Any, out_val: Tensor, **__: Any) -> int:
    return 2 * out_val.numel() * left.shape[-1] * (COMPLEX_PRODUCT if out_val.is_complex() else 1)


def activations(network: nn.Module, x: Float[Tensor, "b c h w"]) -> int:
    """Bytes of the storages that the forward pass saves; one that is saved twice counts once."""
    parameters = {parameter.untyped_storage()._cdata for parameter in network.parameters()}
    kept: dict[int, tuple[int, Tensor]] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in parameters:
            kept[storage._cdata] = storage.nbytes(), tensor  # Held, so that its address is not used again.
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        network(x)
    return sum(size for size, _ in kept.values())


def reach(network: nn.Module, x: Float[Tensor, "1 c h w"]) -> float:
    """Share of the points of the grid on which the output at the first point depends, by its gradient."""
    network.requires_grad_(False)
    x = x.requires_grad_(True)
    (gradient,) = torch.autograd.grad(network(x)[0, :, 0, 0].sum(), x)
    return float((gradient[0].abs().amax(0) > 0).double().mean())
