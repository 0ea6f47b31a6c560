"""Figures that the paper printed, by the label of its table: as printed, in the units of its columns.

Label -> task -> row -> measure. A measure on another grid than the data's is called "measure@share protocol".
"""

from __future__ import annotations

FNS_KF = "FNS-KF"
DRIFT, SCOT = "DRIFT-Net", "scOT"

Figures = dict[str, dict[str, dict[str, float]]]  # Task, row, measure.


def _errors(names: tuple[str, ...], values: dict[str, tuple[float | None, ...]]) -> Figures:
    """Rows of final errors, a task each; None where the paper has a dash."""
    return {
        task: {name: {"final": value} for name, value in zip(names, row, strict=True) if value is not None}
        for task, row in values.items()
    }


MODELS = (SCOT, "FNO", "U-NO", "U-Net-ConvNeXt", "Refiner U-Net", DRIFT)
MAIN: Figures = _errors(
    MODELS,
    {
        "NS-SL": (3.96, 3.69, 3.57, 3.89, 3.48, 3.40),
        "NS-PwC": (2.35, 4.57, 1.62, 2.22, 1.95, 1.09),
        "NS-Tracer-PwC": (5.18, 9.46, 10.15, 9.63, 4.59, 4.19),
        "FNS-KF": (4.65, 4.43, 11.70, 5.94, 4.38, 4.32),
        "Poisson-Gauss": (0.87, 1.29, 1.76, 1.92, None, 0.86),
        "ACE": (1.10, 1.53, 1.27, 1.61, 1.11, 1.03),
        "Wave-Gauss": (12.34, 16.97, 13.94, 16.02, 13.33, 12.15),
    },
)

# The final errors are the table's; mean error and slope stand in the text below it.
KF_LONG: Figures = {
    "KF-Long-turbulent": {
        SCOT: {"final": 114.14, "rollout_mean": 74.76, "growth_slope": 1.185},
        DRIFT: {"final": 110.87, "rollout_mean": 69.89, "growth_slope": 1.154},
    },
    "KF-Long-smoother": {
        SCOT: {"final": 62.99, "rollout_mean": 35.41, "growth_slope": 0.641},
        DRIFT: {"final": 57.17, "rollout_mean": 31.07, "growth_slope": 0.581},
    },
}

COSTS: tuple[str, ...] = ("parameters", "peak_bytes", "epoch_seconds", "throughput")
EFFICIENCY: Figures = {
    FNS_KF: {
        name: dict(zip(COSTS, values, strict=True))
        for name, values in {
            SCOT: (20, 17.25, 17.30, 118),
            "scOT 0.5x": (10, 8.58, 15.81, 175),
            DRIFT: (17, 10.87, 14.91, 158),
            "DRIFT-Net 0.5x": (9, 6.82, 13.96, 224),
        }.items()
    }
}

VARIANTS = (
    DRIFT,
    "without low-frequency mixing",
    "without radial gating",
    "without frequency loss",
    "without 3x3 convolution",
    "without 1x1 linear",
)
ABLATION: Figures = _errors(
    VARIANTS,
    {"NS-PwC": (1.09, 1.65, 1.70, 1.36, 1.11, 1.31), "NS-Tracer-PwC": (4.19, 6.32, 6.55, 5.36, 4.36, 4.21)},
)

WIDTH: Figures = {
    FNS_KF: {
        "scOT 0.5x": {"final": 5.98, "parameters": 10},
        SCOT: {"final": 4.65, "parameters": 20},
        "DRIFT-Net 0.5x": {"final": 5.96, "parameters": 9},
        DRIFT: {"final": 4.32, "parameters": 17},
    }
}

# Rates 1e-4, 3e-4 and 1e-3, of which the middle one is used everywhere else.
RATES: tuple[str, ...] = ("1/3 rate", "rate", "10/3 rate")
LEARNING_RATE: Figures = {
    FNS_KF: {
        f"{model}, {rate}, {schedule}": {"final": error}
        for (model, schedule), errors in {
            (SCOT, "cosine"): (4.78, 4.65, 4.75),
            (DRIFT, "cosine"): (4.45, 4.32, 4.42),
            (SCOT, "step"): (4.83, 4.70, 4.80),
            (DRIFT, "step"): (4.50, 4.38, 4.48),
        }.items()
        for rate, error in zip(RATES, errors, strict=True)
    }
}

# 2.5k, 5k, 10k and 20k trajectories.
SHARES = ("1/8 of the data", "1/4 of the data", "1/2 of the data", "all data")
SAMPLES: Figures = _errors(SHARES, {FNS_KF: (6.25, 5.48, 4.96, 4.32)})

CROSS_RESOLUTION: Figures = {
    FNS_KF: {DRIFT: {"final@0.5 interpolated": 4.328, "final@0.75 interpolated": 4.331, "final@1 native": 4.324}}
}

RESOLUTION_SCALING: Figures = {
    "KF-Long-turbulent": {
        DRIFT: {
            "step_seconds@1 native": 114,
            "step_seconds@2 native": 387,
            "peak_bytes@1 native": 11.7,
            "peak_bytes@2 native": 23.8,
        }
    }
}

PUBLISHED: dict[str, Figures] = {
    "tab:main-results": MAIN,
    "tab:kf-long": KF_LONG,
    "tab:efficiency": EFFICIENCY,
    "tab:ablation": ABLATION,
    "tab:fns-kf-width-scaling": WIDTH,
    "tab:fns-kf-lr": LEARNING_RATE,  # tab:fns-kf-lr-cosine and tab:fns-kf-lr-step.
    "tab:fns-kf-sample-efficiency": SAMPLES,
    "tab:fns-kf-cross-resolution": CROSS_RESOLUTION,
    "tab:resolution-scaling": RESOLUTION_SCALING,
}


def published(label: str, task: str, row: str, measure: str, grid: str = "") -> float | None:
    """What the paper printed, if it did."""
    value = PUBLISHED.get(label, {}).get(task, {}).get(row, {}).get(f"{measure}@{grid}" if grid else measure)
    return None if value is None else float(value)
