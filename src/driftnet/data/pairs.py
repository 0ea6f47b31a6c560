"""Training windows (state now, states to come) in an order that is a function of the seed and the step alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.configs import ONE_STEP, Objective
from driftnet.data.order import Order
from driftnet.data.sources import Source
from driftnet.data.trajectories import Trajectories
from driftnet.data.windows import Window, windows

Example = tuple[list[Tensor], float, Tensor]  # States, lead time and static channels of one window.


class Batch(NamedTuple):
    """Snapshots of many windows, one tensor a snapshot, and what is given with them."""

    states: tuple[Float[Tensor, "b c x y"], ...]
    lead: Float[Tensor, " b"]
    """From the first snapshot to the second: steps of the data / 20, as Poseidon counts."""
    static: Float[Tensor, "b s x y"]

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device; page-locked memory is copied without waiting."""
        lead, static, *states = (each.to(device, non_blocking=True) for each in (self.lead, self.static, *self.states))
        return Batch(tuple(states), lead, static)

    def parts(self, number: int) -> list[Batch]:
        """The batch in parts, whose sizes differ by one window at most."""
        cut = [each.tensor_split(number) for each in (self.lead, self.static, *self.states)]
        return [Batch(tuple(states), lead, static) for lead, static, *states in zip(*cut, strict=True)]


class Pairs:
    """Endless batches; every epoch visits every window once, in its own order, the last batch wraps into the next.

    Batch `step` can be asked for without those before it, so a resumed run sees what it would have seen. In memory
    are the trajectories of the block that the batch is in, and of the next one, which a thread reads meanwhile.
    """

    def __init__(self, source: Source, batch: int, order: Order, prefetch: bool = True, pinned: bool = False) -> None:
        self.source, self.batch, self.order = source, batch, order
        self.prefetch, self.pinned = prefetch, pinned
        self._reader = ThreadPoolExecutor(1, "driftnet-reader")
        self._blocks: dict[int, Future[_Block]] = {}

    def __len__(self) -> int:
        """Windows in an epoch."""
        return len(self.order)

    def __getitem__(self, step: int) -> Batch:
        """The batch of optimiser step `step`."""
        return self.share(step, 0, 1)

    def share(self, step: int, number: int, shares: int) -> Batch:
        """One of `shares` parts of that batch, whose sizes differ by one pair at most."""
        first, last = (step * self.batch + self.batch * each // shares for each in (number, number + 1))
        places = [self.order.locate(position) for position in range(first, last)]
        blocks = {number: self._block(number) for number, _ in places}
        batch = collate([blocks[number].example(place) for number, place in places], self.pinned)
        self._move_to(places[-1][0])
        return batch

    def _block(self, number: int) -> _Block:
        if number not in self._blocks:
            self._blocks[number] = self._reader.submit(_Block, self.source, self.order.block(number))
        return self._blocks[number].result()

    def _move_to(self, number: int) -> None:
        """Forget all blocks but this one and the next, which is sent for."""
        wanted = (number, number + 1)
        for other in [each for each in self._blocks if each not in wanted]:
            self._blocks.pop(other).cancel()
        if self.prefetch and number + 1 not in self._blocks:
            self._blocks[number + 1] = self._reader.submit(_Block, self.source, self.order.block(number + 1))


class _Block:
    """Some whole trajectories and the order of their windows."""

    def __init__(self, source: Source, chosen: list[tuple[int, Window]]) -> None:
        self._windows = chosen
        # Ascending, so that the disk is read in one direction.
        trajectories = sorted({trajectory for trajectory, _ in chosen})
        self._fields = dict(source.stream(trajectories))
        self._static = dict(zip(trajectories, source.trajectories.static(trajectories), strict=True))

    def example(self, place: int) -> Example:
        """The snapshots of the window at this place, and what is given with them."""
        trajectory, window = self._windows[place]
        return _example(self._fields[trajectory], window, self._static[trajectory])


def order_of(trajectories: Trajectories, seed: int, buffer: int = 128, objective: Objective | None = None) -> Order:
    """The order of all windows of an objective, single steps where none is given."""
    return Order(len(trajectories), windows(objective or Objective(), trajectories.snapshots), buffer, seed)


def consecutive(source: Source, batch: int, chosen: Sequence[Window] | None = None) -> Iterator[Batch]:
    """All single steps once, or the windows chosen of every trajectory, in the order of the file."""
    wanted = windows(Objective(), source.trajectories.snapshots) if chosen is None else chosen
    waiting: list[Example] = []
    for trajectory, fields in source.stream(range(len(source.trajectories))):
        static = source.trajectories.static([trajectory])[0]
        waiting.extend(_example(fields, window, static) for window in wanted)
        while len(waiting) >= batch:
            yield collate(waiting[:batch])
            del waiting[:batch]
    if waiting:
        yield collate(waiting)


def _example(fields: Float[Tensor, "t c x y"], window: Window, static: Float[Tensor, "s x y"]) -> Example:
    return [fields[snapshot] for snapshot in window], (window[1] - window[0]) * ONE_STEP, static


def collate(examples: list[Example], pinned: bool = False) -> Batch:
    """One batch of many windows."""
    states, leads, static = zip(*examples, strict=True)
    stacked = tuple(_stacked(snapshot, pinned) for snapshot in zip(*states, strict=True))
    return Batch(stacked, torch.tensor(leads), _stacked(static, pinned))


def _stacked(fields: tuple[Tensor, ...], pinned: bool) -> Float[Tensor, "b *c"]:
    if not pinned or fields[0].device.type != "cpu":
        return torch.stack(fields)
    # Page-locked, so that the copy to the device does not wait; torch reuses such memory once the copy is done.
    return torch.stack(fields, out=torch.empty((len(fields), *fields[0].shape), pin_memory=True))
