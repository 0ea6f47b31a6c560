"""An exponential mean of the weights, taken while they are trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from driftnet.train.spread import like


class Average:
    """After n steps the mean of the weights after each of them, a step counting `decay` times what the next one does.

    sum_k decay^(n-k) w_k / sum_k decay^(n-k): the random first weights have no part in it.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = dict(model.named_parameters())
        self.means = {name: weight.detach().clone() for name, weight in self.weights.items()} if decay else {}

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """What has to be kept to go on: nothing where no mean is taken."""
        return {f"average.{name}": mean for name, mean in self.means.items()}

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take what `tensors` gave, whole."""
        for name, mean in self.means.items():
            mean.copy_(like(tensors[f"average.{name}"], mean))

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after step `step`, counted from 1."""
        share = (1 - self.decay) / (1 - self.decay**step)
        for name, mean in self.means.items():
            mean.lerp_(self.weights[name], share)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The mean in the model's place; the weights are back, to the bit, when the block ends."""
        kept = {name: self.weights[name].detach().clone() for name in self.means}
        self._write(self.means)
        try:
            yield
        finally:
            self._write(kept)

    @torch.no_grad()
    def _write(self, values: Mapping[str, Tensor]) -> None:
        for name, value in values.items():
            self.weights[name].copy_(value)
