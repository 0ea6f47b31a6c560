"""The order of training windows: a function of the seed and the position alone, so that nothing has to be remembered.

A window is a pair of snapshots, or more of them. An epoch permutes the trajectories, cuts them into blocks, and permutes
the windows inside every block. A batch then needs the trajectories of its block and no others,
wherever in the epoch it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftnet.configs import require
from driftnet.data.windows import Window


@dataclass(frozen=True)
class Order:
    """An endless sequence of windows; every epoch holds each of them once."""

    trajectories: int
    windows: tuple[Window, ...]
    """Those of every trajectory."""
    buffer: int
    """Trajectories of a block; the last block of an epoch has what is left."""
    seed: int

    def __post_init__(self) -> None:
        """Refuse sizes that leave nothing to order."""
        for name in ("trajectories", "per_trajectory", "buffer"):
            require(getattr(self, name) > 0, f"order of windows: {name} {getattr(self, name)} is not positive")

    def __len__(self) -> int:
        """Windows in an epoch."""
        return self.trajectories * self.per_trajectory

    @property
    def per_trajectory(self) -> int:
        """Windows of a trajectory."""
        return len(self.windows)

    @property
    def blocks(self) -> int:
        """Blocks in an epoch."""
        return -(-self.trajectories // self.buffer)

    def locate(self, position: int) -> tuple[int, int]:
        """Block, counted through all epochs, and place in it of a position in the sequence."""
        epoch, place = divmod(position, len(self))
        block, place = divmod(place, self.buffer * self.per_trajectory)
        return epoch * self.blocks + block, place

    def block(self, number: int) -> list[tuple[int, Window]]:
        """Trajectory and snapshots of every window of a block, in order."""
        epoch, block = divmod(number, self.blocks)
        chosen = self._permutation(epoch, 0, self.trajectories)[block * self.buffer : (block + 1) * self.buffer]
        # Stream 0 orders the trajectories, so the blocks' own streams begin at 1.
        places = self._permutation(epoch, block + 1, len(chosen) * self.per_trajectory)
        return [(int(chosen[place // self.per_trajectory]), self.windows[place % self.per_trajectory]) for place in places]

    def _permutation(self, epoch: int, stream: int, size: int) -> np.ndarray:
        return np.random.default_rng((self.seed, epoch, stream)).permutation(size)
