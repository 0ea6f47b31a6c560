"""What the bits of a run depend on beside its recipe."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from driftnet.configs import Recipe, require
from driftnet.files import machine, versions
from driftnet.progress import say
from driftnet.train.world import World

FIXED = ("steps", "seed", "batch")


def place_of(recipe: Recipe, steps: int, world: World) -> dict[str, Any]:
    """Noted in checkpoints and in provenance.json."""
    return {
        "steps": steps,
        "seed": recipe.seed,
        "batch": recipe.training.batch,
        "processes": world.size,
        "device": world.device.type,
        "threads": torch.get_num_threads(),
        "machine": machine(),
        "versions": versions(),
    }


def say_changes(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse what makes it another run; name what may change the last bits of its result."""
    for name in FIXED:
        require(before[name] == now[name], f"the checkpoint is of a run with {name} {before[name]}, not {now[name]}")
    changed = [f"{name} {before[name]} -> {now[name]}" for name in now if before[name] != now[name]]
    if changed:
        say(f"going on elsewhere than before ({'; '.join(changed)}): the weights may differ in their last bits")


def draws(seed: int, step: int, rank: int, part: int) -> None:
    """What a network draws at random is a function of these four, so a resumed run draws the same."""
    torch.manual_seed(int(np.random.default_rng((seed, step, rank, part)).integers(2**63)))


def refuse_empty_parts(recipe: Recipe, world: World) -> None:
    """Every process has something to do, and can do it with the share of the weights that it has."""
    training, parts = recipe.training, world.size * recipe.training.accumulate
    where = f"{world.size} processes x training.accumulate {training.accumulate}"
    require(training.batch >= parts, f"training.batch: {training.batch} is too small for {where}")
    spread = world.size > 1 and training.parallel == "fsdp"
    require(not (spread and training.project), "training.project: needs whole weights; give training.parallel ddp")
