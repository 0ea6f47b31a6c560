"""The error of single predictions on the validation part, shared among processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from driftnet.data.pairs import Batch, consecutive
from driftnet.data.sources import Source
from driftnet.data.windows import Window
from driftnet.metrics.errors import relative_l1
from driftnet.train.world import ALONE, World

ON_DEVICE = 4  # Times the batch of training: without gradients it fits, and an accelerator is busier; a CPU is slower with it.


def together(batch: int, device: torch.device) -> int:
    """Pairs that are validated at once."""
    return batch if device.type == "cpu" else ON_DEVICE * batch


@torch.no_grad()
def validation_error(
    predict: Callable[[Batch], Tensor], source: Source, chosen: Sequence[Window], batch: int, world: World = ALONE
) -> float:
    """Relative L1 of predictions from true states, averaged over the pairs chosen of every trajectory and over quantities.

    Batches go round the processes, and every pair's error is kept apart until the end: the same bits on any number of them.
    """
    task = source.trajectories.task
    groups = [task.channels(quantity) for quantity in task.quantities]
    errors = torch.zeros(len(source.trajectories) * len(chosen), device=world.device)
    last = -(-len(errors) // batch) - 1
    for number, pair in enumerate(consecutive(source, batch, chosen)):
        mine = number % world.size == world.rank
        # Sharded weights are put together by all at once: those without a batch in the last round join in its last one.
        if not mine and not (number == last and world.rank > last % world.size):
            continue
        given = pair.to(world.device)
        prediction, following = predict(given), given.states[1]
        if mine:
            found = torch.stack([relative_l1(prediction[:, group], following[:, group]) for group in groups]).mean(0)
            errors[number * batch : number * batch + len(found)] = found
    return world.add(errors).mean().item()
