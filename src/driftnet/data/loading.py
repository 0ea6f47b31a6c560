"""How data are loaded; torch-free."""

from __future__ import annotations

from dataclasses import dataclass

from driftnet.configs import require


@dataclass(frozen=True)
class Loading:
    """Where data wait for the training; changes neither their order nor their values."""

    memory: float = 2.0
    """GB of training and validation data that may be kept; what does not fit is read again every epoch."""
    resident: bool = False
    """Keep all of it on the device instead."""
    prefetch: bool = True
    """Read the next trajectories while the device computes."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        require(self.memory >= 0, f"loading.memory: {self.memory} is negative")
