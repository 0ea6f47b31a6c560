"""Files that are whole or absent: written aside, renamed when complete, locked while in use."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driftnet.errors import DriftnetError, UsageError

LOCK_ATTEMPTS, LOCK_PAUSE = 4, 0.05  # `driftnet status` shares a lock for microseconds, to see whether it is held.


class Busy(DriftnetError):
    """Another process holds what this one wants; trying again later may work (exit code 75)."""

    exit_code = 75


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends well and is gone when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.touch()
        mode = aside.stat().st_mode
        yield aside
        aside.chmod(mode)  # safetensors makes files that nobody else may read.
        publish(aside, path)
    except OSError as error:
        raise DriftnetError(f"could not write {path}: {error.strerror or error}") from error
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()


def publish(finished: Path, path: Path) -> None:
    """Give a finished file its final name, with its bytes on the disk first."""
    with finished.open("rb") as stream:
        os.fsync(stream.fileno())
    finished.replace(path)


def write_text(path: Path, text: str) -> None:
    """Replace a text file as a whole."""
    with written_aside(path) as aside:
        aside.write_text(text)


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Replace a JSON file as a whole."""
    write_text(path, json.dumps(values, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; a damaged one is named in one line."""
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise DriftnetError(f"could not read {path}: {error}") from error
    if not isinstance(values, dict):
        raise DriftnetError(f"could not read {path}: it does not hold a JSON object")
    return values


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`; refuse in one line while another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        for patience in reversed(range(LOCK_ATTEMPTS)):
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if not patience:
                    raise Busy(f"another process is working on {what}") from error
                time.sleep(LOCK_PAUSE)
        yield


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Nothing is overwritten unasked."""
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists; give --overwrite to replace it")


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    names = ("driftnet", "torch", "numpy", "h5py")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def machine() -> dict[str, Any]:
    """Where it ran, without naming the host."""
    return {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}
