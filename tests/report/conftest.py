import shutil
from pathlib import Path

import pytest

from driftnet.cli import main


@pytest.fixture(scope="session")
def results_folder(small_run, tmp_path_factory) -> Path:
    """A measured run beside all baselines."""
    root = tmp_path_factory.mktemp("results") / "runs"
    shutil.copytree(small_run.parents[2], root)
    main(["evaluate", str(root / "NS-PwC" / "drift-net-tiny" / "0"), "--overwrite"])
    return root


def as_another_run(result, seed: int, factor: float):
    """A run of another seed with other errors."""
    other = result.copy(deep=True).assign_attrs(seed=seed)
    other.attrs["settings"] = other.attrs["settings"].replace('"weights": "', f'"weights": "{seed}')
    other.relative_l1[:] = factor * other.relative_l1
    return other


@pytest.fixture(scope="session")
def several_runs(results_folder, tmp_path_factory) -> Path:
    """Three seeds of one model."""
    from driftnet.evaluate.results import open_metrics, save_metrics

    root = tmp_path_factory.mktemp("seeds") / "runs"
    shutil.copytree(results_folder, root)
    model = root / "NS-PwC" / "drift-net-tiny"
    for seed, factor in ((1, 1.2), (2, 1.5)):
        shutil.copytree(model / "0", model / str(seed))
        save_metrics(model / str(seed) / "metrics.nc", as_another_run(open_metrics(model / "0" / "metrics.nc"), seed, factor))
    return root
