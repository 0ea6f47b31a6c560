"""The published Poseidon models (Herde et al. 2024), read into our scOT.

Their state has four channels: density, two components of velocity, pressure. Data of incompressible flow are given
density 1 and pressure 0, and what is predicted for the pressure then means nothing; `Incompressible` does so.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from driftnet.configs import Frame, require
from driftnet.devices import device_named
from driftnet.errors import DriftnetError
from driftnet.files import read_json
from driftnet.metrics.statistics import Statistics
from driftnet.models.backbone import INITIAL_SPREAD, MultiScale, build
from driftnet.models.configs import Backbone, ScOT
from driftnet.models.convolution import Convolution, convolution
from driftnet.models.mixers.configs import WindowMixer
from driftnet.models.operator import Normalized, unit_statistics
from driftnet.models.poseidon_names import our_name
from driftnet.models.saved import CONFIG, WEIGHTS, mismatch
from driftnet.tasks.base import Quantity, Source, Split, Task

CHANNELS = ("density", "u", "v", "pressure")
MEAN, STD = (0.80, 0.0, 0.0, 0.0), (0.31, 0.391, 0.356, 0.185)  # Constants of the published loader, for all fluid data.
EMBEDDING, RECOVERY = "embeddings.patch_embeddings.projection.weight", "patch_recovery.projection.weight"
UNSAFE = ("pytorch_model.bin", "model.ckpt")
FIXED = {"residual_model": "convnext", "hidden_act": "gelu", "use_absolute_embeddings": False, "qkv_bias": True}

Layer = TypeVar("Layer", Convolution, nn.Conv2d, nn.ConvTranspose2d)


@dataclass(frozen=True)
class Published:
    """A checkpoint as it was found: its tensors by their published names, and its config.json."""

    source: str
    tensors: dict[str, Tensor]
    settings: dict[str, Any]

    def shape(self, name: str) -> torch.Size:
        """The shape of a tensor that every Poseidon model has."""
        if name not in self.tensors:
            raise DriftnetError(f"{self.source} does not hold a Poseidon model: it lacks {name}")
        return self.tensors[name].shape

    def count(self, prefix: str) -> int:
        """How many numbers follow a prefix among the names."""
        return len({name[len(prefix) :].split(".")[0] for name in self.tensors if name.startswith(prefix)})


def load_poseidon(
    source: str | Path, channels_in: int | None = None, channels_out: int | None = None, device: str = "cpu"
) -> Normalized:
    """The operator of a published checkpoint: a folder with model.safetensors, or a name on the Hugging Face hub.

    It takes and returns density, u, v and pressure in physical units, normalised within by the published constants.
    `lead` is the lead time, index difference / 20; one step where not given. Other numbers of channels, for fine-tuning,
    replace the embedding or the recovery by new ones; with other than four channels out nothing is normalised.
    """
    published = read(source)
    config, network = published_network(published)
    stored = network.embed.in_channels, network.recover.out_channels
    wanted = channels_in or stored[0], channels_out or stored[1]
    require(wanted[0] >= wanted[1] > 0, f"{wanted[0]} channels in cannot hold the {wanted[1]} of the state that come out")
    if wanted != stored:
        said = _replace_ends(network, *wanted)
        warnings.warn(f"{said} of {published.source} begins anew, untrained: fine-tune before use", stacklevel=2)
    statistics = _statistics(wanted, config.frame.predicts == "increment")
    model = Normalized(network, config.frame.predicts, statistics)
    model.origin = config, _task(*wanted)
    return model.to(device_named(device)).eval()


def read(source: str | Path) -> Published:
    """The files of a checkpoint; a pickle is never opened."""
    folder = Path(source) if Path(source).is_dir() else _download(str(source))
    weights, settings = folder / WEIGHTS, folder / CONFIG
    if not weights.is_file():
        unsafe = next((name for name in UNSAFE if (folder / name).exists()), None)
        reason = f"; {unsafe} is a pickle, which is never executed: convert it to safetensors" if unsafe else ""
        raise DriftnetError(f"{folder} has no {WEIGHTS}{reason}")
    try:
        tensors = {name: value.float() for name, value in load_file(weights).items()}
    except (SafetensorError, OSError) as error:
        raise DriftnetError(f"could not read {weights}: {str(error).splitlines()[0]}") from error
    return Published(str(source), tensors, read_json(settings) if settings.is_file() else {})


def _download(name: str) -> Path:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise DriftnetError(f"{name} is neither a folder nor the name of a model on the hub (owner/name)")
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        raise DriftnetError(f"there is no folder {name}; to download a model, pip install huggingface_hub") from error
    try:
        return Path(hub.snapshot_download(name, allow_patterns=[WEIGHTS, CONFIG]))
    except (OSError, ValueError) as error:  # The hub's errors derive from these.
        raise DriftnetError(f"could not download {name}: {str(error).splitlines()[0]}") from error


def published_network(published: Published) -> tuple[ScOT, MultiScale]:
    """The scOT of a checkpoint's sizes with all of its tensors, and none beside them."""
    config = configuration(published)
    tensors = {our_name(name, len(config.backbone.widths)): value for name, value in published.tensors.items()}
    channels = published.shape(EMBEDDING)[1], published.shape(RECOVERY)[1]
    with torch.device("meta"):  # No time is lost on random weights, and a tensor that does not land is noticed.
        network = build(config, *channels, "periodic")
    misfit = mismatch(network.state_dict(), tensors)
    if misfit:
        raise DriftnetError(f"{published.source} {misfit}: it is not a scOT model we know")
    network.load_state_dict(tensors, assign=True)
    return config, network


def configuration(published: Published) -> ScOT:
    """Sizes from the tensors' shapes; from config.json only what these cannot tell."""
    for name, value in FIXED.items():
        found = published.settings.get(name, value)
        require(found == value, f"{published.source}: {name} is {found}, but the published models have {value}")
    frame = Frame(predicts="increment" if published.settings.get("learn_residual") else "state", padding="zeros")
    levels = range(published.count("encoder.layers."))
    heads = tuple(published.shape(f"encoder.layers.{level}.blocks.0.attention.self.logit_scale")[0] for level in levels)
    return ScOT(frame, _backbone(published, levels), WindowMixer(published.settings.get("window_size", 16), heads))


def _backbone(published: Published, levels: range) -> Backbone:
    width, _, patch, _ = published.shape(EMBEDDING)
    hidden = published.shape("encoder.layers.0.blocks.0.intermediate.dense.weight")[0]
    return Backbone(
        patch=patch,
        widths=tuple(width * 2**level for level in levels),
        depths=tuple(published.count(f"encoder.layers.{level}.blocks.") for level in levels),
        skips=tuple(published.count(f"residual_blocks.{level}.") for level in levels),
        mlp_ratio=hidden / width,
        lead_time="embeddings.norm.weight.weight" in published.tensors,
    )


def _replace_ends(network: MultiScale, channels_in: int, channels_out: int) -> str:
    """Give the network an embedding, a recovery or both for other numbers of channels; returns what is new."""
    embed, recover, patch, new = network.embed, network.recover, network.config.patch, []
    if channels_in != embed.in_channels:
        network.embed = _fresh(nn.Conv2d(channels_in, embed.out_channels, patch, stride=patch))
        new.append("embedding")
    if channels_out != recover.out_channels:
        network.recover = _fresh(nn.ConvTranspose2d(recover.in_channels, channels_out, patch, stride=patch))
        network.smooth = _fresh(convolution(channels_out, channels_out, 5, "zeros", bias=False))
        new.append("recovery")
    return f"the {' and the '.join(new)}"


def _fresh(layer: Layer) -> Layer:
    nn.init.normal_(layer.weight, std=INITIAL_SPREAD)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def _task(channels_in: int, channels_out: int) -> Task:
    """What the model is for, as far as its channels tell: so that it can be saved, and loaded as any other."""
    names = tuple(f"channel_{index}" for index in range(channels_in))
    groups = [Quantity(name, (name,)) for name in names[:channels_out]]
    if channels_out == len(CHANNELS):
        groups = [Quantity("density", ("density",)), Quantity("velocity", ("u", "v")), Quantity("pressure", ("pressure",))]
    return Task(
        name="Poseidon",
        equation="what the model is fine-tuned on; published: compressible Euler and incompressible Navier-Stokes flow",
        quantities=tuple(groups),
        static=names[channels_out:],
        boundary="periodic",
        resolution=128,
        snapshots=21,
        final_snapshot=20,
        duration=1.0,
        split=Split(1, 1, 1),
        normalization=None,
        source=Source(file="Poseidon.nc", reference="Herde et al. 2024 (Poseidon)"),
    )


def _statistics(wanted: tuple[int, int], increments: bool) -> Statistics:
    channels = wanted[1]
    if channels != len(CHANNELS):
        return unit_statistics(channels, wanted[0] - channels)
    mean, std = torch.tensor(MEAN), torch.tensor(STD)
    # Where the published model learns increments, they are those of normalised states.
    unit = unit_statistics(channels, wanted[0] - channels)
    return replace(unit, mean=mean, std=std, increment_std=std if increments else unit.increment_std)


class Incompressible(nn.Module):
    """A Poseidon operator on (u, v) alone, as the tasks of incompressible flow have it."""

    def __init__(self, operator: Normalized) -> None:
        super().__init__()
        self.operator = operator

    def forward(
        self, state: Float[Tensor, "b 2 h w"], static: Float[Tensor, "b s h w"], lead: Float[Tensor, " b"] | None = None
    ) -> Float[Tensor, "b 2 h w"]:
        """The next velocity, at density 1 and pressure 0."""
        plane = torch.ones_like(state[:, :1])
        return self.operator(torch.cat((plane, state, 0 * plane), 1), static, lead)[:, 1:3]
