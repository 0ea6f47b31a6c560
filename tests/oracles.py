"""Packages that are only witnesses, or needed by some models only."""

import importlib
import os
from importlib.util import find_spec
from types import ModuleType

import pytest

from driftnet import registry


def oracle(module: str) -> ModuleType:
    """A module that a test needs; where CI is set, a test must not be passed over, and its absence is a failure."""
    return importlib.import_module(module) if "CI" in os.environ else pytest.importorskip(module)


def runs(name: str) -> bool:
    """Whether the package that a preset needs is there, or has to be, because CI is set."""
    needs = registry.model(name).needs
    return not needs or "CI" in os.environ or find_spec(needs) is not None


def presets(ending: str = "") -> list:
    """The presets whose names end so, as parameters of a test; what cannot be built here is skipped."""
    names = [name for name in registry.MODELS if name.endswith(ending)]
    return [pytest.param(name, marks=pytest.mark.skipif(not runs(name), reason="its extra is not installed")) for name in names]
