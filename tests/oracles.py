"""Packages that are only witnesses."""

import importlib
import os
from types import ModuleType

import pytest


def oracle(module: str) -> ModuleType:
    """A module that a test needs; where CI is set, a test must not be passed over, and its absence is a failure."""
    return importlib.import_module(module) if "CI" in os.environ else pytest.importorskip(module)
