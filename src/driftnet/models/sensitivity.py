"""What a network does near given states: the Jacobian's largest singular value, and what its parts meet there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from driftnet.models.backbone import Block
from driftnet.models.norms import EPSILON, LeadTimeNorm, PlainNorm

ITERATIONS = 20  # Of the power method; further ones change the third digit on trained models.


@dataclass
class Visit:
    """What the parts of a network met at some states."""

    inputs: dict[nn.Module, tuple[Tensor, ...]] = field(default_factory=dict)
    """Of every block: its features and lead times."""
    sizes: dict[nn.Module, tuple[int, int]] = field(default_factory=dict)
    """Of every convolution: height and width of its input."""
    spreads: dict[nn.Module, float] = field(default_factory=dict)
    """Of every norm: the smallest standard deviation that it divided by."""
    scales: dict[nn.Module, float] = field(default_factory=dict)
    """Of every norm: the largest factor of a channel, at the lead times that it met."""

    def note(self, module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        """Take down what a part is about to process."""
        x = arguments[0].detach()
        if isinstance(module, Block):
            self.inputs[module] = tuple(each.detach() for each in arguments)
        elif isinstance(module, nn.Conv2d):
            self.sizes[module] = (x.shape[-2], x.shape[-1])
        else:
            self.spreads[module] = float((x.var(-1, unbiased=False).min() + EPSILON).sqrt())
            self.scales[module] = float(_scale(module, arguments[1]).abs().max())


def _scale(norm: nn.Module, lead: Float[Tensor, " b"]) -> Tensor:
    return norm.weight(lead[:, None]) if isinstance(norm, LeadTimeNorm) else norm.get_parameter("weight")


@torch.no_grad()
def visit(network: nn.Module, x: Float[Tensor, "b c h w"]) -> Visit:
    """Run a network and take down what its blocks, convolutions and norms meet."""
    met = Visit()
    parts = [part for part in network.modules() if isinstance(part, Block | nn.Conv2d | PlainNorm | LeadTimeNorm)]
    hooks = [part.register_forward_pre_hook(met.note) for part in parts]
    try:
        network(x)
    finally:
        for hook in hooks:
            hook.remove()
    return met


def jacobian_norm(
    function: Callable[[Tensor], Tensor], x: Float[Tensor, "b *s"], iterations: int = ITERATIONS
) -> Float[Tensor, " b"]:
    """The largest singular value of the Jacobian at every state of a batch, from below, by the power method.

    `function` must not mix the states. The value is a lower bound of any Lipschitz constant on a set that holds x.
    """
    with sdpa_kernel(SDPBackend.MATH):  # The fused kernels of attention have no second derivative.
        y, pull = _pullback(function, x)
        # The pull-back of the pull-back is the push-forward: without forward mode, which not every operator has.
        _, push = _pullback(lambda covector: pull(covector)[0], torch.zeros_like(y))
        direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x)
        pushed = torch.zeros_like(y)
        for _ in range(iterations):
            (pushed,) = push(_unit(direction))
            (direction,) = pull(pushed)
    return pushed.flatten(1).norm(dim=1).detach()


def _pullback(function: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor]]]:
    y, pull = torch.func.vjp(function, x)  # pyright: ignore[reportAssignmentType]
    return y, pull


def _unit(x: Float[Tensor, "b *s"]) -> Float[Tensor, "b *s"]:
    norm = x.flatten(1).norm(dim=1).clamp(min=torch.finfo(x.dtype).tiny)
    return x / norm.view(-1, *[1] * (x.ndim - 1))
