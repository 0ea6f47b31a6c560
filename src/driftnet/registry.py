"""Every named thing: name -> "module:attribute", imported only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from driftnet.errors import unknown

TASKS = {
    "NS-SL": "driftnet.tasks.poseidon:NS_SL",
    "NS-PwC": "driftnet.tasks.poseidon:NS_PWC",
    "NS-Tracer-PwC": "driftnet.tasks.poseidon:NS_TRACER_PWC",
    "FNS-KF": "driftnet.tasks.poseidon:FNS_KF",
    "ACE": "driftnet.tasks.poseidon:ACE",
    "Wave-Gauss": "driftnet.tasks.poseidon:WAVE_GAUSS",
    "Poisson-Gauss": "driftnet.tasks.poseidon:POISSON_GAUSS",
    "KF-Long-turbulent": "driftnet.tasks.kolmogorov:KF_LONG_TURBULENT",
    "KF-Long-smoother": "driftnet.tasks.kolmogorov:KF_LONG_SMOOTHER",
}

MODELS = {
    "drift-net": "driftnet.models.presets:DRIFT_NET",
    "drift-net-published": "driftnet.models.presets:DRIFT_NET_PUBLISHED",
    "drift-net-appendix-f": "driftnet.models.presets:DRIFT_NET_APPENDIX_F",
    "drift-net-tiny": "driftnet.models.presets:DRIFT_NET_TINY",
    "drift-net-half": "driftnet.models.presets:DRIFT_NET_HALF",
    "drift-net-half-width": "driftnet.models.presets:DRIFT_NET_HALF_WIDTH",
    "scot": "driftnet.models.presets:SCOT",
    "scot-published": "driftnet.models.presets:SCOT_PUBLISHED",
    "scot-base": "driftnet.models.presets:SCOT_BASE",
    "scot-large": "driftnet.models.presets:SCOT_LARGE",
    "scot-half": "driftnet.models.presets:SCOT_HALF",
    "scot-half-width": "driftnet.models.presets:SCOT_HALF_WIDTH",
    "scot-tiny": "driftnet.models.presets:SCOT_TINY",
    "conv-unet": "driftnet.models.presets:CONV_UNET",
    "conv-unet-tiny": "driftnet.models.presets:CONV_UNET_TINY",
    "fno": "driftnet.models.presets:FNO_BASE",
    "fno-5": "driftnet.models.presets:FNO_5",
    "fno-half": "driftnet.models.presets:FNO_HALF",
    "fno-tiny": "driftnet.models.presets:FNO_TINY",
    "fno-neuralop": "driftnet.models.presets:FNO_NEURALOP",
    "fno-neuralop-tiny": "driftnet.models.presets:FNO_NEURALOP_TINY",
    "uno": "driftnet.models.presets:UNO_BASE",
    "uno-half": "driftnet.models.presets:UNO_HALF",
    "uno-tiny": "driftnet.models.presets:UNO_TINY",
    "uno-neuralop": "driftnet.models.presets:UNO_NEURALOP",
    "uno-neuralop-tiny": "driftnet.models.presets:UNO_NEURALOP_TINY",
    "unet": "driftnet.models.presets:UNET",
    "unet-half": "driftnet.models.presets:UNET_HALF",
    "unet-tiny": "driftnet.models.presets:UNET_TINY",
    "refiner": "driftnet.models.presets:REFINER",
    "refiner-half": "driftnet.models.presets:REFINER_HALF",
    "refiner-tiny": "driftnet.models.presets:REFINER_TINY",
}

METRICS = {
    "relative_l1": "driftnet.metrics.errors:relative_l1",
    "nrmse": "driftnet.metrics.errors:nrmse",
    "vrmse": "driftnet.metrics.errors:vrmse",
    "correlation": "driftnet.metrics.errors:correlation",
    "channel_correlation": "driftnet.metrics.errors:channel_correlation",
    "band_nrmse_low": "driftnet.metrics.bands:band_nrmse_low",
    "band_nrmse_mid": "driftnet.metrics.bands:band_nrmse_mid",
    "band_nrmse_high": "driftnet.metrics.bands:band_nrmse_high",
    "frmse_low": "driftnet.metrics.bands:frmse_low",
    "frmse_mid": "driftnet.metrics.bands:frmse_mid",
    "frmse_high": "driftnet.metrics.bands:frmse_high",
}

CHECKS = {
    "divergence": "driftnet.metrics.physics:divergence",
    "energy": "driftnet.metrics.physics:energy",
    "enstrophy": "driftnet.metrics.physics:enstrophy",
    "mass": "driftnet.metrics.physics:mass",
}

CURVES = {
    "rollout_mean": "driftnet.metrics.growth:rollout_mean",
    "growth_slope": "driftnet.metrics.growth:growth_slope",
    "instantaneous_growth": "driftnet.metrics.growth:instantaneous_growth",
    "correlation_time": "driftnet.metrics.growth:correlation_time",
}

BASELINES = {
    "zero": "driftnet.evaluate.baselines:zero",
    "persistence": "driftnet.evaluate.baselines:persistence",
    "climatology": "driftnet.evaluate.baselines:climatology",
    "solver": "driftnet.evaluate.baselines:solver",
    "solver-half": "driftnet.evaluate.baselines:solver_half",
    "solver-quarter": "driftnet.evaluate.baselines:solver_quarter",
}

BENCHES = {
    "all": "driftnet.bench.everything:bench",
    "data": "driftnet.bench.data:bench",
    "models": "driftnet.bench.models:bench",
    "objectives": "driftnet.bench.objectives:bench",
    "rollout": "driftnet.bench.rollout:bench",
    "solvers": "driftnet.bench.solvers:bench",
    "speed": "driftnet.bench.speed:bench",
    "start": "driftnet.bench.start:bench",
}

FORMATS = {
    "poseidon": "driftnet.data.formats.poseidon:open_poseidon",
    "the-well": "driftnet.data.formats.the_well:open_the_well",
    "pdebench": "driftnet.data.formats.pdebench:open_pdebench",
    "arrays": "driftnet.data.formats.arrays:open_arrays",
}


def resolve(reference: str) -> Any:
    """The object that "module:attribute" names."""
    module, attribute = reference.split(":")
    return getattr(import_module(module), attribute)


def lookup(kind: str, table: Mapping[str, str], name: str) -> Any:
    """The object called `name` in `table`; an unknown name is answered with the nearest known one."""
    if name not in table:
        raise unknown(kind, name, table)
    return resolve(table[name])


def task(name: str) -> Any:
    """The task called `name`, or the one that a YAML file describes."""
    if name.endswith((".yaml", ".yml")):
        return resolve("driftnet.tasks.custom:load_task")(name)
    return lookup("task", TASKS, name)


def model(name: str) -> Any:
    """The configuration of the model preset called `name`."""
    return lookup("model", MODELS, name)
