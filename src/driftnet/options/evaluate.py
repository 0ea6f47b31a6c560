"""Options of the commands that use trained models."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from driftnet import registry
from driftnet.configs import Convention, Evaluation, require

MOST_STEPS = 10**9  # Of a prediction: HDF5 refuses files whose size it cannot count.


@dataclass(frozen=True)
class EvaluateOptions:
    """Options of `driftnet evaluate`."""

    evaluation: Evaluation = field(default_factory=Evaluation)
    """The rollout."""
    baselines: tuple[str, ...] = tuple(registry.BASELINES)
    """Rows without training, measured beside the runs."""
    data: Path | None = None
    """The data file; the one a run was trained on where not given."""
    convention: Convention = "physical"
    """What the answer shows; both are measured. physical: fractions of fields as they are; published: Poseidon's per cent."""
    device: str = "cpu"
    """Where to evaluate: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    overwrite: bool = False
    """Replace what exists."""


@dataclass(frozen=True)
class PredictOptions:
    """Options of `driftnet predict`."""

    steps: int = 20
    """Steps of the rollout."""
    direct: bool = False
    """Every step from the given state in one application, by its lead time, in place of a rollout."""
    output: Path = Path("prediction.nc")
    """The file to write: the initial state and every step."""
    seed: int = 0
    """Of what some models draw at random in a rollout."""
    device: str = "cpu"
    """Where to run: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    overwrite: bool = False
    """Replace what exists."""

    def __post_init__(self) -> None:
        """Refuse a rollout without steps."""
        require(self.steps > 0, f"steps: {self.steps} is not positive")
        require(self.steps <= MOST_STEPS, f"steps: {self.steps} are more than {MOST_STEPS}")
