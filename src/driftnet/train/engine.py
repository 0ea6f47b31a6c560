"""The optimiser and its state: the only file that knows the training framework."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from driftnet.configs import Training
from driftnet.errors import DriftnetError
from driftnet.files import written_aside

STEPS_DOWN = (0.5, 0.75)  # He et al. 2016 on CIFAR; the paper does not say where its steps are.


def learning_rate(step: int, total: int, config: Training) -> float:
    """Linear warm-up, then the schedule; a function of the step, so there is nothing to restore."""
    warmup = max(1, round(config.warmup * total))
    if step < warmup:
        return config.rate * (step + 1) / warmup
    if config.schedule == "step":
        return config.rate * 0.1 ** sum(step >= total * share for share in STEPS_DOWN)
    return config.rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(total - warmup, 1)))


class Engine:
    """Takes gradient steps; its whole state can be written to a file and read again."""

    def __init__(self, model: nn.Module, config: Training, total: int) -> None:
        self.model, self.config, self.total, self.step = model, config, total, 0
        self.parameters = dict(model.named_parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(), lr=config.rate, weight_decay=config.weight_decay, fused=True
        )

    def update(self, loss: Tensor) -> tuple[float, float]:
        """One step down the gradient; returns the loss and the gradient's norm before clipping."""
        self.optimizer.zero_grad()
        loss.backward()
        limit = self.config.clip or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), limit)
        if not torch.isfinite(loss) or not torch.isfinite(norm):
            raise DriftnetError(
                f"the loss is {loss.item()} and its gradient {norm.item()} at step {self.step}; the weights before it are "
                "kept. A smaller training.rate may help"
            )
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.total, self.config)
        self.optimizer.step()
        self.step += 1
        return loss.item(), norm.item()

    def save(self, path: Path, notes: dict[str, Any]) -> None:
        """Write weights, moments and `notes`, without pickle, as a whole or not at all."""
        tensors = {f"model.{name}": value.contiguous() for name, value in self.model.state_dict().items()}
        for name, parameter in self.parameters.items():
            moments = self.optimizer.state.get(parameter, {})
            for key in ("exp_avg", "exp_avg_sq"):
                if key in moments:
                    tensors[f"{key}.{name}"] = moments[key]
        with written_aside(path) as aside:
            save_file(tensors, aside, {"step": str(self.step), "notes": json.dumps(notes)})

    def restore(self, path: Path) -> dict[str, Any]:
        """Read what `save` wrote; returns its notes."""
        tensors, metadata = read_tensors(path)
        weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
        self.step = int(metadata["step"])
        try:
            self.model.load_state_dict(weights)
            if self.step:
                for name, parameter in self.parameters.items():
                    moments = {key: tensors[f"{key}.{name}"] for key in ("exp_avg", "exp_avg_sq")}
                    self.optimizer.state[parameter] = {"step": torch.tensor(float(self.step)), **moments}
        except (RuntimeError, KeyError) as error:
            raise DriftnetError(f"{path} does not belong to this model: {str(error).splitlines()[0]}") from error
        return json.loads(metadata["notes"])


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file; a damaged one is named in one line."""
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise DriftnetError(f"could not read {path}: {error}") from error


class StopRequest:
    """Becomes true when the process is asked to end."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        """Whether to stop at the next safe moment."""
        return self.signal is not None


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop between two steps; a second one stops at once."""
    request = StopRequest()
    former: dict[int, Any] = {}

    def ask(number: int, _frame: object) -> None:
        request.signal = number
        for each, handler in former.items():
            signal.signal(each, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        former[number] = signal.signal(number, ask)
    try:
        yield request
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
