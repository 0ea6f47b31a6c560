from __future__ import annotations

import json
from itertools import product
from math import log, prod

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import driftnet
from driftnet.errors import DriftnetError, UsageError
from driftnet.models.poseidon import Incompressible, Published, published_network
from driftnet.models.poseidon_names import our_name

T = {"width": 48, "depths": (4, 4, 4, 4), "heads": (3, 6, 12, 24), "skips": (2, 2, 2, 0)}
B = {**T, "width": 96, "depths": (8, 8, 8, 8)}
L = {**B, "width": 192}
SMALL = {"width": 8, "depths": (2, 3), "heads": (2, 4), "skips": (1, 0)}
WINDOW = 4


def linear(name: str, wide: int, narrow: int, bias: bool = True) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (wide, narrow), **({f"{name}.bias": (wide,)} if bias else {})}


def norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {**linear(f"{name}.weight", width, 1), **linear(f"{name}.bias", width, 1)}


def block(name: str, width: int, heads: int) -> dict[str, tuple[int, ...]]:
    attention = f"{name}.attention.self"
    return {
        **linear(f"{attention}.query", width, width),
        **linear(f"{attention}.key", width, width, bias=False),
        **linear(f"{attention}.value", width, width),
        f"{attention}.logit_scale": (heads, 1, 1),
        **linear(f"{attention}.continuous_position_bias_mlp.0", 512, 2),
        **linear(f"{attention}.continuous_position_bias_mlp.2", heads, 512, bias=False),
        **linear(f"{name}.attention.output.dense", width, width),
        **norm(f"{name}.layernorm_before", width),
        **norm(f"{name}.layernorm_after", width),
        **linear(f"{name}.intermediate.dense", 4 * width, width),
        **linear(f"{name}.output.dense", width, 4 * width),
    }


def skip(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {
        f"{name}.weight": (width,),
        f"{name}.dwconv.weight": (width, 1, 7, 7),
        f"{name}.dwconv.bias": (width,),
        **norm(f"{name}.norm", width),
        **linear(f"{name}.pwconv1", 4 * width, width),
        **linear(f"{name}.pwconv2", width, 4 * width),
    }


def published_shapes(width, depths, heads, skips, channels: int = 4) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a published checkpoint, from its description and not from our model."""
    deepest = len(depths) - 1
    shapes = {
        "embeddings.patch_embeddings.projection.weight": (width, channels, 4, 4),
        "embeddings.patch_embeddings.projection.bias": (width,),
        **norm("embeddings.norm", width),
        "patch_recovery.projection.weight": (width, channels, 4, 4),
        "patch_recovery.projection.bias": (channels,),
        "patch_recovery.mixup.weight": (channels, channels, 5, 5),
    }
    for level, depth in enumerate(depths):
        fine = width * 2**level
        for index in range(depth):
            shapes |= block(f"encoder.layers.{level}.blocks.{index}", fine, heads[level])
            shapes |= block(f"decoder.layers.{deepest - level}.blocks.{index}", fine, heads[level])
        for index in range(skips[level]):
            shapes |= skip(f"residual_blocks.{level}.{index}", fine)
        if level < deepest:
            down, up = f"encoder.layers.{level}.downsample", f"decoder.layers.{deepest - 1 - level}.upsample"
            shapes |= {**linear(f"{down}.reduction", 2 * fine, 4 * fine, bias=False), **norm(f"{down}.norm", 2 * fine)}
            shapes |= {**linear(f"{up}.upsample", 4 * fine, 2 * fine, bias=False), **norm(f"{up}.norm", fine)}
            shapes |= linear(f"{up}.mixup", fine, fine, bias=False)
    return shapes


def small_tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in published_shapes(**SMALL).items()}


@pytest.fixture
def checkpoint(tmp_path):
    save_file(small_tensors(), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"window_size": WINDOW, "num_channels": 4}))
    return tmp_path


# The published forward pass, by the published names.


def conditioned_norm(w, name, x, lead):
    mean = x.mean(-1, keepdim=True)
    normal = (x - mean) / (x.square().mean(-1, keepdim=True) - mean.square() + 1e-5).sqrt()
    scale, shift = (lead * w[f"{name}.{part}.weight"][:, 0] + w[f"{name}.{part}.bias"] for part in ("weight", "bias"))
    return scale * normal + shift


def dense(w, name, x):
    return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))


def attend(w, name, tokens, place, region, side):
    """One window: tokens (n, c), their places in it and the regions of the shift mask."""
    heads = w[f"{name}.logit_scale"].shape[0]
    offset = 8 * (place[:, None] - place) / (side - 1)
    offset = offset.sign() * (offset.abs() + 1).log2() / 3
    bias = dense(w, f"{name}.continuous_position_bias_mlp.0", offset).relu()
    bias = 16 * dense(w, f"{name}.continuous_position_bias_mlp.2", bias).sigmoid()
    apart = -100.0 * (region[:, None] != region)
    found = []
    for head, part in enumerate(torch.arange(tokens.shape[-1]).chunk(heads)):
        q, k, v = (dense(w, f"{name}.{each}", tokens)[:, part] for each in ("query", "key", "value"))
        cosine = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).T
        scale = w[f"{name}.logit_scale"][head, 0, 0].clamp(max=log(100)).exp()
        found.append((cosine * scale + bias[..., head] + apart + apart).softmax(-1) @ v)
    return torch.cat(found, -1)


def swin_block(w, name, x, lead, shifted):
    """A block on (h, w, c), window after window."""
    size = x.shape[0]
    side, shift = min(WINDOW, size), WINDOW // 2 if shifted and size > WINDOW else 0
    cut = (
        torch.bucketize(torch.arange(size), torch.tensor([size - side, size - shift]), right=True)
        if shift
        else torch.zeros(size)
    )
    regions, rolled, mixed = 3 * cut[:, None] + cut, x.roll((-shift, -shift), (0, 1)), torch.empty_like(x)
    place = torch.cartesian_prod(torch.arange(side), torch.arange(side)).to(x.dtype)
    for row, column in product(range(0, size, side), repeat=2):
        here = (slice(row, row + side), slice(column, column + side))
        tokens, region = rolled[here].flatten(0, 1), regions[here].flatten()
        mixed[here] = attend(w, f"{name}.attention.self", tokens, place, region, side).view(side, side, -1)
    mixed = dense(w, f"{name}.attention.output.dense", mixed.roll((shift, shift), (0, 1)))
    x = x + conditioned_norm(w, f"{name}.layernorm_before", mixed, lead)
    hidden = dense(w, f"{name}.output.dense", F.gelu(dense(w, f"{name}.intermediate.dense", x)))
    return x + conditioned_norm(w, f"{name}.layernorm_after", hidden, lead)


def convnext(w, name, x, lead):
    near = F.conv2d(x.permute(2, 0, 1), w[f"{name}.dwconv.weight"], w[f"{name}.dwconv.bias"], padding=3, groups=x.shape[-1])
    normal = conditioned_norm(w, f"{name}.norm", near.permute(1, 2, 0), lead)
    return x + w[f"{name}.weight"] * dense(w, f"{name}.pwconv2", F.gelu(dense(w, f"{name}.pwconv1", normal)))


def published_forward(w, field, lead):
    """The two levels of SMALL on one field (c, h, w), step by step."""
    projection = "embeddings.patch_embeddings.projection"
    x = F.conv2d(field, w[f"{projection}.weight"], w[f"{projection}.bias"], stride=4).permute(1, 2, 0)
    entered = x = conditioned_norm(w, "embeddings.norm", x, lead)
    for index in range(2):
        x = swin_block(w, f"encoder.layers.0.blocks.{index}", x, lead, index == 1)
    bridge, x = x, x + entered
    x = torch.cat((x[0::2, 0::2], x[1::2, 0::2], x[0::2, 1::2], x[1::2, 1::2]), -1)
    x = dense(w, "encoder.layers.0.downsample.reduction", x)
    x = conditioned_norm(w, "encoder.layers.0.downsample.norm", x, lead)
    for part, index in product(("encoder.layers.1", "decoder.layers.0"), range(3)):
        x = swin_block(w, f"{part}.blocks.{index}", x, lead, index == 1)
    wide = dense(w, "decoder.layers.0.upsample.upsample", x).view(*x.shape[:2], 2, 2, -1)
    x = wide.permute(0, 2, 1, 3, 4).reshape(2 * x.shape[0], 2 * x.shape[1], -1)
    x = dense(w, "decoder.layers.0.upsample.mixup", conditioned_norm(w, "decoder.layers.0.upsample.norm", x, lead))
    x = x + convnext(w, "residual_blocks.0.0", bridge, lead)
    for index in range(2):
        x = swin_block(w, f"decoder.layers.1.blocks.{index}", x, lead, index == 0)
    recovery = "patch_recovery.projection"
    x = F.conv_transpose2d(x.permute(2, 0, 1), w[f"{recovery}.weight"], w[f"{recovery}.bias"], stride=4)
    return F.conv2d(x, w["patch_recovery.mixup.weight"], padding=2)


@torch.no_grad()
@pytest.mark.parametrize("size", [32, 64])
def test_the_forward_pass_is_the_published_one(checkpoint, size):
    network = driftnet.load_poseidon(checkpoint).network.double()
    weights = {name: value.double() for name, value in small_tensors().items()}
    field, lead = torch.randn(2, 4, size, size, dtype=torch.float64), torch.tensor([0.05, 0.8], dtype=torch.float64)
    expected = torch.stack([published_forward(weights, *sample) for sample in zip(field, lead, strict=True)])
    torch.testing.assert_close(network(field, lead), expected, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(network.float()(field.float(), lead.float()).double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("size", "channels", "tensors", "parameters"),
    [
        (T, 2, 844, 20_771_070),
        (T, 4, 844, 20_774_444),
        (B, 2, 1580, 157_723_542),
        (B, 4, 1580, 157_729_988),
        (L, 4, 1580, 628_575_524),
    ],
    ids=["T2", "T4", "B2", "B4", "L4"],
)
def test_the_described_checkpoints_have_the_published_numbers_of_tensors_and_parameters(size, channels, tensors, parameters):
    shapes = published_shapes(**size, channels=channels)
    assert len(shapes) == tensors
    assert sum(map(prod, shapes.values())) == parameters


@pytest.mark.parametrize("size", [T, B, L])
def test_every_published_tensor_lands_and_nothing_is_left_over(size):
    shapes = published_shapes(**size)
    tensors = {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
    config, network = published_network(Published("here", tensors, {}))
    landed = network.state_dict()
    assert {our_name(name, 4): shape for name, shape in shapes.items()} == {name: tuple(v.shape) for name, v in landed.items()}
    assert (config.backbone.widths[0], config.backbone.depths, config.mixer.heads) == (
        size["width"],
        size["depths"],
        size["heads"],
    )


def test_a_rollout_runs_in_physical_units(checkpoint):
    operator = driftnet.load_poseidon(checkpoint)
    state = torch.rand(1, 4, 32, 32)
    mean, std = torch.tensor([0.80, 0, 0, 0])[:, None, None], torch.tensor([0.31, 0.391, 0.356, 0.185])[:, None, None]
    with torch.no_grad():
        states = driftnet.rollout(operator, state, state[:, :0], 2)
        expected = operator.network((state - mean) / std) * std + mean
    torch.testing.assert_close(states[:, 0], expected)


def test_incompressible_flow_has_density_one_and_pressure_zero(checkpoint):
    operator = driftnet.load_poseidon(checkpoint)
    velocity = torch.rand(1, 2, 32, 32)
    full = torch.cat((torch.ones(1, 1, 32, 32), velocity, torch.zeros(1, 1, 32, 32)), 1)
    assert torch.equal(Incompressible(operator)(velocity, full[:, :0]), operator(full, full[:, :0])[:, 1:3])


def test_other_channels_replace_the_ends_alone_and_say_so(checkpoint):
    with pytest.warns(UserWarning, match="the embedding and the recovery of .* begins anew"):
        tuned = driftnet.load_poseidon(checkpoint, channels_in=3, channels_out=2).network.state_dict()
    kept = driftnet.load_poseidon(checkpoint).network.state_dict()
    new = {name for name in kept if tuned[name].shape != kept[name].shape or not torch.equal(tuned[name], kept[name])}
    assert new == {"embed.weight", "embed.bias", "recover.weight", "recover.bias", "smooth.weight"}
    with pytest.raises(UsageError, match="2 channels in cannot hold the 3"):
        driftnet.load_poseidon(checkpoint, channels_in=2, channels_out=3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda w: w.pop("patch_recovery.mixup.weight"), "lacks 1 tensors, such as smooth.weight"),
        (lambda w: w.update({"classifier.weight": torch.ones(1)}), "holds foreign 1 tensors, such as classifier.weight"),
        (lambda w: w.update({"patch_recovery.mixup.weight": torch.ones(4, 4, 3, 3)}), "another shape in 1 tensors"),
        (lambda w: w.pop("embeddings.patch_embeddings.projection.weight"), "does not hold a Poseidon model"),
        (dict.clear, "does not hold a Poseidon model|at least one"),
    ],
)
def test_another_models_tensors_are_refused_in_one_line(change, said):
    tensors = small_tensors()
    change(tensors)
    with pytest.raises(DriftnetError, match=said):
        published_network(Published("here", tensors, {"window_size": WINDOW}))


def test_a_pickle_is_never_opened(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(DriftnetError, match=r"pytorch_model\.bin is a pickle, which is never executed"):
        driftnet.load_poseidon(tmp_path)


def test_a_path_that_is_neither_a_folder_nor_a_name_is_refused():
    with pytest.raises(DriftnetError, match="neither a folder nor the name"):
        driftnet.load_poseidon("/nowhere/at/all")


@pytest.mark.filterwarnings("ignore:the embedding and the recovery")
@pytest.mark.parametrize(("channels_in", "channels_out"), [(4, 4), (3, 2)])
@torch.no_grad()
def test_a_published_model_saved_here_is_loaded_as_any_other(channels_in, channels_out, checkpoint, tmp_path):
    model = driftnet.load_poseidon(checkpoint, channels_in, channels_out)
    model.save_pretrained(tmp_path / "saved")
    state, static = torch.rand(1, channels_out, 32, 32), torch.rand(1, channels_in - channels_out, 32, 32)
    lead = torch.tensor([0.35])
    assert torch.equal(driftnet.load(tmp_path / "saved")(state, static, lead), model(state, static, lead))
