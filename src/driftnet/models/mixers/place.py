"""Where a mixer stands: all that a backbone tells it beside its number of channels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A position in a multi-scale backbone; mixers that are the same everywhere take no notice of it."""

    level: int = 0
    """0 is the finest."""
    shifted: bool = False
    """Every other block shifts its windows, if it has any."""


FINEST = Place()
