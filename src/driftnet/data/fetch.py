"""Published data from the hub: every file downloaded aside, resumed, checked, and only then given its name."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from driftnet.data.formats.poseidon import PUBLISHED
from driftnet.errors import DriftnetError, UsageError
from driftnet.files import checksum, locked, publish
from driftnet.progress import progress
from driftnet.tasks.base import Task

HUB = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"  # As huggingface_hub has it, for mirrors.
OWNER = "camlab-ethz"
BLOCK = 2**20
TIMEOUT = 60.0
ATTEMPTS, PAUSE = 5, 2.0  # Tries without a byte before giving up; seconds more between each.
TOO_MANY_REQUESTS = 429


@dataclass(frozen=True)
class Remote:
    """A file on the hub."""

    name: str
    url: str
    size: int
    sha256: str


def fetch(task: Task, folder: Path, chunks: int | None) -> str:
    """Download the data set of a task into a folder; returns what happened in one line."""
    name = Path(task.source.file).stem
    if name not in PUBLISHED:
        raise UsageError(f"{task.name} is not on the hub; there are {', '.join(PUBLISHED)}")
    if chunks is not None and chunks < 1:
        raise UsageError(f"chunks: {chunks} is not positive")
    found = listing(f"{OWNER}/{name}")
    wanted = found[:chunks]
    with locked(folder / ".lock", str(folder)):
        missing = [remote for remote in wanted if not _is_there(remote, folder / remote.name)]
        _refuse_without_room(folder, missing)
        with progress(f"fetch {name}, MB", sum(remote.size for remote in missing) // 10**6) as advance:
            for remote in missing:
                download(remote, folder / remote.name, lambda count: advance(0, f"{count // 10**6} MB"))
                advance(remote.size // 10**6)
    left = f", {len(found) - len(wanted)} left on the hub" if len(found) > len(wanted) else ""
    return f"{folder}: {len(wanted)} files of {name}, {len(missing)} downloaded{left}; give it as --data {folder}"


def listing(repository: str) -> list[Remote]:
    """The data files of a repository in the order in which they are read."""
    endpoint = os.environ.get(ENDPOINT_VARIABLE, HUB).rstrip("/")
    url: str | None = f"{endpoint}/api/datasets/{repository}/tree/main?recursive=true"
    entries: list[dict[str, Any]] = []
    while url:
        page, url = _page(url)
        entries += page
    files = [entry for entry in entries if entry.get("type") == "file" and entry["path"].endswith(".nc")]
    base = f"{endpoint}/datasets/{repository}/resolve/main"
    return sorted((_remote(base, entry) for entry in files), key=lambda remote: remote.name)


def _page(url: str) -> tuple[list[dict[str, Any]], str | None]:
    """Entries of a listing, and where it goes on."""
    try:
        with _opened(url) as response:
            following = re.search(r'<([^>]+)>;\s*rel="next"', response.headers.get("Link", ""))
            return json.loads(response.read()), following[1] if following else None
    except (_NoConnection, OSError, HTTPException, ValueError) as error:
        raise DriftnetError(f"could not reach {url}: {error}") from error


def _remote(base: str, entry: dict[str, Any]) -> Remote:
    """The hub states a SHA-256 for every large file; without one nothing can be checked."""
    name, sha256 = entry["path"], entry.get("lfs", {}).get("oid", "")
    if Path(name).name != name or not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise DriftnetError(f"the hub states no name and SHA-256 for '{name}' that can be trusted")
    return Remote(name, f"{base}/{quote(name)}", int(entry["size"]), sha256)


def _is_there(remote: Remote, path: Path) -> bool:
    """A file under its final name was checked when it got it."""
    if path.exists() and path.stat().st_size != remote.size:
        raise DriftnetError(f"{path} has {path.stat().st_size} bytes, on the hub it has {remote.size}; move it away")
    return path.exists()


def _refuse_without_room(folder: Path, missing: list[Remote]) -> None:
    needed = sum(remote.size - _held(_partial(folder / remote.name)) for remote in missing)
    if needed > shutil.disk_usage(folder).free:
        raise DriftnetError(f"{folder} needs {needed / 1e9:.1f} GB; the disk has less left")


def download(remote: Remote, path: Path, seen: Callable[[int], None] = lambda count: None) -> None:
    """Bring a file here; what an interrupted download has left is kept and gone on from."""
    partial, fruitless, reason = _partial(path), 0, "the connection ended"
    while (held := _held(partial)) < remote.size and fruitless < ATTEMPTS:
        try:
            _append(remote, partial, seen)
        except _NoConnection as error:
            reason = str(error)
        fruitless = 0 if _held(partial) > held else fruitless + 1
        time.sleep(PAUSE * fruitless)
    if held < remote.size:
        again = "the same command goes on from there"
        raise DriftnetError(f"{remote.url}: {held} of {remote.size} bytes came, then {reason}; {again}")
    _check(remote, partial)
    publish(partial, path)


def _append(remote: Remote, partial: Path, seen: Callable[[int], None]) -> None:
    held = _held(partial)
    with _opened(remote.url, held) as response:
        whole = held and response.status != 206  # The server sends all of it again.
        try:
            with partial.open("wb" if whole else "ab") as stream:
                while block := _next(response):
                    stream.write(block)
                    seen(stream.tell())
        except OSError as error:
            raise DriftnetError(f"could not write {partial}: {error.strerror or error}") from error


class _NoConnection(Exception):
    """Worth another attempt."""


def _next(response: HTTPResponse) -> bytes:
    try:
        return response.read(BLOCK)
    except (OSError, HTTPException) as error:
        raise _NoConnection(str(error)) from error


def _check(remote: Remote, partial: Path) -> None:
    found = checksum(partial)
    if found != remote.sha256:
        partial.unlink()
        raise DriftnetError(
            f"{remote.name} has SHA-256 {found[:12]}..., the hub states {remote.sha256[:12]}...; nothing was kept"
        )


def _opened(url: str, start: int = 0) -> HTTPResponse:
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url}: {ENDPOINT_VARIABLE} has to begin with http:// or https://")
    try:
        return urlopen(Request(url, headers={"Range": f"bytes={start}-"} if start else {}), timeout=TIMEOUT)
    except HTTPError as error:
        with error:
            answer = f"the server answers {error.code} {error.reason}"
        if error.code < 500 and error.code != TOO_MANY_REQUESTS:
            raise DriftnetError(f"{url}: {answer}") from None
        raise _NoConnection(answer) from None
    except (URLError, OSError, HTTPException) as error:
        raise _NoConnection(str(getattr(error, "reason", error))) from error


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _held(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
