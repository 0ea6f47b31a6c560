"""A U-Net that predicts and then refines its prediction, with the same weights each time (Lippe et al. 2023).

With `training` = updates, the network is p_0 = base(U(x, 0; 0)), then p_k = p_(k-1) + update(U(x, p_(k-1); k)), all
trained end to end (paper, appendix F). With noise, it is PDE-Refiner: step k adds Gaussian noise of standard deviation
sigma_k = sigma_min^(k/K) to the prediction and takes off the noise that the network sees in it; in training each sample
is at one random step, from the true target. Its predictions are then random draws.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.configs import GROUPS, Refiner
from driftnet.models.convolution import Padding, convolution, padding_mode
from driftnet.models.unet import UShape, shortcut
from driftnet.tasks.base import Boundary

Fields = Float[Tensor, "b c h w"]


def build(config: Refiner, channels_in: int, channels_out: int, boundary: Boundary) -> nn.Module:
    """The Refiner U-Net, trained on updates or on noise levels."""
    kind = NoiseRefiner if config.training == "noise" else UpdateRefiner
    return kind(config, channels_in, channels_out, padding_mode(config.frame, boundary))


class UpdateRefiner(nn.Module):
    """The first prediction and what every step adds to it, from one U-Net with two heads."""

    def __init__(self, config: Refiner, channels_in: int, channels_out: int, padding: Padding) -> None:
        super().__init__()
        self.config, self.channels_out = config, channels_out
        widths = config.levels.widths
        condition = 4 * widths[0]
        self.steps = nn.Embedding(config.steps + 1, condition)
        self.enter = convolution(channels_in + channels_out, widths[0], 3, padding)
        self.body = UShape(config.levels, lambda before, after: ResidualBlock(before, after, condition, padding))
        self.norm = nn.GroupNorm(GROUPS, widths[0])
        self.base, self.update = (convolution(widths[0], channels_out, 3, padding) for _ in range(2))
        nn.init.zeros_(self.update.weight)
        nn.init.zeros_(self.update.bias)  # pyright: ignore[reportArgumentType]

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """The prediction after the last step."""
        self.body.check(x)
        prediction = self.base(self._features(x, self._nothing(x), self._at(0, x)))
        for step in range(1, self.config.steps + 1):
            prediction = self.refined(x, prediction, step)
        return prediction

    def refined(self, x: Float[Tensor, "b c_in h w"], prediction: Fields, step: int) -> Fields:
        """The prediction after one more step."""
        return prediction + self.update(self._features(x, prediction, self._at(step, x)))

    def _features(
        self, x: Float[Tensor, "b c_in h w"], prediction: Fields, step: Int[Tensor, " b"]
    ) -> Float[Tensor, "b d h w"]:
        features = self.body(self.enter(torch.cat((x, prediction), 1)), self.steps(step))
        return F.silu(self.norm(features))

    def _nothing(self, x: Tensor) -> Fields:
        return x.new_zeros(x.shape[0], self.channels_out, *x.shape[-2:])

    def _at(self, step: int, x: Tensor) -> Int[Tensor, " b"]:
        return torch.full((x.shape[0],), step, device=x.device)


class NoiseRefiner(UpdateRefiner):
    """PDE-Refiner: the second head says which noise the prediction holds."""

    def refined(self, x: Float[Tensor, "b c_in h w"], prediction: Fields, step: int) -> Fields:
        """The prediction with noise of one level added and taken off again."""
        level = self._level(step)
        noisy = prediction + level * torch.randn_like(prediction)
        return noisy - level * self.update(self._features(x, noisy, self._at(step, x)))

    def training_pair(self, x: Float[Tensor, "b c_in h w"], target: Fields) -> tuple[Fields, Fields]:
        """Every sample at a random step: the first predicts the target, the others the noise put on it."""
        self.body.check(x)
        step = torch.randint(self.config.steps + 1, (x.shape[0],), device=x.device)
        first = (step == 0)[:, None, None, None]
        level = self._level(step.to(x.dtype)[:, None, None, None])
        noise = torch.randn_like(target)
        given = torch.where(first, 0, target + level * noise)
        features = self._features(x, given, step)
        return torch.where(first, self.base(features), self.update(features)), torch.where(first, target, noise)

    def _level(self, step: Any) -> Any:
        return self.config.smallest_noise ** (step / max(self.config.steps, 1))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions after group norms; the second norm's scale and shift depend on the condition."""

    def __init__(self, channels_in: int, channels_out: int, condition: int, padding: Padding) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, channels_in)
        self.first = convolution(channels_in, channels_out, 3, padding)
        self.conditioned = nn.Linear(condition, 2 * channels_out)
        self.plain_norm = nn.GroupNorm(GROUPS, channels_out, affine=False)
        self.second = convolution(channels_out, channels_out, 3, padding)
        self.shortcut = shortcut(channels_in, channels_out)

    def forward(self, x: Float[Tensor, "b c_in h w"], condition: Float[Tensor, "b e"]) -> Float[Tensor, "b c_out h w"]:
        """Features with a correction."""
        scale, shift = self.conditioned(condition)[:, :, None, None].chunk(2, 1)
        inner = self.first(F.silu(self.norm(x)))
        inner = self.second(F.silu(self.plain_norm(inner) * (1 + scale) + shift))
        return self.shortcut(x) + inner
