"""How the processes of one start find each other, and not those of a start before."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from datetime import timedelta

from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from driftnet.errors import DriftnetError

PAUSE = 0.05  # Seconds between two looks; in between a signal is heard, which it is not inside torch.


def own_store(address: str, rank: int, size: int, wait: timedelta) -> Store:
    """A store with nothing of earlier starts in it.

    torchrun starts processes again on the store that it has, where gloo finds addresses of the dead and waits for them
    (torch 2.13: 1 of 3 restarts hung or failed on a busy machine).
    """
    store, rank, size = next(iter(rendezvous(address, rank, size, timeout=wait)))
    name = _call(store, size, wait) if rank == 0 else _answer(store, rank, wait)
    return PrefixStore(name, store)


def _call(store: Store, size: int, wait: timedelta) -> str:
    """The first process names the start, and gives the name to whoever asks until all that are alive have it."""
    name, others = uuid.uuid4().hex, range(1, size)
    for _ in _patiently(wait):
        for rank in (rank for rank in others if store.check([f"asks/{rank}"])):
            store.set(f"told/{store.get(f'asks/{rank}').decode()}", name)
        if all(store.check([f"heard/{name}/{rank}"]) for rank in others):
            break
    return name


def _answer(store: Store, rank: int, wait: timedelta) -> str:
    """Every other one asks under a name of its own: what a dead one was told is not for it."""
    question = uuid.uuid4().hex
    store.set(f"asks/{rank}", question)
    for _ in _patiently(wait):
        if store.check([f"told/{question}"]):
            break
    name = store.get(f"told/{question}").decode()
    store.set(f"heard/{name}/{rank}", "")
    return name


def _patiently(wait: timedelta) -> Iterator[None]:
    """Look again and again, for so long."""
    until = time.monotonic() + wait.total_seconds()
    while time.monotonic() < until:
        yield
        time.sleep(PAUSE)
    raise DriftnetError(f"not all processes of the run have come within {wait}")
