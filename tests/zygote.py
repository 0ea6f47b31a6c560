"""Starts commands in processes of their own, quickly: one process imports everything once and forks for every command.

Victims of kill tests can so be started by the dozen. What they are told to run first (`prelude`) may slow them down.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

PATIENCE = 120  # Seconds after which a process that does not end is taken to hang.
LOOP = """
import json, os, signal, sys, traceback
import torch, yaml, h5py, xarray, jsonargparse, safetensors.torch
import driftnet.train.fit, driftnet.evaluate.suite, driftnet.data.generate
from driftnet.cli import main
torch.set_num_threads(1)

def child(order):
    out = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1), os.dup2(out, 2)
    os.environ.update(order["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored, where tests run in the background of a shell.
    code = 0
    try:
        exec(order["prelude"], {})
        main(order["arguments"])
    except SystemExit as leaving:
        code = leaving.code or 0
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    os._exit(code)

print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if order["what"] == "start":
        answer = os.fork() or child(order)
    else:
        pid, status = os.waitpid(order["pid"], os.WNOHANG)
        answer = os.waitstatus_to_exitcode(status) if pid else None
    print(json.dumps(answer), flush=True)
"""


class Zygote:
    """The process that forks."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, arguments, output: Path, prelude="", **environment) -> "Victim":
        output.parent.mkdir(parents=True, exist_ok=True)
        asked = {"arguments": list(map(str, arguments)), "output": str(output), "prelude": prelude, "environment": environment}
        return Victim(self, self.ask(what="start", **asked), output)

    def team(self, size: int, arguments, output: Path, prelude="") -> "list[Victim]":
        """Processes of one run, as torchrun would start them."""
        common = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        return [
            self.start(arguments, output.with_suffix(f".{rank}"), prelude, RANK=str(rank), LOCAL_RANK=str(rank), **common)
            for rank in range(size)
        ]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@dataclass
class Victim:
    """A process that runs one command."""

    zygote: Zygote
    pid: int
    output: Path
    code: int | None = None

    def poll(self) -> int | None:
        if self.code is None:
            self.code = self.zygote.ask(what="poll", pid=self.pid)
        return self.code

    def wait(self) -> int:
        until = time.monotonic() + PATIENCE
        while self.poll() is None:
            if time.monotonic() > until:
                self.send(signal.SIGKILL)
                raise AssertionError(f"process did not end; it said: {self.said()}")
            time.sleep(0.005)
        return self.code

    def send(self, number: int) -> None:
        """A signal, where the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def reached(run: Path) -> int:
    """The step of the last checkpoint, 0 where there is none; a file that is just being renamed is looked for again."""
    for name in ("last.ckpt", "previous.ckpt"):
        with suppress(OSError, RuntimeError, SafetensorError), safe_open(run / name, "pt") as file:
            return int(file.metadata()["step"])
    return 0
