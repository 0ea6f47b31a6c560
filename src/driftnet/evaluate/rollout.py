"""Operators in closed loop: each prediction is the next input."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.models.operator import Operator

State = Float[Tensor, "b c h w"]


def states(operator: Operator, initial: State, static: Float[Tensor, "b s h w"], steps: int) -> Iterator[State]:
    """The states after 1 .. `steps` steps, one at a time: memory does not grow with the length."""
    state = initial
    for _ in range(steps):
        state = operator(state, static)
        yield state


def rollout(
    operator: Operator, initial: State, static: Float[Tensor, "b s h w"], steps: int
) -> Float[Tensor, "b {steps} c h w"]:
    """The states after 1 .. `steps` steps."""
    return torch.stack(list(states(operator, initial, static, steps)), 1)
