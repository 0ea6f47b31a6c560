"""`driftnet bench models`: what models cost, measured in processes of their own, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from driftnet import registry
from driftnet.bench.process import ask
from driftnet.errors import DriftnetError
from driftnet.files import machine, refuse_existing, versions, write_json
from driftnet.memory import ALLOCATOR
from driftnet.options.bench import BenchModelsOptions
from driftnet.progress import progress
from driftnet.tasks.base import Task

HEAD = ("model", "grid", "batch", "parameters", "GFLOP", "forward ms", "step ms", "spread", "steps/s", "epoch min", "peak MB")


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    model: str
    task: str
    resolution: int
    batch: int
    device: str
    steps: int
    forward_batch: int | None = None
    """Of forward passes, where it is another."""


def bench(names: list[str], options: BenchModelsOptions) -> str:
    """Measure every model at every resolution and batch size; returns the table."""
    task: Task = registry.task(options.task)
    chosen = names or [name for name in registry.MODELS if name.endswith("-tiny") and not registry.model(name).needs]
    for name in chosen:
        registry.lookup("model", registry.MODELS, name)
    if options.output:
        refuse_existing(options.output, options.overwrite)
    cases = [
        Case(name, task.name, resolution, batch, options.device, options.steps)
        for name in chosen
        for resolution in options.resolutions
        for batch in options.batches
    ]
    pairs = options.epoch_pairs or task.split.train * (task.snapshots - 1)
    rows = [
        summarise(case, found, pairs)
        for case, found in zip(cases, take_turns(cases, options.repeats, options.threads), strict=True)
    ]
    if options.output:
        write_json(options.output, {"protocol": _protocol(options, pairs), "results": rows})
    return as_text([_cells(row) for row in rows], HEAD) + "\n\n" + _notes(options, pairs)


def take_turns(cases: Sequence[Case], repeats: int, threads: int) -> list[list[dict[str, Any]]]:
    """What the processes of every case found; cases take turns, so that a busy minute does not fall on one of them."""
    found: list[list[dict[str, Any]]] = [[] for _ in cases]
    with progress("bench", len(cases) * repeats) as advance:
        for _ in range(repeats):
            for case, results in zip(cases, found, strict=True):
                results.append(run(case, threads))
                advance(note=f"{case.model} {case.resolution} {case.batch}")
    return found


def run(case: Case, threads: int) -> dict[str, Any]:
    """Measure a case once, in a process of its own with the allocator fixed."""
    try:
        return ask("driftnet.bench.child:measure", asdict(case), threads)
    except DriftnetError as error:
        raise DriftnetError(f"{case.model} on {case.resolution} points, batch {case.batch}: {error}") from error


def summarise(case: Case, found: list[dict[str, Any]], pairs: int) -> dict[str, Any]:
    """Medians over all timed steps of all processes, and the spread: half the range of the middle half."""
    steps = [second for result in found for second in result["step_seconds"]]
    forward = [second for result in found for second in result["forward_seconds"]]
    step = median(steps)
    return {
        **asdict(case),
        **{name: found[0][name] for name in ("parameters", "parameters_as_reals", "flops")},
        "forward_seconds_median": median(forward),
        "step_seconds_median": step,
        "step_seconds_spread": spread(steps),
        "steps_per_second": 1 / step,
        "epoch_seconds": -(-pairs // case.batch) * step,
        "peak_bytes": median(result["peak_bytes"] for result in found),
        "step_seconds": steps,
        "forward_seconds": forward,
    }


def spread(values: list[float]) -> float:
    """Half of the interquartile range."""
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return (ordered[-1 - quarter] - ordered[quarter]) / 2


def as_text(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    """A table for a terminal."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["model"],
        str(row["resolution"]),
        str(row["batch"]),
        f"{row['parameters']:,}",
        f"{row['flops'] / 1e9:.3f}",
        f"{1000 * row['forward_seconds_median']:.1f}",
        f"{1000 * row['step_seconds_median']:.1f}",
        f"{1000 * row['step_seconds_spread']:.1f}",
        f"{row['steps_per_second']:.2f}",
        f"{row['epoch_seconds'] / 60:.1f}",
        f"{row['peak_bytes'] / 1e6:.0f}",
    )


def _protocol(options: BenchModelsOptions, pairs: int) -> dict[str, Any]:
    kept = {name: value for name, value in asdict(options).items() if name not in ("output", "overwrite", "epoch_pairs")}
    return {**kept, "epoch_pairs": pairs, "allocator": ALLOCATOR, "machine": machine(), "versions": versions()}


def _notes(options: BenchModelsOptions, pairs: int) -> str:
    cuda = options.device.startswith("cuda")
    where = "what torch.cuda allocated at most" if cuda else "peak resident memory above the start"
    return (
        f"A step: forward, loss, backward, clipping, AdamW, single precision, on {options.device}, {options.threads} threads.\n"
        f"Medians of {options.repeats} processes x {options.steps} steps, in turn; spread: half the interquartile range. "
        f"GFLOP: of one sample's\nforward pass, as in 'driftnet info models'. "
        f"Epoch: {pairs:,} pairs. peak MB: {where}, of a step."
    )
