"""The processes of a training run: who started them, what they tell each other, how they leave together."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor

from driftnet.configs import require
from driftnet.devices import device_named
from driftnet.errors import DriftnetError, UsageError
from driftnet.train.meeting import own_store

WAIT = timedelta(hours=2)  # While the first process reads a large data set for its statistics, the others wait.
KEPT: deque[Any] = deque(maxlen=16)
FIRST_PORT, PORTS = 20_000, 10_000  # Below what systems hand out by themselves (32768 on Linux).
LOST = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "TCPStore", "recvValue failed")


@dataclass(frozen=True)
class Launch:
    """Which of how many processes this one is, as its launcher says."""

    rank: int = 0
    size: int = 1
    local: int = 0
    """Number among those of the same machine."""
    address: str = "env://"
    """Where they meet."""


def launched(environment: Mapping[str, str]) -> Launch:
    """What torchrun or srun left in the environment; without either, one process."""
    try:
        if "WORLD_SIZE" in environment and "RANK" in environment:
            rank, size, local = (int(environment[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
            return Launch(rank, size, local)
        # Of the step, not of the job: a batch script or an interactive shell has the job's variables, too.
        if int(environment.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
            rank, size, local = (int(environment[f"SLURM_{name}"]) for name in ("PROCID", "STEP_NUM_TASKS", "LOCALID"))
            port = FIRST_PORT + int(environment["SLURM_JOB_ID"]) % PORTS
            host = environment.get("MASTER_ADDR") or first_host(environment["SLURM_STEP_NODELIST"])
            return Launch(rank, size, local, f"tcp://{host}:{environment.get('MASTER_PORT', port)}")
    except (KeyError, ValueError) as error:
        raise UsageError(f"the launcher's environment variables are incomplete or no numbers: {error}") from error
    return Launch()


def first_host(hosts: str) -> str:
    """The first name in SLURM's short form, as n[03-05,9],m1."""
    found = re.match(r"([^\[,]+)(?:\[(\w+)[^\]]*\])?([^,]*)", hosts)
    require(found is not None, f"SLURM_STEP_NODELIST: '{hosts}' is not a list of hosts")
    return "".join(part or "" for part in found.groups()) if found else ""


class World:
    """One process among those of the run."""

    def __init__(self, rank: int = 0, size: int = 1, device: torch.device | str = "cpu") -> None:
        self.rank, self.size, self.device = rank, size, torch.device(device)

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def add(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            done(dist.all_reduce(values, async_op=True))
        return values

    def any(self, *flags: bool) -> list[bool]:
        """For every question, whether any process says yes; all hear the same."""
        return [votes > 0 for votes in self.add(torch.tensor(flags, dtype=torch.int64)).tolist()]

    def agree(self, act: Callable[[], Any]) -> Any:
        """Have the first process do something that gives plain values; where it fails, all leave."""
        if self.size == 1:
            return act()
        if not self.first:
            said = self._told(b"")
            if "code" in said:
                sys_exit(said["code"])
            return said["value"]
        try:
            value = act()
        except (DriftnetError, KeyboardInterrupt) as error:
            self._told(json.dumps({"code": getattr(error, "exit_code", 130)}).encode())
            raise
        self._told(json.dumps({"value": value}).encode())
        return value

    def leave(self, error: BaseException) -> NoReturn:
        """End with an error that all processes found; only the first says so."""
        if self.first:
            raise error
        sys_exit(getattr(error, "exit_code", 1))

    def _told(self, words: bytes) -> Any:
        size = self._received(torch.tensor(len(words)))
        text = torch.tensor(list(words), dtype=torch.uint8) if words else torch.empty(int(size), dtype=torch.uint8)
        return json.loads(bytes(self._received(text).tolist()))

    def _received(self, values: Tensor) -> Tensor:
        done(dist.broadcast(values, 0, async_op=True))
        return values


def done(work: Any) -> None:
    """Wait for what the processes do together.

    The last few are kept: a thread of gloo that let go of one as the last would need the interpreter to free its
    tensors, while the interpreter, at the end, waits for that thread. 3 of 25 short runs hung so (torch 2.13).
    """
    KEPT.append(work)
    work.wait()


def sys_exit(code: int) -> NoReturn:
    """Leave without a word."""
    raise SystemExit(code)


ALONE = World()


@contextmanager
def joined(device: str, environment: Mapping[str, str] = os.environ) -> Iterator[World]:
    """Meet the other processes of the run, if there are any, and part from them at the end."""
    launch = launched(environment)
    chosen = device_of(device, launch)
    if launch.size == 1:
        yield World(device=chosen)
        return
    # What processes tell each other is on the CPU, where reading it does not wait for the device.
    backend = "cpu:gloo,cuda:nccl" if chosen.type == "cuda" else "gloo"
    try:
        store = own_store(launch.address, launch.rank, launch.size, WAIT)
        dist.init_process_group(backend, timeout=WAIT, world_size=launch.size, rank=launch.rank, store=store)
        yield World(launch.rank, launch.size, chosen)
    except RuntimeError as error:
        if not any(sign in str(error) for sign in LOST):
            raise
        why = re.sub(r"^\[[^]]*\] ", "", str(error).splitlines()[0])  # Less the line of gloo's source.
        raise DriftnetError(
            f"process {launch.rank} of {launch.size} lost another ({why}); the same command goes on from the last checkpoint"
        ) from error
    finally:
        with suppress(RuntimeError, AssertionError, ValueError):  # Where another process is gone already.
            dist.destroy_process_group()  # Without it torchrun may start a finished run again.


def device_of(device: str, launch: Launch) -> torch.device:
    """The device by its name; of several processes, each has its own GPU of its machine."""
    chosen = device_named(device)
    if chosen.type != "cuda":
        return chosen
    if launch.size > 1:
        require(chosen.index is None, f"device: {device} is one GPU for {launch.size} processes; give cuda")
        chosen = torch.device("cuda", launch.local % torch.cuda.device_count())
    if chosen.index is not None:  # Without one it is the current device, which torch refuses to be told.
        torch.cuda.set_device(chosen)
    return chosen
