"""Operations with backward passes of their own, which keep less than autograd would, or do less."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.constants import constant, tracing

ONEDNN = torch.backends.mkldnn.is_available()
TINY = 1e-24  # Keeps the gradient of sqrt finite at 0; far below the square of any float32 amplitude that matters.


class MLP(nn.Sequential):
    """Two linear maps over the channels with a GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, input: Float[Tensor, "*b c"]) -> Float[Tensor, "*b c"]:
        """The second map of the GELU of the first."""
        first: nn.Linear = self[0]  # pyright: ignore[reportAssignmentType]
        second: nn.Linear = self[2]  # pyright: ignore[reportAssignmentType]
        if suits_onednn(input):
            return call(OneDnnMLP, input, first.weight, first.bias, second.weight, second.bias)
        return call(GeluLinear, first(input), second.weight, second.bias)


def call(operation: type[torch.autograd.Function], *inputs: Tensor) -> Any:
    """The operation; where nothing is learned, without the detour through autograd."""
    return operation.apply(*inputs) if torch.is_grad_enabled() else operation.forward(*inputs)


def suits_onednn(x: Tensor) -> bool:
    """Whether tensors in oneDNN's layout can stand in: in single precision, on a CPU, outside compiled or traced code."""
    if torch.compiler.is_compiling() or tracing():
        return False
    return x.is_cpu and x.dtype == torch.float32 and ONEDNN and not torch.is_autocast_enabled("cpu")


class OneDnnMLP(torch.autograd.Function):
    """linear(gelu(linear(x))) by oneDNN, whose products were twice as fast as those of dense tensors on an AMD CPU.

    Nothing between the two maps is kept: the backward pass computes them again.
    """

    @staticmethod
    def forward(x: Tensor, *weights: Tensor) -> Tensor:
        """The weights and biases of both maps follow the features (*b c)."""
        hidden = F.gelu(F.linear(x.flatten(0, -2).to_mkldnn(), *weights[:2]))
        return F.linear(hidden, *weights[2:]).to_dense().view(*x.shape[:-1], -1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Keep what the backward pass needs."""
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        """The gradients of all inputs."""
        inputs, twice = ctx.saved_tensors, torch.is_grad_enabled()  # oneDNN's products have no second derivative.
        inputs = inputs if twice else tuple(each.detach().requires_grad_() for each in inputs)
        with torch.enable_grad():
            x, *weights = inputs
            y = F.linear(F.gelu(F.linear(x, *weights[:2])), *weights[2:]) if twice else OneDnnMLP.forward(*inputs)
        return torch.autograd.grad(y, inputs, gradients, create_graph=twice)


class GeluLinear(torch.autograd.Function):
    """linear(gelu(x)); the backward pass computes the GELU again, a thirtieth of the work around it."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """All but the first map."""
        return F.linear(F.gelu(x), weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Keep what the backward pass needs."""
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of all inputs."""
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        flat, activated = gradient.flatten(0, -2), F.gelu(x).to(gradient.dtype).flatten(0, -2)
        inner = gradient @ weight.to(gradient.dtype)  # Under autocast the gradient is narrower than the weights.
        return (
            torch.ops.aten.gelu_backward(inner.to(x.dtype), x),
            (flat.mT @ activated).to(weight.dtype),
            flat.sum(0, dtype=weight.dtype),
        )


class Amplitude(torch.autograd.Function):
    """|X| of a spectrum, from its real and imaginary parts; the gradient at 0 is 0."""

    @staticmethod
    def forward(x_hat: Float[Tensor, "b 2 m c"]) -> Float[Tensor, "b m c"]:
        """|X| at every mode."""
        real, imaginary = x_hat.unbind(1)
        energy = torch.addcmul(constant(tiny, like=x_hat), real, real)
        return torch.addcmul(energy, imaginary, imaginary).sqrt_()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        """Keep what the backward pass needs."""
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """The gradients of all inputs."""
        x_hat, amplitude = ctx.saved_tensors
        return x_hat * (gradients[0] / amplitude)[:, None]


def tiny() -> np.ndarray:
    """A number; as a tensor it joins a sum without an operation of its own."""
    return np.array(TINY)
