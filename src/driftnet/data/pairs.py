"""Training pairs (state now, state next) in an order that is a function of the seed and the step alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.data.trajectories import Trajectories


class Pair(NamedTuple):
    """A batch of consecutive snapshots and the static channels."""

    state: Float[Tensor, "b c x y"]
    target: Float[Tensor, "b c x y"]
    static: Float[Tensor, "b s x y"]


class Pairs:
    """Endless batches; every epoch visits every pair once, in its own order, the last batch wraps into the next.

    Batch `step` can be asked for without those before it, so a resumed run sees what it would have seen.
    """

    def __init__(self, trajectories: Trajectories, batch: int, seed: int) -> None:
        self.trajectories, self.batch, self.seed = trajectories, batch, seed
        self._epoch, self._order = -1, np.empty(0, np.int64)

    def __len__(self) -> int:
        """Pairs in an epoch."""
        return self.trajectories.pairs

    def __getitem__(self, step: int) -> Pair:
        """The batch of optimiser step `step`."""
        positions = range(step * self.batch, (step + 1) * self.batch)
        return self.gather([self._pair_at(position) for position in positions])

    def gather(self, pairs: list[int]) -> Pair:
        """The batch of the pairs with these numbers."""
        per_trajectory = self.trajectories.snapshots - 1
        reads = (
            self.trajectories.read(pair // per_trajectory, pair % per_trajectory, pair % per_trajectory + 2) for pair in pairs
        )
        both = torch.stack(list(reads))
        return Pair(both[:, 0], both[:, 1], self.trajectories.static([pair // per_trajectory for pair in pairs]))

    def _pair_at(self, position: int) -> int:
        epoch, place = divmod(position, len(self))
        if epoch != self._epoch:
            self._epoch, self._order = epoch, np.random.default_rng((self.seed, epoch)).permutation(len(self))
        return int(self._order[place])
