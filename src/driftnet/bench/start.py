"""`driftnet bench start`: how long commands take to begin, from the shell to the first answer or optimiser step."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from driftnet.bench.models import as_text, spread
from driftnet.bench.process import package_path
from driftnet.configs import require
from driftnet.errors import DriftnetError
from driftnet.options.bench import BenchStartOptions
from driftnet.progress import progress

HEAD = ("what", "s", "spread", "least", "most")
# As recipes/laptop has them, which an installed package does not hold; a test compares.
DEMO_DATA = ("--resolution", "64", "--split.train", "256", "--split.validation", "8", "--split.test", "32")
DEMO_TRAINING = (
    *("--threads", "1", "--training.steps", "1000", "--training.batch", "4", "--training.rate", "4.0e-3"),
    *("--training.validations", "10", "--training.loss.frequency", "3"),
)
FIRST_STEP = "from driftnet.bench.start import end_at_first_step; end_at_first_step(); from driftnet.cli import main; main()"


def bench(names: list[str], options: BenchStartOptions) -> str:
    """Start everything in turns; returns the table."""
    require(not names, "driftnet bench start takes no names")
    with tempfile.TemporaryDirectory(prefix="driftnet-bench-") as name:
        folder = Path(name)
        data = options.data.resolve() if options.data else _demo_data(folder)
        found = measured(_ways(data, folder), options.repeats)
    return as_text([_cells(what, seconds) for what, seconds in found.items()], HEAD) + "\n\n" + _notes(options)


def measured(ways: dict[str, tuple[str, ...]], repeats: int) -> dict[str, list[float]]:
    """Seconds of every start, after a first that is not counted; `ways` are arguments of Python."""
    found: dict[str, list[float]] = {what: [] for what in ways}
    with progress("bench", len(ways) * (repeats + 1)) as advance:
        for repeat in range(repeats + 1):
            for what, arguments in ways.items():
                seconds = _seconds(arguments)
                found[what].extend([seconds] if repeat else [])
                advance(note=what)
    return found


def torch_free() -> dict[str, tuple[str, ...]]:
    """Commands that only say something, and Python alone."""
    return {
        "python, nothing": ("-c", "pass"),
        "driftnet --help": ("-m", "driftnet", "--help"),
        "driftnet info tasks": ("-m", "driftnet", "info", "tasks"),
    }


def end_at_first_step() -> None:
    """Make the process end after the first step of any optimiser."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(lambda *_: os._exit(0))


def _ways(data: Path, folder: Path) -> dict[str, tuple[str, ...]]:
    # No step is ever kept, so every start in the same folder is a first one.
    training = ("train", "NS-PwC", "drift-net-tiny", *DEMO_TRAINING, "--data", str(data), "--runs", str(folder / "runs"))
    return {
        **torch_free(),
        "python, import torch": ("-c", "import torch"),
        "driftnet train, to the first step": ("-c", FIRST_STEP, *training),
    }


def _demo_data(folder: Path) -> Path:
    path = folder / "NS-PwC.nc"
    _seconds(("-m", "driftnet", "generate", "NS-PwC", *DEMO_DATA, "--output", str(path)))
    return path


def _seconds(arguments: tuple[str, ...]) -> float:
    environment = {**os.environ, "PYTHONPATH": package_path()}
    began = time.perf_counter()
    child = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if child.returncode:
        raise DriftnetError(f"{' '.join(arguments)}: {(child.stderr.strip().splitlines() or ['failed'])[-1]}")
    return seconds


def _cells(what: str, seconds: list[float]) -> tuple[str, ...]:
    return (what, *(f"{value:.2f}" for value in (median(seconds), spread(seconds), min(seconds), max(seconds))))


def _notes(options: BenchStartOptions) -> str:
    return (
        f"Wall time of a fresh process, {options.repeats} of each in turn after one that is not counted; spread: half the "
        "interquartile range.\nTraining: drift-net-tiny on the demo's data, statistics of the data included, from the start of "
        "the process to the end of the\nfirst optimiser step."
    )
