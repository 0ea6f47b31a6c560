"""The error of single applications on the validation part, shared among processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from driftnet.data.pairs import consecutive
from driftnet.data.sources import Source
from driftnet.data.windows import Window
from driftnet.metrics.errors import relative_l1
from driftnet.train.world import ALONE, World


@torch.no_grad()
def validation_error(
    predict: Callable[[Tensor, Tensor, Tensor], Tensor],
    source: Source,
    chosen: Sequence[Window],
    batch: int,
    world: World = ALONE,
) -> float:
    """Relative L1 of single applications (state, static, lead time) to true states, averaged over pairs and quantities.

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
        (state, following), lead, static = pair.to(world.device)
        prediction = predict(state, static, lead)
        if mine:
            found = torch.stack([relative_l1(prediction[:, group], following[:, group]) for group in groups]).mean(0)
            errors[number * batch : number * batch + len(found)] = found
    return world.add(errors).mean().item()
