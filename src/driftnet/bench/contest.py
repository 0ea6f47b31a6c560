"""What `driftnet bench speed` measures, in a process of its own: networks in turn, so that a busy minute falls on all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from driftnet import registry
from driftnet.bench.naive import Naive, as_image, as_tokens, naive_drift
from driftnet.configs import ONE_STEP, ModelConfig
from driftnet.devices import device_named, exact_arithmetic
from driftnet.memory import resident
from driftnet.models.recorded import record

PRESETS = {"published": "drift-net-published", "ours": "drift-net", "scOT": "scot-published", "FNO": "fno"}
CHANNELS = 2  # The velocity of the paper's flows.
LAPS = {"cpu": 1, "cuda": 3}  # Calls between two looks at the clock.
CLIP = 5.0

Work = Callable[[], Any]


def race(case: dict[str, Any]) -> dict[str, Any]:
    """Seconds of forward passes and of training steps of every network, and how far their outputs are from the naive ones.

    On a GPU also the bytes at the peak of a training step, which its allocator counts.
    """
    device, x = _place(case)
    networks, outputs, steps = dict[str, nn.Module](), dict[str, Tensor](), dict[str, Work]()
    found: dict[str, Any] = {name: {} for name in case["networks"]}
    for name in found:
        start = _restarted(device)
        networks[name] = _entrant(name, device)
        with torch.no_grad():
            outputs[name] = _called(networks[name], x).float()
        if case["training"]:
            steps[name] = _training(networks[name], x)
        if start is not None and case["training"]:
            steps[name]()
            found[name]["peak"] = torch.cuda.max_memory_allocated(device) - start
    for name in found:
        found[name]["apart"] = _apart(name, outputs)
    forward = {name: _forward(network, x) for name, network in networks.items()}
    for what, works in {"forward": forward, "step": steps}.items():
        for name, seconds in in_turn(works, case["repeats"], device).items():
            found[name][what] = seconds
    return found


def peak(case: dict[str, Any]) -> int:
    """Bytes at the peak of a few training steps of a network, on a CPU: the resident memory of a process is good for one."""
    device, x = _place(case)
    start = resident("VmRSS")
    step = _training(_entrant(case["network"], device), x)
    for _ in range(3):
        step()
    return resident("VmHWM") - start


def _restarted(device: torch.device) -> int | None:
    """Bytes that a GPU holds now, from where on its peak is counted."""
    if device.type != "cuda":
        return None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def mixers(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds of the mixer of every level of the published network, and of the naive one."""
    device, x = _place(case)
    found = []
    for level in _entrant("published", device).encoder:  # pyright: ignore
        mixer, side = level.blocks[0].mixer, case["resolution"] // 4 >> len(found)  # pyright: ignore
        image = torch.randn(len(x), mixer.pointwise.in_features, side, side, device=device)
        image = image.contiguous(memory_format=torch.channels_last)  # As its place in the network has it.
        tokens = as_tokens(image)
        with torch.no_grad():
            expected = as_image(naive_drift(mixer, tokens))
            apart = float((mixer(image) - expected).abs().max() / expected.abs().max())
            works: dict[str, Work] = {"ours": lambda: mixer(image), "naive": lambda: naive_drift(mixer, tokens)}  # noqa: B023
            seconds = in_turn(works, case["repeats"], device)
        found.append({"channels": image.shape[1], "side": side, "apart": apart, **seconds})
    return found


def in_turn(works: dict[str, Work], repeats: int, device: torch.device) -> dict[str, list[float]]:
    """Seconds of every call, after two that are not counted."""
    found: dict[str, list[float]] = {name: [] for name in works}
    laps = LAPS.get(device.type, 1)
    for turn in range(repeats + 2):
        for name, work in works.items():
            _wait(device)
            began = time.perf_counter()
            for _ in range(laps):
                work()
            _wait(device)
            if turn >= 2:
                found[name].append((time.perf_counter() - began) / laps)
    return found


def _place(case: dict[str, Any]) -> tuple[torch.device, Tensor]:
    device = device_named(case["device"])
    exact_arithmetic()
    torch.manual_seed(0)
    return device, torch.randn(case["batch"], CHANNELS, case["resolution"], case["resolution"]).to(device)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _entrant(name: str, device: torch.device) -> nn.Module:
    """A network by what it is and how it is computed, as in "published, naive"."""
    torch.manual_seed(0)  # The same weights, however they are used.
    preset, _, how = name.partition(", ")
    if preset == "neuralop FNO":
        return _library_fno().to(device)
    config: ModelConfig = registry.model(PRESETS[preset])
    network = registry.resolve(config.builder)(config, CHANNELS, CHANNELS, "periodic").to(device)
    if how == "compiled":
        network.forward = torch.compile(network.forward, dynamic=False)
    if how not in ("naive", "launched"):
        record(network)
    return WRAPPERS[how](network) if how in WRAPPERS else network


def _library_fno() -> nn.Module:
    """The maintained library's, in the sizes of our own."""
    from neuralop.models import FNO  # pyright: ignore[reportMissingImports]

    return FNO(n_modes=(32, 32), in_channels=CHANNELS, out_channels=CHANNELS, hidden_channels=96, n_layers=4)


class _Half(nn.Module):
    """A network under autocast."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Products in bf16, transforms in single precision."""
        with torch.autocast(x.device.type, torch.bfloat16, cache_enabled=False):
            return self.network(x)


WRAPPERS: dict[str, type[nn.Module]] = {"naive": Naive, "bf16": _Half}


def _called(network: nn.Module, x: Tensor) -> Tensor:
    return network(x, x.new_full((len(x),), ONE_STEP)) if isinstance(network, Naive) else network(x)


def _forward(network: nn.Module, x: Tensor) -> Work:
    @torch.no_grad()
    def forward() -> None:
        _called(network, x)

    return forward


def _training(network: nn.Module, x: Tensor) -> Work:
    # The authors' weights are complex, as the library's are, and the fused optimiser refuses those.
    fused = not isinstance(network, Naive) and not any(each.is_complex() for each in network.parameters())
    optimizer = torch.optim.AdamW(network.parameters(), fused=fused)

    def step() -> None:
        optimizer.zero_grad()
        _called(network, x).float().square().mean().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()

    return step


def _apart(name: str, outputs: dict[str, Tensor]) -> float | None:
    """Largest difference from the naive network of the same weights, of the largest value."""
    expected = outputs.get(f"{name.partition(', ')[0]}, naive")
    return None if expected is None else float((outputs[name] - expected).abs().max() / expected.abs().max())
