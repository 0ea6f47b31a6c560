"""Collects the metrics of a rollout one step of a batch at a time: what is kept does not hold fields."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from driftnet import registry
from driftnet.metrics.physics import APPLIES
from driftnet.metrics.published import constants, percent_l1
from driftnet.metrics.spectra import energy_spectrum
from driftnet.tasks.base import Quantity, Task

EXAMPLE_TIMES = 21  # Every step of the usual rollout of 20, every fifth of one of 100.
PER_SAMPLE = ["sample", "snapshot", "quantity"]
SIDES = ("prediction", "truth")

Fields = Float[Tensor, "b c h w"]


class Tally:
    """What was measured of `samples` trajectories over `steps` steps; the first batch comes first."""

    def __init__(self, task: Task, samples: int, steps: int, examples: int) -> None:
        self.task, self.steps, self.examples = task, steps, examples
        self.metrics = {name: registry.resolve(reference) for name, reference in registry.METRICS.items()}
        self.checks = {name: registry.resolve(reference) for name, reference in registry.CHECKS.items()}
        names = (*self.metrics, "published_relative_l1", *(f"{name}_{side}" for name in self.checks for side in SIDES))
        self.values = {name: np.full((samples, steps, len(task.quantities)), np.nan) for name in names}
        self.spectra: dict[str, Spectra] = {side: Spectra(steps, len(task.quantities)) for side in SIDES}
        self.shown = [int(step) for step in np.unique(np.linspace(1, steps, EXAMPLE_TIMES).round())]
        self.fields: dict[str, dict[int, Tensor]] = {side: {} for side in SIDES}

    def add(self, first: int, step: int, prediction: Fields, truth: Fields) -> None:
        """Take in predictions after `step` steps for the trajectories from `first` on."""
        samples = slice(first, first + len(truth))
        if first == 0 and step == 1:
            self._drop_unresolved(truth)
        for position, quantity in enumerate(self.task.quantities):
            channels = self.task.channels(quantity)
            # In double precision, squares of any finite prediction are finite.
            pair = prediction[:, channels].double(), truth[:, channels].double()
            for name, found in self._found(quantity, *pair).items():
                self.values[name][samples, step - 1, position] = found.cpu().numpy()
            for side, field in zip(SIDES, pair, strict=True):
                self.spectra[side].add(step - 1, position, energy_spectrum(field))
        self._keep_examples(first, step, {"prediction": prediction, "truth": truth})

    def _drop_unresolved(self, truth: Fields) -> None:
        """Leave out metrics that say nothing on this grid, so that what is not a number later has blown up."""
        probe = torch.arange(truth[0].numel(), dtype=torch.float64).reshape(truth[:1].shape)
        self.metrics = {name: metric for name, metric in self.metrics.items() if not metric(probe, probe).isnan()}

    def _found(self, quantity: Quantity, prediction: Fields, truth: Fields) -> dict[str, Tensor]:
        """Every number of a quantity, by name."""
        errors = {name: metric(prediction, truth) for name, metric in self.metrics.items()}
        if published := self.task.published:
            scale = (constants(part, self.task.channels(quantity), truth) for part in (published.mean, published.std))
            errors["published_relative_l1"] = percent_l1(prediction, truth, *scale)
        sound = prediction.flatten(1).isfinite().all(1)
        errors = {name: _blown_up(values, sound) for name, values in errors.items()}
        declared = APPLIES.get(quantity.name, ()) if self.task.boundary == "periodic" else ()
        checks = {
            f"{name}_{side}": _blown_up(self.checks[name](field), sound | (side == "truth"))
            for name in declared
            for side, field in zip(SIDES, (prediction, truth), strict=True)
        }
        return {**errors, **checks}

    def _keep_examples(self, first: int, step: int, both: dict[str, Fields]) -> None:
        missing = self.examples - first
        if step in self.shown and missing > 0:
            for side, fields in both.items():
                kept = self.fields[side].get(step, fields[:0].cpu())
                self.fields[side][step] = torch.cat((kept, fields[:missing].cpu()))

    def dataset(self) -> xr.Dataset:
        """Everything under named dimensions."""
        measured = {name: (PER_SAMPLE, values) for name, values in self.values.items() if not np.isnan(values).all()}
        spectra = {
            f"spectrum_{side}": (["snapshot", "quantity", "wavenumber"], spectrum.mean)
            for side, spectrum in self.spectra.items()
        }
        examples = {
            f"example_{side}": (["example", "shown", "channel", "x", "y"], torch.stack(list(fields.values()), 1).numpy())
            for side, fields in self.fields.items()
        }
        return xr.Dataset({**measured, **spectra, **examples}, self._coordinates())

    def _coordinates(self) -> dict:
        steps = np.arange(1, self.steps + 1)
        return {
            "snapshot": steps,
            "time": ("snapshot", self.task.times[1] * steps, {"long_name": "physical time"}),
            "quantity": [quantity.name for quantity in self.task.quantities],
            "channel": list(self.task.components),
            "shown": self.shown,
        }


def _blown_up(values: Float[Tensor, " b"], sound: Bool[Tensor, " b"]) -> Float[Tensor, " b"]:
    """Where a prediction is not finite, what is not a number counts as infinite; elsewhere it means: does not apply."""
    return torch.where(~sound & values.isnan(), torch.inf, values)


class Spectra:
    """Mean spectrum by step and quantity over the trajectories whose spectrum is finite."""

    def __init__(self, steps: int, quantities: int) -> None:
        self.count = np.zeros((steps, quantities, 1))
        self.sum: np.ndarray | None = None

    def add(self, step: int, quantity: int, spectra: Float[Tensor, "b modes"]) -> None:
        """Take in a batch."""
        finite = spectra.isfinite().all(1)
        if self.sum is None:
            self.sum = np.zeros((*self.count.shape[:2], spectra.shape[1]))
        self.sum[step, quantity] += torch.where(finite[:, None], spectra, 0.0).sum(0).cpu().numpy()
        self.count[step, quantity] += int(finite.sum())

    @property
    def mean(self) -> np.ndarray:
        """NaN where no trajectory is left."""
        assert self.sum is not None
        return np.where(self.count > 0, self.sum / np.maximum(self.count, 1), np.nan)
