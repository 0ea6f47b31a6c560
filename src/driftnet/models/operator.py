"""Operators take the state of a system and return its next state, in physical units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.configs import ModelConfig
from driftnet.errors import UsageError
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

    def __init__(self, network: nn.Module, predicts: Literal["increment", "state"], statistics: Statistics) -> None:
        super().__init__()
        self.network, self.predicts = network, predicts
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
            return self.network(entering)
        if not getattr(self.network, "takes_lead_time", False):
            raise UsageError("this model knows one lead time only, a step of the data (its norms do not depend on it)")
        return self.network(entering, lead)

    @torch.no_grad()
    def rollout(self, state: Fields, steps: int, static: Float[Tensor, "b s h w"] | None = None) -> Float[Tensor, "b t c h w"]:
        """The states after 1 .. `steps` steps in closed loop; `static` where the task has such channels."""
        given = state.new_zeros(state.shape[0], 0, *state.shape[-2:]) if static is None else static
        return rollout(self, state, given, steps)

    def training_pair(self, state: Fields, static: Float[Tensor, "b s h w"], following: Fields) -> tuple[Fields, Fields]:
        """What the network says and what it should have said.

        A network with a `training_pair` of its own, (input, target) -> (prediction, target), is trained on that instead.
        """
        target = self.target(state, following)
        own: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = getattr(self.network, "training_pair", None)
        return own(self._seen(state, static), target) if own else (self.prediction(state, static), target)

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
        wanted = len(self.get_buffer("mean")), len(self.get_buffer("static_mean"))
        if (state.shape[1], static.shape[1]) != wanted:  # A mismatch of one channel would broadcast.
            found = f"{state.shape[1]} and {static.shape[1]}"
            raise UsageError(f"this model takes {wanted[0]} state and {wanted[1]} static channels, not {found}")
        normal = (state - self.get_buffer("mean")) / self.get_buffer("std")
        given = (static - self.get_buffer("static_mean")) / self.get_buffer("static_std")
        return torch.cat((normal, given), 1)


def build(config: ModelConfig, task: Task, statistics: Statistics) -> Normalized:
    """The model of a configuration for a task, with random weights."""
    channels = len(task.components)
    builder: Callable[..., nn.Module] = resolve(config.builder)
    network = builder(config, channels + len(task.static), channels, task.boundary)
    return Normalized(network, config.frame.predicts, statistics)


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


def rollout(
    operator: Operator, initial: Fields, static: Float[Tensor, "b s h w"], steps: int
) -> Float[Tensor, "b {steps} c h w"]:
    """The states after 1 .. `steps` steps: each prediction is the next input."""
    return torch.stack(list(states(operator, initial, static, steps)), 1)
