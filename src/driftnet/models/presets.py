"""Named configurations, torch-free."""

from __future__ import annotations

from dataclasses import replace

from driftnet.configs import FNO, UNO, Backbone, ConvUNet, DriftMixer, DriftNet, Frame, Levels, Refiner, UNet

# The authors' configuration T, in our frame and with our reading of the block.
DRIFT_NET = DriftNet()

# The same sizes in the paper's frame, block for block as the authors coded it.
DRIFT_NET_PUBLISHED = DriftNet(
    frame=Frame(predicts="state", padding="zeros"),
    backbone=Backbone(lead_time=True),
    mixer=DriftMixer(mask="published", edge="hard", radius="published"),
)

# Appendix F of the paper: widths (d, 2d, 4d, 4d), two blocks a level, about 17M parameters.
DRIFT_NET_APPENDIX_F = DriftNet(backbone=Backbone(widths=(92, 184, 368, 368), depths=(2, 2, 2, 2), skips=(2, 2, 2, 0)))

# About half a million parameters, for 64x64 grids on a laptop; patch 2, because patch 4 loses too much there.
TINY = Backbone(patch=2, widths=(24, 48, 96), depths=(2, 2, 2), skips=(1, 1, 0))
DRIFT_NET_TINY = DriftNet(backbone=TINY)

CONV_UNET = ConvUNet()
CONV_UNET_TINY = replace(CONV_UNET, backbone=TINY)

# The rivals at about the paper's 20M parameters; 0.5x has half of them, by narrower layers.
FNO_BASE = FNO()
FNO_5 = FNO(layers=5)
FNO_HALF = FNO(width=68)
FNO_TINY = FNO(width=24, modes=12)

UNO_BASE = UNO()
UNO_HALF = UNO(width=62)
UNO_TINY = UNO(width=24, modes=12)

UNET = UNet()
UNET_HALF = UNet(levels=Levels(widths=(35, 70, 140, 280), depth=5))
UNET_TINY = UNet(levels=Levels(widths=(24, 48, 96), depth=2))

REFINER = Refiner()
REFINER_HALF = Refiner(levels=Levels(widths=(32, 64, 128, 256), depth=2, middle=2))
REFINER_TINY = Refiner(levels=Levels(widths=(16, 32, 64), depth=2))
