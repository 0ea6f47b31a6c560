"""What a training run would take, found by taking a few of its steps; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from driftnet.configs import Recipe
from driftnet.data.loading import Loading
from driftnet.data.pairs import consecutive
from driftnet.data.sources import Memory, size_in_memory
from driftnet.data.windows import validation_windows
from driftnet.memory import resident
from driftnet.models.operator import count_parameters
from driftnet.progress import duration
from driftnet.train.fit import Fit
from driftnet.train.validation import together
from driftnet.train.world import joined

TIMED_STEPS = 5
LONGEST = 30.0  # Seconds of timed steps after which two of them are enough.


def dry_run(recipe: Recipe, device: str, loading: Loading) -> str:
    """Parameters, steps, memory, time and disk of a run from its beginning, said by the first process."""
    # No checkpoint is found there, and none is written.
    with joined(device) as world, TemporaryDirectory() as nowhere:
        began = time.perf_counter()
        fit = Fit(recipe, Path(nowhere), world, loading)
        prepared = time.perf_counter() - began
        seconds, validation = _steps(fit), _validation(fit)
        disk = _disk(fit)
    return _report(fit, (prepared, seconds, validation), disk) if world.first else ""


def _report(fit: Fit, times: tuple[float, list[float], float], disk: str) -> str:
    recipe, device = fit.recipe, fit.world.device
    where = f"{device}" if fit.world.size == 1 else f"{fit.world.size} processes, {device}"
    return "\n".join(
        (
            f"{recipe.preset} on {fit.task.name}, {where}; nothing was written",
            f"parameters  {count_parameters(fit.model):,}, {count_parameters(fit.model, complex_once=False):,} with a complex "
            "number as two reals",
            f"steps       {fit.total:,} of {fit.pairs.batch} windows; an epoch has {len(fit.pairs):,} windows",
            f"memory      {_memory(fit)}",
            f"time        {_time(fit, *times)}",
            f"disk        {disk}",
        )
    )


def _steps(fit: Fit) -> list[float]:
    """Seconds of real steps after a first that is not counted."""
    seconds: list[float] = []
    for step in range(TIMED_STEPS + 1):
        began = time.perf_counter()
        fit._step(step)
        seconds.append(time.perf_counter() - began)
        (enough,) = fit.world.any(step >= 2 and sum(seconds) > LONGEST)  # All stop together.
        if enough:
            break
    return seconds[1:]


@torch.no_grad()
def _validation(fit: Fit) -> float:
    """Seconds of a pass over the validation part, from one batch of it."""
    source, size = fit.validation, together(fit.recipe.training.batch, fit.world.device)
    chosen = validation_windows(fit.recipe.training.objective, source.trajectories.snapshots)
    batch = next(consecutive(source, size, chosen)).to(fit.world.device)
    fit.model.eval()
    began = time.perf_counter()
    fit._predict(batch).isfinite().all().item()  # Waits for the device.
    batches = -(-len(source.trajectories) * len(chosen) // len(batch.lead))
    return (time.perf_counter() - began) * -(-batches // fit.world.size)


def _memory(fit: Fit) -> str:
    kept = fit.validation.trajectories if isinstance(fit.validation, Memory) else None
    more = f"; {_megabytes(size_in_memory(kept))} of validation data come to it (counted)" if kept else ""
    process = f"{_megabytes(resident('VmHWM'))} resident at most in this process, with the training data that are kept"
    device = fit.world.device
    if device.type != "cuda":
        return f"{process} (measured){more}"
    return f"{_megabytes(torch.cuda.max_memory_allocated(device))} on the device, {process} (both measured){more}"


def _time(fit: Fit, prepared: float, seconds: list[float], validation: float) -> str:
    middle, times = median(seconds), fit.recipe.training.validations
    whole = prepared + fit.total * middle + times * validation
    return (
        f"about {duration(whole)} (estimated): {prepared:.1f} s to begin, {1000 * middle:.0f} ms a step, the median of "
        f"{len(seconds)} between {1000 * min(seconds):.0f} and {1000 * max(seconds):.0f}, and {times} validations of "
        f"{validation:.1f} s"
    )


def _disk(fit: Fit) -> str:
    """From the sizes of the tensors."""
    model, weights = _bytes(fit.model.state_dict().values()), _bytes(fit.model.parameters())
    checkpoint = model + 2 * weights + _bytes(fit.average.means.values())  # Two moments a weight.
    return (
        f"{_megabytes(model)} for the model and {_megabytes(checkpoint)} for each of two checkpoints (counted); one more of "
        "each is there while it is written"
    )


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e8 else f"{size / 1e9:,.2f} GB"
