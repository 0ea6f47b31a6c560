"""What a run says of itself while it trains: log.csv always, TensorBoard and W&B when asked; torch-free by itself."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import yaml

from driftnet.errors import DriftnetError, UsageError
from driftnet.files import write_text, written_aside
from driftnet.train.signals import Preempted

LOG, FAILURE = "log.csv", "failure.txt"
LIBRARIES = {"tensorboard": "torch.utils.tensorboard", "wandb": "wandb"}


@dataclass(frozen=True)
class Row:
    """One line of log.csv."""

    step: int
    """Optimiser steps taken."""
    total: int
    """Steps of the whole run."""
    loss: float
    """Mean since the line before."""
    validation: float | None
    """Relative L1 of the validation part, where it was measured."""
    rate: float
    """Learning rate of the last step."""
    gradient_norm: float
    """Of the last step, before clipping."""
    seconds: float
    """Spent on training so far, earlier starts included."""


FIELDS = tuple(entry.name for entry in fields(Row))


@runtime_checkable
class Writer(Protocol):
    """Another place for the same numbers."""

    def write(self, step: int, values: dict[str, float]) -> None:
        """Show the numbers of a step."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class Log:
    """log.csv and the writers asked for; rows past the step that training resumes from are dropped."""

    def __init__(self, folder: Path, step: int, writers: Sequence[str] = ()) -> None:
        self.folder, self.step, self.names = folder, step, writers
        self._writers: list[Writer] = []

    def __enter__(self) -> Log:
        """Open for appending, at the right place."""
        self._writers = [WRITERS[name](self.folder, self.step) for name in self.names]
        path = self.folder / LOG
        kept = [row for row in read_log(path) if int(row["step"]) <= self.step] if path.exists() else []
        with written_aside(path) as aside, aside.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, FIELDS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(kept)
        self._stream = path.open("ab", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        """Close them all."""
        self._stream.close()
        for writer in self._writers:
            writer.close()

    def write(self, row: Row) -> None:
        """Write one row at once."""
        try:
            self._stream.write((",".join(map(_shown, astuple(row))) + "\r\n").encode())
        except OSError as error:
            raise DriftnetError(f"could not write {self.folder / LOG}: {error.strerror}") from error
        values = {name: float(value) for name, value in asdict(row).items() if value is not None and name != "step"}
        for writer in self._writers:
            writer.write(row.step, values)


def _shown(value: int | float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def read_log(path: Path) -> list[dict[str, str]]:
    """The rows of a log.csv, whole ones only: the last may have been cut short."""
    try:
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, ValueError, csv.Error) as error:
        raise DriftnetError(f"could not read {path}: {str(error).splitlines()[0]}") from error
    return [row for row in rows if (row.get("step") or "").isdigit() and row.get("seconds")]


@contextmanager
def failure_noted(folder: Path, first: bool = True) -> Iterator[None]:
    """Leave a line in failure.txt where training fails, for `driftnet status`; a new start takes it away."""
    if not first:
        yield
        return
    (folder / FAILURE).unlink(missing_ok=True)
    try:
        yield
    except Preempted:
        raise
    except Exception as error:
        with suppress(DriftnetError):  # On a full disk there is no room for it either.
            write_text(folder / FAILURE, f"{str(error) or type(error).__name__}\n")
        raise


def require_writers(names: Sequence[str]) -> None:
    """Refuse a writer whose library is not there before training begins."""
    for name in names:
        _library(name)


def _library(name: str) -> Any:
    try:
        return import_module(LIBRARIES[name])
    except ImportError as error:
        raise UsageError(f"--log {name} needs a library that is not there: pip install 'driftnet[{name}]'") from error


class TensorBoard:
    """Event files in the run folder; on a resumed run, what follows the step is hidden."""

    def __init__(self, folder: Path, step: int) -> None:
        self._events = _library("tensorboard").SummaryWriter(folder / "tensorboard", purge_step=step + 1)

    def write(self, step: int, values: dict[str, float]) -> None:
        """One scalar a name."""
        for name, value in values.items():
            self._events.add_scalar(name, value, step)
        self._events.flush()

    def close(self) -> None:
        """Close the event file."""
        self._events.close()


class WeightsAndBiases:
    """A W&B run that a resumed training goes on with; WANDB_MODE, WANDB_PROJECT and its other variables count."""

    def __init__(self, folder: Path, step: int) -> None:
        name = folder / "wandb.id"
        if not name.exists():
            write_text(name, f"{uuid.uuid4().hex[:12]}\n")
        self._run = _library("wandb").init(
            id=name.read_text().strip(),
            resume="allow",
            dir=folder,
            name="/".join(folder.parts[-3:]),
            config=yaml.safe_load((folder / "config.yaml").read_text()),
        )

    def write(self, step: int, values: dict[str, float]) -> None:
        """All numbers of the step together."""
        self._run.log(values, step=step)

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


WRITERS: dict[str, Callable[[Path, int], Writer]] = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases}
