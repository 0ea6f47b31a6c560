from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
import yaml

from driftnet.bench.start import DEMO_DATA, DEMO_TRAINING, FIRST_STEP, measured, torch_free
from driftnet.cli import main

RECIPES = Path(__file__).parents[2] / "recipes" / "laptop"


@pytest.fixture(scope="module")
def seconds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    data = ("--data", str(folder / "NS-PwC.nc"))
    sizes = ("--split.train", "4", "--split.validation", "1", "--split.test", "1", "--resolution", "32", "--snapshots", "2")
    main(["generate", "NS-PwC", *sizes, "--workers", "1", "--output", data[1]])
    training = ("train", "NS-PwC", "drift-net-tiny", *DEMO_TRAINING, *data, "--runs", str(folder / "runs"))
    ways = {**torch_free(), "import torch": ("-c", "import torch"), "first step": ("-c", FIRST_STEP, *training)}
    return {what: median(found) for what, found in measured(ways, 1).items()}


def test_commands_that_only_say_something_are_done_long_before_torch_is_imported(seconds):
    assert seconds["driftnet --help"] < seconds["import torch"] / 2
    assert seconds["driftnet info tasks"] < seconds["import torch"] / 2


def test_the_first_step_of_training_comes_soon_after_torch_is_imported(seconds):
    assert seconds["first step"] < 6 * seconds["import torch"]


@pytest.mark.parametrize(("name", "flags"), [("data", DEMO_DATA), ("train", DEMO_TRAINING)])
def test_the_demo_that_is_started_is_that_of_the_recipe(name, flags):
    recipe = yaml.safe_load((RECIPES / f"{name}.yaml").read_text())
    given = {flag.removeprefix("--"): value for flag, value in list(pairwise(flags))[::2]}
    assert {name: yaml.safe_load(value) for name, value in given.items()} == dict(flattened(recipe))


def flattened(group, prefix=""):
    for name, value in group.items():
        yield from flattened(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
