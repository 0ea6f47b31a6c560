"""Training pairs (state now, state next) in an order that is a function of the seed and the step alone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.data.order import Order
from driftnet.data.sources import Source

Example = tuple[Tensor, Tensor, Tensor]  # State, target and static channels of one pair.


class Pair(NamedTuple):
    """A batch of consecutive snapshots and the static channels."""

    state: Float[Tensor, "b c x y"]
    target: Float[Tensor, "b c x y"]
    static: Float[Tensor, "b s x y"]


class Pairs:
    """Endless batches; every epoch visits every pair once, in its own order, the last batch wraps into the next.

    Batch `step` can be asked for without those before it, so a resumed run sees what it would have seen. In memory
    are the trajectories of the block that the batch is in, and of the next one, which a thread reads meanwhile.
    """

    def __init__(
        self, source: Source, batch: int, seed: int, buffer: int = 128, prefetch: bool = True, pinned: bool = False
    ) -> None:
        trajectories = source.trajectories
        self.source, self.batch, self.prefetch, self.pinned = source, batch, prefetch, pinned
        self.order = Order(len(trajectories), trajectories.snapshots - 1, buffer, seed)
        self._reader = ThreadPoolExecutor(1, "driftnet-reader")
        self._blocks: dict[int, Future[_Block]] = {}

    def __len__(self) -> int:
        """Pairs in an epoch."""
        return len(self.order)

    def __getitem__(self, step: int) -> Pair:
        """The batch of optimiser step `step`."""
        return self.share(step, 0, 1)

    def share(self, step: int, number: int, shares: int) -> Pair:
        """One of `shares` parts of that batch, whose sizes differ by one pair at most."""
        first, last = (step * self.batch + self.batch * each // shares for each in (number, number + 1))
        places = [self.order.locate(position) for position in range(first, last)]
        blocks = {number: self._block(number) for number, _ in places}
        batch = collate([blocks[number].pair(place) for number, place in places], self.pinned)
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
    """Some whole trajectories and the order of their pairs."""

    def __init__(self, source: Source, pairs: list[tuple[int, int]]) -> None:
        self._pairs = pairs
        # Ascending, so that the disk is read in one direction.
        chosen = sorted({trajectory for trajectory, _ in pairs})
        self._fields = dict(source.stream(chosen))
        self._static = dict(zip(chosen, source.trajectories.static(chosen), strict=True))

    def pair(self, place: int) -> Example:
        """The two snapshots of the pair at this place, and what is given with them."""
        trajectory, first = self._pairs[place]
        fields = self._fields[trajectory]
        return fields[first], fields[first + 1], self._static[trajectory]


def consecutive(source: Source, batch: int) -> Iterator[Pair]:
    """All pairs once, in the order of the file; the last batch may be smaller."""
    waiting: list[Example] = []
    for trajectory, fields in source.stream(range(len(source.trajectories))):
        static = source.trajectories.static([trajectory])[0]
        waiting.extend((state, following, static) for state, following in pairwise(fields))
        while len(waiting) >= batch:
            yield collate(waiting[:batch])
            del waiting[:batch]
    if waiting:
        yield collate(waiting)


def collate(examples: list[Example], pinned: bool = False) -> Pair:
    """One batch of many pairs."""
    return Pair(*(_stacked(fields, pinned) for fields in zip(*examples, strict=True)))


def _stacked(fields: tuple[Tensor, ...], pinned: bool) -> Float[Tensor, "b *c"]:
    if not pinned or fields[0].device.type != "cpu":
        return torch.stack(fields)
    # Page-locked, so that the copy to the device does not wait; torch reuses such memory once the copy is done.
    return torch.stack(fields, out=torch.empty((len(fields), *fields[0].shape), pin_memory=True))
