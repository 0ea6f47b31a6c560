import os
from pathlib import Path

import pytest
import torch

from driftnet import registry
from driftnet.data.generate import generate
from driftnet.data.jobs import plan
from driftnet.tasks.base import Split

os.environ["OMP_NUM_THREADS"] = "1"  # For processes that tests start.
torch.set_num_threads(1)

SMALL = {"split": Split(4, 1, 2), "resolution": 16, "snapshots": 4, "workers": 1}
FAST_TRAINING = ["--training.steps", "12", "--training.batch", "2", "--training.validations", "3", "--training.rate", "1e-3"]


@pytest.fixture(scope="session")
def small_data(tmp_path_factory) -> Path:
    """Seven trajectories of NS-PwC on 16 x 16 points."""
    path = tmp_path_factory.mktemp("data") / "NS-PwC.nc"
    generate(plan(registry.task("NS-PwC"), output=path, **SMALL), overwrite=False)
    return path


@pytest.fixture(scope="session")
def small_run(small_data, tmp_path_factory) -> Path:
    """A finished training run on the small data."""
    from driftnet.cli import main

    runs = tmp_path_factory.mktemp("runs")
    main(["train", "NS-PwC", "drift-net-tiny", "--data", str(small_data), "--runs", str(runs), *FAST_TRAINING])
    return runs / "NS-PwC" / "drift-net-tiny" / "0"


@pytest.fixture(scope="session")
def zygote():
    """Starts commands in processes of their own."""
    from tests.zygote import Zygote

    process = Zygote()
    yield process
    process.close()
