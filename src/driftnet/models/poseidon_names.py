"""The names of the published Poseidon tensors, and ours."""

from __future__ import annotations

import re
from collections.abc import Mapping

BLOCK = {
    "attention.self.continuous_position_bias_mlp.": "mixer.position.",
    "attention.self.": "mixer.",
    "attention.output.dense.": "mixer.output.",
    "layernorm_before.": "mixer_norm.",
    "layernorm_after.": "mlp_norm.",
    "intermediate.dense.": "mlp.0.",
    "output.dense.": "mlp.2.",
}
SKIP = {"dwconv.": "depthwise.", "pwconv1.": "mlp.0.", "pwconv2.": "mlp.2.", "weight": "scale"}
MERGE = {"reduction.": "reduce."}
SPLIT = {"upsample.": "expand.", "mixup.": "mix."}

# Published name, our name, and how what the last group matched begins in ours. The published decoder counts its levels
# from the deepest: {level} is ours, {above} the next finer one.
NAMES = (
    (r"embeddings\.patch_embeddings\.projection\.(.+)", "embed.{0}", {}),
    (r"embeddings\.norm\.(.+)", "embed_norm.{0}", {}),
    (r"encoder\.layers\.(\d+)\.blocks\.(\d+)\.(.+)", "encoder.{0}.blocks.{1}.{2}", BLOCK),
    (r"encoder\.layers\.(\d+)\.downsample\.(.+)", "merge.{0}.{1}", MERGE),
    (r"decoder\.layers\.(\d+)\.blocks\.(\d+)\.(.+)", "decoder.{level}.blocks.{1}.{2}", BLOCK),
    (r"decoder\.layers\.(\d+)\.upsample\.(.+)", "split.{above}.{1}", SPLIT),
    (r"residual_blocks\.(\d+)\.(\d+)\.(.+)", "skips.{0}.{1}.{2}", SKIP),
    (r"patch_recovery\.projection\.(.+)", "recover.{0}", {}),
    (r"patch_recovery\.mixup\.(.+)", "smooth.{0}", {}),
)


def our_name(name: str, levels: int) -> str:
    """The name in our scOT of a published tensor; a name that is not published stays as it is."""
    for pattern, ours, beginnings in NAMES:
        match = re.fullmatch(pattern, name)
        if match:
            *numbers, last = match.groups()
            level = levels - 1 - int(numbers[0]) if numbers else 0
            return ours.format(*numbers, _renamed(last, beginnings), level=level, above=level - 1)
    return name


def _renamed(name: str, beginnings: Mapping[str, str]) -> str:
    return next((ours + name.removeprefix(theirs) for theirs, ours in beginnings.items() if name.startswith(theirs)), name)
