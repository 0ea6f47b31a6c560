"""CUDA graphs: a network of thousands of small kernels spends most of its time on starting them, one by one.

Here its passes are recorded once for every size of their input, and then started as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

WARM_UP = 3  # Passes before the recording: libraries plan, and tables are made, in the first ones.

Pass = Callable[..., Tensor]


class Recorded:
    """The forward pass of a network: on a CUDA device a recording, elsewhere the pass itself.

    In training the backward pass is recorded, too; it must come before the next forward pass, which writes over what it needs.
    """

    def __init__(self, network: nn.Module) -> None:
        self.network, self.plain = network, network.forward
        self.kept: dict[Any, Pass] = {}

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The network's output."""
        learns = torch.is_grad_enabled()
        if not inputs[0].is_cuda or (learns and not self.network.training):
            return self.plain(*inputs)
        half = torch.is_autocast_enabled("cuda")
        key = (learns, self.network.training, half, *((x.shape, x.dtype, x.requires_grad) for x in inputs))
        if key not in self.kept:
            self.kept[key] = self._both_ways(inputs) if learns else self._forward(inputs)
        return self.kept[key](*inputs)

    def _both_ways(self, inputs: tuple[Tensor, ...]) -> Pass:
        samples = tuple(x.detach().clone().requires_grad_(x.requires_grad) for x in inputs)
        module = _Plain(self.network, self.plain)
        torch.cuda.make_graphed_callables(module, samples, num_warmup_iters=WARM_UP)
        return module

    def _forward(self, inputs: tuple[Tensor, ...]) -> Pass:
        held = tuple(x.clone() for x in inputs)
        aside = torch.cuda.Stream(inputs[0].device)
        aside.wait_stream(torch.cuda.current_stream(inputs[0].device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self.plain(*held)
        torch.cuda.current_stream(inputs[0].device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            said = self.plain(*held)

        def replay(*given: Tensor) -> Tensor:
            for own, x in zip(held, given, strict=True):
                own.copy_(x)
            graph.replay()
            return said.clone()

        return replay


class _Plain(nn.Module):
    """A network whose forward pass is called by another name, with its parameters."""

    def __init__(self, network: nn.Module, forward: Pass) -> None:
        super().__init__()
        self.network, self.plain, self.training = network, forward, network.training

    def forward(self, *inputs: Tensor) -> Tensor:
        """The network's output."""
        return self.plain(*inputs)


def record(network: nn.Module) -> nn.Module:
    """Have a network replay recordings of its passes wherever it is on a CUDA device."""
    network.forward = Recorded(network)
    return network
