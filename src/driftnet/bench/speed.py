"""`driftnet bench speed`: DRIFT-Net and its rivals beside the same networks as one writes them first."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from statistics import linear_regression, median
from typing import Any

from driftnet.bench.models import as_text, spread
from driftnet.bench.process import ask
from driftnet.configs import require
from driftnet.files import machine, refuse_existing, versions, write_json
from driftnet.memory import ALLOCATOR
from driftnet.options.bench import BenchSpeedOptions
from driftnet.progress import progress

HEAD = (
    "network",
    "batch",
    "threads",
    "forward ms",
    "spread",
    "ratio",
    "step ms",
    "spread",
    "ratio",
    "steps/s",
    "peak MB",
    "ratio",
)
MIXER_HEAD = ("mixer", "batch", "threads", "naive ms", "ours ms", "ratio", "differ by")
GROWTH_HEAD = ("network", "ms at", "exponent")
NAIVE, NETWORKS = "published, naive", ("published", "ours", "scOT, naive", "scOT", "FNO")
ON_A_GPU = ("ours, launched", "ours, bf16")
GROWING = ("published", "ours", "scOT", "FNO")

Found = dict[str, Any]


@dataclass(frozen=True)
class Round:
    """One process: all networks at one batch, with some threads."""

    batch: int
    threads: int


def bench(names: list[str], options: BenchSpeedOptions) -> str:
    """Measure everything; returns the tables."""
    require(not names, "driftnet bench speed takes no names")
    if options.output:
        refuse_existing(options.output, options.overwrite)
    networks = [NAIVE, *NETWORKS, *_library(), *(ON_A_GPU if options.device.startswith("cuda") else ())]
    networks += ["ours, compiled"] if options.compile else []
    found: dict[str, Any] = {"rounds": [], "mixers": [], "growth": []}
    for _ in _measured(networks, options, found):
        if options.output:
            write_json(options.output, {"protocol": _protocol(options), **found})
    return "\n\n".join((*_tables(networks, found), _notes(options)))


def _library() -> list[str]:
    return ["neuralop FNO"] if importlib.util.find_spec("neuralop") else []


def _measured(networks: list[str], options: BenchSpeedOptions, found: dict[str, Any]) -> Iterator[None]:
    """Add what is found, process by process."""
    rounds = [Round(batch, threads) for threads in options.threads_tried for batch in options.batches]
    alone = () if options.device.startswith("cuda") else networks  # The race itself counts the memory of a GPU.
    sizes = options.growth if len(options.growth) > 1 else ()
    with progress("bench", len(rounds) * (len(alone) + 2) + len(sizes)) as advance:
        for each in rounds:
            case = _case(options, each.batch)
            found["mixers"].append(vars(each) | {"levels": ask("driftnet.bench.contest:mixers", case, each.threads)})
            advance(note=f"mixers, batch {each.batch}")
            raced = ask("driftnet.bench.contest:race", case | {"networks": networks, "training": True}, each.threads)
            advance(note=f"networks, batch {each.batch}")
            for name in alone:
                raced[name]["peak"] = ask("driftnet.bench.contest:peak", case | {"network": name}, each.threads)
                advance(note=f"memory of {name}, batch {each.batch}")
            found["rounds"].append(vars(each) | {"networks": raced})
            yield
        for size in sizes:
            case = _case(options, 1) | {"resolution": size, "networks": GROWING, "training": False}
            found["growth"].append({"resolution": size, "networks": ask("driftnet.bench.contest:race", case, 1)})
            advance(note=f"{size} x {size} points")
            yield


def _case(options: BenchSpeedOptions, batch: int) -> dict[str, Any]:
    return {"device": options.device, "resolution": options.resolution, "repeats": options.repeats, "batch": batch}


def ratio(naive: Found, other: Found, what: str) -> float:
    """How many times faster than the naive network, or what share of its memory."""
    if what == "peak":
        return other["peak"] / naive["peak"]
    return median(naive[what]) / median(other[what])


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The p of seconds ~ pixels ** p, by least squares in the logarithms."""
    x, y = [2 * log(size) for size in sizes], [log(second) for second in seconds]
    return linear_regression(x, y).slope


def _tables(networks: list[str], found: dict[str, Any]) -> Iterator[str]:
    yield as_text([row for each in found["mixers"] for row in _mixer_rows(each)], MIXER_HEAD)
    yield as_text([_row(name, each) for each in found["rounds"] for name in networks], HEAD)
    if found["growth"]:
        yield as_text([_growth(name, found["growth"]) for name in GROWING], GROWTH_HEAD)


def _mixer_rows(each: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    where = str(each["batch"]), str(each["threads"])
    total = {"naive": 0.0, "ours": 0.0}
    for level in each["levels"]:
        naive, ours = (median(level[name]) for name in total)
        total = {"naive": total["naive"] + naive, "ours": total["ours"] + ours}
        name = f"{level['channels']} channels, {level['side']} x {level['side']}"
        yield (name, *where, *_mixer_times(naive, ours), f"{level['apart']:.0e}")
    yield ("all levels", *where, *_mixer_times(total["naive"], total["ours"]), "")


def _mixer_times(naive: float, ours: float) -> tuple[str, str, str]:
    return f"{1000 * naive:.3f}", f"{1000 * ours:.3f}", f"{naive / ours:.2f}"


def _row(name: str, each: dict[str, Any]) -> tuple[str, ...]:
    naive, own = each["networks"][NAIVE], each["networks"][name]
    cells = [name, str(each["batch"]), str(each["threads"])]
    for what in ("forward", "step"):
        seconds = own[what]
        cells += [f"{1000 * median(seconds):.1f}", f"{1000 * spread(seconds):.1f}", f"{ratio(naive, own, what):.2f}"]
    return (*cells, f"{1 / median(own['step']):.2f}", f"{own['peak'] / 1e6:.0f}", f"{ratio(naive, own, 'peak'):.2f}")


def _growth(name: str, growth: list[dict[str, Any]]) -> tuple[str, ...]:
    sizes = [each["resolution"] for each in growth]
    seconds = [median(each["networks"][name]["forward"]) for each in growth]
    listed = ", ".join(f"{size}: {1000 * second:.1f}" for size, second in zip(sizes, seconds, strict=True))
    return name, listed, f"{exponent(sizes, seconds):.2f}"


def _protocol(options: BenchSpeedOptions) -> dict[str, Any]:
    kept = {key: value for key, value in vars(options).items() if key not in ("output", "overwrite")}
    return {**kept, "allocator": ALLOCATOR, "machine": machine(), "versions": versions()}


def _notes(options: BenchSpeedOptions) -> str:
    size = f"{options.resolution} x {options.resolution}"
    return (
        f"{size} points, 2 channels in and out, single precision, on {options.device}; allocator fixed. Networks take turns\n"
        f"within a process; medians of {options.repeats} calls, spread: half the interquartile range. step: forward,\n"
        "backward, clipping, AdamW. peak MB: of a training step, on a CPU alone in a process. ratio: to 'published,\n"
        "naive', the authors' network written plainly: how many times faster, or what share of its memory. published:\n"
        "the same numbers; ours: our reading of them. differ by: from the naive mixer with the same weights, of the\n"
        "largest value. exponent: of forward time in pixels, batch 1.\n"
        f"{machine()['machine']}, {machine()['cores']} cores, torch {versions()['torch']}"
    )
