"""Results as lines of JSON, a file a task: a line is whole or does not count, and files of several machines can be joined."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftnet.errors import DriftnetError
from driftnet.files import write_text
from driftnet.reproduce.parts import Part
from driftnet.reproduce.settings import agrees

Result = dict[str, Any]


@dataclass
class Store:
    """The results of one scale, by the name of their part; of several with one name the last counts."""

    folder: Path
    results: dict[str, Result] = field(default_factory=dict)
    damaged: int = 0
    """Lines that are no result: torn by a killed process, or worse."""

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Read all files of a folder; a folder that does not exist has no results."""
        store = cls(folder)
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.read_text(errors="replace").splitlines():
                store._take(line)
        return store

    def _take(self, line: str) -> None:
        try:
            result = json.loads(line)
            self.results[result["part"]] = result
        except (ValueError, KeyError, TypeError):
            self.damaged += 1

    def has(self, part: Part, any_code: bool = False) -> bool:
        """Whether the part need not be run: same recipe, same data, same code."""
        result = self.results.get(part.name)
        if result is None or not agrees(result.get("settings"), json.loads(json.dumps(part.full))):
            return False
        return any_code or result.get("code") == part.code

    def get(self, part: Part) -> Result | None:
        """What was measured of a part, with whatever code; not if any setting was another one."""
        return self.results.get(part.name) if self.has(part, any_code=True) else None

    def add(self, task: str, part: Part, found: Result) -> None:
        """Append a result; it is on the disk when this returns."""
        result = {"part": part.name, "kind": part.kind, "code": part.code, **found, "settings": part.full}
        line = json.dumps(result, allow_nan=False, separators=(",", ":"))
        path = self.folder / f"{task}.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("a+b") as stream:
                stream.write(_after_a_torn_line(stream) + line.encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise DriftnetError(f"could not write {path}: {error.strerror}") from error
        self.results[part.name] = json.loads(line)

    def tidy(self) -> None:
        """Write every file again with the last result of every part alone, in the order of their names."""
        for path in sorted(self.folder.glob("*.jsonl")):
            before = path.read_text(errors="replace")
            mine = Store(self.folder)
            for line in before.splitlines():
                mine._take(line)
            text = "".join(f"{json.dumps(mine.results[name], separators=(',', ':'))}\n" for name in sorted(mine.results))
            if text != before:
                write_text(path, text)


def _after_a_torn_line(stream: Any) -> bytes:
    """What has to come first so that the new line is a line of its own."""
    if stream.seek(0, os.SEEK_END) == 0:
        return b""
    stream.seek(-1, os.SEEK_END)
    return b"" if stream.read(1) == b"\n" else b"\n"
