"""Operators take the state of a system and return its next state, in physical units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.configs import ONE_STEP, ModelConfig
from driftnet.errors import UsageError
from driftnet.metrics.physics import APPLIES, wavenumbers
from driftnet.metrics.statistics import Statistics
from driftnet.registry import resolve
from driftnet.tasks.base import Task

Fields = Float[Tensor, "b c h w"]


@runtime_checkable
class Operator(Protocol):
    """u(t) -> u(t+1)."""

    def __call__(self, state: Float[Tensor, "b c h w"], static: Float[Tensor, "b s h w"]) -> Float[Tensor, "b c h w"]:
        """The next state; `static` channels (a wave speed, a forcing) are given and not predicted."""
        ...


class Normalized(nn.Module):
    """A network in normalised units, made an operator in physical units; the statistics travel with the weights."""

    def __init__(
        self, network: nn.Module, predicts: Literal["increment", "state"], statistics: Statistics, flow: slice | None = None
    ) -> None:
        """`flow` says which channels are a velocity that has to stay free of divergence."""
        super().__init__()
        self.network, self.predicts, self.flow = network, predicts, flow
        self.origin: tuple[ModelConfig, Task] | None = None
        for name, value in vars(statistics).items():
            self.register_buffer(name, value[:, None, None].clone())

    def forward(
        self, state: Float[Tensor, "b c h w"], static: Float[Tensor, "b s h w"], lead: Float[Tensor, " b"] | None = None
    ) -> Float[Tensor, "b c h w"]:
        """The next state, or the state after `lead`: steps of the data / 20, as Poseidon counts."""
        return self.physical(self.prediction(state, static, lead), state)

    def prediction(
        self, state: Float[Tensor, "b c h w"], static: Float[Tensor, "b s h w"], lead: Float[Tensor, " b"] | None = None
    ) -> Float[Tensor, "b c h w"]:
        """What the network says: a state or an increment, in normalised units."""
        entering = self._seen(state, static)
        if lead is None:
            return self._constrained(self.network(entering))
        if not self.takes_lead_time:
            raise UsageError("this model knows one lead time only, a step of the data (its norms do not depend on it)")
        return self._constrained(self.network(entering, lead))

    def _constrained(self, said: Fields) -> Fields:
        """What the network said, its flow without divergence in physical units."""
        if self.flow is None:
            return said
        scale = self.get_buffer("std" if self.predicts == "state" else "increment_std")[self.flow]
        flow = divergence_free(said[:, self.flow] * scale) / scale
        return torch.cat((said[:, : self.flow.start], flow, said[:, self.flow.stop :]), 1)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors."""
        from driftnet.models.saved import save_model

        if self.origin is None:
            raise UsageError("this model was not built from a configuration, so there is none to save")
        save_model(Path(folder), self, *self.origin)

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> Normalized:
        """The model that `save_pretrained` or a training run wrote, ready for inference."""
        from driftnet.models.saved import load

        return load(folder, device)

    @property
    def takes_lead_time(self) -> bool:
        """Whether the network was built for lead times other than a step of the data."""
        return getattr(self.network, "takes_lead_time", False)

    @torch.no_grad()
    def direct(self, state: Fields, steps: int, static: Float[Tensor, "b s h w"] | None = None) -> Float[Tensor, "b t c h w"]:
        """The states after 1 .. `steps` steps, each in one application, by a model that was trained on lead times."""
        given = state.new_zeros(state.shape[0], 0, *state.shape[-2:]) if static is None else static
        return torch.stack(list(direct_states(self, state, given, steps)), 1)

    @torch.no_grad()
    def rollout(self, state: Fields, steps: int, static: Float[Tensor, "b s h w"] | None = None) -> Float[Tensor, "b t c h w"]:
        """The states after 1 .. `steps` steps in closed loop; `static` where the task has such channels."""
        given = state.new_zeros(state.shape[0], 0, *state.shape[-2:]) if static is None else static
        return rollout(self, state, given, steps)

    def training_pair(
        self, state: Fields, static: Float[Tensor, "b s h w"], following: Fields, lead: Float[Tensor, " b"] | None = None
    ) -> tuple[Fields, Fields]:
        """What the network says and what it should have said.

        A network with a `training_pair` of its own, (input, target) -> (prediction, target), is trained on that instead.
        """
        target = self.target(state, following)
        own: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = getattr(self.network, "training_pair", None)
        return own(self._seen(state, static), target) if own else (self.prediction(state, static, lead), target)

    def target(self, state: Fields, following: Fields) -> Fields:
        """What the network should have said."""
        if self.predicts == "state":
            return (following - self.get_buffer("mean")) / self.get_buffer("std")
        return (following - state - self.get_buffer("increment_mean")) / self.get_buffer("increment_std")

    def physical(self, prediction: Fields, state: Fields) -> Fields:
        """The next state that a prediction means."""
        if self.predicts == "state":
            return prediction * self.get_buffer("std") + self.get_buffer("mean")
        return state + prediction * self.get_buffer("increment_std") + self.get_buffer("increment_mean")

    def _seen(self, state: Fields, static: Float[Tensor, "b s h w"]) -> Float[Tensor, "b c_in h w"]:
        self._require_fields(state, static)
        normal = (state - self.get_buffer("mean")) / self.get_buffer("std")
        given = (static - self.get_buffer("static_mean")) / self.get_buffer("static_std")
        return torch.cat((normal, given), 1)

    def _require_fields(self, state: Tensor, static: Tensor) -> None:
        """Refuse in one line what would fail within the network, or broadcast."""
        mean = self.get_buffer("mean")
        wanted = len(mean), len(self.get_buffer("static_mean"))
        if state.ndim != 4 or static.ndim != 4:
            raise UsageError(f"fields are (batch, channel, x, y), not of shape {tuple(state.shape)} and {tuple(static.shape)}")
        if (state.shape[1], static.shape[1]) != wanted:
            found = f"{state.shape[1]} and {static.shape[1]}"
            raise UsageError(f"this model takes {wanted[0]} state and {wanted[1]} static channels, not {found}")
        if (state.shape[0], *state.shape[2:]) != (static.shape[0], *static.shape[2:]):
            raise UsageError(f"static channels of shape {tuple(static.shape)} do not fit a state of shape {tuple(state.shape)}")
        if torch.promote_types(torch.promote_types(state.dtype, static.dtype), mean.dtype) != mean.dtype:
            raise UsageError(f"this model computes in {mean.dtype}, its input is {state.dtype} and {static.dtype}: convert it")


def build(config: ModelConfig, task: Task, statistics: Statistics) -> Normalized:
    """The model of a configuration for a task, with random weights."""
    channels = len(task.components)
    builder: Callable[..., nn.Module] = resolve(config.builder)
    network = builder(config, channels + len(task.static), channels, task.boundary)
    flow = incompressible(task) if config.frame.divergence == "removed" else None
    model = Normalized(network, config.frame.predicts, statistics, flow)
    model.origin = config, task
    return model


def incompressible(task: Task) -> slice | None:
    """The channels of the task's velocity, where it is known to have no divergence and the domain is a torus."""
    flows = [task.channels(each) for each in task.quantities if "divergence" in APPLIES.get(each.name, ())]
    return flows[0] if flows and task.boundary == "periodic" else None


def divergence_free(velocity: Float[Tensor, "b 2 h w"]) -> Float[Tensor, "b 2 h w"]:
    """Leray projection on the torus of side 1: the gradient part is taken off, the mean flow kept."""
    size = velocity.shape[-2:]
    with torch.autocast(velocity.device.type, enabled=False):  # There is no FFT in half precision on a CPU.
        wide = velocity.to(torch.promote_types(velocity.dtype, torch.float32))
        kx, ky = wavenumbers(wide)
        ky = ky[:, : size[1] // 2 + 1]
        u_hat, v_hat = torch.fft.rfft2(wide, norm="forward").unbind(1)
        potential = (kx * u_hat + ky * v_hat) / (kx**2 + ky**2).clamp(min=1)  # At mode 0 and Nyquist it is 0 / 1.
        projected = torch.stack((u_hat - kx * potential, v_hat - ky * potential), 1)
        return torch.fft.irfft2(projected, s=size, norm="forward").to(velocity.dtype)


def unit_statistics(channels: int, static: int = 0) -> Statistics:
    """Statistics that change nothing."""
    zero, one = torch.zeros(channels), torch.ones(channels)
    return Statistics(zero, one, zero, one, torch.zeros(static), torch.ones(static))


def count_parameters(model: nn.Module, complex_once: bool = True) -> int:
    """Trainable numbers; a complex one, stored as two reals, counts once or twice.

    A module names its parameters of that kind in `complex_pairs`; an ablation leaves one out.
    """
    reals = sum(parameter.numel() for parameter in model.parameters())
    pairs = (getattr(module, name) for module in model.modules() for name in getattr(module, "complex_pairs", ()))
    return reals - sum(pair.numel() // 2 for pair in pairs if pair is not None) if complex_once else reals


def states(operator: Operator, initial: Fields, static: Float[Tensor, "b s h w"], steps: int) -> Iterator[Fields]:
    """The states after 1 .. `steps` steps, one at a time: memory does not grow with the length."""
    state = initial
    for _ in range(steps):
        state = operator(state, static)
        yield state


def direct_states(
    model: Callable[..., Tensor], initial: Fields, static: Float[Tensor, "b s h w"], steps: int
) -> Iterator[Fields]:
    """The states after 1 .. `steps` steps, every one from the first by its lead time."""
    for step in range(1, steps + 1):
        yield model(initial, static, initial.new_full((len(initial),), step * ONE_STEP))


def rollout(
    operator: Operator, initial: Fields, static: Float[Tensor, "b s h w"], steps: int
) -> Float[Tensor, "b {steps} c h w"]:
    """The states after 1 .. `steps` steps: each prediction is the next input."""
    return torch.stack(list(states(operator, initial, static, steps)), 1)
