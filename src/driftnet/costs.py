"""The table of `driftnet info models`."""

from __future__ import annotations

import torch

from driftnet import registry
from driftnet.configs import ModelConfig
from driftnet.errors import DriftnetError
from driftnet.models.cost import Cost, cost
from driftnet.progress import progress

TASK = "NS-PwC"
RESOLUTION, TINY_RESOLUTION = 128, 64
HEAD = f"{'model':22} {'grid':>4} {'parameters':>11} {'as reals':>11} {'GFLOP':>7} {'MB kept':>8}  sees"


def table(size: int | None = None) -> str:
    """Every preset's costs on `size` x `size` points, or on its own grid, and how they were found."""
    rows = []
    with progress("models", len(registry.MODELS)) as advance:
        for name in registry.MODELS:
            rows.append(row(name, size))
            advance(note=name)
    return "\n".join((HEAD, *rows, "", _notes()))


def row(name: str, size: int | None = None) -> str:
    """A preset's line; one that needs an extra, or that such a grid does not fit, says so."""
    config: ModelConfig = registry.model(name)
    if config.needs:
        return f"{name:22} not counted: built with what driftnet[{config.needs}] installs (docs/readings.md)"
    resolution = size or (TINY_RESOLUTION if name.endswith("-tiny") else RESOLUTION)
    try:
        found = cost(config, registry.task(TASK), resolution)
    except (DriftnetError, ImportError) as error:
        return f"{name:22} {error}"
    return (
        f"{name:22} {resolution:4} {found.parameters:11,} {found.reals:11,} {found.flops / 1e9:7.3f} "
        f"{found.activations / 1e6:8.1f}  {_sees(found)}"
    )


def _sees(found: Cost) -> str:
    return "global" if found.reach == 1 else f"local, {found.reach:.0%} of the grid"


def _notes() -> str:
    return (
        f"For {TASK} on a square grid, a sample, in single precision. parameters: a complex number counts once.\n"
        "GFLOP: of a forward pass, by torch's counter on shapes alone, with complex products as four real ones and an FFT of\n"
        "n real points as 2.5 n log2 n, where it counts one and none; what is done point by point is left out.\n"
        "MB kept: what a forward pass stores for the backward pass, from shapes alone; the peak of a training step is larger.\n"
        "sees: the inputs with a gradient at one output point, measured with random weights\n"
        "and few channels, on which it does not depend.\n"
        f"torch {torch.__version__}; 'driftnet info models NAME' shows the settings of one, 'driftnet info models 256' costs\n"
        "on 256 x 256 points."
    )
