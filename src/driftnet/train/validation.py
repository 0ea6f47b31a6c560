"""The error of single steps on the validation part, shared among processes."""

from __future__ import annotations

import torch

from driftnet.data.pairs import consecutive
from driftnet.data.sources import Source
from driftnet.metrics.errors import relative_l1
from driftnet.models.operator import Operator
from driftnet.train.world import ALONE, World


@torch.no_grad()
def one_step_error(operator: Operator, source: Source, batch: int, world: World = ALONE) -> float:
    """Relative L1 of single steps from true states, averaged over pairs and quantities.

    Batches go round the processes, and every pair's error is kept apart until the end: the same bits on any number of them.
    """
    task = source.trajectories.task
    groups = [task.channels(quantity) for quantity in task.quantities]
    errors = torch.zeros(source.trajectories.pairs, device=world.device)
    last = -(-len(errors) // batch) - 1
    for number, pair in enumerate(consecutive(source, batch)):
        mine = number % world.size == world.rank
        # Sharded weights are put together by all at once: those without a batch in the last round join in its last one.
        if not mine and not (number == last and world.rank > last % world.size):
            continue
        state, following, static = (part.to(world.device) for part in pair)
        prediction = operator(state, static)
        if mine:
            found = torch.stack([relative_l1(prediction[:, group], following[:, group]) for group in groups]).mean(0)
            errors[number * batch : number * batch + len(found)] = found
    return world.add(errors).mean().item()
