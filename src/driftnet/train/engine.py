"""Takes gradient steps, on one process or on many: the global batch alone decides what is learned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from driftnet.configs import Training
from driftnet.errors import DriftnetError
from driftnet.models.saved import mismatch
from driftnet.train.checkpoints import State
from driftnet.train.spread import like, prepared, settles_late, synchronised, whole
from driftnet.train.world import ALONE, World

Part = TypeVar("Part")
Sums = Callable[[Any, Part], Tensor]  # (model, part of a batch) -> sums over its samples, of which the loss is made.
MOMENTS = ("exp_avg", "exp_avg_sq")

STEPS_DOWN = (0.5, 0.75)  # He et al. 2016 on CIFAR; the paper does not say where its steps are.


def learning_rate(step: int, total: int, config: Training) -> float:
    """Linear warm-up, then the schedule; a function of the step, so there is nothing to restore."""
    warmup = max(1, round(config.warmup * total))
    if step < warmup:
        return config.rate * (step + 1) / warmup
    if config.schedule == "step":
        return config.rate * 0.1 ** sum(step >= total * share for share in STEPS_DOWN)
    return config.rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(total - warmup, 1)))


class NotFinite(DriftnetError):
    """A loss or a gradient that is not a number; no weight was changed by it."""


class Engine:
    """The model in training and its optimiser; their whole state can be taken out and put back."""

    def __init__(self, model: nn.Module, config: Training, total: int, world: World = ALONE) -> None:
        self.model, self.config, self.total, self.world, self.step = model, config, total, world, 0
        self.module = prepared(model, config, world)
        self._settled = not settles_late(self.module)
        self.parameters = dict(model.named_parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(), lr=config.rate, weight_decay=config.weight_decay, fused=True
        )

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(model, *arguments), wherever the weights are."""
        return self.module(function, *arguments)

    def update(self, parts: Sequence[Part], sums: Sums[Part], total: Callable[[Tensor], Tensor]) -> tuple[float, float]:
        """One step down the gradient of `total`, a function of the sums of all parts of all processes.

        Returns the loss and the gradient's norm before clipping.
        """
        if not self._settled:  # After every start once, so that a restart changes nothing.
            self._gradient(parts, sums, total)
            self._settled = True
        self.optimizer.zero_grad()
        loss, norm = _numbers(self._gradient(parts, sums, total), self._clip())
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise NotFinite(f"the loss is {loss} and its gradient {norm} at batch {self.step}")
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.total, self.config)
        self.optimizer.step()
        self.step += 1
        return loss, norm

    def _gradient(self, parts: Sequence[Part], sums: Sums[Part], total: Callable[[Tensor], Tensor]) -> Tensor:
        """Fill in the gradients; by the chain rule, each part needs the derivatives by the sums of the whole batch only.

        Those of several parts are found in a pass without gradients, so the memory is that of one part.
        """
        known = self._known(parts, sums) if len(parts) > 1 else None
        loss, slopes = torch.tensor(math.nan), torch.tensor(math.nan)
        for number, part in enumerate(parts):
            with synchronised(self.module, last=number == len(parts) - 1):
                found = self.call(sums, part)
                if number == 0:
                    everywhere = self.world.add(found.detach().clone()) if known is None else known
                    loss, slopes = value_and_slopes(total, everywhere)
                # Times the processes, because DDP and FSDP take the mean over them.
                (found * slopes).sum().mul(self.world.size).backward()
        return loss

    @torch.no_grad()
    def _known(self, parts: Sequence[Part], sums: Sums[Part]) -> Tensor:
        return self.world.add(torch.stack([self.call(sums, part) for part in parts]).sum(0))

    def _clip(self) -> Tensor:
        return whole(nn.utils.clip_grad_norm_(self.parameters.values(), self.config.clip or math.inf))

    def state(self, notes: dict[str, Any], extra: Mapping[str, Tensor] | None = None) -> State:
        """Weights, moments, notes and tensors of the caller's; where weights are sharded, every process has to ask."""
        tensors = {f"model.{name}": value for name, value in self.weights().items()}
        for name, parameter in self.parameters.items():
            moments = self.optimizer.state.get(parameter, {})
            tensors.update({f"{key}.{name}": whole(moments[key]).cpu() for key in MOMENTS if key in moments})
        tensors.update({f"extra.{name}": whole(value).cpu() for name, value in (extra or {}).items()})
        return State(self.step, tensors, notes)

    def weights(self) -> dict[str, Tensor]:
        """The model's state dictionary, whole and on the CPU; where weights are sharded, every process has to ask."""
        return {name: whole(value).cpu().contiguous() for name, value in self.model.state_dict().items()}

    def restore(self, state: State) -> dict[str, Tensor]:
        """Take what `state` gave; returns the caller's tensors."""
        present, weights = self.model.state_dict(), named(state.tensors, "model.")
        misfit = mismatch(present, weights)
        if misfit:
            raise DriftnetError(f"the checkpoint does not belong to this model: it {misfit}")
        try:
            self.model.load_state_dict({name: like(value, present.get(name, value)) for name, value in weights.items()})
            for name, parameter in self.parameters.items() if state.step else ():
                moments = {key: like(state.tensors[f"{key}.{name}"], parameter) for key in MOMENTS}
                done = torch.tensor(float(state.step), device=parameter.device)
                self.optimizer.state[parameter] = {"step": done, **moments}
        except (RuntimeError, KeyError) as error:
            raise DriftnetError(f"the checkpoint does not belong to this model: {str(error).splitlines()[0]}") from error
        self.step = state.step
        return named(state.tensors, "extra.")


def _numbers(*values: Tensor) -> list[float]:
    """Several numbers of a device, waiting for it once."""
    return torch.stack([value.detach().to(values[0]) for value in values]).tolist()


def value_and_slopes(function: Callable[[Tensor], Tensor], at: Tensor) -> tuple[Tensor, Tensor]:
    """A function's value and its derivatives."""
    with torch.enable_grad():
        variable = at.requires_grad_()
        value = function(variable)
        (slopes,) = torch.autograd.grad(value, variable)
    return value.detach(), slopes


def named(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
