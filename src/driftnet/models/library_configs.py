"""Settings of the networks that a package of others helps to build: torch-free, and without importing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from driftnet.configs import ModelConfig
from driftnet.models.configs import FNO, UNO


@dataclass(frozen=True)
class LibraryFNO(FNO):
    """The FNO with the spectral convolutions of the neuraloperator package."""

    builder: ClassVar[str] = "driftnet.models.library:build_fno"
    needs: ClassVar[str] = "neuralop"


@dataclass(frozen=True)
class LibraryUNO(UNO):
    """The U-NO with the spectral convolutions of the neuraloperator package."""

    builder: ClassVar[str] = "driftnet.models.library:build_uno"
    needs: ClassVar[str] = "neuralop"


# Not in models/configs.py: every result depends on that module, and none on these.
LIBRARY: dict[str, type[ModelConfig]] = {kind.__name__: kind for kind in (LibraryFNO, LibraryUNO)}
