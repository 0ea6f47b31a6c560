"""Measurements in processes of their own: a question goes in as JSON, what was found comes out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from driftnet.errors import DriftnetError
from driftnet.memory import ALLOCATOR
from driftnet.registry import resolve


def ask(function: str, question: dict[str, Any], threads: int, **variables: str) -> Any:
    """What `function`, "module:attribute", finds in a fresh process with the allocator fixed."""
    fixed = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    kept = {name: str(value) for name, value in ALLOCATOR.items()}
    environment = {**os.environ, **kept, **fixed, **variables, "PYTHONPATH": package_path()}
    code = f"from driftnet.bench.process import answer; answer({function!r})"
    child = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(question), env=environment, capture_output=True, text=True
    )
    if child.returncode:
        raise DriftnetError(child.stderr.strip().splitlines()[-1] if child.stderr.strip() else f"exit code {child.returncode}")
    return json.loads(child.stdout.strip().splitlines()[-1])


def package_path() -> str:
    """PYTHONPATH under which another process finds this package, and what this one finds."""
    return os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))


def answer(function: str) -> None:
    """Read a question, measure, answer."""
    question = json.load(sys.stdin)
    try:
        print(json.dumps(resolve(function)(question)))
    except (DriftnetError, RuntimeError, ImportError) as error:
        sys.exit(str(error).splitlines()[0])
